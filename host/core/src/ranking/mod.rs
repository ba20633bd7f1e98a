//! Finds and ranks texts by the words of a query, with the same result on every machine: the words of a text ([`each_word`]), what a query
//! asks for ([`Query`]), what an entry scores by `bm25` ([`Weights`]), and the excerpt that is shown ([`Query::excerpt`]).
//!
//! A store that has an index of words computes the counts from it; [`rank`] counts the words of texts in memory. Both give the same entries
//! in the same order.
//!
//! ```
//! use graph_core::ranking::{Query, rank};
//!
//! let entries = [("a/fox", "The quick brown fox"), ("a/paint", "Brown paint, brown wood"), ("b/fox", "A fox")]
//!     .map(|(key, text)| (key.to_owned(), text.to_owned()));
//! let query = Query::new("BROWN").unwrap();
//! let keys: Vec<_> = rank(&entries, "a/", &query, 10).into_iter().map(|(key, _)| key).collect();
//! assert_eq!(keys, ["a/paint", "a/fox"]);
//! ```

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
pub use memory::rank;
pub use query::{NO_WORD, Query};
pub use score::{Totals, Weights};
pub use words::each_word;
