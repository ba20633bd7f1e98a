//! Removes runs, checkpoints, texts and cached results that the user no longer needs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use graph_core::digest::Digest;
use graph_core::record::{
    ChannelStamp, Checkpoint, CheckpointSelector, CumulativeState, Pruning, RecordKind, Source, Status,
};
use graph_core::time::Timestamp;
use graph_core::trust::SigningKey;
use graph_store::{
    Cut, Holder, LARGEST_SNAPSHOT, NumberedRecord, ReclaimedData, RunFilter, RunGuard, RunList, RunRow,
    Upkeep, WantedChannel,
};
use serde::Serialize;

use crate::clock::now;
use crate::error::{Error, Result};
use crate::project::Project;
use crate::project::run_folder::RunFolder;
use crate::project::user_home::Home;
use crate::run::checkpoints::Line;
use crate::run::restore;
use crate::run::state_item;
use crate::run::stop_notes;

/// Number of runs that are held and removed together. Each is held by an open file, of which a process may have about a thousand.
const TOGETHER: usize = 128;

/// Selection of data to remove. Runs that a process holds are always kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct Policy {
    /// Remove runs that have not changed for this long.
    pub older_than: Option<Duration>,
    /// Number of the newest runs of each graph to keep. With `older_than`, both conditions have to hold.
    pub keep: Option<usize>,
    /// Number of the newest checkpoints to keep of the remaining runs.
    pub checkpoints: Option<usize>,
    /// Remove also runs that could be resumed, not only those that have ended.
    pub all_statuses: bool,
    /// Remove cached results of tasks.
    pub cache: Option<Cached>,
    /// Remove nothing, only report.
    pub dry_run: bool,
}

/// Selection of cached results to remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cached {
    /// Results that are older than the `ttl` of the node that computed them.
    Expired,
    /// All results.
    All,
}

/// A run that was removed.
#[derive(Clone, Debug, Serialize)]
pub struct Removed {
    /// Id of the run.
    pub run_id: String,
    /// Id of its graph.
    pub graph: String,
    /// Its last status.
    pub status: Status,
    /// Time of its last change.
    pub updated_at: String,
}

impl From<&RunRow> for Removed {
    fn from(row: &RunRow) -> Self {
        Self {
            run_id: row.run_id.clone(),
            graph: row.graph_id.clone(),
            status: row.status,
            updated_at: row.updated_at.to_string(),
        }
    }
}

/// A run whose first checkpoints were removed.
#[derive(Clone, Debug, Serialize)]
pub struct Pruned {
    /// Id of the run, which remains.
    pub run_id: String,
    /// Number of removed checkpoints, of all namespaces.
    pub checkpoints: u64,
}

/// Removed data; in a dry run, data that would be removed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// `true` in a dry run: nothing was removed.
    pub dry_run: bool,
    /// Removed runs.
    pub removed: Vec<Removed>,
    /// Shortened runs.
    pub pruned: Vec<Pruned>,
    /// Number of removed texts, which no run needed any more.
    pub texts: u64,
    /// Number of removed cached results of tasks.
    pub results: u64,
    /// Size of the removed records, values, texts and results, in bytes.
    pub bytes: u64,
    /// Data that was kept although the policy selects it, a sentence each with the reason.
    pub left: Vec<String>,
    /// Unreadable entries in place of runs; they are left unchanged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
}

impl Report {
    /// Adds the report about another store.
    pub fn add(&mut self, other: Self) {
        self.removed.extend(other.removed);
        self.pruned.extend(other.pruned);
        self.texts = self.texts.saturating_add(other.texts);
        self.results = self.results.saturating_add(other.results);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.left.extend(other.left);
        self.refused.extend(other.refused);
    }
}

