//! Hooks of a graph.

use super::fields::MappingFields;
use super::node_builder::ActionBuilder;
use super::when::When;
use graph_core::hook_event::{Control, HookEvent};
use graph_core::yaml::Node;

/// A hook of a graph that is being built.
#[derive(Clone, Debug)]
pub struct HookBuilder(MappingFields);

impl HookBuilder {
    /// Creates a hook that dispatches an item, whose result may control the run.
    pub fn run(event: HookEvent, action: ActionBuilder) -> Self {
        let mut fields = MappingFields::default();
        fields.set("event", event.as_str());
        fields.set_node("action", action.into_node());
        Self(fields)
    }

    /// Creates a hook that controls the run without a dispatch.
    pub fn control(event: HookEvent, control: Control) -> Self {
        let mut action = MappingFields::default();
        action.set(control.action.as_str(), true);
        if let Some(most) = control.max_retries {
            action.set("max_retries", most);
        }
        if let Some(steps) = control.additional_steps {
            action.set("additional_steps", steps);
        }
        let mut fields = MappingFields::default();
        fields.set("event", event.as_str());
        fields.set_node("action", action.into_node());
        Self(fields)
    }

    /// Sets the name in records, unique in the graph. Without an id, the hook's position is the name.
    #[must_use]
    pub fn id(mut self, id: &str) -> Self {
        self.0.set("id", id);
        self
    }

    /// Sets a description for people.
    #[must_use]
    pub fn description(mut self, description: &str) -> Self {
        self.0.set("description", description);
        self
    }

    /// Asks the hook only if a condition over the context of the event holds.
    #[must_use]
    pub fn when(mut self, condition: When) -> Self {
        self.0.set_node("condition", condition.into_node());
        self
    }

    /// Makes the run fail if the hook fails.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.0.set("required", true);
        self
    }

    pub(super) fn into_node(self) -> Node {
        self.0.into_node()
    }
}
