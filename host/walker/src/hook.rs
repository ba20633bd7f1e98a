//! Hooks: actions at events of a run, which may change how the run continues.

use crate::graph::Action;
use graph_core::condition::Condition;
use graph_core::hook_event::{Control, HookEvent, HookLayer};
use graph_core::item::{ItemOperation, ItemType};

/// The built-in item: it needs no grant, and returns its params, which decide how the run continues.
pub const CONTROL_ITEM: &str = "rye/agent/threads/internal/control";
/// Number of retries of a failure if the control result does not state one.
pub const MAX_RETRIES: u32 = 3;
/// Number of additional supersteps if the control result does not state one.
pub const ADDITIONAL_STEPS: u64 = 50;

/// Checks whether an action is the built-in control item.
pub fn is_control_item(operation: ItemOperation, item_type: ItemType, item_id: &str) -> bool {
    operation == ItemOperation::Execute && item_type == ItemType::Tool && item_id == CONTROL_ITEM
}

/// A hook, ready to be asked.
#[derive(Debug)]
pub struct Hook {
    /// The hook's `id`, or its layer and index, such as `1.0`.
    pub name: String,
    /// A description for people.
    pub description: Option<String>,
    /// The layer that it belongs to.
    pub layer: HookLayer,
    /// The event at which the hook is asked.
    pub event: HookEvent,
    /// The condition under which its action is performed.
    pub condition: Condition,
    /// The action at the event.
    pub action: HookAction,
    /// `true` if a failure of the hook fails the run.
    pub required: bool,
}

/// The action of a hook.
#[derive(Debug)]
pub enum HookAction {
    /// Dispatches an item, as a node does.
    Item(Action),
    /// Decides how the run continues.
    Control(Control),
    /// Nothing: `{retry: false}`.
    Nothing,
}
