//! Builds of nodes from their sources: Cargo for Rust, esbuild and componentize-qjs for JavaScript, componentize-py for Python, clang for C. The tools are
//! the author's own; what they make is reduced to the interfaces that the node wants.

pub mod c;
pub mod documentation;
pub mod javascript;
pub mod narrow;
pub mod python;
pub mod rust;
pub mod stand_in;
pub mod wants;
pub mod wit;
