//! A run's history as a stream of JSON lines: live from `run --stream`, or later from `runs events`. Both read stored
//! entries, so that a line that was shown can be read again after a crash, under the same number.

mod kind;
mod line;
mod live;
mod reader;
mod route;
mod run_graphs;
mod state;

pub use kind::{KINDS, Kinds, Namespaces, StreamKind};
pub use line::LINE_KEYS;
pub use live::{LineSink, LiveStream};
pub use reader::Reader;
