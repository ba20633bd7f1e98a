//! What conditions and templates of hooks read.

use serde_json::{Value, json};

use super::Walker;
use super::event::Effect;
use super::machine::Phase;
use super::routes::failure_document;
use super::superstep::{Superstep, Task, TaskState};
use super::writes::item_result;
use crate::hook::HookEvent;
use crate::node::Failure;
use crate::record::{InterruptRecord, PlannedHook};
use crate::template::{Root, Scope};
use crate::work::{Meter, rates, size};

/// A superstep that has committed, while it is worked out which hooks follow its tasks.
#[derive(Debug)]
pub(super) struct Planning {
    superstep: Superstep,
    /// The nodes that are next.
    next: Vec<Value>,
    /// How many of its tasks have been gone through.
    at: usize,
}

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
        self.charge_boundary();
    }

    fn plan_boundary(&mut self, event: HookEvent, place: &str, context: &HookContext) {
        let mut warnings = Vec::new();
        let meter = self.meter(0);
        let planned: Vec<PlannedHook> =
            self.plan_hooks(event, &format!("{place}/{event}"), context, &mut warnings, &meter);
        self.count_work(&meter);
        self.hooks.planned.extend(planned);
        for warning in warnings {
            self.warn_once(warning);
        }
    }

    /// Begins to work out what is due once a superstep has committed: what follows each of its tasks, and what follows the
    /// run's end. The boundary is known once that is done.
    pub(super) fn begin_plan(&mut self, superstep: Superstep, fx: &mut Vec<Effect>) {
        if !self.has_hooks(HookEvent::AfterStep) {
            return self.finish_plan(fx);
        }
        let next =
            self.next.iter().map(|step| Value::from(self.graph.node(step.node).name.as_str())).collect();
        self.planning = Some(Box::new(Planning { superstep, next, at: 0 }));
        self.phase = Phase::Planning;
    }

    /// Goes on with it until it is done, or until enough has been done at one time. Where the run is to stop, the hooks that
    /// are left are not asked: that they were not is a warning.
    pub(super) fn plan_more(&mut self, fx: &mut Vec<Effect>) {
        let Some(mut planning) = self.planning.take() else { return };
        while let Some(task) = planning.superstep.tasks.get(planning.at) {
            if self.cancel_requested || self.timed_out {
                let left = planning.superstep.tasks.len() - planning.at;
                self.warn_once(format!(
                    "the run stopped before the `after_step` hooks of {left} tasks were asked"
                ));
                break;
            }
            if self.has_worked_enough() {
                self.planning = Some(planning);
                return;
            }
            planning.at += 1;
            self.plan_task(&planning.superstep, task, &planning.next);
        }
        self.finish_plan(fx);
    }

    fn plan_task(&mut self, superstep: &Superstep, task: &Task, next: &[Value]) {
        let event = HookEvent::AfterStep;
        let result = match &task.state {
            TaskState::Done(_) => Ok(item_result(&task.state)),
            TaskState::Handled(failure) => Err(failure_document(failure)),
            _ => return,
        };
        let meter = self.meter(0);
        let copied = match result {
            Ok(result) => size::copy(result, &meter),
            Err(failure) => Ok(failure),
        };
        let copied = copied.and_then(|result| meter.charge_each(next.len(), rates::VALUE).map(|()| result));
        self.count_work(&meter);
        match copied {
            Ok(result) => {
                let context = self
                    .task_context(event, superstep, task)
                    .with("result", result)
                    .with("next_node", next.first().cloned().unwrap_or_default())
                    .with("next", next.to_vec());
                self.plan_boundary(event, &task.id, &context);
            }
            Err(exhausted) => {
                let id = &task.id;
                self.warn_once(format!("the `after_step` hooks of task {id} were not asked: {exhausted}"));
            }
        }
    }

    fn finish_plan(&mut self, fx: &mut Vec<Effect>) {
        self.plan_end();
        self.charge_boundary();
        self.reach_boundary(fx);
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
        meter: &Meter,
    ) -> Vec<PlannedHook> {
        let event = HookEvent::Error;
        let category = failure.category.as_str().replace('-', "_");
        let context = self
            .task_context(event, superstep, task)
            .with("error", failure_document(failure))
            .with("classification", json!({ "category": category }));
        self.plan_hooks(event, &format!("{}/{event}/{}", task.id, task.used.asked), &context, warnings, meter)
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
        let meter = self.meter(0);
        let planned = self.plan_hooks(event, &place, context, &mut warnings, &meter);
        self.count_work(&meter);
        for warning in warnings {
            self.warn_once(warning);
        }
        planned
    }

    fn hook_place(&self, superstep: u64) -> String {
        self.place(superstep)
    }
}
