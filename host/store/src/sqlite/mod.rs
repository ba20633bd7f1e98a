//! A store in one SQLite file.

pub(crate) mod connection;
mod cursor;
mod errors;
mod fence;
pub(crate) mod guard;
mod history;
mod open;
mod owner;
mod read;
mod results;
mod row;
pub(crate) mod schema;
pub(crate) mod shape;
pub(crate) mod sidecar_files;
mod sql;
mod store;
mod upkeep;
mod values;
mod wal_preallocate;
mod write;
mod write_cache;

#[cfg(test)]
mod tests;

pub use open::{FileAccess, OpenError, SqliteOptions};
pub(crate) use schema::APPLICATION_ID;
pub use schema::SCHEMA_VERSION;
pub use sidecar_files::PlaceError;
pub use store::SqliteStore;
