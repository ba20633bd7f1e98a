//! How much of a store is read at one time, and what no store holds.
//!
//! A store may have been written by a stranger. Whatever it holds, reading it takes memory for what is asked for and no
//! more: lists come in pages, and a text that is larger than any that this program writes is refused by its length,
//! before it is read. Nothing larger is written either, so that what is stored can be read again.

use graph_core::record::SignedRecord;

/// The bytes after which a page of records ends, whatever number of them was asked for. A page holds at least one.
pub const PAGE_BYTES: u64 = 4 << 20;

/// The largest text of one record, one channel value or one result, in bytes: 512 MiB.
///
/// The largest record is the checkpoint of a superstep of 100,000 tasks. Each contributes a summary of about a
/// kilobyte, so that some 400 MiB remain for journals, events and results; the results of a superstep have 256 MiB unless
/// a manifest says otherwise. SQLite itself takes no text above 1 GB, and needs it twice to write it.
pub const LARGEST_TEXT: u64 = 512 << 20;

/// The largest text that a run keeps, such as a graph, a manifest or inputs, and the largest note about removed checkpoints,
/// in bytes: 128 MiB. No larger one could be read as JSON again: as values, a document and inputs may take as much
/// ([`TreeLimit`](graph_core::json::TreeLimit)), and a text takes no less than its bytes.
pub const LARGEST_SNAPSHOT: u64 = 128 << 20;

/// The largest name, in bytes: 1 MiB. Names are ids of runs, graphs and tasks, namespaces, channels and paths.
pub const LARGEST_NAME: u64 = 1 << 20;

/// The most that one read gives altogether where it cannot be divided into pages, in bytes: 1 GiB. It holds for a record
/// with its channel values, and for the values of a state.
pub const LARGEST_READ: u64 = 1 << 30;

/// The most that waits under a newest checkpoint, in bytes: 4 GiB, as a run stores unless a manifest says otherwise.
pub const LARGEST_PENDING: u64 = 4 << 30;

/// The bytes of results under one key after which older ones are left out.
pub(crate) const RESULTS_BYTES: u64 = 64 << 20;

/// What a value or a record takes up in addition to its texts.
pub(crate) const OVERHEAD: u64 = 128;

/// The length of a text.
pub(crate) fn length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

/// What a record takes up in memory, with its values.
pub(crate) fn weight(record: &SignedRecord) -> u64 {
    let values = record.values.iter().map(|value| length(&value.json).saturating_add(OVERHEAD));
    values.fold(length(&record.body).saturating_add(OVERHEAD), u64::saturating_add)
}

/// Counts what a page holds.
#[derive(Debug)]
pub(crate) struct Page {
    most: usize,
    records: usize,
    bytes: u64,
}

impl Page {
    /// A page of at most that many records.
    pub(crate) const fn of(most: usize) -> Self {
        Self { most, records: 0, bytes: 0 }
    }

    /// Whether a page of these records is full: by their number, or by what they take up.
    pub(crate) fn is_full<'r>(records: impl IntoIterator<Item = &'r SignedRecord>, most: usize) -> bool {
        let mut page = Self::of(most);
        records.into_iter().for_each(|record| page.add(record));
        !page.has_room()
    }

    /// Whether one more record has room.
    pub(crate) const fn has_room(&self) -> bool {
        self.records < self.most && self.bytes < PAGE_BYTES
    }

    /// How many more records have room, as far as their number counts.
    pub(crate) const fn left(&self) -> usize {
        self.most.saturating_sub(self.records)
    }

    /// Adds a record if it has room.
    pub(crate) fn takes(&mut self, record: &SignedRecord) -> bool {
        let takes = self.has_room();
        if takes {
            self.add(record);
        }
        takes
    }

    /// One more record is on the page.
    pub(crate) fn add(&mut self, record: &SignedRecord) {
        self.records += 1;
        self.bytes = self.bytes.saturating_add(weight(record));
    }
}
