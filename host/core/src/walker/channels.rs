//! The committed state of a run: its channels, what each superstep changed, and the way back if a commit fails.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::event::ChannelChange;
use super::reduce::{Change, FoldError, Write, fold};
use crate::graph::{Channel, Graph, NodeIndex, Reducer};
use crate::json;
use crate::record::{ChannelStamp, ChannelValue, ValueKind};
use crate::template::Fields;

/// All channels of a run.
#[derive(Debug)]
pub(super) struct Channels {
    declared: BTreeMap<String, Channel>,
    slots: BTreeMap<String, Slot>,
    inputs: Arc<Value>,
    /// Values written since the last checkpoint that was handed out to be persisted.
    unpersisted: BTreeMap<String, Vec<ChannelValue>>,
}

#[derive(Debug)]
struct Slot {
    reducer: Reducer,
    value: Value,
    /// Absent for an untracked channel.
    stamp: Option<ChannelStamp>,
}

/// What has to be done to take a commit back.
#[derive(Debug, Default)]
pub(super) struct Undo {
    slots: Vec<(String, Before)>,
    unpersisted: Vec<(String, Unpersisted)>,
}

/// The values of a channel that no checkpoint had carried.
#[derive(Debug)]
enum Unpersisted {
    Values(Vec<ChannelValue>),
    Length(usize),
}

#[derive(Debug)]
enum Before {
    Absent,
    Value(Value, Option<ChannelStamp>),
    Length(usize, Option<ChannelStamp>),
}

/// A fold error and the channel that it is about.
#[derive(Debug)]
pub(super) struct ApplyError {
    pub(super) channel: String,
    pub(super) reducer: Reducer,
    pub(super) error: FoldError,
}

impl Channels {
    /// The channels before any write.
    pub(super) fn new(graph: &Graph, inputs: Arc<Value>) -> Self {
        let declared = declared(graph);
        let mut channels = Self { declared, slots: BTreeMap::new(), inputs, unpersisted: BTreeMap::new() };
        for channel in &graph.channels {
            if let Some(value) = initial(channel) {
                channels.set(&channel.name, channel.reducer, value, 0);
            }
        }
        channels
    }

    /// The channels as a checkpoint's stored values say. Untracked channels are back at their defaults.
    pub(super) fn restore(
        graph: &Graph,
        inputs: Arc<Value>,
        stamps: &BTreeMap<String, ChannelStamp>,
        values: Vec<ChannelValue>,
    ) -> Result<Self, String> {
        let declared = declared(graph);
        let mut slots: BTreeMap<String, Slot> = BTreeMap::new();
        let mut digests: BTreeMap<String, crate::digest::Digest> = BTreeMap::new();
        for stored in values {
            let broken = |why: &str| format!("channel `{}`: {why}", stored.channel);
            let value: Value =
                serde_json::from_str(&stored.json).map_err(|error| broken(&error.to_string()))?;
            let before = digests.get(&stored.channel);
            if stored.kind == ValueKind::Segment && before.is_none() {
                // A restored segment continues a whole value that must have been loaded before it.
                return Err(broken("a segment without the value it adds to"));
            }
            let digest = stored.digest(before);
            if let (ValueKind::Segment, Some(slot)) = (stored.kind, slots.get_mut(&stored.channel)) {
                match (&mut slot.value, value) {
                    (Value::Array(list), Value::Array(added)) => list.extend(added),
                    _ => return Err(broken("a segment of something that is not a list")),
                }
            } else {
                let reducer = declared.get(&stored.channel).map_or(Reducer::LastValue, |found| found.reducer);
                slots.insert(stored.channel.clone(), Slot { reducer, value, stamp: None });
            }
            digests.insert(stored.channel.clone(), digest);
        }
        slots.retain(|channel, _| stamps.contains_key(channel));
        for (channel, stamp) in stamps {
            let Some(slot) = slots.get_mut(channel) else {
                return Err(format!("channel `{channel}`: its value is missing"));
            };
            if digests.get(channel) != Some(&stamp.digest) {
                return Err(format!("channel `{channel}`: its value does not match the checkpoint's digest"));
            }
            slot.stamp = Some(*stamp);
        }
        let mut channels = Self { declared, slots, inputs, unpersisted: BTreeMap::new() };
        channels.forget_untracked();
        Ok(channels)
    }

