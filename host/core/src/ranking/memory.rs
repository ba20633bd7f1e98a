//! Ranks texts in memory.

use super::{Best, Query, Totals, Weights, each_word};

/// Counts phrases in texts.
struct Counter<'q> {
    /// The different words of the query, in order.
    words: Vec<&'q str>,
    /// The phrases, as places in `words`.
    phrases: Vec<Vec<usize>>,
}

impl<'q> Counter<'q> {
    fn new(query: &'q Query) -> Self {
        let mut words: Vec<&str> = Vec::new();
        for word in query.phrases().iter().flatten() {
            if let Err(at) = words.binary_search(&word.as_str()) {
                words.insert(at, word);
            }
        }
        let place = |word: &String| words.binary_search(&word.as_str()).unwrap_or_default();
        let phrases = query.phrases().iter().map(|phrase| phrase.iter().map(place).collect()).collect();
        Self { words, phrases }
    }

    /// How often each phrase occurs in a text, and how many words it has.
    fn count(&self, text: &str) -> (Vec<u32>, u32) {
        // Of the words of the text, those of the query: their places in it, and which they are.
        let (mut found, mut length) = (Vec::new(), 0_u32);
        each_word(text, &mut |word| {
            if let Ok(which) = self.words.binary_search(&word) {
                found.push((length, which));
            }
            length = length.saturating_add(1);
        });
        let occurs = |phrase: &[usize], run: &[(u32, usize)]| {
            let first = run.first().map_or(0, |(place, _)| *place);
            run.len() == phrase.len()
                && (first..).zip(phrase).zip(run).all(|((place, word), found)| *found == (place, *word))
        };
        let count = |phrase: &Vec<usize>| {
            let runs = (0..found.len()).map(|at| found.get(at..at + phrase.len()).unwrap_or_default());
            u32::try_from(runs.filter(|run| occurs(phrase, run)).count()).unwrap_or(u32::MAX)
        };
        (self.phrases.iter().map(count).collect(), length)
    }
}

/// Keys and excerpts of the entries below a prefix that hold all phrases of a query, best first. `entries` are the keys and texts of all
/// entries: how many of them hold a phrase decides what it counts.
pub fn rank(
    entries: &[(String, String)],
    prefix: &str,
    query: &Query,
    limit: usize,
) -> Vec<(String, String)> {
    let counter = Counter::new(query);
    if counter.phrases.is_empty() {
        return Vec::new();
    }
    let mut totals = Totals::default();
    let mut holding = vec![0; counter.phrases.len()];
    let mut candidates = Vec::new();
    for (key, text) in entries {
        let (counts, length) = counter.count(text);
        totals.entries += 1;
        totals.words = totals.words.saturating_add(length);
        for (holding, count) in holding.iter_mut().zip(&counts) {
            *holding += u32::from(*count > 0);
        }
        if key.starts_with(prefix) && counts.iter().all(|count| *count > 0) {
            candidates.push((key, text, counts, length));
        }
    }
    let weights = Weights::new(totals, &holding);
    let mut best = Best::new(limit);
    for (key, text, counts, length) in candidates {
        best.offer(weights.score(&counts, length), key, text);
    }
    best.into_hits().map(|(key, text)| (key, query.excerpt(text))).collect()
}
