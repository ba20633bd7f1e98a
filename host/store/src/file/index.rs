//! The positions of the records in a log, by which single records are read on demand.
//!
//! The index takes 48 bytes for each checkpoint, and 4 more for each channel that the checkpoint changed. For a run of
//! 1,000,000 supersteps that change two channels each, these are 56 MB, however large its values are.

use std::collections::BTreeMap;
use std::ops::Bound;

use graph_core::record::{RecordKind, SignedRecord};

use super::line::EntryOutline;
use crate::error::CommitError;
use crate::store::CheckpointPosition;

/// The position of a record: the byte of the file at which its line begins, and its index in that line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RecordPosition {
    pub(super) line: u64,
    pub(super) index: u32,
    /// Number of entries of the history that the record holds.
    events: u32,
}

/// The indexed fields of a checkpoint.
#[derive(Clone, Copy, Debug)]
struct Mark {
    sequence: u64,
    step: u64,
    place: RecordPosition,
}

/// A record that holds entries of the history.
#[derive(Clone, Copy, Debug)]
struct HistoryRecord {
    /// Number of history entries before the record's own.
    before: u64,
    /// The number of its namespace; for a status, [`STATUS`].
    namespace: u32,
    /// Its index among the checkpoints of that namespace, or among the statuses.
    ordinal: u32,
}

/// The value of [`HistoryRecord::namespace`] for a status record.
const STATUS: u32 = u32::MAX;

#[derive(Debug, Default)]
pub(super) struct Namespace {
    /// The checkpoints, in order of their sequence numbers.
    checkpoints: Vec<Mark>,
    /// The checkpoints that changed each channel, as indices into `checkpoints`.
    channels: BTreeMap<String, Vec<u32>>,
    pending: BTreeMap<(RecordKind, String), RecordPosition>,
}

/// The records of a run.
#[derive(Debug, Default)]
pub(super) struct Index {
    numbers: BTreeMap<String, u32>,
    namespaces: Vec<Namespace>,
    statuses: Vec<RecordPosition>,
    /// The records of the history, sorted by `before` once [`Self::settle`] was called.
    history: Vec<HistoryRecord>,
    /// True if records that are out of order were added since then.
    is_mixed: bool,
    /// Number of entries of the history.
    pub(super) entries: u64,
    /// Number of records.
    pub(super) records: u64,
}

/// The fields of a record that the index uses.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexedFields<'a> {
    pub(super) kind: RecordKind,
    pub(super) namespace: &'a str,
    pub(super) sequence: u64,
    pub(super) step: u64,
    pub(super) task: &'a str,
    pub(super) events: u64,
}

impl<'a> From<&'a EntryOutline> for IndexedFields<'a> {
    fn from(entry: &'a EntryOutline) -> Self {
        Self {
            kind: entry.kind,
            namespace: &entry.namespace,
            sequence: entry.sequence,
            step: entry.step,
            task: &entry.task,
            events: entry.events,
        }
    }
}

impl<'a> From<&'a SignedRecord> for IndexedFields<'a> {
    fn from(record: &'a SignedRecord) -> Self {
        Self {
            kind: record.kind,
            namespace: &record.namespace,
            sequence: record.sequence,
            step: record.step,
            task: &record.task,
            events: record.events,
        }
    }
}

impl Index {
    fn namespace(&self, name: &str) -> Option<&Namespace> {
        self.namespaces.get(*self.numbers.get(name)? as usize)
    }

    /// Returns the sequence number of the newest checkpoint of a namespace.
    pub(super) fn head(&self, namespace: &str) -> Option<u64> {
        Some(self.namespace(namespace)?.checkpoints.last()?.sequence)
    }

    /// Returns the namespaces that have records, in byte order.
    pub(super) fn names(&self) -> Vec<String> {
        let written = |number: u32| {
            let found = &self.namespaces[number as usize];
            !found.checkpoints.is_empty() || !found.pending.is_empty()
        };
        self.numbers.iter().filter(|(_, number)| written(**number)).map(|(name, _)| name.clone()).collect()
    }

