//! Texts by key that are kept after a run, in the scopes that the capability manifest names. Requires
//! `graph-host:host/knowledge`.
//!
//! ```
//! use graph_sdk::{Failure, knowledge};
//!
//! /// Counts a visitor, across runs.
//! fn count(visitor: &str) -> Result<u64, Failure> {
//!     let key = format!("visits/{visitor}");
//!     let before = knowledge::get(&key)?.and_then(|text| text.parse().ok()).unwrap_or(0);
//!     knowledge::put(&key, &(before + 1).to_string())?;
//!     Ok(before + 1)
//! }
//! # let _host = graph_sdk::testing::Host::new().knowledge("visits/ada", "6");
//! # assert_eq!((count("ada"), count("ada"), count("bob")), (Ok(7), Ok(8), Ok(1)));
//! ```

use crate::bindings::graph_host::host::knowledge::KnowledgeError;
use crate::imports::knowledge;
use crate::{Category, Failure};

pub use crate::bindings::graph_host::host::knowledge::Hit;

fn failed(error: KnowledgeError) -> Failure {
    match error {
        KnowledgeError::Denied(message) => Failure::new(Category::Denied, message),
        KnowledgeError::Invalid(message) => Failure::new(Category::InvalidInput, message),
        KnowledgeError::Full(message) => Failure::new(Category::Limit, message),
        KnowledgeError::Unavailable(message) => Failure::new(Category::Transient, message),
    }
}

/// Returns the text of a key; `None` if there is no such entry.
pub fn get(key: &str) -> Result<Option<String>, Failure> {
    knowledge::get(key).map_err(failed)
}

/// Writes the text of a key, and replaces an earlier one. It is kept even if the task fails.
pub fn put(key: &str, text: &str) -> Result<(), Failure> {
    knowledge::put(key, text).map_err(failed)
}

/// Returns at most 100 entries below a prefix that have all words of a query, the best one first.
pub fn search(prefix: &str, query: &str, limit: u32) -> Result<Vec<Hit>, Failure> {
    knowledge::search(prefix, query, limit).map_err(failed)
}

/// Returns at most 1000 keys that begin with a prefix, in order, starting after `after`.
pub fn list(prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<String>, Failure> {
    knowledge::list(prefix, after, limit).map_err(failed)
}
