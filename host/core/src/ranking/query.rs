//! What a query asks for.

use super::words::each_word;

/// The most words, and phrases, of a query that count.
const MAX_TERMS: usize = 32;

/// Why a query cannot be used, if [`Query::new`] gives none.
pub const NO_WORD: &str = "the query holds no word";

/// What a query asks for: each word of it, and those in double quotes one after the other. Nothing in it is an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    phrases: Vec<Vec<String>>,
}

impl Query {
    /// Reads a query; none if it holds no word.
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

    /// The words, as [`each_word`] gives them, that an entry has to hold one after the other, for each term of the query: one phrase at
    /// least, each with one word at least.
    pub fn phrases(&self) -> &[Vec<String>] {
        &self.phrases
    }

    /// Whether one of the words of the query is in a text.
    pub(super) fn has_word_in(&self, text: &str) -> bool {
        let mut is_in = false;
        each_word(text, &mut |word| is_in |= self.phrases.iter().flatten().any(|asked| asked == word));
        is_in
    }
}
