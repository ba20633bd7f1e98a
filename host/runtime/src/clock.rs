//! The clock of the operations of this crate. Runs record the times that they decide by.

use graph_core::time::Timestamp;
use graph_driver::{Clock as _, SystemClock};

/// The present time by the system's clock.
pub fn now() -> Timestamp {
    SystemClock.now()
}
