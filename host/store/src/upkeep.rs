//! Looking after a store: what its runs take up is given back.

use std::ops::AddAssign;

use crate::store::Wanted;

/// What a removal has freed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Freed {
    /// How many records and texts were removed.
    pub records: u64,
    /// Their length, in bytes.
    pub bytes: u64,
}

impl AddAssign for Freed {
    fn add_assign(&mut self, other: Self) {
        self.records = self.records.saturating_add(other.records);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// Where the history of a namespace is cut.
#[derive(Clone, Copy, Debug)]
pub struct Cut<'a> {
    /// The first checkpoint that stays.
    pub first: u64,
    /// The channels as they are there: from then on that checkpoint brings what they are made of.
    pub channels: &'a [Wanted<'a>],
    /// What is said about the removal. It takes the place of what was said about an earlier one.
    pub note: &'a str,
}

/// What has changed in a store: two marks of one handle are equal if no other handle has changed anything between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(pub(crate) u64);