    /// Puts untracked channels back at their defaults: whoever resumes a run finds them there, whether the walker was
    /// made from a store or has been waiting in memory.
    pub(super) fn forget_untracked(&mut self) {
        self.slots.retain(|_, slot| slot.reducer != Reducer::Untracked);
        let untracked = self.declared.values().filter(|channel| channel.reducer == Reducer::Untracked);
        let defaults: Vec<_> =
            untracked.filter_map(|channel| Some((channel.name.clone(), initial(channel)?))).collect();
        for (name, value) in defaults {
            self.set(&name, Reducer::Untracked, value, 0);
        }
    }

    /// New inputs for `state.inputs`.
    pub(super) fn set_inputs(&mut self, inputs: Arc<Value>) {
        self.inputs = inputs;
    }

    fn reducer(&self, channel: &str) -> Reducer {
        self.declared.get(channel).map_or(Reducer::LastValue, |found| found.reducer)
    }

    /// Folds a superstep's writes, each channel's in task order, and clears what lives for one superstep only. If any
    /// channel refuses, nothing has changed.
    pub(super) fn apply(
        &mut self,
        writes: BTreeMap<String, Vec<Write>>,
        version: u64,
    ) -> Result<(Undo, Vec<ChannelChange>), ApplyError> {
        let changes = self.fold(writes)?;
        let mut undo = Undo::default();
        self.clear_passing(version, &changes, &mut undo);
        let told = self.write(changes, version, &mut undo);
        Ok((undo, told))
    }

    /// Writes values before the first superstep, through the reducers.
    pub(super) fn seed(&mut self, state: Map<String, Value>) -> Result<(), ApplyError> {
        let write = |value| vec![Write { node: NodeIndex(0), value }];
        let writes = state.into_iter().map(|(channel, value)| (channel, write(value))).collect();
        let changes = self.fold(writes)?;
        let seeded: Vec<_> = changes.iter().map(|(channel, ..)| channel.clone()).collect();
        self.write(changes, 0, &mut Undo::default());
        for channel in seeded {
            // A checkpoint carries one value of a channel for each version: a seed is part of the first whole one.
            self.write_whole(&channel, 0);
        }
        Ok(())
    }

    /// Writes values from outside the graph, through the reducers. What lives for one superstep stays: none has run. If
    /// any channel refuses, nothing has changed.
    pub(super) fn edit(&mut self, values: Map<String, Value>, version: u64) -> Result<Undo, ApplyError> {
        let write = |value| vec![Write { node: NodeIndex(0), value }];
        let writes = values.into_iter().map(|(channel, value)| (channel, write(value))).collect();
        let changes = self.fold(writes)?;
        let mut undo = Undo::default();
        self.write(changes, version, &mut undo);
        Ok(undo)
    }

    /// Makes channels that were taken back to an earlier checkpoint follow those of the `newest` one: each that is not as
    /// it is there is written anew, whole, since what lies between the two is not to be read again.
    pub(super) fn follow(&mut self, newest: &BTreeMap<String, ChannelStamp>, version: u64) {
        let differs = |(channel, slot): (&String, &Slot)| {
            let stamp = slot.stamp.as_ref()?;
            (newest.get(channel) != Some(stamp)).then(|| channel.clone())
        };
        let channels: Vec<String> = self.slots.iter().filter_map(differs).collect();
        for channel in channels {
            self.write_whole(&channel, version);
        }
    }

    /// A checkpoint carries one value of a channel for each version: where it would carry two, they become one.
    pub(super) fn merge_versions(&mut self, version: u64) {
        let twice =
            |values: &Vec<ChannelValue>| values.iter().filter(|value| value.version == version).count() > 1;
        let channels: Vec<String> = self
            .unpersisted
            .iter()
            .filter(|(_, values)| twice(values))
            .map(|(channel, _)| channel.clone())
            .collect();
        for channel in channels {
            self.write_whole(&channel, version);
        }
    }

