//! Compares a checkpoint of a replay with the recorded one, and names the first key in which they differ.

use std::collections::BTreeMap;
use std::fmt;

use graph_core::json::{self, TreeLimit};
use graph_core::record::{
    ChannelValue, Checkpoint, CumulativeState, EdgeKind, Record, TaskEvent, TaskSummary,
};
use serde::Serialize;
use serde_json::{Map, Value};

use super::recorded::StoredCheckpoint;

/// Limit of a shown value, in characters.
const SHOWN: usize = 200;

/// Options of the comparison.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    /// Compare the record digest, too.
    pub(super) strict: bool,
    /// The world answers, not the journal.
    pub(super) live: bool,
    /// The run was started by release 0.1.0, which charged the host's own work differently.
    pub(super) first_release: bool,
}

/// Effects of the run that a replay cannot repeat: their figures are taken from the record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unrepeatable {
    /// Attempts were cut short, and only their existence is recorded.
    attempts: bool,
    /// The host has worked for a graph that was changed before its superstep committed.
    host: bool,
}

/// A difference between a replay and the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Number of the superstep.
    pub step: u64,
    /// Namespace; empty for the run itself.
    pub namespace: String,
    /// Number of the recorded checkpoint.
    pub checkpoint: Option<u64>,
    /// Task that differs, if the difference is in one.
    pub task: Option<String>,
    /// Node of that task.
    pub node: Option<String>,
    /// First key that differs, of the state, of a task or of the record.
    pub key: String,
    /// Value in the record, shortened.
    pub recorded: String,
    /// Value in the replay, shortened.
    pub replayed: String,
}

impl Difference {
    /// Describes this difference of a run's replay, and the number of further ones.
    pub fn message(&self, run: &str, others: usize) -> String {
        let more = match others {
            0 => String::new(),
            1 => ", and in one more place".to_owned(),
            others => format!(", and in {others} more places"),
        };
        format!("the replay of run {run} differs at {self}{more}")
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}", self.step)?;
        if !self.namespace.is_empty() {
            write!(f, " of the child run {}", self.namespace)?;
        }
        if let Some(task) = &self.task {
            write!(f, ", task {task}")?;
        }
        if let Some(node) = &self.node {
            write!(f, " (node `{node}`)")?;
        }
        write!(f, ", key `{}`: recorded {}, replayed {}", self.key, self.recorded, self.replayed)
    }
}

/// Returns the first difference between the recorded checkpoint and the replay's. Measured values (times, and attempts
/// that were cut short) are taken from the record; everything else must have the same digests. Under `durability: exit`
/// not every boundary was recorded, so only the result digest can be compared. Answers of the world are compared
/// elsewhere. `standing` is the cumulative state at the replay's checkpoint.
pub(super) fn compare(
    stored: &StoredCheckpoint,
    replayed: &Checkpoint,
    values: &[ChannelValue],
    standing: &CumulativeState,
    way: Way,
    cut: &mut Unrepeatable,
) -> Option<Difference> {
    let strict = way.strict;
    let recorded = &stored.checkpoint;
    let mut now = replayed.clone();
    if way.first_release {
        take_form(recorded, &mut now, standing);
    }
    measured(recorded, &mut now, way, cut);
    let same_result = now.result == recorded.result && replayed.result_digest() == replayed.result;
    if same_result && !strict {
        return None;
    }
    let digest = Record::Checkpoint(Box::new(now.clone())).encode().ok().map(|(_, digest)| digest);
    if same_result && digest == Some(stored.digest) {
        return None;
    }
    // Figures such as fuel are consequences of other differences: they are reported only if there is no other.
    let (then_fields, now_fields) = (fields_of(recorded), fields_of(&now));
    let found = of_tasks(recorded, &then_fields, &now_fields, false)
        .or_else(|| of_values(recorded, &now, &stored.values, values))
        .or_else(|| of_tasks(recorded, &then_fields, &now_fields, true))
        .or_else(|| of_record(&then_fields, &now_fields, strict))
        .unwrap_or_else(|| KeyDifference::new("digest", &stored.digest.to_string(), "another digest"));
    Some(Difference {
        step: recorded.step,
        namespace: recorded.namespace.clone(),
        checkpoint: Some(recorded.sequence),
        task: found.task.as_ref().map(|task| task.0.clone()),
        node: found.task.map(|task| task.1),
        key: found.key,
        recorded: found.recorded,
        replayed: found.replayed,
    })
}

