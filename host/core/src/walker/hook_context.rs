//! What conditions and templates of hooks read.

use serde_json::{Value, json};

use super::Walker;
use super::commit::item_result;
use super::routes::failure_document;
use super::superstep::{Superstep, Task, TaskState};
use crate::hook::HookEvent;
use crate::node::Failure;
use crate::record::{InterruptRecord, PlannedHook};
use crate::template::{Root, Scope};

/// The values that hooks of one event read, besides the state and the inputs.
#[derive(Debug)]
pub(super) struct HookContext {
    values: Vec<(&'static str, Value)>,
}

impl HookContext {
    fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.values.push((name, value.into()));
        self
    }
}

impl Walker {
    fn hook_context(&self, event: HookEvent) -> HookContext {
        HookContext { values: Vec::with_capacity(10) }
            .with("event", event.as_str())
            .with("graph_id", self.graph.id.as_str())
            .with("run", self.run_document())
            .with("step_count", self.step)
    }

    pub(super) fn hook_scope<'a>(&'a self, context: &'a HookContext) -> Scope<'a> {
        let scope = Scope::new()
            .with("state", Root::Fields(&self.channels))
            .with("inputs", Root::Value(&self.setup.inputs));
        context.values.iter().fold(scope, |scope, (name, value)| scope.with(name, Root::Value(value)))
    }

    /// What is due before the first superstep.
    pub(super) fn plan_start(&mut self) {
        let event = HookEvent::GraphStarted;
        if self.has_hooks(event) {
            let context = self.hook_context(event);
            self.plan_boundary(event, &self.hook_place(self.step), &context);
        }
    }

    fn plan_boundary(&mut self, event: HookEvent, place: &str, context: &HookContext) {
        let mut warnings = Vec::new();
        let planned: Vec<PlannedHook> =
            self.plan_hooks(event, &format!("{place}/{event}"), context, &mut warnings);
        self.hooks.planned.extend(planned);
        for warning in warnings {
            self.warn_once(warning);
        }
    }

    /// What is due once a superstep has committed: what follows each of its tasks, and what follows the run's end.
    pub(super) fn plan_commit(&mut self, superstep: &Superstep) {
        let event = HookEvent::AfterStep;
        if self.has_hooks(event) {
            let next: Vec<Value> =
                self.next.iter().map(|step| Value::from(self.graph.node(step.node).name.as_str())).collect();
            for task in &superstep.tasks {
                let result = match &task.state {
                    TaskState::Done(_) => item_result(&task.state),
                    TaskState::Handled(failure) => failure_document(failure),
                    _ => continue,
                };
                let context = self
                    .task_context(event, superstep, task)
                    .with("result", result)
                    .with("next_node", next.first().cloned().unwrap_or_default())
                    .with("next", next.clone());
                self.plan_boundary(event, &task.id, &context);
            }
        }
        self.plan_end();
    }

    /// What follows the run's end, if this is it.
    pub(super) fn plan_end(&mut self) {
        let event = HookEvent::GraphCompleted;
        if let Some(end) = self.end.clone()
            && self.has_hooks(event)
        {
            let context = self
                .hook_context(event)
                .with("steps", self.step)
                .with("status", end.status.as_str())
                .with("ended_by", end.ended_by.as_str())
                .with("output", Value::clone(&end.output.0));
            self.plan_boundary(event, &self.hook_place(self.step), &context);
        }
    }

    fn task_context(&self, event: HookEvent, superstep: &Superstep, task: &Task) -> HookContext {
        let node = self.graph.node(superstep.activated[task.activated].node);
        self.hook_context(event)
            .with("node", node.name.as_str())
            .with("task", &*task.id)
            .with("attempt", task.attempt)
    }

    /// What is due because a task has failed for good, as far as its retry policy goes.
    pub(super) fn plan_error(
        &self,
        superstep: &Superstep,
        task: &Task,
        failure: &Failure,
        warnings: &mut Vec<String>,
    ) -> Vec<PlannedHook> {
        let event = HookEvent::Error;
        let category = failure.category.as_str().replace('-', "_");
        let context = self
            .task_context(event, superstep, task)
            .with("error", failure_document(failure))
            .with("classification", json!({ "category": category }));
        self.plan_hooks(event, &format!("{}/{event}/{}", task.id, task.used.asked), &context, warnings)
    }

    /// What is due because the run is about to stop at a limit.
    pub(super) fn plan_limit(&mut self, code: &str, value: Value, most: Value) -> Vec<PlannedHook> {
        let event = HookEvent::Limit;
        if !self.has_hooks(event) {
            return Vec::new();
        }
        let next: Vec<Value> =
            self.next.iter().map(|step| Value::from(self.graph.node(step.node).name.as_str())).collect();
        let context = self
            .hook_context(event)
            .with("limit_code", code)
            .with("current_value", value)
            .with("current_max", most)
            .with("next", next);
        self.plan_stop(event, code, &context)
    }

    /// What is due because the run is about to ask.
    pub(super) fn plan_interrupt(&mut self, open: &[InterruptRecord]) -> Vec<PlannedHook> {
        let event = HookEvent::Interrupt;
        if !self.has_hooks(event) {
            return Vec::new();
        }
        // Hooks are asked once about the same questions, however often the run stops at them.
        let mut digest = crate::digest::DomainHasher::new("graph-host/interrupts/v1");
        for asked in open {
            digest = digest.field(asked.id.as_bytes());
        }
        let questions: Vec<Value> = open
            .iter()
            .map(|asked| json!({ "id": asked.id, "node": asked.node, "payload": *asked.payload.0 }))
            .collect();
        let first = open.first().map_or(Value::Null, |asked| Value::from(asked.node.as_str()));
        let context = self.hook_context(event).with("node", first).with("interrupts", questions);
        self.plan_stop(event, &digest.finish().hex()[..16], &context)
    }

    fn plan_stop(&mut self, event: HookEvent, which: &str, context: &HookContext) -> Vec<PlannedHook> {
        let mut warnings = Vec::new();
        let place = format!("{}/{event}/{which}", self.hook_place(self.step + 1));
        let planned = self.plan_hooks(event, &place, context, &mut warnings);
        for warning in warnings {
            self.warn_once(warning);
        }
        planned
    }

    fn hook_place(&self, superstep: u64) -> String {
        self.place(superstep)
    }
}
