//! Selection of the best entries.

/// The entries with the highest scores, the best first; of equal ones, the lower key comes first.
#[derive(Clone, Debug)]
pub struct BestEntries<T> {
    most: usize,
    hits: Vec<(f64, String, T)>,
}

impl<T> BestEntries<T> {
    /// Creates a selection of at most `most` entries.
    pub const fn new(most: usize) -> Self {
        Self { most, hits: Vec::new() }
    }

    /// Adds an entry with its score, if it is one of the best so far.
    pub fn offer(&mut self, score: f64, key: &str, entry: T) {
        let comes_first = |hit: &(f64, String, T)| {
            hit.0.total_cmp(&score).reverse().then_with(|| hit.1.as_str().cmp(key)).is_lt()
        };
        let at = self.hits.partition_point(comes_first);
        if at < self.most {
            self.hits.truncate(self.most - 1);
            self.hits.insert(at, (score, key.to_owned(), entry));
        }
    }

    /// Returns the keys and the entries, the best first.
    pub fn into_hits(self) -> impl Iterator<Item = (String, T)> {
        self.hits.into_iter().map(|(_, key, entry)| (key, entry))
    }
}
