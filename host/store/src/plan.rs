//! Decides which records of a batch are written, with the same refusals and omissions for every store.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use graph_core::limits::ModelUse;
use graph_core::record::{RecordKind, SignedRecord};

use crate::bounds::{self, LARGEST_NAME, LARGEST_READ, LARGEST_SNAPSHOT, LARGEST_TEXT, Page};
use crate::error::{CommitError, CreateRunError, ImportError, Loss, RemoveError, SnapshotError};
use crate::names;
use crate::run::{Change, NewRun, RunRow, RunUpdate};
use crate::store::{Fence, NumberedRecord, RunGuard};

/// The largest number that every store can keep: SQLite's integers are signed.
pub(crate) const LARGEST: u64 = i64::MAX as u64;

/// The records that are written in one namespace.
#[derive(Debug)]
pub(crate) struct NamespacePlan<'a> {
    pub(crate) namespace: &'a str,
    /// The sequence number of the newest checkpoint after the records that were planned so far.
    head: Option<u64>,
    /// The checkpoints, in order of their sequence numbers, each with the number of entries of the batch before its
    /// own.
    pub(crate) checkpoints: Vec<(u64, &'a SignedRecord)>,
    /// The status records, which remain in the run's history, in order, each with the number of entries of the batch
    /// before its own.
    pub(crate) history: Vec<(u64, &'a SignedRecord)>,
    /// The pending records, which replace those of the same kind and task.
    pub(crate) pending: BTreeMap<(RecordKind, &'a str), &'a SignedRecord>,
}

impl NamespacePlan<'_> {
    /// Returns the sequence number of the newest checkpoint once the batch is written.
    pub(crate) fn head(&self) -> Option<u64> {
        self.head
    }

    /// Reports whether the stored pending records become void.
    pub(crate) fn voids(&self) -> bool {
        !self.checkpoints.is_empty()
    }
}

/// Checks a batch and decides which of its records are written. `head` returns the sequence number of the newest stored
/// checkpoint of a namespace.
pub(crate) fn plan<'a>(
    run: &str,
    batch: &'a [SignedRecord],
    head: impl FnMut(&str) -> Result<Option<u64>, CommitError>,
) -> Result<Vec<NamespacePlan<'a>>, CommitError> {
    let mut entries = 0_u64;
    let numbered = batch.iter().map(|record| {
        let before = entries;
        entries = entries.saturating_add(record.events);
        (before, record)
    });
    work_out(run, numbered, head, false)
}

/// Maximum number of imported records that are written at one time.
const IMPORTED: usize = 1_024;

/// Plans a batch of imported records, which state the numbers of entries before their own. The checkpoint of a status
/// record may have been removed: the record is then only in the history.
pub(crate) fn plan_import<'a>(
    run: &str,
    records: &'a [NumberedRecord],
    head: impl FnMut(&str) -> Result<Option<u64>, CommitError>,
) -> Result<Vec<NamespacePlan<'a>>, CommitError> {
    let numbered = records.iter().map(|numbered| (numbered.before, &numbered.record));
    work_out(run, numbered, head, true)
}

/// Returns the next imported records, up to a full page; none at the end.
pub(crate) fn next_of_import(
    records: &mut dyn Iterator<Item = Result<NumberedRecord, ImportError>>,
) -> Result<Vec<NumberedRecord>, ImportError> {
    let (mut found, mut page) = (Vec::new(), Page::new(IMPORTED));
    while page.has_room()
        && let Some(numbered) = records.next().transpose()?
    {
        page.add(&numbered.record);
        found.push(numbered);
    }
    Ok(found)
}

