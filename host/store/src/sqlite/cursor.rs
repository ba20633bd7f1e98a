//! Positions of readers in histories, so that the next page continues where the last one ended.
//!
//! The history of a run is that of all its namespaces, in one order. In a run with many child runs, finding the
//! position of a number queries each namespace; a reader that continues queries only those from which it reads.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::sync::Arc;

use crate::plan::NamespacePlan;

/// Maximum number of readers that are remembered. The one that has not read for the longest time is forgotten first.
const MOST: usize = 64;

/// Maximum number of readers of one run that are remembered.
const OF_ONE_RUN: usize = 4;

/// Maximum number of heads of a cursor that is copied for a reader, so that another reader at the same position can use
/// it, too. A larger cursor is moved.
const SHARED: usize = 64;

/// The next checkpoint of each namespace that has more, in the order of their entries.
#[derive(Clone, Debug, Default)]
pub(super) struct Heads {
    queue: BinaryHeap<Reverse<(i64, i64, Arc<str>)>>,
    namespaces: HashSet<Arc<str>>,
}

impl Heads {
    /// Adds the next checkpoint of a namespace: the number of entries before its own, and its sequence number. If the
    /// namespace already has one, that is an earlier checkpoint, and is kept.
    pub(super) fn add(&mut self, namespace: Arc<str>, event: i64, sequence: i64) {
        if self.namespaces.insert(Arc::clone(&namespace)) {
            self.queue.push(Reverse((event, sequence, namespace)));
        }
    }

    /// Returns the number of entries before those of the first head.
    pub(super) fn first(&self) -> Option<i64> {
        self.queue.peek().map(|Reverse((event, ..))| *event)
    }

    /// Removes the first head, and returns its namespace and its sequence number.
    pub(super) fn pop(&mut self) -> Option<(Arc<str>, i64)> {
        let Reverse((_, sequence, namespace)) = self.queue.pop()?;
        self.namespaces.remove(&namespace);
        Some((namespace, sequence))
    }

    fn len(&self) -> usize {
        self.queue.len()
    }
}

/// The position after an entry in the history of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Cursor {
    pub(super) heads: Heads,
    /// Number of history entries before those of the first status record that may be next.
    pub(super) status: i64,
}

#[derive(Debug)]
struct Reader {
    run: String,
    after: u64,
    cursor: Cursor,
}

/// The readers of a connection. They are valid as long as no other connection writes to the file.
#[derive(Debug, Default)]
pub(super) struct Cursors {
    /// The state of the file for which they are valid (`PRAGMA data_version`). It changes when another connection
    /// writes.
    version: i64,
    /// The readers, in the order of their last reads.
    readers: Vec<Reader>,
}

impl Cursors {
    /// Forgets all readers if another connection has written to the file.
    pub(super) fn refresh(&mut self, version: i64) {
        if self.version != version {
            self.readers.clear();
            self.version = version;
        }
    }

    /// Returns the position after an entry of a run's history, if a reader has reached it.
    pub(super) fn take(&mut self, run: &str, after: u64) -> Option<Cursor> {
        let place = self.readers.iter().position(|reader| reader.after == after && reader.run == run)?;
        if let Some(reader) = self.readers.get(place).filter(|reader| reader.cursor.heads.len() <= SHARED) {
            return Some(reader.cursor.clone());
        }
        Some(self.readers.remove(place).cursor)
    }

    /// Remembers that a reader has reached an entry.
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

    /// Adds the checkpoints of a batch that this connection has committed, after `entries` entries of the run's
    /// history.
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

    /// Forgets the readers of a run that was removed or changed other than by a commit.
    pub(super) fn forget(&mut self, run: &str) {
        self.readers.retain(|reader| reader.run != run);
    }
}
