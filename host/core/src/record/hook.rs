//! Hooks in records: the ones that are due at a boundary, and the result of each.

use serde::{Deserialize, Serialize};

use super::body::is_zero;
use super::value::CanonicalValue;
use crate::digest::Digest;
use crate::hook_event::{Control, HookEvent};
use crate::item::{ItemOperation, ItemType};
use crate::limits::{Budget, HostUse, ModelUse};
use crate::node::Failure;
use crate::time::Timestamp;

/// A hook that is due: its condition holds, and its templates are evaluated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedHook {
    /// The action, with its templates evaluated.
    pub action: PlannedAction,
    /// The call's id: `task/error/n/hook`, `task/after_step/hook`, or `superstep/event/hook`.
    pub call: String,
    /// The event.
    pub event: HookEvent,
    /// The name of the hook: its `id`, or its layer and index.
    pub hook: String,
    /// The hook's layer, from 1 to 3.
    pub layer: u8,
    /// `true` if a failure of the hook fails the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
}

/// The action of a hook that is due.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum PlannedAction {
    /// The hook decides how the run continues.
    Control {
        /// The decision, with its parameters.
        control: Control,
    },
    /// The hook cannot be performed.
    Fail {
        /// The budget of the run that did not suffice to evaluate it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<Budget>,
        /// The reason.
        failure: Failure,
    },
    /// The hook dispatches an item, if that is permitted.
    Run {
        /// The id of the item to dispatch.
        item_id: String,
        /// The type of the item.
        item_type: ItemType,
        /// The params, with templates evaluated.
        params: CanonicalValue,
        /// The operation on the item.
        #[serde(rename = "primary")]
        operation: ItemOperation,
    },
}

/// The result of a hook, or the reservation of its call for language models until there is a result. It is void once a newer checkpoint is
/// persisted, whose `hooked` contains it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookRecord {
    /// The time at which the hook ended.
    pub at: Timestamp,
    /// The budget of the run that was used up by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// The id of the call: see [`PlannedHook::call`].
    pub call: String,
    /// The record digest of its checkpoint.
    pub checkpoint: Digest,
    /// The hook's decision about how the run continues, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Control>,
    /// Number of dispatches of its item under its checkpoint, this call included; 0 if it was denied, or needs no dispatch.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dispatches: u32,
    /// The event.
    pub event: HookEvent,
    /// The failure, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Fuel of this call.
    pub fuel: u64,
    /// Fuel of the task so far, at an error, or of the run, this call included.
    pub fuel_total: u64,
    /// Use of the host by this call.
    #[serde(default, skip_serializing_if = "HostUse::is_nothing")]
    pub host: HostUse,
    /// Use of the host by the task (at an error) or by the run so far, this call included.
    #[serde(default, skip_serializing_if = "HostUse::is_nothing")]
    pub host_total: HostUse,
    /// The name of the hook: its `id`, or its layer and index.
    pub hook: String,
    /// The dispatched item, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// The hook's layer, from 1 to 3.
    pub layer: u8,
    /// Use of language models that earlier dispatches of this call may have had before a crash, a kill or a deadline. It counts as used by
    /// the run, and is not in the other figures.
    #[serde(default, skip_serializing_if = "ModelUse::is_nothing")]
    pub lost: ModelUse,
    /// The namespace of the run to which the event belongs; empty for the root run.
    pub namespace: String,
    /// `true` if a failure of the hook fails the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// `true` if the call has no result yet: the record was written before a request to a language model, and `host` is the call's use plus
    /// its reservation of models. The reservation counts as used if the call ends without a result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reserved: bool,
    /// The answer of its item; null if the hook failed.
    pub result: CanonicalValue,
    /// Number of times that the run had continued after a failure or a limit under its checkpoint.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resumes: u32,
    /// The id of the root run.
    pub run: String,
    /// The sequence number of its checkpoint.
    pub sequence: u64,
    /// Warnings of the hook.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The result of a hook, for the history of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookSummary {
    /// The id of the call: see [`PlannedHook::call`].
    pub call: String,
    /// The hook's decision about how the run continued, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Control>,
    /// Number of dispatches of its item under its checkpoint; 0 if it was denied, or needs no dispatch.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dispatches: u32,
    /// The event.
    pub event: HookEvent,
    /// The failure, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Fuel of the call.
    pub fuel: u64,
    /// The name of the hook: its `id`, or its layer and index.
    pub hook: String,
    /// The call's use of the host.
    #[serde(default, skip_serializing_if = "HostUse::is_nothing")]
    pub host: HostUse,
    /// The dispatched item, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// The hook's layer, from 1 to 3.
    pub layer: u8,
    /// Use of language models that earlier dispatches of the call may have had before a crash, a kill or a deadline.
    #[serde(default, skip_serializing_if = "ModelUse::is_nothing")]
    pub lost: ModelUse,
}

impl HookSummary {
    /// Creates the summary of a record.
    pub fn from_record(record: &HookRecord) -> Self {
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
