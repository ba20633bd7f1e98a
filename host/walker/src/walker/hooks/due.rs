//! Plans the hooks that are due at an event: evaluates their conditions and their templates.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::graph::Action;
use crate::hook::{Hook, HookAction};
use crate::walker::Walker;
use crate::walker::budget::run_budget::budget_of;
use crate::walker::hooks::schedule::HookContext;
use graph_core::hook_event::{HookEvent, HookLayer};
use graph_core::node::{Category, Failure};
use graph_core::record::{CanonicalValue, PlannedAction, PlannedHook};
use graph_core::template::TemplateError;
use graph_core::work::{FuelExhausted, Meter};

/// Returns the plan for a hook whose condition or params exceed a budget.
fn not_worked_out(exhausted: FuelExhausted) -> PlannedAction {
    let message = format!("its condition or params could not be worked out: {exhausted}");
    PlannedAction::Fail {
        budget: Some(budget_of(exhausted)),
        failure: Failure::new(Category::Limit, message),
    }
}

impl Walker {
    pub(in crate::walker) fn hooks_at(&self, event: HookEvent) -> impl Iterator<Item = &Hook> {
        let of_user = |hook: &&Hook| hook.layer == HookLayer::Infra;
        let is_replaced =
            |hook: &Hook| self.setup.hooks.iter().any(|own| own.name == hook.name && own.layer == hook.layer);
        let built_in = self.graph.built_in_hooks.iter().filter(move |hook| !is_replaced(hook));
        let outer = self.setup.hooks.iter();
        let project = outer.clone().filter(move |hook| !of_user(hook));
        let all = self.graph.hooks.iter().chain(project).chain(built_in).chain(outer.filter(of_user));
        all.filter(move |hook| hook.event == event)
    }

    /// Returns `true` if there is any hook for this event.
    pub(in crate::walker) fn has_hooks(&self, event: HookEvent) -> bool {
        self.hooks_at(event).next().is_some()
    }

    /// Returns the hooks that are due, by layer and in document order, with their templates evaluated. `place` begins their call ids.
    pub(in crate::walker) fn plan_hooks(
        &self,
        event: HookEvent,
        place: &str,
        context: &HookContext,
        warnings: &mut Vec<String>,
        meter: &Meter,
    ) -> Vec<PlannedHook> {
        let scope = self.hook_scope(context);
        let mut planned = Vec::new();
        let mut known: BTreeSet<String> = warnings.iter().cloned().collect();
        for hook in self.hooks_at(event) {
            let mut raised = Vec::new();
            let holds = hook.condition.evaluate(&scope, &mut raised, meter);
            let action = match &hook.action {
                _ if holds == Ok(false) => None,
                _ if let Err(exhausted) = holds => Some(not_worked_out(exhausted)),
                HookAction::Nothing => None,
                HookAction::Control(control) => {
                    hook.layer.controls().then_some(PlannedAction::Control { control: *control })
                }
                HookAction::Item(action) => {
                    let filled = self.fill(action, &scope, &mut raised, meter);
                    Some(self.within_rules(hook, action, filled))
                }
            };
            for warning in raised {
                let warning = format!("hook `{}`: {warning}", hook.name);
                if known.insert(warning.clone()) {
                    warnings.push(warning);
                }
            }
            let Some(action) = action else { continue };
            let layer = hook.layer.number();
            planned.push(PlannedHook {
                action,
                call: format!("{place}/{layer}:{}", hook.name),
                event,
                hook: hook.name.clone(),
                layer,
                required: hook.required,
            });
        }
        planned
    }

    /// Makes the plan of a hook a failure if the rules of agents forbid its item.
    fn within_rules(&self, hook: &Hook, action: &Action, filled: PlannedAction) -> PlannedAction {
        let PlannedAction::Run { item_id, .. } = &filled else { return filled };
        match self.check_rules_of_hook(hook, action, item_id) {
            Ok(()) => filled,
            Err(failure) => PlannedAction::Fail { budget: None, failure },
        }
    }

    fn fill(
        &self,
        action: &Action,
        scope: &graph_core::template::Scope<'_>,
        warnings: &mut Vec<String>,
        meter: &Meter,
    ) -> PlannedAction {
        let mut missing = Vec::new();
        let mode = self.graph.templates;
        let filled = action.item_id.evaluate(scope, mode, &mut missing, meter).and_then(|id| {
            let params = action.params.evaluate(scope, mode, &mut missing, meter)?;
            Ok((id, params))
        });
        warnings.extend(missing.into_iter().map(|path| format!("`{path}` is missing and read as null")));
        let invalid = |message: String| PlannedAction::Fail {
            budget: None,
            failure: Failure::new(Category::InvalidInput, message),
        };
        match filled {
            Ok((Value::String(item_id), params)) => PlannedAction::Run {
                item_id,
                item_type: action.item_type,
                params: CanonicalValue::from(params),
                operation: action.operation,
            },
            Ok((other, _)) => invalid(format!(
                "`item_id` must be a string, and is {}",
                crate::walker::state::reduce::kind(&other)
            )),
            Err(TemplateError::Exhausted(exhausted)) => not_worked_out(exhausted),
            Err(error) => invalid(error.to_string()),
        }
    }
}
