//! Unit tests of a node: `cargo test` runs its function on the machine, and a [`Host`] replaces the host that the
//! function calls.
//!
//! ```
//! use graph_sdk::files;
//! use graph_sdk::prelude::*;
//! use graph_sdk::testing::Host;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Params {
//!     path: String,
//! }
//!
//! fn run(params: Params, _ctx: &Context) -> Result<usize, Failure> {
//!     Ok(files::read_to_string(&params.path)?.lines().count())
//! }
//!
//! let host = Host::new().file("/data/a.txt", "one\ntwo\n");
//! assert_eq!(host.run(run, json!({ "path": "/data/a.txt" })), Ok(Outcome::Result(json!(2))));
//!
//! let missing = host.run(run, json!({ "path": "/data/b.txt" })).unwrap_err();
//! assert_eq!(missing.category(), Some(Category::InvalidInput));
//! ```
//!
//! A unit test has no sandbox: the host grants everything that the test puts into it, and there are no limits of fuel
//! and sizes. `graph-host test` runs a graph with the component itself.

mod host;
#[cfg(feature = "model")]
mod models;
pub(crate) mod state;
mod tree;

pub use host::{Host, Request};
