//! Limits on the amount of data that is read at one time, and on the size of what is stored.
//!
//! A store may have been written by a stranger. Reading it takes memory in proportion to what is requested, whatever
//! the store contains: lists are read in pages, and a text that is larger than any that this program writes is refused
//! by its length, before it is read. This program writes nothing larger either, so that everything that it stores can
//! be read again.

use graph_core::record::SignedRecord;

/// Number of bytes after which a page of records ends, even if more records were requested. A page holds at least one
/// record.
pub const PAGE_BYTES: u64 = 4 << 20;

/// Maximum size of the text of one record, one channel value or one result, in bytes: 512 MiB.
///
/// The largest record is the checkpoint of a superstep of 100,000 tasks. Each contributes a summary of about a
/// kilobyte, so that some 400 MiB remain for journals, events and results; the results of a superstep have 256 MiB unless
/// a manifest says otherwise. SQLite itself takes no text above 1 GB, and needs it twice to write it.
pub const LARGEST_TEXT: u64 = 512 << 20;

/// Maximum size of a text that a run stores, such as a graph, a manifest or inputs, and of a note about removed
/// checkpoints, in bytes: 128 MiB. A larger one could not be read as JSON again: a parsed document or parsed inputs may
/// occupy that much memory ([`TreeLimit`](graph_core::json::TreeLimit)), and a text takes at least its own length.
pub const LARGEST_SNAPSHOT: u64 = 128 << 20;

/// Maximum length of a name, in bytes: 1 MiB. Names are ids of runs, graphs and tasks, namespaces, channels and paths.
pub const LARGEST_NAME: u64 = 1 << 20;

/// Maximum total size of one read that cannot be divided into pages, in bytes: 1 GiB. It applies to a record with its
/// channel values, and to the values of a state.
pub const LARGEST_READ: u64 = 1 << 30;

/// Maximum total size of the pending records under a newest checkpoint, in bytes: 4 GiB. A run stores at most that much
/// unless a manifest says otherwise.
pub const LARGEST_PENDING: u64 = 4 << 30;

/// Number of bytes of results under one key after which older ones are left out.
pub(crate) const RESULTS_BYTES: u64 = 64 << 20;

/// Bytes of memory that a value or a record is assumed to occupy in addition to its texts.
pub(crate) const OVERHEAD: u64 = 128;

/// Returns the length of a text, in bytes.
pub(crate) fn length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

/// Returns the number of bytes that a record with its values is assumed to occupy in memory.
pub(crate) fn weight(record: &SignedRecord) -> u64 {
    let values = record.values.iter().map(|value| length(&value.json).saturating_add(OVERHEAD));
    values.fold(length(&record.body).saturating_add(OVERHEAD), u64::saturating_add)
}

/// Counts the records on a page, and their bytes.
#[derive(Debug)]
pub(crate) struct Page {
    most: usize,
    records: usize,
    bytes: u64,
}

impl Page {
    /// Returns an empty page of at most `most` records.
    pub(crate) const fn new(most: usize) -> Self {
        Self { most, records: 0, bytes: 0 }
    }

    /// Reports whether a page of these records is full, by their number or by their size.
    pub(crate) fn is_full<'r>(records: impl IntoIterator<Item = &'r SignedRecord>, most: usize) -> bool {
        let mut page = Self::new(most);
        records.into_iter().for_each(|record| page.add(record));
        !page.has_room()
    }

    /// Reports whether one more record has room.
    pub(crate) const fn has_room(&self) -> bool {
        self.records < self.most && self.bytes < PAGE_BYTES
    }

    /// Returns how many more records the page's number of records allows.
    pub(crate) const fn left(&self) -> usize {
        self.most.saturating_sub(self.records)
    }

    /// Adds a record if it has room. Reports whether it was added.
    pub(crate) fn takes(&mut self, record: &SignedRecord) -> bool {
        let takes = self.has_room();
        if takes {
            self.add(record);
        }
        takes
    }

    /// Adds a record.
    pub(crate) fn add(&mut self, record: &SignedRecord) {
        self.records += 1;
        self.bytes = self.bytes.saturating_add(weight(record));
    }
}
