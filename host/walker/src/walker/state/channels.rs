//! The committed state of a run: its channels, the changes of each superstep, and the undo data for a commit that fails.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::compat::rye;
use crate::graph::{Channel, Graph, NodeIndex, WriteMode};
use crate::host_item::HostItem;
use crate::walker::event::ChannelChange;
use crate::walker::state::reduce::{Change, FoldError, Write, fold, holds, overwritten};
use graph_core::digest::Digest;
use graph_core::json;
use graph_core::json::TreeLimit;
use graph_core::policy::Reducer;
use graph_core::record::{ChannelStamp, ChannelValue, DigestTree, ValueKind};
use graph_core::template::Fields;
use graph_core::work::{FuelExhausted, Meter, size};

/// Estimated memory of a channel besides its name and value, in bytes: its slot, its digest, and its entry among those
/// that are not persisted.
const CHANNEL: u64 = 512;

/// All channels of a run.
#[derive(Debug)]
pub(in crate::walker) struct Channels {
    /// The graph, which declares channels.
    graph: Arc<Graph>,
    slots: BTreeMap<String, Slot>,
    inputs: Arc<Value>,
    /// Size of all channels, as `work::size` measures it.
    size: u64,
    /// Channels that live for one superstep only.
    passing: BTreeSet<String>,
    /// Values written since the last checkpoint that was handed out to be persisted.
    unpersisted: BTreeMap<String, Vec<ChannelValue>>,
    /// Channels that were removed since that checkpoint; they may have been added again.
    removed: BTreeSet<String>,
    /// Digests of the stored channels.
    tree: DigestTree,
    /// Number of channels that have a stamp.
    stamped: u64,
    /// Stored values that their channels cannot hold, since a changed graph has given these another reducer.
    misfits: BTreeMap<String, Value>,
}

#[derive(Debug)]
struct Slot {
    reducer: Reducer,
    value: Value,
    /// Size of the value and the name.
    size: u64,
    /// Absent for an untracked channel.
    stamp: Option<ChannelStamp>,
}

/// State before a commit, to undo it.
#[derive(Debug, Default)]
pub(in crate::walker) struct ChannelUndo {
    slots: Vec<(String, PreviousValue)>,
    unpersisted: Vec<(String, UnpersistedValues)>,
}

/// The values of a channel that no checkpoint had contained.
#[derive(Debug)]
enum UnpersistedValues {
    Values(Vec<ChannelValue>),
    Length(usize),
}

#[derive(Debug)]
enum PreviousValue {
    Absent,
    Value(Value, u64, Option<ChannelStamp>),
    Length(usize, u64, Option<ChannelStamp>),
}

/// The effect of a superstep's writes on one channel.
#[derive(Debug)]
pub(in crate::walker) struct FoldedChannel {
    channel: String,
    reducer: Reducer,
    change: Change,
    /// The size of the written value.
    size: u64,
}

impl FoldedChannel {
    /// The size of the written value.
    #[inline]
    pub(in crate::walker) const fn size(&self) -> u64 {
        self.size
    }
}

/// A fold error and the channel that it is about.
#[derive(Debug)]
pub(in crate::walker) struct ApplyError {
    pub channel: String,
    pub reducer: Reducer,
    pub error: FoldError,
}

impl Channels {
    /// Creates the channels with their defaults.
    pub(in crate::walker) fn new(graph: &Arc<Graph>, inputs: Arc<Value>) -> Self {
        let mut channels = Self::empty(Arc::clone(graph), inputs);
        for channel in &graph.channels {
            if let Some(value) = initial(channel) {
                channels.set(&channel.name, channel.reducer, value, 0);
            }
        }
        channels
    }

    fn empty(graph: Arc<Graph>, inputs: Arc<Value>) -> Self {
        Self {
            graph,
            slots: BTreeMap::new(),
            inputs,
            size: 0,
            passing: BTreeSet::new(),
            unpersisted: BTreeMap::new(),
            removed: BTreeSet::new(),
            tree: DigestTree::default(),
            stamped: 0,
            misfits: BTreeMap::new(),
        }
    }

