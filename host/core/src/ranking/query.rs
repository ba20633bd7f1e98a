//! The phrases of a query.

use super::words::each_word;

/// Largest number of words, and of phrases, of a query; the rest is ignored.
const MAX_TERMS: usize = 32;

/// The reason why a query cannot be used, if [`Query::new`] returns `None`.
pub const NO_WORD: &str = "the query holds no word";

/// A query: each of its words, and the words in double quotes as one phrase. It has no operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    phrases: Vec<Vec<String>>,
}

impl Query {
    /// Reads a query; `None` if it contains no word.
    pub fn new(text: &str) -> Option<Self> {
        let mut phrases: Vec<Vec<String>> = Vec::new();
        let mut add = |phrase: Vec<String>| {
            if phrases.len() < MAX_TERMS && !phrase.is_empty() && !phrases.contains(&phrase) {
                phrases.push(phrase);
            }
        };
        for (at, part) in text.split('"').enumerate() {
            if at % 2 == 1 {
                let mut phrase = Vec::new();
                each_word(part, &mut |word| phrase.push(word.to_owned()));
                add(phrase);
            } else {
                each_word(part, &mut |word| add(vec![word.to_owned()]));
            }
        }
        (!phrases.is_empty()).then_some(Self { phrases })
    }

    /// Returns the phrases that an entry has to contain, each as words of [`each_word`]: at least one phrase, each with at least one word.
    pub fn phrases(&self) -> &[Vec<String>] {
        &self.phrases
    }

    /// Checks whether a text contains one of the words of the query.
    pub(super) fn has_word_in(&self, text: &str) -> bool {
        let mut is_in = false;
        each_word(text, &mut |word| is_in |= self.phrases.iter().flatten().any(|asked| asked == word));
        is_in
    }
}
