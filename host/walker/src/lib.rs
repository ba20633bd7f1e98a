//! Graph documents and the walker, which is pure: nothing here reads a clock, draws randomness, looks at the environment or does IO. Time
//! and identity are arguments, and the same arguments give the same result on every machine and in a browser.
//!
//! A [`document`] is loaded into a [`graph`], with every problem at once; a [`walker`] takes the graph from superstep to superstep,
//! and its page has the whole loop of a driver. A [`replay`] takes the walker through a recorded run again.
//!
//! ```
//! use graph_walker::document;
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
pub mod compat;
pub mod document;
pub mod graph;
pub mod hook;
pub mod host_item;
pub mod parameters;
pub mod replay;
pub mod structure;
pub mod topology;
pub mod walker;
#[doc(hidden)]
pub mod work_vectors;
pub mod written_graph;
