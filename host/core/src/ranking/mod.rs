//! Finds and ranks texts by the words of a query, with the same result on every machine: the words of a text ([`each_word`]), what a query
//! asks for ([`Query`]), what an entry scores by `bm25` ([`Weights`]), and the excerpt that is shown ([`Query::excerpt`]).
//!
//! A store that has an index of words computes the counts from it; [`Ranking`] counts the words of texts. Both give the same entries
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

pub use best::Best;
pub use memory::Ranking;
pub use query::{NO_WORD, Query};
pub use score::{Totals, Weights};
pub use words::each_word;
