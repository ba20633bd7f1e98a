//! Shared limits of time and received bytes for operations on registries and image layouts.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::transport::TransportError;

/// A limit on time, and one on received bytes. Clones share both.
#[derive(Clone, Debug)]
pub struct TransferBudget {
    seconds: u64,
    deadline: Instant,
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only registries send bytes"))]
    most: u64,
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only registries send bytes"))]
    left: Rc<Cell<u64>>,
}

impl TransferBudget {
    /// Creates a budget whose time begins now.
    pub fn new(time: Duration, most: u64) -> Self {
        let now = Instant::now();
        let deadline = now.checked_add(time).unwrap_or(now + Duration::from_hours(24));
        Self { seconds: time.as_secs(), deadline, most, left: Rc::new(Cell::new(most)) }
    }

    /// Returns the time that is left. The error states what was not done, at which place.
    pub(crate) fn time_left(&self, what: &str, place: &str) -> Result<Duration, TransportError> {
        match self.deadline.checked_duration_since(Instant::now()) {
            Some(left) if !left.is_zero() => Ok(left),
            _ => Err(self.too_late(what, place)),
        }
    }

    /// Returns the error that the time is over.
    pub(crate) fn too_late(&self, what: &str, place: &str) -> TransportError {
        TransportError::Timeout { what: what.to_owned(), place: place.to_owned(), seconds: self.seconds }
    }

    /// Takes received bytes from what is left.
    #[cfg(feature = "http")]
    pub(crate) fn receive(&self, bytes: usize, place: &str) -> Result<(), TransportError> {
        let left = self.left.get().checked_sub(bytes as u64);
        self.left.set(left.unwrap_or(0));
        left.map(|_| ()).ok_or_else(|| TransportError::TooMuch { place: place.to_owned(), most: self.most })
    }

    /// Returns the time limit in seconds, and when it ends.
    #[cfg(feature = "http")]
    pub(crate) const fn time(&self) -> (u64, Instant) {
        (self.seconds, self.deadline)
    }
}