    fn write_whole(&mut self, channel: &str, version: u64) {
        if let Some(Slot { reducer, value, .. }) = self.slots.get(channel) {
            let (reducer, value) = (*reducer, value.clone());
            self.set(channel, reducer, value, version);
        }
    }

    /// Hands values to the next checkpoint as they were read from the store: a run that begins with them has them to
    /// carry.
    pub(super) fn carry(&mut self, values: Vec<ChannelValue>) {
        for value in values {
            self.unpersisted.entry(value.channel.clone()).or_default().push(value);
        }
    }

    fn fold(
        &self,
        writes: BTreeMap<String, Vec<Write>>,
    ) -> Result<Vec<(String, Reducer, Change)>, ApplyError> {
        let folded = writes.into_iter().map(|(channel, writes)| {
            let reducer = self.reducer(&channel);
            let current = self.slots.get(&channel).map(|slot| &slot.value);
            match fold(reducer, current, writes) {
                Ok(change) => Ok((channel, reducer, change)),
                Err(error) => Err(ApplyError { channel, reducer, error }),
            }
        });
        folded.collect()
    }

    fn write(
        &mut self,
        changes: Vec<(String, Reducer, Change)>,
        version: u64,
        undo: &mut Undo,
    ) -> Vec<ChannelChange> {
        let mut told = Vec::with_capacity(changes.len());
        for (channel, reducer, change) in changes {
            self.remember(&channel, &change, undo);
            match change {
                Change::Extend(items) => {
                    if items.is_empty() && self.slots.contains_key(&channel) {
                        continue;
                    }
                    told.push(ChannelChange { channel: channel.clone(), appended: Some(items.len() as u64) });
                    self.extend(&channel, reducer, items, version);
                }
                Change::Set(value) => {
                    told.push(ChannelChange { channel: channel.clone(), appended: None });
                    self.set(&channel, reducer, value, version);
                }
            }
        }
        told
    }

    /// Takes a commit back.
    pub(super) fn undo(&mut self, undo: Undo) {
        for (channel, before) in undo.slots.into_iter().rev() {
            match before {
                Before::Absent => {
                    self.slots.remove(&channel);
                }
                Before::Value(value, stamp) => {
                    let reducer = self.reducer(&channel);
                    self.slots.insert(channel, Slot { reducer, value, stamp });
                }
                Before::Length(length, stamp) => {
                    if let Some(slot) = self.slots.get_mut(&channel) {
                        if let Value::Array(list) = &mut slot.value {
                            list.truncate(length);
                        }
                        slot.stamp = stamp;
                    }
                }
            }
        }
        for (channel, before) in undo.unpersisted.into_iter().rev() {
            match before {
                Unpersisted::Values(values) if values.is_empty() => {
                    self.unpersisted.remove(&channel);
                }
                Unpersisted::Values(values) => {
                    self.unpersisted.insert(channel, values);
                }
                Unpersisted::Length(length) => {
                    if let Some(values) = self.unpersisted.get_mut(&channel) {
                        values.truncate(length);
                    }
                }
            }
        }
    }

    /// Topic and ephemeral values were for the superstep that has just run.
    fn clear_passing(&mut self, version: u64, changes: &[(String, Reducer, Change)], undo: &mut Undo) {
        let passing: Vec<String> = self
            .slots
            .iter()
            .filter(|(_, slot)| match slot.reducer {
                Reducer::Ephemeral => true,
                Reducer::Topic => slot.value.as_array().is_none_or(|list| !list.is_empty()),
                _ => false,
            })
            .map(|(channel, _)| channel.clone())
            .filter(|channel| !changes.iter().any(|(written, ..)| written == channel))
            .collect();
        for channel in passing {
            let values = self.unpersisted.remove(&channel).unwrap_or_default();
            undo.unpersisted.push((channel.clone(), Unpersisted::Values(values)));
            let Some(slot) = self.slots.remove(&channel) else { continue };
            undo.slots.push((channel.clone(), Before::Value(slot.value, slot.stamp)));
            if slot.reducer == Reducer::Topic {
                self.set(&channel, Reducer::Topic, Value::Array(Vec::new()), version);
            }
        }
    }

