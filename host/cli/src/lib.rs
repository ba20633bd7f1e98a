//! Library of the graph-host command: the terminal, and runs in the background.

pub mod background;
pub mod compiling;
pub mod context;
pub mod document_kind;
pub mod file_watch;
pub mod terminal;