/// Removes the data that the policy selects from one of the stores of a project.
pub fn collect(store: &dyn Upkeep, project: &Project, policy: Policy, home: &Home) -> Result<Report> {
    let mut report = Report { dry_run: policy.dry_run, ..Report::default() };
    let RunList { rows, refused } = store.list(&RunFilter::default())?;
    report.refused = refused.iter().map(ToString::to_string).collect();
    let doomed = doomed(&rows, policy, now());
    for row in rows.iter().filter(|row| !doomed.contains(row.run_id.as_str())) {
        if let (Some(most), true) = (policy.checkpoints, row.status.is_end()) {
            match home.signing_identity(row.key)? {
                Some(identity) => {
                    shorten(store, row, most.max(1), policy.dry_run, &identity, &mut report)?;
                }
                None => report.left.push(format!(
                    "run {} was signed by another host, which alone can shorten it",
                    row.run_id
                )),
            }
        }
    }
    let doomed: Vec<&RunRow> = rows.iter().filter(|row| doomed.contains(row.run_id.as_str())).collect();
    for rows in doomed.chunks(TOGETHER) {
        if policy.dry_run {
            would_remove(store, rows, &mut report)?;
        } else {
            remove(store, project, home, rows, &mut report)?;
        }
    }
    let gone = report.removed.iter().map(|removed| removed.run_id.clone()).collect();
    if let Some(which) = policy.cache {
        let expired = (which == Cached::Expired).then(now);
        let freed =
            if policy.dry_run { store.results_size(expired)? } else { store.remove_results(expired)? };
        report.results = freed.records;
        if !policy.dry_run {
            report.bytes = report.bytes.saturating_add(freed.bytes);
        }
    }
    if refused.is_empty() {
        sweep(store, &gone, policy.dry_run, &mut report)?;
    } else {
        // The texts that the unreadable runs need are not known.
        report.left.push("texts that no run needs stay: there are runs that cannot be read".to_owned());
    }
    Ok(report)
}

/// Returns the ids of the runs that the policy selects. `rows` are sorted, newest first.
fn doomed(rows: &[RunRow], policy: Policy, now: Timestamp) -> BTreeSet<&str> {
    if policy.older_than.is_none() && policy.keep.is_none() {
        return BTreeSet::new();
    }
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut doomed = BTreeSet::new();
    for row in rows {
        if !(row.status.is_end() || policy.all_statuses) {
            continue;
        }
        let count = seen.entry(&row.graph_id).or_default();
        *count += 1;
        let beyond = policy.keep.is_none_or(|keep| *count > keep);
        let old = policy.older_than.is_none_or(|span| now.since(row.updated_at) > span);
        if beyond && old {
            doomed.insert(row.run_id.as_str());
        }
    }
    doomed
}

/// Reports the runs that would be removed.
fn would_remove(store: &dyn Upkeep, rows: &[&RunRow], report: &mut Report) -> Result<()> {
    for row in rows {
        if store.holder(&row.run_id)? == Holder::Nobody {
            report.removed.push(Removed::from(*row));
        } else {
            report.left.push(format!("run {} is held by a process", row.run_id));
        }
    }
    Ok(())
}

