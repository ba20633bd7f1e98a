//! Types for the removal of data from a store.

use std::ops::AddAssign;

use crate::store::WantedChannel;

/// The data that a removal has freed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReclaimedData {
    /// Number of records and texts that were removed.
    pub records: u64,
    /// Their length, in bytes.
    pub bytes: u64,
}

impl AddAssign for ReclaimedData {
    fn add_assign(&mut self, other: Self) {
        self.records = self.records.saturating_add(other.records);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// The point at which the history of a namespace is cut.
#[derive(Clone, Copy, Debug)]
pub struct Cut<'a> {
    /// The sequence number of the first checkpoint that remains.
    pub first: u64,
    /// The channels at that checkpoint. After the cut, the checkpoint contains all their values.
    pub channels: &'a [WantedChannel<'a>],
    /// The note about the removal, which replaces that about an earlier one.
    pub note: &'a str,
}

/// A mark of a store's state: two marks of one handle are equal if no other handle has changed anything between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotEpoch(pub(crate) u64);
