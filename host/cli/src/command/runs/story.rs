//! A run as its records tell it.

use std::collections::BTreeMap;
use std::sync::Arc;

use graph_core::digest::Digest;
use graph_core::hook::HookEvent;
use graph_core::limits::HostUse;
use graph_core::record::{
    Checkpoint, History, HookSummary, Pruning, Record, RecordKind, SignedPruning, StatusRecord, TaskCache,
    TaskRecord,
};
use graph_core::trust::VerifyingKey;
use graph_core::walker::{CheckpointRef, Summary};
use graph_host::context::Context;
use graph_host::error::{Error, Result};
use graph_host::runs;
use graph_store::{CheckpointStore, RunRow, Wanted};
use serde_json::{Map, Value};

/// A run as its records tell it: what can be read is shown.
pub(super) struct Story {
    pub(super) steps: Vec<Checkpoint>,
    pub(super) newest: Option<Checkpoint>,
    /// Where the steps begin, if the host has removed what was before.
    pub(super) begins: Option<Pruning>,
    /// The record digest of the newest checkpoint.
    digest: Option<Digest>,
    pub(super) pending: Vec<Record>,
    pub(super) trouble: Option<String>,
}

/// Reads a run; with a key, every record is checked with it.
pub(super) fn read(store: &dyn CheckpointStore, row: &RunRow, key: Option<&VerifyingKey>) -> Result<Story> {
    let mut steps = Vec::new();
    let mut trouble = None;
    let mut digest = None;
    let begins = match (store.pruning(&row.run_id, "")?, key) {
        (None, _) => None,
        (Some(note), Some(key)) => match SignedPruning::open(&note, key, &row.run_id, "") {
            Ok(begins) => Some(begins),
            Err(error) => {
                trouble = Some(error.to_string());
                None
            }
        },
        (Some(note), None) => SignedPruning::decode(&note).ok(),
    };
    let ended = runs::each_checkpoint(store, &row.run_id, |record| {
        let opened = match key {
            Some(key) => record.open(key),
            None => record.decode(),
        };
        match opened {
            Ok(Record::Checkpoint(checkpoint)) => {
                steps.push(*checkpoint);
                digest = Some(record.digest);
                Ok(())
            }
            Ok(_) => Err(Error::integrity(format!("record {} is not a checkpoint", record.sequence))),
            Err(error) => Err(Error::integrity(error.to_string())),
        }
    });
    if let Err(error) = ended {
        trouble = Some(error.message().to_owned());
    }
    let mut pending = Vec::new();
    if trouble.is_none() {
        for record in store.pending(&row.run_id, "")? {
            match key.map_or_else(|| record.decode(), |key| record.open(key)) {
                Ok(record) => pending.push(record),
                Err(error) => trouble = Some(error.to_string()),
            }
        }
    }
    Ok(Story { begins, newest: steps.last().cloned(), digest, steps, pending, trouble })
}

/// The status record under a run's newest checkpoint; with a key, it is checked with it.
pub(super) fn newest_status(
    store: &dyn CheckpointStore,
    row: &RunRow,
    key: Option<&VerifyingKey>,
) -> Result<Option<StatusRecord>> {
    for record in store.pending(&row.run_id, "")?.iter().filter(|record| record.kind == RecordKind::Status) {
        let opened = key.map_or_else(|| record.decode(), |key| record.open(key));
        if let Record::Status(status) = opened.map_err(|error| Error::integrity(error.to_string()))? {
            return Ok(Some(status));
        }
    }
    Ok(None)
}

/// The state at a checkpoint.
pub(super) fn state(
    store: &dyn CheckpointStore,
    run: &str,
    checkpoint: &Checkpoint,
) -> Result<Map<String, Value>> {
    let wanted: Vec<_> = checkpoint
        .channels
        .iter()
        .map(|(channel, stamp)| Wanted { channel, base: stamp.base, version: stamp.version })
        .collect();
    let mut state: Map<String, Value> = Map::new();
    for value in store.values(run, "", &wanted)? {
        let parsed: Value = serde_json::from_str(&value.json).map_err(|error| {
            Error::integrity(format!("channel `{}` cannot be read: {error}", value.channel))
        })?;
        match (value.kind, state.get_mut(&value.channel), parsed) {
            (graph_core::record::ValueKind::Segment, Some(Value::Array(list)), Value::Array(more)) => {
                list.extend(more);
            }
            (_, _, parsed) => {
                state.insert(value.channel, parsed);
            }
        }
    }
    Ok(state)
}

/// Reads a run. What this host has signed is checked on the way; what another one has signed can be shown alone.
pub(super) fn of(store: &dyn CheckpointStore, row: &RunRow, context: &Context) -> Result<Story> {
    read(store, row, context.home.verifying_identity(row.key)?.as_ref())
}

impl Story {
    /// The status record, if there is one under the newest checkpoint.
    pub(super) fn status(&self) -> Option<&StatusRecord> {
        self.pending.iter().find_map(|record| match record {
            Record::Status(status) => Some(status),
            _ => None,
        })
    }