fn work_out<'a>(
    run: &str,
    batch: impl Iterator<Item = (u64, &'a SignedRecord)>,
    mut head: impl FnMut(&str) -> Result<Option<u64>, CommitError>,
    whole: bool,
) -> Result<Vec<NamespacePlan<'a>>, CommitError> {
    let mut plans: Vec<NamespacePlan<'a>> = Vec::new();
    let mut places: HashMap<&'a str, usize> = HashMap::new();
    for (before, record) in batch {
        fit(run, record)?;
        if before.saturating_add(record.events) > LARGEST {
            return Err(CommitError::OutOfRange {
                run: run.to_owned(),
                what: "number of an entry",
                number: before,
            });
        }
        let namespace = record.namespace.as_str();
        let known = places.get(namespace).copied();
        let index = known.unwrap_or(plans.len());
        if known.is_none() {
            let head = head(namespace)?;
            places.insert(namespace, index);
            plans.push(NamespacePlan {
                namespace,
                head,
                checkpoints: Vec::new(),
                history: Vec::new(),
                pending: BTreeMap::new(),
            });
        }
        let plan = &mut plans[index];
        let sequence = record.sequence;
        if record.kind == RecordKind::Checkpoint {
            if let Some(newest) = plan.head.filter(|newest| *newest >= sequence) {
                let (run, namespace) = (run.to_owned(), record.namespace.clone());
                return Err(CommitError::Superseded { run, namespace, sequence, newest });
            }
            plan.head = Some(sequence);
            plan.pending.clear();
            plan.checkpoints.push((before, record));
        } else if whole
            && record.kind == RecordKind::Status
            && plan.head.is_none_or(|newest| newest > sequence)
        {
            plan.history.push((before, record));
        } else {
            if plan.head != Some(sequence) {
                return Err(CommitError::NotUnderNewest {
                    run: run.to_owned(),
                    namespace: record.namespace.clone(),
                    kind: record.kind.as_str(),
                    sequence,
                    newest: plan.head,
                });
            }
            if record.kind == RecordKind::Status {
                plan.history.push((before, record));
            }
            plan.pending.insert((record.kind, &record.task), record);
        }
    }
    Ok(plans)
}

/// Checks that the fence of a guard is that of the run, `found`. It is `None` if no process has acquired the run since
/// the run was created.
pub(crate) fn check_fence(guard: &RunGuard, found: Option<Fence>) -> Result<(), Loss> {
    let named = guard.fence();
    match found {
        None => Err(Loss::Removed),
        Some(found) if found.epoch != named.epoch => Err(Loss::TakenUp),
        Some(found) if found.head != named.head => Err(Loss::Moved),
        Some(_) => Ok(()),
    }
}

/// Returns the refusal of a commit under a guard that has lost its run.
pub(crate) fn lost(guard: &RunGuard, loss: Loss) -> CommitError {
    CommitError::Lost { run: guard.run().to_owned(), loss }
}

/// Returns the refusal of a removal under a guard that has lost its run.
pub(crate) fn not_to_remove(guard: &RunGuard, loss: Loss) -> RemoveError {
    RemoveError::Lost { run: guard.run().to_owned(), loss }
}

/// Reports whether a record is a checkpoint of the run itself, and not of a child run.
pub(crate) fn is_own_checkpoint(kind: RecordKind, namespace: &str) -> bool {
    kind == RecordKind::Checkpoint && namespace.is_empty()
}

/// Returns the number of entries that a batch adds to the run's history.
pub(crate) fn entries(batch: &[SignedRecord]) -> u64 {
    batch.iter().map(|record| record.events).fold(0, u64::saturating_add)
}

/// Returns the number of the last entry of an imported run.
pub(crate) fn last_entry(records: &[NumberedRecord]) -> u64 {
    let ends = records.iter().map(|numbered| match numbered.record.events {
        0 => 0,
        events => numbered.before.saturating_add(events),
    });
    ends.max().unwrap_or(0)
}