/// Gives a checkpoint the form of the recorded one: whole, or with only the entries that the recorded one names. A run
/// of release 0.1.0 is recorded in whole checkpoints at first, where a replay records changes; the resulting state is
/// compared either way.
fn take_form(recorded: &Checkpoint, now: &mut Checkpoint, standing: &CumulativeState) {
    fn named<T: Copy>(names: &BTreeMap<String, T>, all: &BTreeMap<String, T>) -> BTreeMap<String, T> {
        names.keys().filter_map(|name| Some((name.clone(), *all.get(name)?))).collect()
    }
    if recorded.is_whole() {
        standing.clone().complete(now);
        now.gone.clear();
    } else {
        now.cached = named(&recorded.cached, &standing.cached);
        now.channels = named(&recorded.channels, &standing.channels);
        now.executions = named(&recorded.executions, &standing.executions);
        now.visits = named(&recorded.visits, &standing.visits);
        now.gone.clone_from(&recorded.gone);
        now.gone.retain(|channel| !standing.channels.contains_key(channel));
    }
    // Earlier hosts did not count failures. The tasks are compared, and the counts follow from them.
    now.failed.clone_from(&recorded.failed);
    (now.delta, now.warned) = (recorded.delta, recorded.warned);
    if recorded.state.is_none() {
        // The result digest of that version covers each channel.
        (now.state, now.version) = (None, recorded.version);
        now.fired.retain(|fired| fired.via != EdgeKind::NoMatch);
        now.result = now.result_digest();
    }
}

/// Takes over measured values, and fields that do not depend on nodes.
fn measured(recorded: &Checkpoint, now: &mut Checkpoint, way: Way, cut: &mut Unrepeatable) {
    // Questions of the former graph were made, and perhaps asked, before the change was accepted.
    let is_changed = !recorded.accepted.is_empty();
    cut.host |= is_changed;
    let takes_host = way.live || way.first_release || is_changed;
    now.micros = recorded.micros;
    now.parent = recorded.parent;
    if let (Some(now), Some(then)) = (&mut now.warned, recorded.warned)
        && now.sequence == then.sequence
    {
        now.digest = then.digest;
    }
    now.accepted.clone_from(&recorded.accepted);
    // A replay has no deadline that could limit its steps.
    now.step_limit = recorded.step_limit;
    // Pins are compared as a whole elsewhere; a child run may have started before a change that was accepted.
    now.pins = recorded.pins;
    if takes_host || cut.host {
        now.host = recorded.host;
    }
    for (then, now) in recorded.tasks.iter().zip(&mut now.tasks) {
        (now.at, now.micros) = (then.at, then.micros);
        now.arrived.clone_from(&then.arrived);
        if way.live {
            now.journal.clone_from(&then.journal);
        }
        if takes_host {
            now.host = then.host;
        }
        // Log lines are for people, and earlier hosts did not record them: another line is no difference.
        now.events.retain(|event| !matches!(event, TaskEvent::Log { .. }));
        let others = || then.events.iter().filter(|event| !matches!(event, TaskEvent::Log { .. }));
        for (then, now) in others().zip(&mut now.events) {
            match (then, now) {
                (TaskEvent::Custom { at: then, .. }, TaskEvent::Custom { at: now, .. })
                | (TaskEvent::Retry { at: then, .. }, TaskEvent::Retry { at: now, .. }) => *now = *then,
                _ => {}
            }
        }
        if others().eq(&now.events) {
            now.events.clone_from(&then.events);
        }
        // Only the existence of an attempt that was cut short is recorded.
        if then.dispatches > now.dispatches && then.task == now.task {
            now.dispatches = then.dispatches;
            cut.attempts = true;
        }
    }
    if cut.attempts {
        now.executions.clone_from(&recorded.executions);
    }
}

struct KeyDifference {
    task: Option<(String, String)>,
    key: String,
    recorded: String,
    replayed: String,
}

impl KeyDifference {
    fn new(key: &str, recorded: &str, replayed: &str) -> Self {
        Self { task: None, key: key.to_owned(), recorded: shortened(recorded), replayed: shortened(replayed) }
    }

    fn by(self, task: &TaskSummary) -> Self {
        Self { task: Some((task.task.clone(), task.node.clone())), ..self }
    }
}

