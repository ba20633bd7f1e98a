//! Write a node of a graph in Rust: a typed params struct, a function, one macro.
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
//! The node's crate is a `cdylib` that depends on `graph-sdk`, and on `serde` and `schemars` for their derives.

extern crate self as graph_sdk;

#[cfg(target_arch = "wasm32")]
mod allocator;
#[doc(hidden)]
pub mod bindings;
mod context;
mod failure;
pub mod files;
pub mod host;
#[doc(hidden)]
pub mod node;
mod outcome;
mod schema;

pub use context::{Activation, Context};
pub use failure::{Category, Failure};
pub use outcome::{Answer, Command, Outcome};
pub use serde_json;

/// What nearly every node uses.
pub mod prelude {
    pub use crate::{Category, Command, Context, Failure, Outcome};
    pub use schemars::JsonSchema;
    pub use serde::{Deserialize, Serialize};
    pub use serde_json::{Map, Value, json};
}

/// Exports a function as the component's action.
///
/// ```ignore
/// graph_sdk::node! {
///     summary: "Counts the lines of a file.",
///     wants: ["wasi:filesystem/types": "reads the files that it counts"],
///     run
/// }
/// ```
///
/// - `summary`: what the node does, in one sentence.
/// - `wants`: the interfaces that it uses, each with why. `graph-host:host/log` and `events` are always granted and
///   need no entry. An interface that brings others along (`wasi:filesystem/types` brings `preopens` and `wasi:io`)
///   covers those.
/// - last, the function: `fn(Params, &Context) -> Result<Answer, Failure>`.
#[macro_export]
macro_rules! node {
    (
        summary: $summary:expr,
        wants: [$($name:literal : $why:expr),* $(,)?],
        $run:path $(,)?
    ) => {
        const _: () = {
            struct Node;

            impl $crate::bindings::exports::graph_host::node::action::Guest for Node {
                fn describe() -> $crate::bindings::exports::graph_host::node::action::Description {
                    $crate::node::describe($run, $summary, &[$(($name, $why)),*])
                }

                fn run(
                    activation: $crate::bindings::exports::graph_host::node::action::Activation,
                    params: ::std::string::String,
                ) -> ::core::result::Result<
                    $crate::bindings::exports::graph_host::node::action::Outcome,
                    $crate::bindings::exports::graph_host::node::action::Failure,
                > {
                    $crate::node::run($run, activation, &params)
                }
            }

            $crate::bindings::export!(Node with_types_in $crate::bindings);
        };
    };
    (summary: $summary:expr, $run:path $(,)?) => {
        $crate::node! { summary: $summary, wants: [], $run }
    };
}
