//! SDK for nodes of a graph in Rust: a typed params struct, a function, one macro.
//!
//! ```
//! use graph_sdk::prelude::*;
//!
//! /// What the node takes.
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(deny_unknown_fields)]
//! struct Params {
//!     /// Whom to greet.
//!     name: String,
//! }
//!
//! fn run(params: Params, _ctx: &Context) -> Result<String, Failure> {
//!     Ok(format!("Hello, {}!", params.name))
//! }
//!
//! graph_sdk::node! { summary: "Greets someone.", run }
//! ```
//!
//! The macro exports `graph-host:node/action`: `describe` derives the JSON Schemas from the types, `run` reads the
//! params and writes the outcome. The component imports only what the code uses: a node that never calls [`files`]
//! does not import the file system and needs no grant for it.
//!
//! | Module | What it reaches | Interface in `wants` and in the manifest |
//! |---|---|---|
//! | [`host`] | log lines and records | none: always granted |
//! | [`host`] | the time, waiting, random numbers | `wasi:clocks/wall-clock`, `wasi:clocks/monotonic-clock`, `wasi:random/random` |
//! | [`files`] | granted folders | `wasi:filesystem/types` |
//! | [`http`] | requests to granted hosts | `wasi:http/outgoing-handler` |
//! | [`secrets`] | handles of secrets, for requests | `graph-host:host/secrets` |
//! | [`knowledge`] | texts that outlast the run | `graph-host:host/knowledge` |
//! | [`tools`] | other items | `graph-host:host/tools` |
#![cfg_attr(feature = "model", doc = "| [`model`] | language models | `graph-host:host/model` |")]
#![cfg_attr(
    not(feature = "model"),
    doc = "| `model`, with the cargo feature of this name | language models | `graph-host:host/model` |"
)]
//!
//! The node's crate is a `cdylib` that depends on `graph-sdk`, and on `serde` and `schemars` for their derives.
//! `graph-host build` compiles it for `wasm32-unknown-unknown`; `cargo test` compiles it for the machine, where
#![cfg_attr(not(target_arch = "wasm32"), doc = "[`testing::Host`] replaces the host.")]
#![cfg_attr(target_arch = "wasm32", doc = "`testing::Host` replaces the host.")]

extern crate self as graph_sdk;

#[cfg(target_arch = "wasm32")]
mod allocator;
#[doc(hidden)]
pub mod bindings;
mod context;
mod failure;
pub mod files;
pub mod host;
pub mod http;
mod imports;
pub mod knowledge;
#[cfg(feature = "model")]
pub mod model;
#[doc(hidden)]
pub mod node;
mod outcome;
mod schema;
pub mod secrets;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
pub mod tools;

pub use context::{Activation, Context};
pub use failure::{Category, Failure};
pub use outcome::{Answer, Command, Outcome};
pub use serde_json;

/// Items that nearly every node uses.
pub mod prelude {
    pub use crate::{Category, Command, Context, Failure, Outcome};
    pub use schemars::JsonSchema;
    pub use serde::{Deserialize, Serialize};
    pub use serde_json::{Map, Value, json};
}