/// Returns the fields of a checkpoint as its record has them. It is written as a record and read again: a conversion of all its types to
/// values would be much code for the walker of a page.
fn fields_of(checkpoint: &Checkpoint) -> Map<String, Value> {
    let encoded = Record::Checkpoint(Box::new(checkpoint.clone())).encode();
    let read = encoded.ok().and_then(|(body, _)| json::parse_envelope(&body, TreeLimit::RECORD).ok());
    match read {
        Some(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// Returns the fields with these names, or all others.
fn only(fields: &Map<String, Value>, names: &[&str], is_named: bool) -> Value {
    let wanted = fields.iter().filter(|(key, _)| names.contains(&key.as_str()) == is_named);
    Value::Object(wanted.map(|(key, value)| (key.clone(), value.clone())).collect())
}

/// Finds the first task that differs: in its figures, or in everything else.
fn of_tasks(
    recorded: &Checkpoint,
    then: &Map<String, Value>,
    now: &Map<String, Value>,
    figures: bool,
) -> Option<KeyDifference> {
    let tasks = |fields: &Map<String, Value>| {
        let tasks = fields.get("tasks").and_then(Value::as_array);
        tasks.into_iter().flatten().filter_map(Value::as_object).cloned().collect::<Vec<_>>()
    };
    let shown = |task| only(task, &["attempts", "dispatches", "fuel", "host"], figures);
    let (then, now) = (tasks(then), tasks(now));
    for (summary, (then, now)) in recorded.tasks.iter().zip(then.iter().zip(&now)) {
        if let Some(found) = differing(&shown(then), &shown(now), "") {
            return Some(found.by(summary));
        }
    }
    let (then, now) = (then.len(), now.len());
    (then != now).then(|| KeyDifference::new("tasks", &then.to_string(), &now.to_string()))
}

/// Finds the first channel that has another value, and the task that wrote it.
fn of_values(
    recorded: &Checkpoint,
    now: &Checkpoint,
    then_values: &[ChannelValue],
    now_values: &[ChannelValue],
) -> Option<KeyDifference> {
    let state = |values: &[ChannelValue]| -> Map<String, Value> {
        let mut left = TreeLimit::VALUE;
        let mut parsed = |value: &ChannelValue| {
            let (value, size) = json::read_measured(&value.json, left).unwrap_or_default();
            left = left.less(size);
            value
        };
        values.iter().map(|value| (value.channel.clone(), parsed(value))).collect()
    };
    let (then, found) = (state(then_values), state(now_values));
    for channel in then.keys().chain(found.keys()) {
        let differs = differing(
            then.get(channel).unwrap_or(&Value::Null),
            found.get(channel).unwrap_or(&Value::Null),
            &format!("state.{channel}"),
        );
        let Some(differs) = differs else { continue };
        let writers = recorded.updates.get(channel).or_else(|| now.updates.get(channel));
        let writer = writers.and_then(|writers| writers.first()).map(|(node, _)| node);
        let task = recorded.tasks.iter().find(|task| Some(&task.node) == writer);
        return Some(match task {
            Some(task) => differs.by(task),
            None => differs,
        });
    }
    None
}

/// Finds the first other key of the record that differs.
fn of_record(then: &Map<String, Value>, now: &Map<String, Value>, strict: bool) -> Option<KeyDifference> {
    // Digests depend on the rest; under `exit`, a record covers several supersteps.
    let last = ["result", "visited_digest", "channels", "state", "delta", "warned"];
    let told = ["tasks", "updates", "visited", "warned", "warnings", "fired", "executions"];
    let value = |fields: &Map<String, Value>, is_last: bool| match only(fields, &last, is_last) {
        Value::Object(fields) if !strict => only(&fields, &told, false),
        fields => fields,
    };
    [false, true].into_iter().find_map(|is_last| differing(&value(then, is_last), &value(now, is_last), ""))
}

/// Finds the first place in which two values differ, in the order of their keys.
fn differing(recorded: &Value, replayed: &Value, path: &str) -> Option<KeyDifference> {
    if recorded == replayed {
        return None;
    }
    match (recorded, replayed) {
        (Value::Object(then), Value::Object(now)) => {
            let mut keys: Vec<_> = then.keys().chain(now.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            keys.into_iter().find_map(|key| {
                let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                match (then.get(key), now.get(key)) {
                    (Some(then), Some(now)) => differing(then, now, &inner),
                    (then, now) => Some(KeyDifference::new(&inner, &there(then), &there(now))),
                }
            })
        }
        (Value::Array(then), Value::Array(now)) => (0..then.len().max(now.len())).find_map(|index| {
            let inner = format!("{path}[{index}]");
            match (then.get(index), now.get(index)) {
                (Some(then), Some(now)) => differing(then, now, &inner),
                (then, now) => Some(KeyDifference::new(&inner, &there(then), &there(now))),
            }
        }),
        _ => Some(KeyDifference::new(path, &recorded.to_string(), &replayed.to_string())),
    }
}

fn there(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), ToString::to_string)
}

/// Shortens a text for messages, to one line.
pub(super) fn shortened(text: &str) -> String {
    graph_core::diagnostic::one_line(text, SHOWN)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_differing_key_is_found_in_the_order_of_keys() {
        let at = |then: Value, now: Value| {
            differing(&then, &now, "").map(|found| (found.key, found.recorded, found.replayed))
        };
        let found =
            |key: &str, then: &str, now: &str| Some((key.to_owned(), then.to_owned(), now.to_owned()));
        assert_eq!(at(json!({"a": 1}), json!({"a": 1})), None);
        assert_eq!(
            at(json!({"b": 1, "a": [1, {"c": 2}]}), json!({"b": 2, "a": [1, {"c": 3}]})),
            found("a[1].c", "2", "3")
        );
        assert_eq!(at(json!({"a": 1}), json!({"a": 1, "b": 2})), found("b", "nothing", "2"));
        assert_eq!(at(json!([1, 2]), json!([1])), found("[1]", "2", "nothing"));
    }
}
