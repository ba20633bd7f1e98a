//! What stands between a replay and the components: the entries that answer the attempt that is under way.

use std::sync::{Mutex, MutexGuard, PoisonError};

use graph_core::record::{JournalDifference, JournalEntry};

/// Plays the journal of one attempt after the other.
#[derive(Debug, Default)]
pub struct Tape {
    live: bool,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    entries: Vec<JournalEntry>,
    difference: Option<JournalDifference>,
}

impl Tape {
    /// A tape without entries; `live`: the world answers, and the tape is only there for what is never done again.
    pub fn new(live: bool) -> Self {
        Self { live, ..Self::default() }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the world answers.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// Puts in the entries of the attempt that is next.
    pub(crate) fn load(&self, entries: Vec<JournalEntry>) {
        *self.inner() = Inner { entries, difference: None };
    }

    /// The entries that answer.
    pub fn entries(&self) -> Vec<JournalEntry> {
        self.inner().entries.clone()
    }

    /// The attempt was not what its entries say it was.
    pub fn differs(&self, difference: JournalDifference) {
        self.inner().difference.get_or_insert(difference);
    }

    pub(crate) fn difference(&self) -> Option<JournalDifference> {
        self.inner().difference.take()
    }
}
