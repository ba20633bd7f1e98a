//! Dispatch of a hook's item, and its limits.

use std::sync::Arc;

use serde_json::Value;

use super::{HookSpec, HookSubject, read_hook_answer};
use crate::graph::NodeIndex;
use crate::hook::is_control_item;
use crate::host_item::HostItem;
use crate::walker::Walker;
use crate::walker::event::TaskSpec;
use crate::walker::tasks::completion::{short_of, short_of_models};
use crate::walker::tasks::superstep::Superstep;
use crate::walker::tasks::task::Dispatch;
use graph_core::item::{ItemOperation, ItemType};
use graph_core::limits::{Budget, HostUse, TaskLimits};
use graph_core::node::{Activation, Category, Failure, Outcome};
use graph_core::record::{HookRecord, JournalEntry, PlannedAction, PlannedHook};
use graph_core::time::Timestamp;
use graph_core::work::rates::STEP;

/// Divisor of the run's fuel: at a limit, hooks may use one part in `LAST_PART`, even if the run has none left.
const LAST_PART: u64 = 100;

impl Walker {
    /// Returns the dispatch of a hook for the driver, or its result if nothing is dispatched.
    pub(super) fn dispatch_hook(
        &self,
        subject: &HookSubject,
        planned: &PlannedHook,
        now: Timestamp,
    ) -> Result<Box<HookSpec>, Box<HookRecord>> {
        let failed =
            |failure: Failure| Err(Box::new(self.hook_record(subject, planned, Err(failure), 0, now)));
        let exhausted = |budget: Option<Budget>, failure: Failure| {
            Err(Box::new(HookRecord { budget, ..self.hook_record(subject, planned, Err(failure), 0, now) }))
        };
        let (operation, item_type, item_id, params) = match &planned.action {
            PlannedAction::Control { control } => {
                let answer = Ok((Value::Null, Some(*control)));
                return Err(Box::new(self.hook_record(subject, planned, answer, 0, now)));
            }
            PlannedAction::Fail { budget, failure } => return exhausted(*budget, failure.clone()),
            PlannedAction::Run { operation, item_type, item_id, params } => {
                (*operation, *item_type, item_id, params)
            }
        };
        if is_control_item(operation, item_type, item_id) {
            let answer = read_hook_answer(planned, Ok(Outcome::Result(Value::clone(&params.0))));
            return Err(Box::new(self.hook_record(subject, planned, answer, 0, now)));
        }
        if HostItem::of_dispatch(operation, item_type, item_id).is_some() {
            let message = format!("`{item_id}` is performed for a node, and not for a hook");
            return failed(Failure::new(Category::Permanent, message));
        }
        let is_graph = operation == ItemOperation::Execute
            && item_type == ItemType::Tool
            && crate::walker::tree::names::graph_of(&self.setup.graphs, item_id).is_some();
        if is_graph {
            let message = format!("`{item_id}` is a graph, and a hook runs no graph");
            return failed(Failure::new(Category::Permanent, message));
        }
        let dispatch = match self.may_dispatch(operation, item_type, item_id) {
            Ok(()) => Dispatch {
                operation,
                item_type,
                item_id: item_id.as_str().into(),
                limits: self.graph.limits.lower(self.setup.manifest.limits_for(item_id)),
                budget: self.graph.limits.model.budget(),
                narrowing: None,
                is_graph: false,
            },
            Err(failure) => return failed(failure),
        };
        let mut left = self.fuel_for_hook(subject);
        if self.is_about_limit(planned.event) {
            // Hooks that are asked about used-up fuel still need some.
            left = left.max(self.budgets().fuel / LAST_PART);
        }
        let fuel = dispatch.limits.fuel.min(left);
        if fuel == 0 {
            let (_, error) = self.used_up(Budget::Fuel, self.spent(), None);
            return exhausted(Some(Budget::Fuel), Failure::new(Category::Limit, error.message));
        }
        let HostUse { calls, bytes, model, .. } = dispatch.limits.host().min(self.host_for_hook(subject));
        let limits = TaskLimits { fuel, calls, bytes, model, ..dispatch.limits };
        Ok(Box::new(self.hook_spec(planned, &dispatch, Value::clone(&params.0), limits)))
    }

