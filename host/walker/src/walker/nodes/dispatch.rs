//! Checks the dispatches of nodes, and determines their limits.

use serde_json::Value;

use crate::graph::{Action, Node, NodeIndex};
use crate::hook::is_control_item;
use crate::host_item::HostItem;
use crate::walker::Walker;
use crate::walker::budget::limit_templates::EvaluatedLimits;
use crate::walker::budget::run_budget::NodeWorkError;
use crate::walker::state::reduce::kind;
use crate::walker::tasks::task::Dispatch;
use graph_core::capability::DispatchPatterns;
use graph_core::item::{ItemOperation, ItemType};
use graph_core::limits::TaskLimits;
use graph_core::node::{Category, Failure};
use graph_core::template::Scope;
use graph_core::work::Meter;

/// Limits of a child run. It is bounded by its task's reservation, its own graph and its node instead.
const CHILD_LIMITS: TaskLimits = TaskLimits::UNBOUNDED;

impl Walker {
    /// Returns the dispatch, or the failure, of a node whose item id, limits and `capabilities` are literal: it stays
    /// the same until the run gets another manifest.
    pub(in crate::walker) fn literal_dispatch(
        &mut self,
        index: NodeIndex,
        node: &Node,
        action: &Action,
    ) -> Option<Result<Dispatch, Failure>> {
        let id = action.item_id.literal()?.as_str().filter(|_| node.bounds.is_empty())?;
        if let Some(known) = self.dispatches.get(&index) {
            return Some(known.clone());
        }
        let dispatch = self.permit(node, action, EvaluatedLimits::from_literals(node), id);
        self.dispatches.insert(index, dispatch.clone());
        Some(dispatch)
    }

    /// Evaluates the dispatch of a task whose node has templates for its item id, its limits or its `capabilities`.
    pub(in crate::walker) fn evaluate_dispatch(
        &self,
        node: &Node,
        action: &Action,
        scope: &Scope<'_>,
        warnings: &mut Vec<String>,
        meter: &Meter,
    ) -> Result<Dispatch, NodeWorkError> {
        let id = match self.evaluate(&action.item_id, scope, node, warnings, meter)? {
            Value::Null if action.operation == ItemOperation::Search => String::new(),
            Value::String(id) => id,
            other => {
                let message = format!("`item_id` must be a string, and is {}", kind(&other));
                return Err(Failure::new(Category::InvalidInput, message).into());
            }
        };
        let bounds = self.evaluate_limits(node, scope, warnings, meter)?;
        meter.charge(self.work_of_rules(&id))?;
        Ok(self.permit(node, action, bounds, &id)?)
    }

    /// Checks that the manifest permits a dispatch.
    pub(in crate::walker) fn may_dispatch(
        &self,
        operation: ItemOperation,
        item_type: ItemType,
        item_id: &str,
    ) -> Result<(), Failure> {
        // A search without an id covers everything.
        let whole_search = operation == ItemOperation::Search && item_id.is_empty();
        if !whole_search && graph_core::id::ItemId::parse(item_id).is_err() {
            let message = format!("`{item_id}` is not an item id");
            return Err(Failure::new(Category::InvalidInput, message));
        }
        if is_control_item(operation, item_type, item_id)
            || self.setup.manifest.dispatch().permits(operation, item_type, item_id)
        {
            return Ok(());
        }
        let name = graph_core::capability::capability_name(operation, item_type, item_id);
        if self.setup.manifest.dispatch().leaves_out(operation, item_type, item_id) {
            let message = format!(
                "the manifest grants `{name}`, and `capabilities` leave it out: those among the inputs, or of a node \
                 above"
            );
            return Err(Failure::new(Category::Denied, message));
        }
        Err(Failure::new(
            Category::Denied,
            format!(
                "the capability `{name}` is not granted; a manifest grants it with `dispatch: [\"{name}\"]`"
            ),
        ))
    }

    /// Checks that a node may dispatch an item, and determines the limits.
    fn permit(
        &self,
        node: &Node,
        action: &Action,
        bounds: EvaluatedLimits,
        item_id: &str,
    ) -> Result<Dispatch, Failure> {
        let (operation, item_type) = (action.operation, action.item_type);
        self.may_dispatch(operation, item_type, item_id)?;
        self.check_rules(node, action, item_id)?;
        let EvaluatedLimits { limits: own, narrowing } = bounds;
        let leaves_out = |left: &DispatchPatterns| !left.permits(operation, item_type, item_id);
        let narrowed = node.capabilities.as_ref().and_then(|narrowing| narrowing.dispatch.as_ref());
        if narrowed.is_some_and(leaves_out) || narrowing.as_deref().is_some_and(leaves_out) {
            let name = graph_core::capability::capability_name(operation, item_type, item_id);
            return Err(Failure::new(
                Category::Denied,
                format!("the node's own `capabilities` leave out `{name}`"),
            ));
        }
        let host_item = HostItem::of_dispatch(operation, item_type, item_id);
        let is_written = host_item == Some(HostItem::Run);
        if let Some(reason) = self.setup.manifest.refusal_of_written().filter(|_| is_written) {
            return Err(Failure::new(Category::Denied, format!("`{item_id}` is denied: {reason}")));
        }
        let is_graph = is_written
            || operation == ItemOperation::Execute
                && item_type == ItemType::Tool
                && host_item.is_none()
                && crate::walker::tree::names::graph_of(&self.setup.graphs, item_id).is_some();
        if is_graph && node.cache.is_some() {
            return Err(crate::walker::tasks::result_cache::not_for_graphs(&node.name, item_id));
        }
        let limits = if is_graph { CHILD_LIMITS } else { self.setup.manifest.limits_for(item_id) };
        let own = own.or(self.graph.limits);
        let (limits, budget) = (own.lower(limits), own.model.budget());
        Ok(Dispatch { operation, item_type, item_id: item_id.into(), limits, budget, narrowing, is_graph })
    }
}
