//! Finds and ranks texts by the words of a query, with the same result on every machine: the words of a text ([`each_word`]), the phrases
//! of a query ([`Query`]), the score of an entry by `bm25` ([`Weights`]), and the shown excerpt ([`Query::excerpt`]).
//!
//! A store that has an index of words computes the counts from it; [`Ranking`] counts the words of texts. Both return the same entries
//! in the same order.

mod best;
mod excerpt;
mod memory;
mod query;
mod score;
mod tables;
mod words;

#[cfg(test)]
mod tests;

pub use best::BestEntries;
pub use memory::Ranking;
pub use query::{NO_WORD, Query};
pub use score::{Totals, Weights};
pub use words::each_word;
