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
    /// The words as they were written, in lower case.
    pub(super) written: Vec<String>,
}

impl Query {
    /// Reads a query; none if it holds no word.
    pub fn new(text: &str) -> Option<Self> {
        let terms = terms(text);
        if terms.is_empty() {
            return None;
        }
        let phrases = terms.iter().map(|term| {
            let mut words = Vec::new();
            for word in term {
                each_word(word, &mut |word| words.push(word.to_owned()));
            }
            words
        });
        Some(Self {
            phrases: phrases.filter(|words| !words.is_empty()).collect(),
            written: terms.iter().flatten().map(|word| word.to_lowercase()).collect(),
        })
    }

    /// The words, as [`each_word`] gives them, that an entry has to hold one after the other, for each term of the query. None has no
    /// words. If there are no phrases, nothing is found: no text can hold what the query is written with.
    pub fn phrases(&self) -> &[Vec<String>] {
        &self.phrases
    }
}

/// The words of a text as people write them.
pub(super) fn written(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// The different terms of a query: a word, or the words between double quotes.
fn terms(query: &str) -> Vec<Vec<&str>> {
    let mut kept: Vec<Vec<&str>> = Vec::new();
    for (at, part) in query.split('"').enumerate() {
        let words = written(part);
        let terms: Vec<Vec<&str>> =
            if at % 2 == 1 { vec![words.collect()] } else { words.map(|word| vec![word]).collect() };
        for term in terms {
            if kept.len() < MAX_TERMS && !term.is_empty() && !kept.contains(&term) {
                kept.push(term);
            }
        }
    }
    kept
}
