//! Values that conditions and templates of hooks read, and the planning of hooks for each event.

use serde_json::{Value, json};

use crate::compat::rye;
use crate::graph::{Node, RetryPolicy};
use crate::walker::Walker;
use crate::walker::event::Effect;
use crate::walker::nodes::routes::{code_of, failure_document};
use crate::walker::phase::{Cause, Phase};
use crate::walker::state::writes::item_result;
use crate::walker::tasks::superstep::Superstep;
use crate::walker::tasks::task::{Task, TaskState};
use graph_core::hook_event::HookEvent;
use graph_core::node::Failure;
use graph_core::record::{InterruptRecord, PlannedHook, Status};
use graph_core::template::{Root, Scope};
use graph_core::work::{FuelExhausted, Meter, rates, size};

/// A superstep that has committed, while the hooks after its tasks are planned.
#[derive(Debug)]
pub(in crate::walker) struct HookPlanning {
    superstep: Superstep,
    /// The nodes that are next.
    next: Vec<Value>,
    /// Number of tasks whose hooks are planned.
    at: usize,
}

/// The values that hooks of one event read, besides the state and the inputs.
#[derive(Debug)]
pub(in crate::walker) struct HookContext {
    values: Vec<(&'static str, Value)>,
}

impl HookContext {
    /// Adds a value; a later value of a name replaces an earlier one.
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
            .with("step_count", self.position.step())
    }

    /// Builds the context of hooks that are asked about a failed task of the active superstep.
    fn failure_context(
        &self,
        event: HookEvent,
        superstep: &Superstep,
        task: &Task,
        failure: &Failure,
        meter: &Meter,
    ) -> Result<HookContext, FuelExhausted> {
        let mut context = self.task_context(event, superstep, task);
        let node = self.graph.node(superstep.node_of(task));
        let mut error = failure_document(failure);
        let classification = if self.graph.dialect.tells_failures_as_rye() {
            context = context.with("step_count", superstep.number());
            error = rye::error_document(failure, error, meter)?;
            rye::classification(failure, meter)?
        } else {
            classification(node, failure, meter)?
        };
        Ok(context.with("error", error).with("classification", classification))
    }

    pub(in crate::walker) fn hook_scope<'a>(&'a self, context: &'a HookContext) -> Scope<'a> {
        let scope = Scope::new()
            .with("state", Root::Fields(&self.channels))
            .with("inputs", Root::Value(&self.setup.inputs));
        context.values.iter().fold(scope, |scope, (name, value)| scope.with(name, Root::Value(value)))
    }

    /// Plans the hooks that are due before the first superstep.
    pub(in crate::walker) fn plan_start(&mut self) {
        let event = HookEvent::GraphStarted;
        if self.has_hooks(event) {
            let context = self.hook_context(event);
            self.plan_boundary(event, &self.place(self.position.step()), &context);
        }
        self.usage.charge_work();
    }

    fn plan_boundary(&mut self, event: HookEvent, place: &str, context: &HookContext) {
        let mut warnings = Vec::new();
        let meter = self.meter(0);
        let planned: Vec<PlannedHook> =
            self.plan_hooks(event, &format!("{place}/{event}"), context, &mut warnings, &meter);
        self.count_work(&meter);
        self.hooks.plan(planned);
        for warning in warnings {
            self.warn_once(warning);
        }
    }

    /// Begins to plan the hooks after a committed superstep: those after each task, and those after the run's end. The
    /// boundary is complete once they are planned.
    pub(in crate::walker) fn begin_plan(&mut self, superstep: Superstep, fx: &mut Vec<Effect>) {
        if !self.has_hooks(HookEvent::AfterStep) {
            return self.finish_plan(fx);
        }
        let next = self
            .agenda
            .next()
            .iter()
            .map(|step| Value::from(self.graph.node(step.node()).name.as_str()))
            .collect();
        let planning = HookPlanning { superstep, next, at: 0 };
        self.phase.enter(Cause::Plan, Phase::Planning(Box::new(planning)));
    }

    /// Continues planning until it is done, or until the time slice is over. If the run is to stop, the remaining hooks
    /// are not asked, which raises a warning.
    pub(in crate::walker) fn plan_more(&mut self, fx: &mut Vec<Effect>) {
        let Some(mut planning) = self.phase.take_planning() else { return };
        while let Some(task) = planning.superstep.tasks().get(planning.at) {
            if self.stop.is_cancel_requested() || self.stop.is_timed_out() {
                let left = planning.superstep.tasks().len() - planning.at;
                self.warn_once(format!(
                    "the run stopped before the `after_step` hooks of {left} tasks were asked"
                ));
                break;
            }
            if self.slice.is_over() {
                return self.phase.keep(Phase::Planning(planning));
            }
            planning.at += 1;
            self.plan_task(&planning.superstep, task, &planning.next);
        }
        self.finish_plan(fx);
    }