    /// Restores the channels from a checkpoint's stored values. Untracked channels get their defaults. `most` is the
    /// limit of the run's manifest for all channels together, if it exceeds the general limit.
    pub(in crate::walker) fn restore(
        graph: &Arc<Graph>,
        inputs: Arc<Value>,
        stamps: &BTreeMap<String, ChannelStamp>,
        values: Vec<ChannelValue>,
        most: u64,
    ) -> Result<Self, String> {
        let mut slots: BTreeMap<String, Slot> = BTreeMap::new();
        let mut digests: BTreeMap<String, Digest> = BTreeMap::new();
        let mut left = TreeLimit::VALUE.or(most);
        for stored in values {
            let broken = |why: &str| format!("channel `{}`: {why}", stored.channel);
            let before = digests.get(&stored.channel);
            if stored.kind == ValueKind::Segment && before.is_none() {
                // A restored segment continues a whole value that must have been loaded before it.
                return Err(broken("a segment without the value it adds to"));
            }
            let digest = stored.digest(before);
            let (value, size) =
                json::read_measured(&stored.json, left).map_err(|error| broken(&error.to_string()))?;
            left = left.less(size);
            if let (ValueKind::Segment, Some(slot)) = (stored.kind, slots.get_mut(&stored.channel)) {
                match (&mut slot.value, value) {
                    (Value::Array(list), Value::Array(added)) => list.extend(added),
                    _ => return Err(broken("a segment of something that is not a list")),
                }
            } else {
                let reducer = reducer(graph, &stored.channel);
                slots.insert(stored.channel.clone(), Slot { reducer, value, size: 0, stamp: None });
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
        let mut channels = Self::empty(Arc::clone(graph), inputs);
        for (channel, mut slot) in slots {
            slot.size = size_of(&channel, &slot.value);
            channels.insert(channel, slot);
        }
        for (channel, stamp) in stamps {
            channels.tree.set(channel, stamp.digest);
        }
        let misfits = channels
            .slots
            .iter()
            .filter(|(_, slot)| slot.reducer == Reducer::Untracked || !holds(slot.reducer, &slot.value).0);
        channels.misfits = misfits.map(|(channel, slot)| (channel.clone(), slot.value.clone())).collect();
        channels.forget_untracked();
        Ok(channels)
    }

    /// Returns the channels that cannot hold their stored values, with their reducers and these values.
    pub(in crate::walker) fn misfits(&self) -> impl Iterator<Item = (&str, Reducer, &Value)> {
        let is_still = |(channel, reducer): (&str, Reducer)| {
            let present = self.get(channel);
            reducer == Reducer::Untracked || present.is_some_and(|value| !holds(reducer, value).0)
        };
        let misfits = self.misfits.iter().map(|(channel, value)| (&**channel, self.reducer(channel), value));
        misfits.filter(move |(channel, reducer, _)| is_still((channel, *reducer)))
    }

    /// Resets untracked channels to their defaults, so that a resume finds the same state whether the walker was
    /// restored from a store or has stayed in memory.
    pub(in crate::walker) fn forget_untracked(&mut self) {
        let untracked = |(_, slot): &(&String, &Slot)| slot.reducer == Reducer::Untracked;
        let names: Vec<String> = self.slots.iter().filter(untracked).map(|(name, _)| name.clone()).collect();
        for name in names {
            self.remove(&name);
        }
        let graph = Arc::clone(&self.graph);
        for channel in untracked_of(&graph) {
            if let Some(value) = initial(channel) {
                self.set(&channel.name, Reducer::Untracked, value, 0);
            }
        }
    }

    /// Sets the inputs, which `state.inputs` reads.
    pub(in crate::walker) fn set_inputs(&mut self, inputs: Arc<Value>) {
        self.inputs = inputs;
    }

    fn reducer(&self, channel: &str) -> Reducer {
        reducer(&self.graph, channel)
    }

    /// Size of all channels, as [`size`] measures it.
    pub(in crate::walker) const fn size(&self) -> u64 {
        self.size
    }

    /// Number of channels in a checkpoint.
    pub(in crate::walker) const fn stamped(&self) -> u64 {
        self.stamped
    }

    /// Estimated memory of the channels besides their names and values, in bytes.
    pub(in crate::walker) fn overhead(&self) -> u64 {
        CHANNEL.saturating_mul(self.slots.len() as u64)
    }

    /// Number of channels that live for one superstep only.
    pub(in crate::walker) fn passing_count(&self) -> u64 {
        self.passing.len() as u64
    }

    /// Removes all channels after the end of the run, when only its output is still needed.
    pub(in crate::walker) fn clear(&mut self) {
        *self = Self::empty(Arc::clone(&self.graph), Arc::clone(&self.inputs));
    }

    /// Returns the size of all channels after these writes, with the channels cleared that live for one superstep only.
    pub(in crate::walker) fn size_with(&self, folded: &[FoldedChannel]) -> u64 {
        let of = |channel: &str| self.slots.get(channel).map_or(0, |slot| slot.size);
        let passing = self.passing(folded).map(|(_, slot)| slot.size).fold(0, u64::saturating_add);
        let mut size = self.size.saturating_sub(passing);
        for FoldedChannel { channel, change, size: written, .. } in folded {
            let before = match change {
                Change::Set(_) => of(channel),
                Change::Extend(_) => 0,
            };
            size = size.saturating_sub(before).saturating_add(*written);
        }
        size
    }

    /// Folds the writes to a channel, in task order. Nothing changes yet.
    pub(in crate::walker) fn fold(
        &self,
        channel: String,
        writes: Vec<Write>,
        meter: &Meter,
    ) -> Result<FoldedChannel, ApplyError> {
        let reducer = self.reducer(&channel);
        let current = self.slots.get(&channel).map(|slot| &slot.value);
        let folded = fold(reducer, current, writes, meter).and_then(|change| {
            // The canonical text of the change is serialized, digested and stored.
            let grows = matches!(change, Change::Extend(_)) && current.is_some();
            let name = if grows { 0 } else { channel.len() as u64 };
            let size = change.size().saturating_add(name);
            meter.charge(size)?;
            Ok((change, size))
        });
        match folded {
            Ok((change, size)) => Ok(FoldedChannel { channel, reducer, change, size }),
            Err(error) => Err(ApplyError { channel, reducer, error }),
        }
    }

    /// Returns the value that a channel would have with one more write. `so_far` is the value after earlier writes of the same task.
    pub(in crate::walker) fn with_write(
        &self,
        channel: &str,
        so_far: Option<&Value>,
        write: Write,
        meter: &Meter,
    ) -> Result<Value, FoldError> {
        let current = so_far.or_else(|| self.get(channel));
        match fold(self.reducer(channel), current, vec![write], meter)? {
            Change::Set(value) => Ok(value),
            Change::Extend(items) => {
                let mut list = match current {
                    Some(Value::Array(list)) => {
                        meter.charge(list.iter().map(size::of).fold(size::VALUE, u64::saturating_add))?;
                        list.clone()
                    }
                    _ => Vec::new(),
                };
                list.extend(items);
                Ok(Value::Array(list))
            }
        }
    }

    /// Applies the folded writes of a superstep, and clears the channels that live for one superstep only.
    pub(in crate::walker) fn apply(
        &mut self,
        folded: Vec<FoldedChannel>,
        version: u64,
    ) -> (ChannelUndo, Vec<ChannelChange>) {
        let mut undo = ChannelUndo::default();
        self.clear_passing(version, &folded, &mut undo);
        let changes = self.write(folded, version, &mut undo);
        (undo, changes)
    }

    /// Writes values before the first superstep, through the reducers.
    pub(in crate::walker) fn seed(
        &mut self,
        state: Map<String, Value>,
        meter: &Meter,
    ) -> Result<(), ApplyError> {
        let folded = self.fold_given(state, meter, |_, value| (value, WriteMode::Fold))?;
        let seeded: Vec<_> = folded.iter().map(|folded| folded.channel.clone()).collect();
        self.write(folded, 0, &mut ChannelUndo::default());
        for channel in seeded {
            // A checkpoint has one value of a channel for each version: a seed is part of the first whole one.
            self.write_whole(&channel, 0);
        }
        Ok(())
    }

    /// Writes values of an edit through the reducers; `{overwrite: v}` replaces the value of a reducer channel, since
    /// the user wrote it. Channels that live for one superstep keep their values, since no superstep has run. If any
    /// channel refuses its value, nothing changes.
    pub(in crate::walker) fn edit(
        &mut self,
        values: Map<String, Value>,
        version: u64,
        meter: &Meter,
    ) -> Result<ChannelUndo, ApplyError> {
        let folded = self.fold_given(values, meter, as_edited)?;
        let mut undo = ChannelUndo::default();
        self.write(folded, version, &mut undo);
        Ok(undo)
    }

    /// Folds values from outside the graph.
    fn fold_given(
        &self,
        values: Map<String, Value>,
        meter: &Meter,
        read: impl Fn(Reducer, Value) -> (Value, WriteMode),
    ) -> Result<Vec<FoldedChannel>, ApplyError> {
        let fold = |(channel, value): (String, Value)| {
            let (value, mode) = read(self.reducer(&channel), value);
            self.fold(channel, vec![Write { node: NodeIndex(0), value, mode }], meter)
        };
        values.into_iter().map(fold).collect()
    }

    /// Rewrites channels that were taken back to an earlier checkpoint, so that they follow those of the `newest` one:
    /// each channel that differs is written as a whole, so that values written in between are not read.
    pub(in crate::walker) fn follow(&mut self, newest: &BTreeMap<String, ChannelStamp>, version: u64) {
        let differs = |(channel, slot): (&String, &Slot)| {
            let stamp = slot.stamp.as_ref()?;
            (newest.get(channel) != Some(stamp)).then(|| channel.clone())
        };
        let channels: Vec<String> = self.slots.iter().filter_map(differs).collect();
        for channel in channels {
            self.write_whole(&channel, version);
        }
    }

    /// Merges values of the same version, since a checkpoint has one value of a channel for each version.
    pub(in crate::walker) fn merge_versions(&mut self, version: u64) {
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

    /// Adds values to the next checkpoint as they were read from the store, for a run that begins with them.
    pub(in crate::walker) fn carry(&mut self, values: Vec<ChannelValue>) {
        for value in values {
            self.unpersisted.entry(value.channel.clone()).or_default().push(value);
        }
    }

    fn write(
        &mut self,
        folded: Vec<FoldedChannel>,
        version: u64,
        undo: &mut ChannelUndo,
    ) -> Vec<ChannelChange> {
        let mut changes = Vec::with_capacity(folded.len());
        for FoldedChannel { channel, reducer, change, size } in folded {
            self.remember(&channel, &change, undo);
            match change {
                Change::Extend(items) => {
                    if items.is_empty() && self.slots.contains_key(&channel) {
                        continue;
                    }
                    changes
                        .push(ChannelChange { channel: channel.clone(), appended: Some(items.len() as u64) });
                    self.extend(&channel, reducer, items, size, version);
                }
                Change::Set(value) => {
                    changes.push(ChannelChange { channel: channel.clone(), appended: None });
                    self.set_sized(&channel, reducer, value, size, version);
                }
            }
        }
        changes
    }

    /// Undoes a commit.
    pub(in crate::walker) fn undo(&mut self, undo: ChannelUndo) {
        for (channel, before) in undo.slots.into_iter().rev() {
            match before {
                PreviousValue::Absent => {
                    self.remove(&channel);
                }
                PreviousValue::Value(value, size, stamp) => {
                    let reducer = self.reducer(&channel);
                    self.insert(channel, Slot { reducer, value, size, stamp });
                }
                PreviousValue::Length(length, size, stamp) => {
                    if let Some(slot) = self.slots.get_mut(&channel) {
                        self.size = self.size - slot.size + size;
                        slot.size = size;
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
                UnpersistedValues::Values(values) if values.is_empty() => {
                    self.unpersisted.remove(&channel);
                }
                UnpersistedValues::Values(values) => {
                    self.unpersisted.insert(channel, values);
                }
                UnpersistedValues::Length(length) => {
                    if let Some(values) = self.unpersisted.get_mut(&channel) {
                        values.truncate(length);
                    }
                }
            }
        }
    }

    /// Clears the channels that live for one superstep only and resets untracked channels, since another turn begins.
    pub(in crate::walker) fn begin_turn(&mut self, version: u64) -> ChannelUndo {
        let mut undo = ChannelUndo::default();
        self.clear_passing(version, &[], &mut undo);
        for name in untracked_of(&self.graph).map(|channel| &channel.name) {
            let before = self.slots.get(name).map_or(PreviousValue::Absent, |slot| {
                PreviousValue::Value(slot.value.clone(), slot.size, slot.stamp)
            });
            undo.slots.push((name.clone(), before));
        }
        self.forget_untracked();
        undo
    }

    /// Clears topic and ephemeral values, which were for the superstep that has just run.
    fn clear_passing(&mut self, version: u64, folded: &[FoldedChannel], undo: &mut ChannelUndo) {
        let passing: Vec<String> = self.passing(folded).map(|(channel, _)| channel.clone()).collect();
        for channel in passing {
            let values = self.unpersisted.remove(&channel).unwrap_or_default();
            undo.unpersisted.push((channel.clone(), UnpersistedValues::Values(values)));
            let Some(slot) = self.remove(&channel) else { continue };
            undo.slots.push((channel.clone(), PreviousValue::Value(slot.value, slot.size, slot.stamp)));
            if slot.reducer == Reducer::Topic {
                self.set(&channel, Reducer::Topic, Value::Array(Vec::new()), version);
            }
        }
    }

    /// Returns the channels that live for one superstep only, are not empty and are not written in it.
    fn passing(&self, folded: &[FoldedChannel]) -> impl Iterator<Item = (&String, &Slot)> {
        // Most graphs have no such channel, and every superstep makes this call.
        let folded = if self.passing.is_empty() { &[] } else { folded };
        let written: BTreeSet<&str> = folded.iter().map(|written| written.channel.as_str()).collect();
        self.passing
            .iter()
            .filter_map(|channel| self.slots.get_key_value(channel))
            .filter(|(_, slot)| match slot.reducer {
                Reducer::Ephemeral => true,
                Reducer::Topic => slot.value.as_array().is_none_or(|list| !list.is_empty()),
                _ => false,
            })
            .filter(move |(channel, _)| !written.contains(channel.as_str()))
    }

    fn insert(&mut self, channel: String, slot: Slot) {
        if matches!(slot.reducer, Reducer::Ephemeral | Reducer::Topic) {
            self.passing.insert(channel.clone());
        }
        self.size = self.size.saturating_add(slot.size);
        self.stamped += u64::from(slot.stamp.is_some());
        if let Some(before) = self.slots.insert(channel, slot) {
            self.size = self.size.saturating_sub(before.size);
            self.stamped -= u64::from(before.stamp.is_some());
        }
    }

    fn remove(&mut self, channel: &str) -> Option<Slot> {
        let slot = self.slots.remove(channel)?;
        if slot.stamp.is_some() {
            self.removed.insert(channel.to_owned());
        }
        self.passing.remove(channel);
        self.size = self.size.saturating_sub(slot.size);
        self.stamped -= u64::from(slot.stamp.is_some());
        Some(slot)
    }

    fn remember(&mut self, channel: &str, change: &Change, undo: &mut ChannelUndo) {
        let (before, values) = match (change, self.slots.get_mut(channel)) {
            (_, None) => (PreviousValue::Absent, None),
            (Change::Extend(_), Some(Slot { value: Value::Array(list), size, stamp, .. })) => {
                let length = self.unpersisted.get(channel).map_or(0, Vec::len);
                (PreviousValue::Length(list.len(), *size, *stamp), Some(UnpersistedValues::Length(length)))
            }
            (_, Some(slot)) => {
                (PreviousValue::Value(std::mem::take(&mut slot.value), slot.size, slot.stamp), None)
            }
        };
        let values = values.unwrap_or_else(|| {
            UnpersistedValues::Values(self.unpersisted.remove(channel).unwrap_or_default())
        });
        undo.slots.push((channel.to_owned(), before));
        undo.unpersisted.push((channel.to_owned(), values));
    }

    fn set(&mut self, channel: &str, reducer: Reducer, value: Value, version: u64) {
        let size = size_of(channel, &value);
        self.set_sized(channel, reducer, value, size, version);
    }

    /// Sets a channel to a value whose size is known ([`size_of`]).
    fn set_sized(&mut self, channel: &str, reducer: Reducer, value: Value, size: u64, version: u64) {
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
        self.insert(channel.to_owned(), Slot { reducer, value, size, stamp });
    }

    /// Appends items, whose size is `added`, to a list channel.
    fn extend(&mut self, channel: &str, reducer: Reducer, items: Vec<Value>, added: u64, version: u64) {
        let Some(Slot { value: Value::Array(list), size, stamp: Some(stamp), .. }) =
            self.slots.get_mut(channel)
        else {
            self.set(channel, reducer, Value::Array(items), version);
            return;
        };
        *size = size.saturating_add(added);
        self.size = self.size.saturating_add(added);
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

    /// Returns the stamps of all tracked channels.
    pub(in crate::walker) fn stamps(&self) -> BTreeMap<String, ChannelStamp> {
        self.slots
            .iter()
            .filter_map(|(channel, slot)| slot.stamp.map(|stamp| (channel.clone(), stamp)))
            .collect()
    }

    /// Returns the stamps of channels that changed since the last checkpoint, and the channels in it that no longer
    /// exist; later changes count from here.
    pub(in crate::walker) fn take_changed(&mut self) -> (BTreeMap<String, ChannelStamp>, Vec<String>) {
        let (mut changed, mut removed) = (BTreeMap::new(), Vec::new());
        let stamp_of = |channel: &String| self.slots.get(channel).and_then(|slot| slot.stamp);
        for channel in std::mem::take(&mut self.removed) {
            if stamp_of(&channel).is_none() && self.tree.remove(&channel) {
                removed.push(channel);
            }
        }
        for channel in self.unpersisted.keys() {
            if let Some(stamp) = stamp_of(channel) {
                self.tree.set(channel, stamp.digest);
                changed.insert(channel.clone(), stamp);
            }
        }
        (changed, removed)
    }

    /// Returns the digest of the channels as of the last [`Self::take_changed`].
    pub(in crate::walker) fn state_digest(&mut self) -> Digest {
        self.tree.digest()
    }

    /// Takes the values that no checkpoint contains yet, by channel and then by version.
    pub(in crate::walker) fn take_unpersisted(&mut self) -> Vec<ChannelValue> {
        std::mem::take(&mut self.unpersisted).into_values().flatten().collect()
    }

    pub(in crate::walker) fn get(&self, channel: &str) -> Option<&Value> {
        self.slots.get(channel).map(|slot| &slot.value)
    }

    /// Takes the whole state as an object, and removes all channels.
    pub(in crate::walker) fn take(&mut self) -> Map<String, Value> {
        let slots = std::mem::take(&mut self.slots);
        self.clear();
        slots.into_iter().map(|(channel, slot)| (channel, slot.value)).collect()
    }

    /// Returns the whole state as an object.
    pub(in crate::walker) fn to_map(&self) -> Map<String, Value> {
        self.slots.iter().map(|(channel, slot)| (channel.clone(), slot.value.clone())).collect()
    }
}

impl Fields for Channels {
    fn field(&self, key: &str) -> Option<&Value> {
        if key == "inputs" { Some(&self.inputs) } else { self.get(key) }
    }

    fn to_value(&self, meter: &Meter) -> Result<Value, FuelExhausted> {
        meter.charge(self.size.saturating_add(size::of_map(self.slots.len())))?;
        Ok(Value::Object(self.to_map()))
    }
}

/// Returns the value and mode of a write by an edit.
fn as_edited(reducer: Reducer, value: Value) -> (Value, WriteMode) {
    match overwritten(&value).filter(|_| reducer.folds()) {
        Some(value) => (value.clone(), WriteMode::Overwrite),
        None => (value, WriteMode::Fold),
    }
}

/// Returns the size of a channel's name and value.
fn size_of(channel: &str, value: &Value) -> u64 {
    size::of(value).saturating_add(channel.len() as u64)
}

/// Returns the reducer of a channel, which the graph declares or the host keeps for the graph.
fn reducer(graph: &Graph, channel: &str) -> Reducer {
    let is_kept = || {
        channel.starts_with('_')
            && (crate::walker::nodes::feedback::is_channel(graph, channel)
                || channel == rye::THREADS && HostItem::Threads.may_be_in(graph))
    };
    match graph.channel(channel) {
        Some(declared) => declared.reducer,
        None if is_kept() => Reducer::Append,
        None => Reducer::LastValue,
    }
}

/// Returns the channels that a graph declares as untracked.
fn untracked_of(graph: &Graph) -> impl Iterator<Item = &Channel> {
    graph.channels.iter().filter(|channel| channel.reducer == Reducer::Untracked)
}

fn initial(channel: &Channel) -> Option<Value> {
    channel.default.clone().or_else(|| {
        matches!(channel.reducer, Reducer::Append | Reducer::Union | Reducer::Messages | Reducer::Topic)
            .then(|| Value::Array(Vec::new()))
    })
}
