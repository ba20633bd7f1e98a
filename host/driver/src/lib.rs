//! The driver of a run: it performs the effects that the walker of `graph-core` asks for, and reports each outcome as an
//! event.
//!
//! It decides nothing. Tasks go to a [`TaskExecutor`], records to a `CheckpointStore` of `graph-store`, the time comes
//! from a [`Clock`], and an [`Observer`] can watch what happens.

mod clock;
mod executor;
mod observer;
mod record_writer;
mod reservations;
mod results;
mod run;
mod tasks;
mod timers;

pub use clock::{Clock, SystemClock};
pub use executor::{CallObserver, TaskExecutor};
pub use observer::{Observer, ObserverPair, Observers};
pub use record_writer::WriteMode;
pub use reservations::Reservations;
pub use run::{DriveError, Driver, DriverConfig, StopRequest};

#[cfg(test)]
mod tests;
