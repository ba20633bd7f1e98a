//! A run's history as a stream of JSON lines: live from `run --stream`, or later from `runs events`. Both read what is
//! stored, so that a line that was shown is there after a crash, under the same number.

mod audit;
mod kind;
mod line;
mod live;
mod reader;
mod state;

pub use audit::{History, audit};
pub use kind::{Kinds, Namespaces, StreamKind};
pub use live::{LineSink, LiveStream};
pub use reader::Reader;
