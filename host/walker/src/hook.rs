//! Hooks: actions at events of a run, which may change how the run continues.

use crate::graph::Action;
use graph_core::condition::Condition;
use graph_core::hook_event::{Control, HookEvent, HookLayer};
use graph_core::item::{ItemType, Primary};

/// The built-in item: it needs no grant and answers with its params, which decide how the run continues.
pub const CONTROL_ITEM: &str = "rye/agent/threads/internal/control";
/// How often a failure is tried again by a control result that does not say.
pub const MAX_RETRIES: u32 = 3;
/// How many supersteps more a control result gives that does not say.
pub const ADDITIONAL_STEPS: u64 = 50;

/// Whether an action is the item that is built in.
pub fn is_control_item(primary: Primary, item_type: ItemType, item_id: &str) -> bool {
    primary == Primary::Execute && item_type == ItemType::Tool && item_id == CONTROL_ITEM
}

/// A hook, ready to be asked.
#[derive(Debug)]
pub struct Hook {
    /// Its `id`, or its layer and index, such as `1.0`.
    pub name: String,
    /// A description for people.
    pub description: Option<String>,
    /// The layer that it belongs to.
    pub layer: HookLayer,
    /// When it is asked.
    pub event: HookEvent,
    /// Its action is performed only if this holds.
    pub condition: Condition,
    /// What it does at the event.
    pub action: HookAction,
    /// Whether the run fails if the hook fails.
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