/// Removes runs. All of them are held until the last one has been removed.
fn remove(
    store: &dyn Upkeep,
    project: &Project,
    home: &Home,
    rows: &[&RunRow],
    report: &mut Report,
) -> Result<()> {
    let names: Vec<&str> = rows.iter().map(|row| row.run_id.as_str()).collect();
    let (mut going, mut guards, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for (row, taken) in rows.iter().zip(store.acquire_all(&names, &restore::this_process())) {
        let run = &row.run_id;
        let guard = match taken {
            Ok(guard) => guard,
            Err(graph_store::AcquireError::Held { .. }) => {
                report.left.push(format!("run {run} is held by a process"));
                continue;
            }
            Err(graph_store::AcquireError::NotFound { .. }) => continue,
            Err(error) => return Err(error.into()),
        };
        // Another process may have resumed it since it was listed.
        if store.listed_run(run)?.as_ref() != Some(*row) {
            report.left.push(format!("run {run} has changed meanwhile"));
            continue;
        }
        notes.push(stop_notes::file(home, store, run)?);
        guards.push(guard);
        going.push(*row);
    }
    // The run's folder is removed before the run: if this process ends in between, the run can still be removed.
    for row in &going {
        RunFolder::new(project, &row.run_id).remove();
        state_item::remove(project, row);
    }
    let freed = store.remove_runs(&guards)?;
    report.bytes = freed.iter().map(|freed| freed.bytes).fold(report.bytes, u64::saturating_add);
    notes.into_iter().for_each(stop_notes::forget);
    report.removed.extend(going.into_iter().map(Removed::from));
    Ok(())
}

/// Removes all but the newest checkpoints of a run that has ended, in each of its namespaces.
pub fn shorten(
    store: &dyn Upkeep,
    row: &RunRow,
    most: usize,
    dry_run: bool,
    identity: &SigningKey,
    report: &mut Report,
) -> Result<()> {
    let run = &row.run_id;
    if row.key != identity.id() {
        report.left.push(format!("run {run} was signed by another host, which alone can shorten it"));
        return Ok(());
    }
    let mut plans = Vec::new();
    for namespace in store.namespaces(run)? {
        plans.extend(plan(store, run, namespace, most, identity)?);
    }
    if plans.is_empty() {
        return Ok(());
    }
    let checkpoints = plans.iter().map(|plan| plan.removed).fold(0, u64::saturating_add);
    if !dry_run {
        let guard = match store.acquire(run, &restore::this_process()) {
            Ok(taken) => taken,
            Err(graph_store::AcquireError::Held { .. }) => {
                report.left.push(format!("run {run} is held by a process"));
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let mut entries = entries_before(store, run, &plans)?;
        for plan in &plans {
            let entries = entries.remove(plan.namespace.as_str()).unwrap_or_default();
            let ReclaimedData { bytes, .. } = cut(store, &guard, plan, entries, identity)?;
            report.bytes = report.bytes.saturating_add(bytes);
        }
    }
    report.pruned.push(Pruned { run_id: run.clone(), checkpoints });
    Ok(())
}

/// Removes the checkpoints of a namespace before the first that is kept, and stores a signed note about them. `entries`
/// are the entries of the run's history that are removed with them.
fn cut(
    store: &dyn Upkeep,
    guard: &RunGuard,
    plan: &Plan,
    entries: Vec<(u64, u64)>,
    identity: &SigningKey,
) -> Result<ReclaimedData> {
    let (run, namespace, key) = (guard.run(), plan.namespace.as_str(), identity.verifying_key());
    let line = Line::new(store, run, namespace, Some(&key), plan.before.as_ref());
    let record = line.find(&CheckpointSelector::Sequence(plan.first_sequence))?;
    let start = line.open(&record)?;
    let (mut warnings, _) = line.warnings(&start)?;
    let mut visited = Vec::new();
    line.way_to(&record)?.each_visited(&line, &mut |node| {
        visited.push(node.to_owned());
        Ok(())
    })?;
    let Checkpoint { visited: own, warnings: raised, .. } = &start.checkpoint;
    visited.truncate(visited.len().saturating_sub(own.len()));
    warnings.truncate(warnings.len().saturating_sub(raised.len()));
    let pruning = Pruning {
        at: now(),
        entries,
        first: start.digest,
        first_sequence: plan.first_sequence,
        namespace: namespace.to_owned(),
        newest: plan.newest,
        newest_sequence: plan.newest_sequence,
        removed: plan.removed.saturating_add(plan.before.as_ref().map_or(0, |before| before.removed)),
        run: run.to_owned(),
        standing: (!start.checkpoint.is_whole()).then(|| CumulativeState::from_checkpoint(&start.checkpoint)),
        visited,
        warnings,
    };
    let note = pruning.sign(identity).and_then(|signed| serde_json::to_string(&signed)).map_err(|error| {
        Error::storage(format!("the removal cannot be written down: {error}")).caused_by(error)
    })?;
    if note.len() as u64 > LARGEST_SNAPSHOT {
        return Err(Error::limit(format!(
            "the note about the checkpoints of run {run} that would be removed takes {} MiB, and {} are the most",
            note.len() >> 20,
            LARGEST_SNAPSHOT >> 20
        ))
        .help("it names each node that these have visited: remove fewer, or the whole run"));
    }
    let channels: Vec<_> = start
        .checkpoint
        .channels
        .iter()
        .map(|(channel, stamp)| WantedChannel { channel, base: stamp.base, version: stamp.version })
        .collect();
    let cut = Cut { first: pruning.first_sequence, channels: &channels, note: &note };
    Ok(store.prune(guard, namespace, &cut)?)
}

/// Cut of the history of a namespace.
struct Plan {
    namespace: String,
    /// The note about an earlier cut of this namespace, if there was one.
    before: Option<Pruning>,
    /// Number of the first checkpoint that is kept.
    first_sequence: u64,
    /// Digest and number of the newest checkpoint.
    newest: Digest,
    newest_sequence: u64,
    removed: u64,
}

fn plan(
    store: &dyn Upkeep,
    run: &str,
    namespace: String,
    most: usize,
    identity: &SigningKey,
) -> Result<Option<Plan>> {
    let (mut verifier, before) = restore::verifier(store, run, &namespace, identity.verifying_key())?;
    let mut line: Vec<Boundary> = Vec::new();
    let mut newest = None;
    let mut channels = Channels::default();
    let standing = before.as_ref().and_then(|before| before.standing.as_ref());
    let stood = standing.map(|standing| channels.changed(&standing.channels)).unwrap_or_default();
    restore::each_with_values(store, run, &namespace, |record| {
        // A damaged history is evidence: it is left unchanged, and the command fails.
        let checkpoint =
            verifier.checkpoint(record).map_err(|error| restore::broken(run, record.sequence, &error))?;
        newest = Some((record.digest, record.sequence));
        line.push(Boundary {
            sequence: record.sequence,
            restored: match &checkpoint.source {
                Source::Update { restored, .. } => restored.map(|place| place.sequence),
                _ => None,
            },
            changed: channels.changed(&checkpoint.channels),
        });
        Ok(())
    })?;
    let mut first = line.len().saturating_sub(most);
    while first > 0 && !stands_alone(&line, first, &stood) {
        first -= 1;
    }
    let (Some(start), Some((newest, newest_sequence))) = (line.get(first), newest) else { return Ok(None) };
    if first == 0 {
        return Ok(None);
    }
    let removed = u64::try_from(first).unwrap_or(u64::MAX);
    Ok(Some(Plan { namespace, before, first_sequence: start.sequence, newest, newest_sequence, removed }))
}

/// The parts of a checkpoint that decide whether a history can begin with it.
struct Boundary {
    sequence: u64,
    /// Number of the earlier checkpoint that it goes back to, if it does.
    restored: Option<u64>,
    /// Positions of the values of the channels that it changed; for a whole checkpoint, of all channels.
    changed: Vec<(u32, Span)>,
}

/// The first and last position of a channel's value.
type Span = (u64, u64);

/// Assigns numbers to channel names.
#[derive(Default)]
struct Channels(BTreeMap<String, u32>);

impl Channels {
    fn changed(&mut self, channels: &BTreeMap<String, ChannelStamp>) -> Vec<(u32, Span)> {
        let numbered = channels.iter().map(|(channel, stamp)| {
            let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
            let number = match self.0.get(channel) {
                Some(number) => *number,
                None => *self.0.entry(channel.clone()).or_insert(next),
            };
            (number, (stamp.base, stamp.version))
        });
        numbered.collect()
    }
}

/// Returns, by namespace, the entries of a run's history in the checkpoints to be removed, and those removed before.
/// The history is read once for all namespaces.
fn entries_before<'p>(
    store: &dyn Upkeep,
    run: &str,
    plans: &'p [Plan],
) -> Result<BTreeMap<&'p str, Vec<(u64, u64)>>> {
    let mut firsts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut found: BTreeMap<&str, Vec<(u64, u64)>> = BTreeMap::new();
    for Plan { namespace, before, first_sequence, .. } in plans {
        match before {
            // The note of an earlier removal lacks the removed entries.
            Some(before) if before.entries.is_empty() => {}
            before => {
                firsts.insert(namespace, *first_sequence);
                let gone = before.as_ref().map(|before| before.entries.clone());
                found.insert(namespace, gone.unwrap_or_default());
            }
        }
    }
    restore::each_of_history(store, run, 0, |NumberedRecord { before, record }| {
        let is_checkpoint = record.kind == RecordKind::Checkpoint;
        let namespace = record.namespace.as_str();
        let goes = is_checkpoint && firsts.get(namespace).is_some_and(|first| record.sequence < *first);
        let Some(entries) = found.get_mut(namespace).filter(|_| goes) else { return Ok(()) };
        match entries.last_mut() {
            Some((start, count)) if start.saturating_add(*count) == before => {
                *count = count.saturating_add(record.events);
            }
            _ => entries.push((before, record.events)),
        }
        Ok(())
    })?;
    for entries in found.values_mut() {
        entries.sort_unstable();
        entries.dedup_by(|next, last| {
            let follows = last.0.saturating_add(last.1) == next.0;
            if follows {
                last.1 = last.1.saturating_add(next.1);
            }
            follows
        });
    }
    Ok(found)
}

/// Checks that the checkpoints from `first` on need only values that are part of the state at `first`. `before` are the
/// channels at the beginning of the history.
fn stands_alone(line: &[Boundary], first: usize, before: &[(u32, Span)]) -> bool {
    let up_to_start = line[..=first].iter().flat_map(|boundary| &boundary.changed);
    let at_start: BTreeMap<u32, Span> = before.iter().chain(up_to_start).copied().collect();
    let start = line[first].sequence;
    line[first + 1..].iter().all(|later| {
        let goes_back = later.restored.is_some_and(|restored| restored < start);
        !goes_back
            && later.changed.iter().all(|(channel, (base, version))| {
                let at_start = at_start.get(channel);
                let same_base = || at_start.is_some_and(|(known, _)| known == base);
                let same = || at_start == Some(&(*base, *version));
                (*base > start || same_base()) && (*version > start || same())
            })
    })
}

/// Removes the texts that no run names. `gone` are the runs that a dry run counts as removed.
fn sweep(store: &dyn Upkeep, gone: &BTreeSet<String>, dry_run: bool, report: &mut Report) -> Result<()> {
    let mark = store.mark()?;
    let mut needed: BTreeSet<Digest> = BTreeSet::new();
    for row in store.runs(&RunFilter::default())? {
        if dry_run && gone.contains(&row.run_id) {
            continue;
        }
        // A process that runs or resumes this run may be about to name a text that no record names yet.
        if store.holder(&row.run_id)? != Holder::Nobody {
            report.left.push(format!("texts that no run needs stay while run {} is under way", row.run_id));
            return Ok(());
        }
        needed.extend(restore::texts(store, &row)?);
    }
    let mut orphans = store.snapshots()?;
    orphans.retain(|digest| !needed.contains(digest));
    if dry_run {
        report.texts = u64::try_from(orphans.len()).unwrap_or(u64::MAX);
        return Ok(());
    }
    if orphans.is_empty() {
        return Ok(());
    }
    match store.remove_snapshots(&orphans, mark)? {
        Some(freed) => {
            report.texts = freed.records;
            report.bytes = report.bytes.saturating_add(freed.bytes);
        }
        None => report
            .left
            .push("texts that no run needs stay: another process has changed the store meanwhile".to_owned()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn keep_counts_by_graph_and_both_conditions_have_to_hold() {
        let new = graph_store::conformance::sample::run;
        let row = |id: &str, graph: &str, status, at| {
            let mut row = new(id).row;
            (row.graph_id, row.status, row.updated_at) = (graph.to_owned(), status, Timestamp(at));
            row
        };
        let rows = [
            row("a3", "a", Status::Completed, 900),
            row("b1", "b", Status::Completed, 100),
            row("a2", "a", Status::Failed, 100),
            row("a1", "a", Status::CompletedWithErrors, 100),
        ];
        let doomed = |policy| doomed(&rows, policy, Timestamp(1000)).into_iter().collect::<Vec<_>>();
        let old = Some(Duration::from_millis(500));
        assert_eq!(doomed(Policy::default()), [""; 0]);
        assert_eq!(doomed(Policy { older_than: old, ..Policy::default() }), ["a1", "b1"]);
        assert_eq!(doomed(Policy { keep: Some(1), ..Policy::default() }), ["a1"]);
        assert_eq!(doomed(Policy { keep: Some(1), all_statuses: true, ..Policy::default() }), ["a1", "a2"]);
        assert_eq!(doomed(Policy { keep: Some(0), older_than: old, ..Policy::default() }), ["a1", "b1"]);
    }
}