    /// Adds a record, with the byte at which its line begins and its index in the line. `before` is the number of
    /// history entries before its own, for an imported record that states it. Records are checked by the rules of
    /// [`crate::plan`].
    pub(super) fn take<'c>(
        &mut self,
        run: &str,
        record: IndexedFields<'_>,
        channels: impl Iterator<Item = &'c str>,
        (line, index): (u64, usize),
        before: Option<u64>,
    ) -> Result<(), CommitError> {
        let too_many = |what: &'static str, number: u64| {
            Err(CommitError::OutOfRange { run: run.to_owned(), what, number })
        };
        let (Ok(index), Ok(events)) = (u32::try_from(index), u32::try_from(record.events)) else {
            return too_many("number of entries", record.events);
        };
        let place = RecordPosition { line, index, events };
        let number = if let Some(number) = self.numbers.get(record.namespace) {
            *number
        } else {
            let Some(number) = u32::try_from(self.namespaces.len()).ok().filter(|next| *next != STATUS)
            else {
                return too_many("number of child runs", u64::from(STATUS));
            };
            self.numbers.insert(record.namespace.to_owned(), number);
            self.namespaces.push(Namespace::default());
            number
        };
        let comes_after = before.unwrap_or(self.entries);
        let namespace = &mut self.namespaces[number as usize];
        let newest = namespace.checkpoints.last().map(|newest| newest.sequence);
        let sequence = record.sequence;
        if record.kind == RecordKind::Checkpoint {
            if let Some(newest) = newest.filter(|newest| *newest >= sequence) {
                let (run, namespace) = (run.to_owned(), record.namespace.to_owned());
                return Err(CommitError::Superseded { run, namespace, sequence, newest });
            }
            let Ok(ordinal) = u32::try_from(namespace.checkpoints.len()) else {
                return too_many("number of checkpoints", u64::from(u32::MAX));
            };
            self.records = self.records.saturating_sub(namespace.pending.len() as u64);
            namespace.pending.clear();
            namespace.checkpoints.push(Mark { sequence, step: record.step, place });
            for channel in channels {
                match namespace.channels.get_mut(channel) {
                    // A checkpoint may contain several values of one channel.
                    Some(found) if found.last() == Some(&ordinal) => {}
                    Some(found) => found.push(ordinal),
                    None => {
                        namespace.channels.insert(channel.to_owned(), vec![ordinal]);
                    }
                }
            }
            self.records += 1;
            self.add_entries(
                HistoryRecord { before: comes_after, namespace: number, ordinal },
                record.events,
            );
            return Ok(());
        }
        let is_told = record.kind == RecordKind::Status;
        let is_past = before.is_some() && is_told && newest.is_none_or(|newest| newest > sequence);
        if !is_past {
            if newest != Some(sequence) {
                return Err(CommitError::NotUnderNewest {
                    run: run.to_owned(),
                    namespace: record.namespace.to_owned(),
                    kind: record.kind.as_str(),
                    sequence,
                    newest,
                });
            }
            if namespace.pending.insert((record.kind, record.task.to_owned()), place).is_none() {
                self.records += 1;
            }
        }
        if is_told {
            let Ok(ordinal) = u32::try_from(self.statuses.len()) else {
                return too_many("number of status records", u64::from(u32::MAX));
            };
            self.statuses.push(place);
            self.add_entries(
                HistoryRecord { before: comes_after, namespace: STATUS, ordinal },
                record.events,
            );
        }
        Ok(())
    }

    fn add_entries(&mut self, told: HistoryRecord, events: u64) {
        self.is_mixed |= self.history.last().is_some_and(|last| last.before > told.before);
        self.history.push(told);
        if events > 0 {
            self.entries = self.entries.max(told.before.saturating_add(events));
        }
    }

    /// Sorts the history, after records were added.
    pub(super) fn settle(&mut self) {
        if self.is_mixed {
            self.history.sort_by_key(|told| told.before);
            self.is_mixed = false;
        }
    }

    /// Returns the position of a checkpoint of a namespace; `None` if it is not indexed.
    pub(super) fn checkpoint(&self, namespace: &str, at: CheckpointPosition) -> Option<RecordPosition> {
        let checkpoints = &self.namespace(namespace)?.checkpoints;
        let found = match at {
            CheckpointPosition::Latest => checkpoints.last(),
            CheckpointPosition::Sequence(sequence) => {
                let place = checkpoints.binary_search_by_key(&sequence, |mark| mark.sequence);
                place.ok().and_then(|place| checkpoints.get(place))
            }
            CheckpointPosition::Step(step) => checkpoints.iter().rev().find(|mark| mark.step == step),
            CheckpointPosition::StepWithin { step, first, last } => {
                let end = checkpoints.partition_point(|mark| mark.sequence <= last);
                let within = checkpoints[..end].iter().rev().take_while(|mark| mark.sequence >= first);
                within.into_iter().find(|mark| mark.step == step)
            }
        };
        found.map(|mark| mark.place)
    }

    /// Returns the checkpoints of a namespace after a sequence number.
    pub(super) fn checkpoints(
        &self,
        namespace: &str,
        after: Option<u64>,
    ) -> impl Iterator<Item = RecordPosition> {
        let all = self.namespace(namespace).map_or(&[][..], |namespace| &namespace.checkpoints);
        let start = all.partition_point(|mark| after.is_some_and(|after| mark.sequence <= after));
        all[start..].iter().map(|mark| mark.place)
    }

    /// Returns the checkpoints of a namespace before a sequence number, or all of them, from the newest to the oldest.
    pub(super) fn checkpoints_before(
        &self,
        namespace: &str,
        before: Option<u64>,
    ) -> impl Iterator<Item = RecordPosition> {
        let all = self.namespace(namespace).map_or(&[][..], |namespace| &namespace.checkpoints);
        let end = all.partition_point(|mark| before.is_none_or(|before| mark.sequence < before));
        all[..end].iter().rev().map(|mark| mark.place)
    }

    /// Reports whether the namespace has a checkpoint with this sequence number or a higher one.
    pub(super) fn reaches(&self, namespace: &str, sequence: u64) -> bool {
        let newest = self.namespace(namespace).and_then(|namespace| namespace.checkpoints.last());
        newest.is_some_and(|newest| newest.sequence >= sequence)
    }

    /// Returns the number of checkpoints of a namespace before a sequence number.
    pub(super) fn count_before(&self, namespace: &str, sequence: u64) -> usize {
        let all = self.namespace(namespace).map_or(&[][..], |namespace| &namespace.checkpoints);
        all.partition_point(|mark| mark.sequence < sequence)
    }

    /// Returns the records under the newest checkpoint that come after this kind and task.
    pub(super) fn pending(
        &self,
        namespace: &str,
        after: Option<(RecordKind, &str)>,
    ) -> impl Iterator<Item = RecordPosition> {
        let start = after.map_or(Bound::Unbounded, |(kind, task)| Bound::Excluded((kind, task.to_owned())));
        let found = self.namespace(namespace).map(|found| found.pending.range((start, Bound::Unbounded)));
        found.into_iter().flatten().map(|(_, place)| *place)
    }

    /// Returns the records under the newest checkpoint, except for the status, which is part of the history.
    pub(super) fn waiting(&self, namespace: &str) -> impl Iterator<Item = RecordPosition> {
        let found = self.namespace(namespace).map(|found| found.pending.iter());
        let found = found.into_iter().flatten().filter(|((kind, _), _)| *kind != RecordKind::Status);
        found.map(|(_, place)| *place)
    }

    /// Returns the records of the history from the one on that holds the entry after number `after`, each with the
    /// number of entries before its own.
    pub(super) fn history(&self, after: u64) -> impl Iterator<Item = (u64, RecordPosition)> {
        // The entries of a record end where those of the next one begin.
        let begun = self.history.partition_point(|told| told.before <= after);
        let rest = self.history[begun.saturating_sub(1)..].iter().filter_map(|told| {
            let place = if told.namespace == STATUS {
                *self.statuses.get(told.ordinal as usize)?
            } else {
                self.namespaces.get(told.namespace as usize)?.checkpoints.get(told.ordinal as usize)?.place
            };
            Some((told.before, place))
        });
        rest.filter(move |(before, place)| before.saturating_add(u64::from(place.events)) > after)
    }

    /// Returns the checkpoints that may hold a channel's values from version `base` to `version`. A value is in the
    /// first checkpoint whose sequence number is not below the value's version.
    pub(super) fn values(
        &self,
        namespace: &str,
        channel: &str,
        base: u64,
        version: u64,
    ) -> impl Iterator<Item = RecordPosition> {
        let namespace = self.namespace(namespace);
        let all = namespace.map_or(&[][..], |namespace| &namespace.checkpoints);
        let first = all.partition_point(|mark| mark.sequence < base);
        let last = all.partition_point(|mark| mark.sequence < version);
        let places =
            namespace.and_then(|namespace| namespace.channels.get(channel)).map_or(&[][..], Vec::as_slice);
        let start = places.partition_point(|ordinal| (*ordinal as usize) < first);
        let end = places.partition_point(|ordinal| *ordinal as usize <= last);
        places
            .get(start..end)
            .unwrap_or_default()
            .iter()
            .filter_map(|ordinal| Some(all.get(*ordinal as usize)?.place))
    }
}
