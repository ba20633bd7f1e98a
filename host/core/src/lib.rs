//! The pure part of graph-host: documents, conditions, templates, the walker, checkpoint records, trust and
//! capabilities. Nothing here reads a clock, draws randomness, looks at the environment or does IO: time and identity
//! are arguments, and the same arguments give the same result on every machine and in a browser.
//!
//! A document is loaded into a graph, with every problem at once; a [`walker`] takes the graph from superstep to superstep,
//! and its page has the whole loop of a driver.
//!
//! ```
//! use graph_core::document;
//!
//! let text = "\
//! tool_type: graph
//! config:
//!   start: greet
//!   nodes:
//!     greet: { assign: { greeting: 'Hello, ${inputs.name}' }, next: done }
//!     done: { type: return, output: '${state.greeting}' }
//! ";
//! let graph = document::load("greet.yaml", text, "acme/greet").unwrap().graph;
//! assert_eq!(graph.nodes.len(), 2);
//!
//! let problems = document::load("greet.yaml", &text.replace("next: done", "next: dome"), "acme/greet").unwrap_err();
//! assert!(problems.to_lines()[0].contains("there is no node `dome`"));
//! ```

pub mod builder;
pub mod capability;
pub mod compat;
pub mod condition;
pub mod diagnostic;
pub mod digest;
pub mod document;
pub mod format;
pub mod fuel;
pub mod graph;
pub mod hook;
pub mod hook_event;
pub mod host_item;
pub mod id;
pub mod item;
pub mod json;
pub mod keys;
pub mod limits;
pub mod model_budget;
pub mod model_grant;
pub mod node;
pub mod parameters;
pub mod policy;
pub mod question;
pub mod ranking;
pub mod record;
pub mod schema;
pub mod structure;
pub mod template;
pub mod text_item;
pub mod time;
pub mod topology;
pub mod trust;
pub mod walker;
pub mod wasm_name;
pub mod wit_value;
pub mod work;
pub mod written_graph;
pub mod yaml;
