//! Where readers of histories stand, so that the next page continues where the last one ended.
//!
//! The history of a run is that of all its namespaces, in one order. Where a run has many child runs, finding the
//! place of a number in it asks each of them; a reader that continues asks none but those that it reads from.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::sync::Arc;

use crate::plan::NamespacePlan;

/// At most that many readers are remembered at most; the one that has read last is forgotten last.
const MOST: usize = 64;

/// At most that many of them of one run.
const OF_ONE_RUN: usize = 4;

/// A cursor with that many namespaces ahead may be copied: another reader may stand at the same place.
const SHARED: usize = 64;

/// The next checkpoint of each namespace that has more, in the order of their entries.
#[derive(Clone, Debug, Default)]
pub(super) struct Heads {
    queue: BinaryHeap<Reverse<(i64, i64, Arc<str>)>>,
    namespaces: HashSet<Arc<str>>,
}

impl Heads {
    /// Adds the next checkpoint of a namespace: how many entries come before it, and its number. Of a namespace that is
    /// there already an earlier one is.
    pub(super) fn add(&mut self, namespace: Arc<str>, event: i64, sequence: i64) {
        if self.namespaces.insert(Arc::clone(&namespace)) {
            self.queue.push(Reverse((event, sequence, namespace)));
        }
    }

    /// How many entries come before the first of them.
    pub(super) fn first(&self) -> Option<i64> {
        self.queue.peek().map(|Reverse((event, ..))| *event)
    }

    /// Takes the first one: its namespace and its number.
    pub(super) fn pop(&mut self) -> Option<(Arc<str>, i64)> {
        let Reverse((_, sequence, namespace)) = self.queue.pop()?;
        self.namespaces.remove(&namespace);
        Some((namespace, sequence))
    }

    fn len(&self) -> usize {
        self.queue.len()
    }
}

/// What comes after a number in the history of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Cursor {
    pub(super) heads: Heads,
    /// How many entries come before the first status record that may come next.
    pub(super) status: i64,
}

#[derive(Debug)]
struct Reader {
    run: String,
    after: u64,
    cursor: Cursor,
}

/// The readers of a connection, as long as no other process writes to the file.
#[derive(Debug, Default)]
pub(super) struct Cursors {
    /// The state of the file that this is of (`PRAGMA data_version`): it changes when another connection writes.
    version: i64,
    /// The one that has read last comes last.
    readers: Vec<Reader>,
}

impl Cursors {
    /// Forgets what another connection may have changed.
    pub(super) fn refresh(&mut self, version: i64) {
        if self.version != version {
            self.readers.clear();
            self.version = version;
        }
    }

    /// What comes after a number in a run's history, if a reader has got as far.
    pub(super) fn take(&mut self, run: &str, after: u64) -> Option<Cursor> {
        let place = self.readers.iter().position(|reader| reader.after == after && reader.run == run)?;
        if let Some(reader) = self.readers.get(place).filter(|reader| reader.cursor.heads.len() <= SHARED) {
            return Some(reader.cursor.clone());
        }
        Some(self.readers.remove(place).cursor)
    }

    /// A reader has got to a number.
    pub(super) fn put(&mut self, run: &str, after: u64, cursor: Cursor) {
        self.readers.retain(|reader| reader.after != after || reader.run != run);
        let mut of_run = self.readers.iter().enumerate().filter(|(_, reader)| reader.run == run);
        let first_of_run = of_run.next().map(|(place, _)| place);
        if let Some(place) = first_of_run.filter(|_| of_run.count() + 1 >= OF_ONE_RUN) {
            self.readers.remove(place);
        } else if self.readers.len() >= MOST {
            self.readers.remove(0);
        }
        self.readers.push(Reader { run: run.to_owned(), after, cursor });
    }

    /// This connection has written what a batch results in behind that many `entries` of a run's history.
    pub(super) fn committed(&mut self, run: &str, entries: i64, plans: &[NamespacePlan<'_>]) {
        for reader in self.readers.iter_mut().filter(|reader| reader.run == run) {
            for plan in plans {
                if let Some((before, first)) = plan.checkpoints.first() {
                    let event = entries.saturating_add(super::write::number(*before));
                    let sequence = super::write::number(first.sequence);
                    reader.cursor.heads.add(Arc::from(plan.namespace), event, sequence);
                }
            }
        }
    }

    /// A run has been removed or changed in another way.
    pub(super) fn forget(&mut self, run: &str) {
        self.readers.retain(|reader| reader.run != run);
    }
}
