//! Knowledge: texts by key that outlast runs, in an SQLite file of the project, with an index of their words.

mod error;
mod index;
mod migration;
mod schema;
mod search;
mod store;
mod time_limit;

#[cfg(test)]
mod tests;

pub use error::KnowledgeStoreError;
pub(crate) use schema::{APPLICATION_ID, VERSION};
pub use store::KnowledgeStore;