/// Checks that the run can keep a record.
fn fit(run: &str, record: &SignedRecord) -> Result<(), CommitError> {
    let unfit =
        |reason: String| Err(CommitError::Unfit { run: run.to_owned(), kind: record.kind.as_str(), reason });
    if record.run != run {
        return unfit(format!("it is of run {}", record.run));
    }
    let numbers =
        [("sequence", record.sequence), ("step", record.step), ("number of entries", record.events)];
    for (what, number) in numbers {
        if number > LARGEST {
            return Err(CommitError::OutOfRange { run: run.to_owned(), what, number });
        }
    }
    check_size(run, record)?;
    if let Err(bad) = names::record(record) {
        return unfit(bad.to_string());
    }
    if record.kind == RecordKind::Checkpoint {
        if !record.task.is_empty() {
            return unfit(format!("checkpoint {} names a task, `{}`", record.sequence, record.task));
        }
    } else if !record.values.is_empty() {
        return unfit("only a checkpoint brings channel values".to_owned());
    } else if record.events > 0 && record.kind != RecordKind::Status {
        return unfit("only checkpoints and status records have entries in the run's history".to_owned());
    }
    // Under `durability: exit` a checkpoint also contains the values that earlier boundaries have changed.
    if let Some(value) = record.values.iter().find(|value| value.version > record.sequence) {
        return unfit(format!(
            "the value of channel `{}` has version {}, but the checkpoint has number {}",
            value.channel, value.version, record.sequence
        ));
    }
    let versions = record.values.iter().map(|value| (value.channel.as_str(), value.version));
    match first_that_falls(versions) {
        Some(channel) => unfit(format!("checkpoint {} brings channel `{channel}` twice", record.sequence)),
        None => Ok(()),
    }
}

/// Returns the first of these channels whose version is not above the version before it in the same channel. Each value
/// is compared with only the previous one of its channel, because the versions before that are known to be lower.
fn first_that_falls<C: Ord + Copy>(versions: impl Iterator<Item = (C, u64)>) -> Option<C> {
    let mut newest = BTreeMap::new();
    for (channel, version) in versions {
        if newest.insert(channel, version).is_some_and(|before| before >= version) {
            return Some(channel);
        }
    }
    None
}

/// Checks that a record is within the size limits of readers.
fn check_size(run: &str, record: &SignedRecord) -> Result<(), CommitError> {
    let fits = |what: &'static str, bytes: u64, most: u64| {
        if bytes <= most {
            Ok(())
        } else {
            Err(CommitError::TooLarge { run: run.to_owned(), what, bytes, most })
        }
    };
    let what = match record.kind {
        RecordKind::Checkpoint => "checkpoint record",
        RecordKind::Task => "task record",
        RecordKind::Answers => "answers record",
        RecordKind::Hook => "hook record",
        RecordKind::Status => "status record",
    };
    fits(what, bounds::length(&record.body), LARGEST_TEXT)?;
    fits("namespace", bounds::length(&record.namespace), LARGEST_NAME)?;
    fits("task id", bounds::length(&record.task), LARGEST_NAME)?;
    for value in &record.values {
        fits("channel name", bounds::length(&value.channel), LARGEST_NAME)?;
        fits("channel value", bounds::length(&value.json), LARGEST_TEXT)?;
    }
    for entry in &record.results {
        fits("result for later tasks", bounds::length(&entry.body), LARGEST_TEXT)?;
    }
    fits("checkpoint with its channel values", bounds::weight(record), LARGEST_READ)
}

/// Returns the total length of a run's result and error.
fn texts_of_row(result: Option<&Arc<str>>, error: Option<&Arc<str>>) -> u64 {
    [result, error].into_iter().flatten().map(|text| bounds::length(text)).fold(0, u64::saturating_add)
}

/// Checks that a text is within the size limit of readers.
pub(crate) fn check_snapshot(text: &str) -> Result<(), SnapshotError> {
    match bounds::length(text) {
        bytes if bytes > LARGEST_SNAPSHOT => Err(SnapshotError::TooLarge { bytes }),
        _ => Ok(()),
    }
}

