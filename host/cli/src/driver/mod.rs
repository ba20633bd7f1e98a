//! The driver: it performs what the walker asks for and tells it what came of it.

mod clock;
mod executor;
mod journal;
mod run;
mod tasks;

pub use clock::{Clock, SystemClock};
pub use executor::TaskExecutor;
pub use journal::Writing;
pub use run::{Control, DriveError, Driver, Observer, Parts};