    fn hook_spec(
        &self,
        planned: &PlannedHook,
        dispatch: &Dispatch,
        params: Value,
        limits: TaskLimits,
    ) -> HookSpec {
        let identity = &self.setup.identity;
        let activation = Activation {
            run_id: identity.run.clone(),
            root_run_id: identity.root.clone(),
            parent_run_id: identity.parent.clone(),
            graph_id: self.graph.id.clone(),
            node_id: format!("hook:{}", planned.hook),
            superstep: self.phase.superstep().map_or(self.position.step(), Superstep::number),
            task: planned.call.clone(),
            attempt: 1,
            visit: 1,
            argument: None,
            answers: Vec::new(),
            idempotency_key: self.digests.idempotency_key(&planned.call),
        };
        let call = TaskSpec {
            graph: Arc::clone(&self.graph),
            manifest: self.passed_on(),
            path: self.path_of(&activation.node_id),
            item: None,
            node: NodeIndex(0),
            operation: dispatch.operation,
            item_type: dispatch.item_type,
            item_id: dispatch.item_id.to_string(),
            params,
            activation,
            limits,
            narrowing: None,
            clock: self.position.at(),
            seed: self.digests.seed(&planned.call),
        };
        HookSpec { event: planned.event, hook: planned.hook.clone(), layer: planned.layer, call }
    }

    /// Returns the fuel that a hook may use. A hook about a failed task uses that task's reservation, so that the
    /// figure does not depend on which task fails first.
    fn fuel_for_hook(&self, subject: &HookSubject) -> u64 {
        match subject {
            HookSubject::Task(task) => {
                let Some(superstep) = self.phase.superstep() else { return 0 };
                superstep.find(task).map_or(0, |at| {
                    let task = &superstep.tasks()[at];
                    task.account().left_to_components()
                })
            }
            HookSubject::Run => {
                let under_way = self.phase.superstep().map_or(0, Superstep::spent);
                let spent = self.pending.spent_after(under_way);
                let left = self.budgets().fuel.saturating_sub(self.spent().saturating_add(spent));
                let components = self.phase.superstep().into_iter().flat_map(Superstep::tasks);
                let components =
                    components.map(|task| task.used().fuel).fold(self.fuel_so_far(), u64::saturating_add);
                let components = components.saturating_add(self.pending.fuel());
                left.min(self.limits.fuel_share().map_or(u64::MAX, |share| share.saturating_sub(components)))
            }
        }
    }

    /// Returns the use of the host that a hook is allowed, from the same sources as [`Self::fuel_for_hook`].
    fn host_for_hook(&self, subject: &HookSubject) -> HostUse {
        match subject {
            HookSubject::Task(task) => {
                let Some(superstep) = self.phase.superstep() else { return HostUse::default() };
                let left = superstep
                    .find(task)
                    .map_or(HostUse::default(), |at| superstep.tasks()[at].account().left_of_host());
                // The account does not contain possible use by calls about tasks without a result.
                left.less(self.hooks.lost_where(|lost| lost.of_task))
            }
            HookSubject::Run => {
                let under_way = self.phase.superstep().into_iter().flat_map(Superstep::tasks);
                let under_way = under_way.map(|task| task.used().host);
                let spent = under_way.fold(self.host_so_far().plus(self.pending.host()), HostUse::plus);
                let model = self.models_with(self.granted());
                HostUse { model, ..self.budgets().host() }.less(spent)
            }
        }
    }

    /// Returns the run's budget that caused a hook's item to reach a limit, if one did. `used`, `work` and `journal` are the call's own.
    pub(super) fn budget_that_stopped(
        &self,
        subject: &HookSubject,
        planned: &PlannedHook,
        used: u64,
        work: u64,
        journal: &[JournalEntry],
    ) -> Option<Budget> {
        if work >= STEP {
            return Some(Budget::Work);
        }
        let PlannedAction::Run { item_id, .. } = &planned.action else { return None };
        let own = self.graph.limits.lower(self.setup.manifest.limits_for(item_id));
        let (fuel, host) = (self.fuel_for_hook(subject), self.host_for_hook(subject));
        let refused = journal.last().is_some_and(JournalEntry::is_refused);
        let figure = journal.last().and_then(JournalEntry::refused_figure);
        short_of(&own, fuel, host, used, JournalEntry::used_by(journal), refused)
            .or_else(|| short_of_models(&own, host, figure))
    }
}
