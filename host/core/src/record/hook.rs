//! What records hold about hooks: which ones are due at a boundary, and the result of each.

use serde::{Deserialize, Serialize};

use super::body::is_none_yet;
use super::value::Canonical;
use crate::digest::Digest;
use crate::hook_event::{Control, HookEvent};
use crate::item::{ItemType, Primary};
use crate::limits::{Budget, HostUse, ModelUse};
use crate::node::Failure;
use crate::time::Timestamp;

/// A hook that is due: its condition holds, and its templates are filled in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedHook {
    /// What is to be done, with its templates filled in.
    pub action: PlannedAction,
    /// The call's id: `task/error/n/hook`, `task/after_step/hook`, or `superstep/event/hook`.
    pub call: String,
    /// The event that it is asked about.
    pub event: HookEvent,
    /// The name of the hook: its `id`, or its layer and index.
    pub hook: String,
    /// The hook's layer, from 1 to 3.
    pub layer: u8,
    /// Whether the run fails if the hook fails.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
}

/// The action of a hook that is due.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum PlannedAction {
    /// It decides how the run continues.
    Control {
        /// The decision, with its parameters.
        control: Control,
    },
    /// It cannot be carried out.
    Fail {
        /// The budget of the run that did not suffice to work it out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<Budget>,
        /// Why it cannot be carried out.
        failure: Failure,
    },
    /// It dispatches an item, if that is permitted.
    Run {
        /// The id of the item to dispatch.
        item_id: String,
        /// What kind of item it is.
        item_type: ItemType,
        /// Its params, templates resolved.
        params: Canonical,
        /// What to do with the item.
        primary: Primary,
    },
}

/// The result of a hook, or what its call may use of language models until it has one. It is void as soon as a newer checkpoint is persisted, whose `hooked` contains it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookRecord {
    /// When the hook ended.
    pub at: Timestamp,
    /// The budget of the run that did not suffice for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// The id of the call: see [`PlannedHook::call`].
    pub call: String,
    /// The record digest of the checkpoint it is under.
    pub checkpoint: Digest,
    /// How the run is to continue, if the hook decided that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Control>,
    /// How often its item was dispatched under its checkpoint, this call included; 0 where it was denied, or answers
    /// without a dispatch.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub dispatches: u32,
    /// The event that the hook was asked about.
    pub event: HookEvent,
    /// Why it failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Fuel of this call.
    pub fuel: u64,
    /// Fuel of the task so far, at an error, or of the run; this call included.
    pub fuel_total: u64,
    /// What this call used of the host.
    #[serde(default, skip_serializing_if = "HostUse::is_nothing")]
    pub host: HostUse,
    /// What the task (at an error) or the run has used of the host so far, this call included.
    #[serde(default, skip_serializing_if = "HostUse::is_nothing")]
    pub host_total: HostUse,
    /// The name of the hook: its `id`, or its layer and index.
    pub hook: String,
    /// The item that was dispatched, if one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// The hook's layer, from 1 to 3.
    pub layer: u8,
    /// What earlier dispatches of this call may have used of language models before a crash, a kill or a deadline. It counts as used by the run, and is not in
    /// the other figures.
    #[serde(default, skip_serializing_if = "ModelUse::is_nothing")]
    pub lost: ModelUse,
    /// The namespace of the run that was asked about; empty for the root run.
    pub namespace: String,
    /// Whether the run fails if the hook fails.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// The call has no result yet: this was written before it asked a language model, and `host` is what it has used and may use of models. That
    /// counts as used if the call ends without a result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reserved: bool,
    /// The answer of its item; null if it failed.
    pub result: Canonical,
    /// How often the run had continued after a failure or a limit under its checkpoint.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub resumes: u32,
    /// The id of the root run.
    pub run: String,
    /// The sequence number of the checkpoint it is under.
    pub sequence: u64,
    /// Warnings that it raised.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The result of a hook, for the history of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookSummary {
    /// The id of the call: see [`PlannedHook::call`].
    pub call: String,
    /// How the run continued, if the hook decided that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Control>,
    /// How often its item was dispatched under its checkpoint; 0 where it was denied, or answers without a dispatch.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub dispatches: u32,
    /// The event that the hook was asked about.
    pub event: HookEvent,
    /// Why it failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Fuel of the call.
    pub fuel: u64,
    /// The name of the hook: its `id`, or its layer and index.
    pub hook: String,
    /// What the call used of the host.
    #[serde(default, skip_serializing_if = "HostUse::is_nothing")]
    pub host: HostUse,
    /// The item that was dispatched, if one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// The hook's layer, from 1 to 3.
    pub layer: u8,
    /// What earlier dispatches of the call may have used of language models before a crash, a kill or a deadline.
    #[serde(default, skip_serializing_if = "ModelUse::is_nothing")]
    pub lost: ModelUse,
}

impl HookSummary {
    /// The summary of a record.
    pub fn of(record: &HookRecord) -> Self {
        Self {
            call: record.call.clone(),
            control: record.control,
            dispatches: record.dispatches,
            event: record.event,
            failure: record.failure.clone(),
            fuel: record.fuel,
            hook: record.hook.clone(),
            host: record.host,
            item: record.item.clone(),
            layer: record.layer,
            lost: record.lost,
        }
    }
}
