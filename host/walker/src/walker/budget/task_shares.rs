//! Reserves budgets for the tasks of a superstep.

use serde_json::Value;

use crate::hook::{HookAction, MAX_RETRIES, is_control_item};
use crate::walker::Walker;
use crate::walker::budget::run_budget::WORK_OF_ATTEMPT;
use crate::walker::tasks::superstep::Superstep;
use crate::walker::tasks::task::{Dispatch, Task, TaskState};
use graph_core::hook_event::{Control, ControlAction, HookEvent};
use graph_core::limits::{HostUse, ModelUse, RunLimits, TaskLimits, smaller_floor};
use graph_core::work::rates::STEP;

impl Walker {
    /// Reserves fuel and use of the host for every task that will run, in task order, so that no share depends on the
    /// order in which they finish. A task gets the maximum of all its attempts, or an equal share of the rest if that
    /// is not enough for all: in a wide superstep each task gets less, but none gets nothing.
    pub(in crate::walker) fn reserve(&self, superstep: &mut Superstep) {
        let started = |task: &Task| task.account().spent_before();
        let used: u64 = superstep.tasks().iter().map(started).fold(0, u64::saturating_add);
        let own = self
            .usage
            .host()
            .fuel
            .saturating_add(self.hooks.counted_host().fuel)
            .saturating_add(self.usage.work());
        let spent =
            self.usage.fuel().saturating_add(self.hooks.counted()).saturating_add(own).saturating_add(used);
        let limits = self.budgets();
        let mut left = limits.fuel.saturating_sub(spent);
        let components =
            superstep.tasks().iter().map(|task| task.start().used.fuel).fold(0, u64::saturating_add);
        let components = components.saturating_add(self.usage.fuel()).saturating_add(self.hooks.counted());
        let mut components_left = self.limits.fuel_share().map(|share| share.saturating_sub(components));
        let host_used = superstep.tasks().iter().map(|task| task.start().used.host);
        let of_hooks = self.hooks.counted_host().plus(self.hooks.lost_of_run());
        let host_used = host_used.fold(self.usage.host().plus(of_hooks), HostUse::plus);
        let granted = superstep.tasks().iter().map(|task| task.used().granted);
        let granted = granted.fold(ModelUse::NOTHING, ModelUse::plus);
        let host_most =
            HostUse { model: self.models_with(self.usage.granted().plus(granted)), ..limits.host() };
        let mut host_left = host_most.less(host_used);
        let (for_hooks, host_for_hooks, retries) = self.fuel_of_error_hooks();
        let hooks = self.has_hooks(HookEvent::Error);
        let takes_part = |task: &Task| {
            let has_failed = matches!(
                task.state(),
                TaskState::Failing { .. } | TaskState::Failed(_) | TaskState::Handled(_)
            );
            // A node without an action causes work for the host as well; a task that failed before it could start causes
            // none, except for its hooks.
            (!has_failed || task.dispatch().is_some() || hooks) && task.shares()
        };
        // The additions of answers to a task's question are for that task first.
        let mut added = Vec::new();
        let mut sharers = 0_u64;
        for task in superstep.tasks().iter().filter(|task| takes_part(task)) {
            sharers += 1;
            if !granted.is_nothing() {
                let own = task.used().granted.min(host_left.model);
                host_left.model = host_left.model.less(own);
                added.push(own);
            }
        }
        let mut added = added.into_iter();
        for (task, node) in superstep.tasks_with_nodes_mut().filter(|(task, _)| takes_part(task)) {
            let added = added.next().unwrap_or(ModelUse::NOTHING);
            let node = self.graph.node(node);
            let attempts =
                u64::from(node.retry.max_attempts.saturating_sub(task.start().attempts).max(1)) + retries;
            let of_item = task.dispatch().map_or(0, |dispatch| dispatch.limits.fuel);
            let wanted = of_item
                .saturating_add(WORK_OF_ATTEMPT)
                .saturating_mul(attempts)
                .saturating_add(for_hooks.saturating_add(STEP).saturating_mul(1 + retries));
            let share = wanted.min(left / sharers);
            task.account_mut().set_aside(share);
            left -= share;
            if let Some(components_left) = &mut components_left {
                let wanted = of_item.saturating_mul(attempts);
                let wanted = wanted.saturating_add(for_hooks.saturating_mul(1 + retries));
                let share = wanted.min(*components_left / sharers);
                task.account_mut().set_aside_for_components(share);
                *components_left -= share;
            }
            let of_item = task.dispatch().map_or(HostUse::default(), |dispatch| dispatch.limits.host());
            let mut wanted = of_item.times(attempts);
            // The node's own budget is for all attempts together.
            let budget = task.dispatch().map_or(ModelUse::UNBOUNDED, |dispatch| dispatch.budget);
            wanted.model = wanted.model.min(budget.less(task.start().used.host.model));
            wanted = wanted.plus(host_for_hooks.times(1 + retries));
            if task.is_graph() {
                wanted.stored = u64::MAX;
            }
            wanted.model = wanted.model.less(added);
            let share = wanted.min(host_left.share(sharers));
            host_left = host_left.less(share);
            let share = HostUse { model: share.model.plus(added), ..share };
            task.account_mut().set_aside_of_host(share);
            sharers -= 1;
        }
    }