    fn remember(&mut self, channel: &str, change: &Change, undo: &mut Undo) {
        let (before, values) = match (change, self.slots.get_mut(channel)) {
            (_, None) => (Before::Absent, None),
            (Change::Extend(_), Some(Slot { value: Value::Array(list), stamp, .. })) => {
                let length = self.unpersisted.get(channel).map_or(0, Vec::len);
                (Before::Length(list.len(), *stamp), Some(Unpersisted::Length(length)))
            }
            (_, Some(slot)) => (Before::Value(std::mem::take(&mut slot.value), slot.stamp), None),
        };
        let values = values
            .unwrap_or_else(|| Unpersisted::Values(self.unpersisted.remove(channel).unwrap_or_default()));
        undo.slots.push((channel.to_owned(), before));
        undo.unpersisted.push((channel.to_owned(), values));
    }

    fn set(&mut self, channel: &str, reducer: Reducer, value: Value, version: u64) {
        let stamp = (reducer != Reducer::Untracked).then(|| {
            let stored = ChannelValue {
                channel: channel.to_owned(),
                version,
                kind: ValueKind::Whole,
                json: json::canonical_string(&value).into(),
            };
            let digest = stored.digest(None);
            self.unpersisted.insert(channel.to_owned(), vec![stored]);
            ChannelStamp { base: version, digest, version }
        });
        self.slots.insert(channel.to_owned(), Slot { reducer, value, stamp });
    }

    fn extend(&mut self, channel: &str, reducer: Reducer, items: Vec<Value>, version: u64) {
        let Some(Slot { value: Value::Array(list), stamp: Some(stamp), .. }) = self.slots.get_mut(channel)
        else {
            self.set(channel, reducer, Value::Array(items), version);
            return;
        };
        let items = Value::Array(items);
        let stored = ChannelValue {
            channel: channel.to_owned(),
            version,
            kind: ValueKind::Segment,
            json: json::canonical_string(&items).into(),
        };
        stamp.digest = stored.digest(Some(&stamp.digest));
        stamp.version = version;
        if let Value::Array(items) = items {
            list.extend(items);
        }
        self.unpersisted.entry(channel.to_owned()).or_default().push(stored);
    }

    /// Where every tracked channel stands.
    pub(super) fn stamps(&self) -> BTreeMap<String, ChannelStamp> {
        self.slots
            .iter()
            .filter_map(|(channel, slot)| slot.stamp.map(|stamp| (channel.clone(), stamp)))
            .collect()
    }

    /// The values that no checkpoint has carried yet, by channel and then by version.
    pub(super) fn take_unpersisted(&mut self) -> Vec<ChannelValue> {
        std::mem::take(&mut self.unpersisted).into_values().flatten().collect()
    }

    /// A channel's value.
    pub(super) fn get(&self, channel: &str) -> Option<&Value> {
        self.slots.get(channel).map(|slot| &slot.value)
    }

    /// The whole state as an object.
    pub(super) fn to_map(&self) -> Map<String, Value> {
        self.slots.iter().map(|(channel, slot)| (channel.clone(), slot.value.clone())).collect()
    }
}

impl Fields for Channels {
    fn field(&self, key: &str) -> Option<&Value> {
        if key == "inputs" { Some(&self.inputs) } else { self.get(key) }
    }

    fn to_value(&self) -> Value {
        Value::Object(self.to_map())
    }
}

/// The channels of a graph, and those that the host keeps for it.
fn declared(graph: &Graph) -> BTreeMap<String, Channel> {
    let own = super::revisit::channels(graph);
    graph.channels.iter().cloned().chain(own).map(|channel| (channel.name.clone(), channel)).collect()
}

fn initial(channel: &Channel) -> Option<Value> {
    channel.default.clone().or_else(|| {
        matches!(channel.reducer, Reducer::Append | Reducer::Union | Reducer::Messages | Reducer::Topic)
            .then(|| Value::Array(Vec::new()))
    })
}