    /// The nodes visited on the way to the newest checkpoint, and the warnings raised.
    pub(super) fn ancestry(&self) -> (Vec<String>, Vec<String>) {
        let mut history = self.begins.as_ref().map(History::after).unwrap_or_default();
        self.steps.iter().for_each(|step| history.push(step));
        history.into_newest()
    }

    /// What hooks have come to since the newest checkpoint.
    pub(super) fn hooked(&self) -> Vec<HookSummary> {
        let hooks = self.pending.iter().filter_map(|record| match record {
            Record::Hook(hook) => Some(HookSummary::of(hook)),
            _ => None,
        });
        hooks.collect()
    }

    /// Fuel that the run has used, that of tasks whose superstep has not committed too.
    pub(super) fn fuel(&self) -> u64 {
        let mut fuel = self.newest.as_ref().map_or(0, |newest| newest.fuel);
        for record in &self.pending {
            if let Record::Hook(hook) = record
                && hook.event != HookEvent::Error
            {
                fuel = fuel.max(hook.fuel_total);
            }
        }
        self.uses().into_iter().fold(fuel, |fuel, (_, used)| fuel.saturating_add(used.1))
    }

    /// The run as it stands, as its own process would tell it.
    pub(super) fn summary(&self, store: &dyn CheckpointStore, row: &RunRow) -> Result<Summary> {
        let newest = self.newest.as_ref();
        let inputs = newest.map_or(row.inputs, |newest| newest.inputs);
        let inputs: Value = serde_json::from_str(&runs::snapshot(store, &inputs, "the inputs")?)
            .map_err(|error| Error::integrity(format!("the inputs of the run cannot be read: {error}")))?;
        let mut executions = newest.map(|newest| newest.executions.clone()).unwrap_or_default();
        let fuel = self.fuel();
        for (node, used) in self.uses() {
            *executions.entry(node).or_default() += u64::from(used.0);
        }
        executions.retain(|_, count| *count > 0);
        let mut cached = newest.map(|newest| newest.cached.clone()).unwrap_or_default();
        for record in &self.pending {
            if let Record::Task(TaskRecord { node, cache: Some(TaskCache::Hit(_)), .. }) = record {
                *cached.entry(node.clone()).or_default() += 1;
            }
        }
        let end = newest.and_then(|newest| newest.end.as_ref());
        let status = self.status();
        let (visited, mut warnings) = self.ancestry();
        warnings.extend(status.iter().flat_map(|status| status.warnings.iter().cloned()));
        Ok(Summary {
            status: end
                .filter(|_| newest.is_some_and(|newest| newest.hooks.is_empty()))
                .map(|end| end.status)
                .or(status.map(|status| status.status))
                .unwrap_or(row.status),
            ended_by: end.map(|end| end.ended_by),
            limit_reached: end.is_some_and(|end| end.limit_reached),
            state: newest.map(|newest| state(store, &row.run_id, newest)).transpose()?.unwrap_or_default(),
            output: end.map(|end| Value::clone(&end.output.0)),
            inputs: Arc::new(inputs),
            steps: newest.map_or(0, |newest| newest.step),
            visited,
            executions,
            cached,
            next: newest.iter().flat_map(|newest| &newest.next).map(|next| next.node.clone()).collect(),
            interrupts: status.map(|status| status.interrupts.clone()).unwrap_or_default(),
            error: status.and_then(|status| status.error.clone()),
            warnings,
            fuel,
            host: self.host(),
            checkpoint: newest.zip(self.digest).map(|(newest, digest)| CheckpointRef {
                sequence: newest.sequence,
                digest,
                result_digest: newest.result,
            }),
        })
    }

    /// What the run has used of the host: calls that asked the world, and the bytes of what was asked and answered.
    pub(super) fn host(&self) -> HostUse {
        let committed = self.newest.as_ref().map_or(HostUse::default(), |newest| newest.host);
        let with_hooks = self.pending.iter().fold(committed, |host, record| match record {
            Record::Hook(hook) if hook.event != HookEvent::Error => host.max(hook.host_total),
            _ => host,
        });
        self.uses().into_iter().fold(with_hooks, |host, (_, used)| host.plus(used.2))
    }

    /// What the tasks of the superstep under way have used: dispatches, fuel and use of the host, by node.
    fn uses(&self) -> Vec<(String, (u32, u64, HostUse))> {
        let mut by_task: BTreeMap<&str, (&str, (u32, u64, HostUse))> = BTreeMap::new();
        for (task, used) in self.status().iter().flat_map(|status| &status.tasks) {
            by_task.insert(task, (&used.node, (used.dispatches, used.fuel, used.host)));
        }
        for record in &self.pending {
            if let Record::Task(task) = record {
                let used = (task.dispatches, task.fuel, task.host);
                by_task.entry(&task.task).or_insert((&task.node, used));
            }
        }
        by_task.into_values().map(|(node, used)| (node.to_owned(), used)).collect()
    }
}