    /// Returns the fuel and use of the host that all hooks about one failure may use, and the number of retries that they may request.
    fn fuel_of_error_hooks(&self) -> (u64, HostUse, u64) {
        let (mut fuel, mut host, mut retries) = (0_u64, HostUse::default(), 0);
        for hook in self.hooks_at(HookEvent::Error) {
            let most = |control: Control| match control.action {
                ControlAction::Retry => u64::from(control.max_retries.unwrap_or(MAX_RETRIES)),
                _ => 0,
            };
            let more = match &hook.action {
                HookAction::Nothing => 0,
                HookAction::Control(control) => most(*control),
                HookAction::Item(action) => {
                    let id = action.item_id.literal().and_then(Value::as_str).unwrap_or_default();
                    if is_control_item(action.operation, action.item_type, id) {
                        let written = action.params.literal().and_then(|params| Control::read(params).ok());
                        written.flatten().map_or(u64::from(MAX_RETRIES), most)
                    } else {
                        let limits = self.graph.limits.lower(self.setup.manifest.limits_for(id));
                        fuel = fuel.saturating_add(limits.fuel);
                        host = host.plus(limits.host());
                        u64::from(MAX_RETRIES)
                    }
                }
            };
            retries = more.max(retries);
        }
        (fuel, host, retries)
    }
}

/// Returns the limits of a task's next attempt: its own, within the task's reservation. `model_asks` is set if either
/// the task or its run asks when a budget of language models is used up.
pub(in crate::walker) fn limits_of_attempt(
    task: &Task,
    dispatch: &Dispatch,
    fuel: u64,
    run: &RunLimits,
) -> TaskLimits {
    // A component that makes no calls of the host can run even if none are left.
    let own = HostUse { model: task.own_models().unwrap_or_default(), ..dispatch.limits.host() };
    let HostUse { calls, bytes, model, .. } = own.min(task.account().left_of_host());
    let smaller = |floor| smaller_floor((dispatch.limits.model, floor), (run.model, run.model.floor()));
    TaskLimits {
        fuel,
        calls,
        bytes,
        model,
        model_floor: dispatch.limits.model_floor.map(smaller),
        model_asks: dispatch.limits.model_asks || run.model_asks,
        model_of_nodes: models_of_nodes(task, run, model),
        ..dispatch.limits
    }
}

/// Returns those figures of `model`, the next attempt's limit, that come from `limits` of nodes: of the task's node, or
/// of nodes around its run. The others are unbounded.
fn models_of_nodes(task: &Task, run: &RunLimits, model: ModelUse) -> ModelUse {
    let Some(dispatch) = task.dispatch() else { return ModelUse::UNBOUNDED };
    if dispatch.budget == ModelUse::UNBOUNDED && run.model_of_nodes == ModelUse::UNBOUNDED {
        return ModelUse::UNBOUNDED;
    }
    let of_node = dispatch.budget.less(task.used().host.model);
    let of_node = of_node.each(model, |of_node, model| if of_node <= model { model } else { u64::MAX });
    // A figure of the run below the task's own may come from a node around the run.
    let own = task.own_models().unwrap_or_default();
    let of_run = model.each(own, |model, own| if model < own { model } else { u64::MAX });
    let of_run =
        of_run.each(run.model_of_nodes, |left, around| if around == u64::MAX { around } else { left });
    of_node.min(of_run)
}
