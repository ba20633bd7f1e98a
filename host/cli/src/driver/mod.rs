//! The driver: it performs what the walker asks for and tells it what came of it.

mod clock;
mod executor;
mod journal;
mod observer;
mod results;
mod run;
mod tasks;

pub use clock::{Clock, SystemClock};
pub use executor::{CallObserver, TaskExecutor};
pub use journal::Writing;
pub(crate) use observer::Both;
pub use observer::{Observer, Observers};
pub use run::{Control, DriveError, Driver, Parts};

#[cfg(test)]
mod tests;
