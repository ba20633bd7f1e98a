//! Ranks texts in memory.

use super::{BestEntries, Query, Totals, Weights, each_word};

/// Ranks texts that are added one after the other. It stores the counts of each, and not the text.
///
/// ```
/// use graph_core::ranking::{Query, Ranking};
///
/// let mut ranking = Ranking::new(Query::new("brown").unwrap(), "a/", 10);
/// for (key, text) in [("a/fox", "The quick brown fox"), ("a/paint", "Brown paint, brown wood"), ("b/fox", "A fox")] {
///     ranking.add(key, text);
/// }
/// assert_eq!(ranking.best(), ["a/paint", "a/fox"]);
/// assert_eq!(ranking.excerpt("The quick brown fox"), "The quick brown fox");
/// ```
#[derive(Clone, Debug)]
pub struct Ranking {
    query: Query,
    prefix: String,
    limit: usize,
    phrases: Vec<Phrase>,
    totals: Totals,
    /// Number of texts that contain each phrase.
    holding: Vec<u32>,
    candidates: Vec<Candidate>,
}

/// A text that contains all phrases.
#[derive(Clone, Debug)]
struct Candidate {
    key: String,
    counts: Vec<u32>,
    words: u32,
}

impl Ranking {
    /// Creates a ranking of the entries below a prefix, at most `limit`.
    pub fn new(query: Query, prefix: &str, limit: usize) -> Self {
        let phrases: Vec<Phrase> = query.phrases().iter().map(|words| Phrase::new(words)).collect();
        let (totals, holding) = (Totals::default(), vec![0; phrases.len()]);
        Self { query, prefix: prefix.to_owned(), limit, phrases, totals, holding, candidates: Vec::new() }
    }

    /// Adds an entry. Entries outside of the prefix also influence the weights of the phrases.
    pub fn add(&mut self, key: &str, text: &str) {
        let mut words = 0_u32;
        let mut found: Vec<(u32, usize)> = vec![(0, 0); self.phrases.len()];
        each_word(text, &mut |word| {
            for (phrase, (count, matched)) in self.phrases.iter().zip(&mut found) {
                *matched = phrase.after(*matched, word);
                *count = count.saturating_add(u32::from(*matched == phrase.words.len()));
            }
            words = words.saturating_add(1);
        });
        self.totals.entries = self.totals.entries.saturating_add(1);
        self.totals.words = self.totals.words.saturating_add(words);
        for (holding, (count, _)) in self.holding.iter_mut().zip(&found) {
            *holding += u32::from(*count > 0);
        }
        if key.starts_with(&self.prefix) && found.iter().all(|(count, _)| *count > 0) {
            let counts = found.into_iter().map(|(count, _)| count).collect();
            self.candidates.push(Candidate { key: key.to_owned(), counts, words });
        }
    }

    /// Returns the keys of the entries that contain all phrases, the best first.
    pub fn best(&self) -> Vec<String> {
        let weights = Weights::new(self.totals, &self.holding);
        let mut best = BestEntries::new(self.limit);
        for Candidate { key, counts, words } in &self.candidates {
            best.offer(weights.score(counts, *words), key, ());
        }
        best.into_hits().map(|(key, ())| key).collect()
    }

    /// Returns the excerpt of a found entry's text ([`Query::excerpt`]).
    pub fn excerpt(&self, text: &str) -> String {
        self.query.excerpt(text)
    }
}

/// A phrase, which is found in time linear in the text (Knuth, Morris and Pratt).
#[derive(Clone, Debug)]
struct Phrase {
    words: Vec<String>,
    /// For each number of matching words, the largest smaller number of words of the beginning with which they end.
    borders: Vec<usize>,
}

impl Phrase {
    fn new(words: &[String]) -> Self {
        let mut phrase = Self { words: words.to_vec(), borders: vec![0, 0] };
        for word in words.iter().skip(1) {
            let before = phrase.borders.last().copied().unwrap_or_default();
            phrase.borders.push(phrase.after(before, word));
        }
        phrase
    }

    /// Returns the number of matching words after the next word of a text, if `matched` matched before it.
    fn after(&self, mut matched: usize, word: &str) -> usize {
        loop {
            if self.words.get(matched).is_some_and(|expected| expected == word) {
                return matched + 1;
            }
            if matched == 0 {
                return 0;
            }
            matched = self.borders[matched];
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Counts the places at which a phrase begins in a text.
    fn occurrences(text: &[&str], phrase: &[&str]) -> usize {
        text.windows(phrase.len()).filter(|words| *words == phrase).count()
    }

    #[test]
    fn phrases_are_counted_at_every_place_where_they_begin() {
        let mut seed = 5_u32;
        let mut next = |below: usize| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) as usize % below
        };
        let mut most = 0;
        for _ in 0..500 {
            let (text_length, phrase_length) = (next(60) + 1, next(5) + 1);
            let text: Vec<&str> = (0..text_length).map(|_| ["a", "b"][next(2)]).collect();
            let phrase: Vec<&str> = (0..phrase_length).map(|_| ["a", "b"][next(2)]).collect();
            let expected = occurrences(&text, &phrase);
            let query = Query::new(&format!("\"{}\"", phrase.join(" "))).unwrap();
            let mut ranking = Ranking::new(query, "", 1);
            ranking.add("k", &text.join(" "));
            let counts = ranking.candidates.first().map(|candidate| candidate.counts[0] as usize);
            assert_eq!(counts.unwrap_or(0), expected, "{phrase:?} in {text:?}");
            most = most.max(expected);
        }
        assert!(most > 20, "{most}");
    }
}
