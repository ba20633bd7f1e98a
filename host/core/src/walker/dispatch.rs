//! Which item a node may dispatch, and within which limits.

use serde_json::Value;

use super::Walker;
use super::bounds::Bounds;
use super::budget::Trouble;
use super::reduce::kind;
use super::task::Dispatch;
use crate::capability::DispatchPatterns;
use crate::condition::Condition;
use crate::graph::{Action, ItemType, Next, Node, Primary};
use crate::hook::is_control_item;
use crate::host_item::HostItem;
use crate::limits::TaskLimits;
use crate::node::{Category, Failure};
use crate::template::Scope;
use crate::work::Meter;

/// The parts of a node's action that do not depend on state.
#[derive(Debug)]
pub(super) struct PreparedAction {
    /// The dispatch, or the failure, of a node whose item id, limits and `capabilities` are written out.
    pub dispatch: Option<Result<Dispatch, Failure>>,
    /// A further narrowing by the node.
    pub narrowed: Option<DispatchPatterns>,
    /// Whether a condition of its edges reads `node`.
    pub edges_read_node: bool,
}

/// A child run is bounded by what its task has reserved, by its own graph, and by what its node says.
const CHILD_LIMITS: TaskLimits = TaskLimits::UNBOUNDED;

impl Walker {
    /// Everything about a node's dispatch that is the same each time.
    pub(super) fn prepare(&self, node: &Node) -> PreparedAction {
        let narrowed = node.capabilities.as_ref().and_then(|narrowing| narrowing.dispatch.as_deref()).map(
            // The patterns were checked with the document; one that cannot be read permits nothing.
            |patterns| DispatchPatterns::parse(patterns).unwrap_or_else(|_| DispatchPatterns::deny_all()),
        );
        let literal = node.action.as_ref().and_then(|action| {
            let id = action.item_id.literal()?.as_str().filter(|_| node.bounds.is_empty())?;
            Some(self.permit(node, action, narrowed.as_ref(), Bounds::of(node), id))
        });
        PreparedAction { dispatch: literal, narrowed, edges_read_node: edges_read_node(&node.next) }
    }

    /// The dispatch of a task whose node has templates for its item id, its limits or its `capabilities`.
    pub(super) fn evaluate_dispatch(
        &self,
        node: &Node,
        action: &Action,
        narrowed: Option<&DispatchPatterns>,
        scope: &Scope<'_>,
        warnings: &mut Vec<String>,
        meter: &Meter,
    ) -> Result<Dispatch, Trouble> {
        let id = match self.evaluate(&action.item_id, scope, node, warnings, meter)? {
            Value::Null if action.primary == Primary::Search => String::new(),
            Value::String(id) => id,
            other => {
                let message = format!("`item_id` must be a string, and is {}", kind(&other));
                return Err(Failure::new(Category::InvalidInput, message).into());
            }
        };
        let bounds = self.bounds(node, scope, warnings, meter)?;
        meter.charge(self.work_of_rules(&id))?;
        Ok(self.permit(node, action, narrowed, bounds, &id)?)
    }

    /// Whether the manifest permits a dispatch at all.
    pub(super) fn may_dispatch(
        &self,
        primary: Primary,
        item_type: ItemType,
        item_id: &str,
    ) -> Result<(), Failure> {
        // A search without an id covers everything.
        let whole_search = primary == Primary::Search && item_id.is_empty();
        if !whole_search && crate::id::ItemId::parse(item_id).is_err() {
            let message = format!("`{item_id}` is not an item id");
            return Err(Failure::new(Category::InvalidInput, message));
        }
        if is_control_item(primary, item_type, item_id)
            || self.setup.manifest.dispatch().permits(primary, item_type, item_id)
        {
            return Ok(());
        }
        let name = crate::capability::capability_name(primary, item_type, item_id);
        if self.setup.manifest.dispatch().leaves_out(primary, item_type, item_id) {
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

    /// Checks that an item may be dispatched, and with which limits.
    fn permit(
        &self,
        node: &Node,
        action: &Action,
        narrowed: Option<&DispatchPatterns>,
        bounds: Bounds,
        item_id: &str,
    ) -> Result<Dispatch, Failure> {
        let (primary, item_type) = (action.primary, action.item_type);
        self.may_dispatch(primary, item_type, item_id)?;
        self.check_rules(node, action, item_id)?;
        let Bounds { limits: own, narrowing } = bounds;
        let leaves_out = |left: &DispatchPatterns| !left.permits(primary, item_type, item_id);
        if narrowed.is_some_and(leaves_out) || narrowing.as_deref().is_some_and(leaves_out) {
            let name = crate::capability::capability_name(primary, item_type, item_id);
            return Err(Failure::new(
                Category::Denied,
                format!("the node's own `capabilities` leave out `{name}`"),
            ));
        }
        let host_item = HostItem::of(primary, item_type, item_id);
        let is_written = host_item == Some(HostItem::Run);
        if let Some(reason) = self.setup.manifest.refusal_of_written().filter(|_| is_written) {
            return Err(Failure::new(Category::Denied, format!("`{item_id}` is denied: {reason}")));
        }
        let is_graph = is_written
            || primary == Primary::Execute
                && item_type == ItemType::Tool
                && host_item.is_none()
                && super::tree::graph_of(&self.setup.graphs, item_id).is_some();
        if is_graph && node.cache.is_some() {
            return Err(super::cache::not_for_graphs(&node.name, item_id));
        }
        let limits = if is_graph { CHILD_LIMITS } else { self.setup.manifest.limits_for(item_id) };
        let own = own.or(self.graph.limits);
        let (limits, budget) = (own.lower(limits), own.model.budget());
        Ok(Dispatch { primary, item_type, item_id: item_id.into(), limits, budget, narrowing, is_graph })
    }
}

fn edges_read_node(next: &Next) -> bool {
    let Next::First(edges) = next else { return false };
    let conditions = edges.iter().filter_map(|edge| edge.when.as_ref());
    conditions.flat_map(Condition::paths).any(|path| path.root() == "node")
}