    fn plan_task(&mut self, superstep: &Superstep, task: &Task, next: &[Value]) {
        let event = HookEvent::AfterStep;
        let result = match task.state() {
            TaskState::Done(_) => Ok(item_result(task.state())),
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
                self.plan_boundary(event, task.id(), &context);
            }
            Err(exhausted) => {
                let id = task.id();
                self.warn_once(format!("the `after_step` hooks of task {id} were not asked: {exhausted}"));
            }
        }
    }

    fn finish_plan(&mut self, fx: &mut Vec<Effect>) {
        self.plan_end();
        self.usage.charge_work();
        self.reach_boundary(fx);
    }

    /// Plans the hooks after the end of the run, if it has ended.
    pub(in crate::walker) fn plan_end(&mut self) {
        let event = HookEvent::GraphCompleted;
        if let Some(end) = self.stop.end().cloned()
            && self.has_hooks(event)
        {
            let context = self
                .hook_context(event)
                .with("steps", self.position.step())
                .with("status", end.status.as_str())
                .with("ended_by", end.ended_by.as_str())
                .with("output", Value::clone(&end.output.0))
                .with("error", Value::Null);
            self.plan_boundary(event, &self.place(self.position.step()), &context);
        }
    }

    fn task_context(&self, event: HookEvent, superstep: &Superstep, task: &Task) -> HookContext {
        let node = self.graph.node(superstep.node_of(task));
        self.hook_context(event)
            .with("node", node.name.as_str())
            .with("task", &**task.id())
            .with("attempt", task.attempt())
    }

    /// Plans the hooks about a task that has failed and used up its retries.
    pub(in crate::walker) fn plan_error(
        &self,
        superstep: &Superstep,
        task: &Task,
        failure: &Failure,
        warnings: &mut Vec<String>,
        meter: &Meter,
    ) -> Vec<PlannedHook> {
        let event = HookEvent::Error;
        let context = match self.failure_context(event, superstep, task, failure, meter) {
            Ok(context) => context,
            Err(exhausted) => {
                warnings.push(format!("the `{event}` hooks were not asked: {exhausted}"));
                return Vec::new();
            }
        };
        self.plan_hooks(
            event,
            &format!("{}/{event}/{}", task.id(), task.used().asked),
            &context,
            warnings,
            meter,
        )
    }

    /// Plans the hooks about a run that is about to stop at a limit.
    pub(in crate::walker) fn plan_limit(
        &mut self,
        code: &str,
        value: Value,
        most: Value,
    ) -> Vec<PlannedHook> {
        let event = HookEvent::Limit;
        if !self.has_hooks(event) {
            return Vec::new();
        }
        let next: Vec<Value> = self
            .agenda
            .next()
            .iter()
            .map(|step| Value::from(self.graph.node(step.node()).name.as_str()))
            .collect();
        let context = self
            .hook_context(event)
            .with("limit_code", code)
            .with("current_value", value)
            .with("current_max", most)
            .with("next", next);
        self.plan_stop(event, code, &context)
    }

    /// Plans the hooks about a run that a limit ends. The run can still be resumed with a larger limit.
    pub(in crate::walker) fn plan_end_at_limit(&mut self, code: &str) -> Vec<PlannedHook> {
        let event = HookEvent::GraphCompleted;
        if !self.has_hooks(event) {
            return Vec::new();
        }
        let context = self
            .hook_context(event)
            .with("steps", self.position.step())
            .with("status", Status::Limit.as_str())
            .with("ended_by", Value::Null)
            .with("output", Value::Null)
            .with("error", code);
        self.plan_stop(event, code, &context)
    }

    /// Plans the hooks about a run that is about to stop with open questions.
    pub(in crate::walker) fn plan_interrupt(&mut self, open: &[InterruptRecord]) -> Vec<PlannedHook> {
        let event = HookEvent::Interrupt;
        if !self.has_hooks(event) {
            return Vec::new();
        }
        // Hooks are asked once about the same questions, however often the run stops at them.
        let mut digest = graph_core::digest::DomainHasher::new("graph-host/interrupts/v1");
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
        let place = format!("{}/{event}/{which}", self.place(self.position.step() + 1));
        let meter = self.meter(0);
        let planned = self.plan_hooks(event, &place, context, &mut warnings, &meter);
        self.count_work(&meter);
        for warning in warnings {
            self.warn_once(warning);
        }
        planned
    }
}

/// Builds the `classification` that `error` hooks read: the category, whether failures of that category can pass by
/// themselves, the code in the failure's details, and the node's retry policy in the names of Rye.
fn classification(node: &Node, failure: &Failure, meter: &Meter) -> Result<Value, FuelExhausted> {
    let category = failure.category.as_str().replace('-', "_");
    let code = match failure.details.as_ref().and_then(|details| details.get("code")) {
        Some(code @ (Value::String(_) | Value::Number(_))) => size::copy(code, meter)?,
        _ => Value::from(code_of(failure).as_str()),
    };
    let policy = &node.retry;
    let retry_policy = if policy.max_attempts > 1 {
        json!({
            "type": "exponential",
            "base": policy.initial_interval.as_secs_f64(),
            "factor": policy.backoff,
            "max": policy.max_interval.as_secs_f64(),
            "max_attempts": policy.max_attempts,
        })
    } else {
        json!({ "type": "none" })
    };
    let retryable = RetryPolicy::default().retry_on.contains(&failure.category);
    Ok(json!({
        "category": category,
        "retryable": retryable,
        "retry_policy": retry_policy,
        "code": code,
    }))
}