/// Checks that the numbers and texts of an update can be stored.
pub(crate) fn check_update(run: &str, update: &RunUpdate) -> Result<(), CommitError> {
    let bytes = texts_of_row(update.result.parts().1, update.error.parts().1);
    if bytes > LARGEST_TEXT {
        let (what, most) = ("result", LARGEST_TEXT);
        return Err(CommitError::TooLarge { run: run.to_owned(), what, bytes, most });
    }
    if let (_, Some(id)) = update.continuation_id.parts() {
        names::run_id("continuation_id", id)?;
    }
    update.model.iter().try_for_each(|model| names::name("model", model))?;
    let max_steps = match update.max_steps {
        Change::Set(number) => number,
        Change::Keep | Change::Clear => 0,
    };
    let numbers = [
        ("time", update.at.0),
        ("step", update.step.unwrap_or(0)),
        ("fuel", update.fuel.unwrap_or(0)),
        ("max_steps", max_steps),
    ];
    let mut numbers = numbers.into_iter().chain(figures(update.model_use.unwrap_or_default()));
    match numbers.find(|(_, number)| *number > LARGEST) {
        Some((what, number)) => Err(CommitError::OutOfRange { run: run.to_owned(), what, number }),
        None => Ok(()),
    }
}

/// Returns the numbers of a language model usage, each with the name of its column.
fn figures(used: ModelUse) -> [(&'static str, u64); 4] {
    [
        ("turns", used.calls),
        ("input_tokens", used.input),
        ("output_tokens", used.output),
        ("spend", used.cost),
    ]
}

/// Checks that a new run can be stored: the numbers of its row, and its texts.
pub(crate) fn check_run(run: &NewRun) -> Result<(), CreateRunError> {
    let row = &run.row;
    names::row(row)?;
    let bytes = texts_of_row(row.result.as_ref(), row.error.as_ref());
    if bytes > LARGEST_TEXT {
        return Err(CreateRunError::TooLarge { run: row.run_id.clone(), bytes });
    }
    run.snapshots.iter().try_for_each(|snapshot| check_snapshot(&snapshot.text))?;
    check_row(row)
}

/// Checks that the numbers of a new row can be stored.
fn check_row(row: &RunRow) -> Result<(), CreateRunError> {
    let numbers = [
        ("time of creation", row.created_at.0),
        ("time of change", row.updated_at.0),
        ("step", row.step),
        ("fuel", row.fuel),
        ("max_steps", row.max_steps.unwrap_or(0)),
    ];
    match numbers.into_iter().chain(figures(row.model_use)).find(|(_, number)| *number > LARGEST) {
        Some((what, number)) => Err(CreateRunError::OutOfRange { run: row.run_id.clone(), what, number }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::cmp::Ordering;

    use super::*;

    /// A channel that counts its comparisons.
    #[derive(Clone, Copy)]
    struct Counted<'c>(u64, &'c Cell<u64>);

    impl Ord for Counted<'_> {
        fn cmp(&self, other: &Self) -> Ordering {
            self.1.set(self.1.get() + 1);
            self.0.cmp(&other.0)
        }
    }

    impl PartialOrd for Counted<'_> {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    impl PartialEq for Counted<'_> {
        fn eq(&self, other: &Self) -> bool {
            self.cmp(other) == Ordering::Equal
        }
    }

    impl Eq for Counted<'_> {}

    /// Returns the number of comparisons for this number of versions of each of eight channels.
    fn comparisons(versions: u64) -> u64 {
        let count = Cell::new(0);
        let values = (1..=versions)
            .flat_map(|version| (0..8).map(move |channel| (channel, version)))
            .map(|(channel, version)| (Counted(channel, &count), version));
        assert!(first_that_falls(values).is_none());
        count.get()
    }

    #[test]
    fn values_that_wait_for_one_checkpoint_cost_the_same_each() {
        let (few, many) = (comparisons(1_000), comparisons(10_000));
        assert!(many <= few * 11, "{few} comparisons for 1,000 versions, {many} for 10,000");
        assert!(few <= 8 * 1_000 * 8, "{few}");
    }

    #[test]
    fn a_version_that_does_not_rise_is_found_wherever_it_is() {
        let falls = |versions: &[(&'static str, u64)]| first_that_falls(versions.iter().copied());
        assert_eq!(falls(&[("a", 1), ("b", 1), ("a", 2), ("b", 3), ("a", 4)]), None);
        assert_eq!(falls(&[("a", 1), ("b", 1), ("a", 1)]), Some("a"));
        assert_eq!(falls(&[("a", 1), ("b", 5), ("a", 2), ("b", 4)]), Some("b"));
    }
}
