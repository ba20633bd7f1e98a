//! Library of the graph-host command: the terminal, runs in the background, and builds of guests.

pub mod background;
pub mod compiling;
pub mod context;
pub mod document_kind;
pub mod file_watch;
pub mod guest;
pub mod terminal;
pub mod wants;
