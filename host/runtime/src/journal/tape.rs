//! The journal entries that answer the attempt under way in a replay.

use std::sync::{Mutex, MutexGuard, PoisonError};

use graph_core::record::{JournalDifference, JournalEntry};

/// Plays back the journals of attempts, one attempt at a time.
#[derive(Debug, Default)]
pub struct Tape {
    /// `Some` if the world answers; the flag says whether effects on the world are performed again.
    live: Option<bool>,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    entries: Vec<JournalEntry>,
    difference: Option<JournalDifference>,
}

impl Tape {
    /// Makes a tape that answers all calls from its entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a tape that lets the world answer, within the bounds of its entries. It answers calls with effects itself,
    /// unless `sends` is set: then those are performed again, too.
    pub fn live(sends: bool) -> Self {
        Self { live: Some(sends), ..Self::default() }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks whether the world answers.
    pub fn is_live(&self) -> bool {
        self.live.is_some()
    }

    /// Checks whether calls with effects on the world are performed again.
    pub fn sends(&self) -> bool {
        self.live == Some(true)
    }

    /// Inserts the entries of the next attempt.
    pub(crate) fn load(&self, entries: Vec<JournalEntry>) {
        *self.inner() = Inner { entries, difference: None };
    }

    /// Returns the entries of the attempt under way.
    pub fn entries(&self) -> Vec<JournalEntry> {
        self.inner().entries.clone()
    }

    /// Records that the attempt differs from its entries. Only the first difference is kept.
    pub fn differs(&self, difference: JournalDifference) {
        self.inner().difference.get_or_insert(difference);
    }

    pub(crate) fn difference(&self) -> Option<JournalDifference> {
        self.inner().difference.take()
    }
}
