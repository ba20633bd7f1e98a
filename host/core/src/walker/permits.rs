//! Which item a node may dispatch, and within which limits.

use std::time::Duration;

use super::Walker;
use super::superstep::Dispatch;
use crate::capability::DispatchPatterns;
use crate::graph::{Action, ItemType, Node, NodeLimits, Primary};
use crate::hook::is_control_item;
use crate::limits::TaskLimits;
use crate::node::{Category, Failure};

/// A node's action, as far as it does not depend on state.
#[derive(Debug)]
pub(super) struct Prepared {
    /// The dispatch, or the failure, of an action whose item id is written out.
    pub(super) dispatch: Option<Result<Dispatch, Failure>>,
    /// A further narrowing by the node.
    pub(super) narrowed: Option<DispatchPatterns>,
}

/// A child run is bounded by what its task has reserved, by its own graph, and by what its node says.
const CHILD_LIMITS: TaskLimits = TaskLimits::UNBOUNDED;

impl Walker {
    /// Everything about a node's dispatch that is the same each time.
    pub(super) fn prepare(&self, node: &Node) -> Prepared {
        let narrowed = node.capabilities.as_ref().and_then(|narrowing| narrowing.dispatch.as_deref()).map(
            // The patterns were checked with the document; one that cannot be read permits nothing.
            |patterns| DispatchPatterns::parse(patterns).unwrap_or_else(|_| DispatchPatterns::deny_all()),
        );
        let literal = node.action.as_ref().and_then(|action| {
            let id = action.item_id.literal()?.as_str()?;
            Some(self.permit(node, action, narrowed.as_ref(), id))
        });
        Prepared { dispatch: literal, narrowed }
    }

    /// Whether the manifest permits a dispatch at all.
    pub(super) fn may_dispatch(
        &self,
        primary: Primary,
        item_type: ItemType,
        item_id: &str,
    ) -> Result<(), Failure> {
        // A search need not name where it looks.
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
    pub(super) fn permit(
        &self,
        node: &Node,
        action: &Action,
        narrowed: Option<&DispatchPatterns>,
        item_id: &str,
    ) -> Result<Dispatch, Failure> {
        let (primary, item_type) = (action.primary, action.item_type);
        self.may_dispatch(primary, item_type, item_id)?;
        if narrowed.is_some_and(|patterns| !patterns.permits(primary, item_type, item_id)) {
            let name = crate::capability::capability_name(primary, item_type, item_id);
            return Err(Failure::new(
                Category::Denied,
                format!("the node's own `capabilities` leave out `{name}`"),
            ));
        }
        let is_graph = primary == Primary::Execute
            && item_type == ItemType::Tool
            && super::tree::graph_of(&self.setup.graphs, item_id).is_some();
        if is_graph && node.cache.is_some() {
            return Err(super::cache::not_for_graphs(&node.name, item_id));
        }
        let limits = if is_graph { CHILD_LIMITS } else { self.setup.manifest.limits_for(item_id) };
        let limits = lower(limits, &node.limits, &self.graph.limits);
        Ok(Dispatch { primary, item_type, item_id: item_id.into(), limits, is_graph })
    }
}

/// The manifest's limits, as far as a node, or else its graph, does not lower them.
pub(super) fn lower(limits: TaskLimits, own: &NodeLimits, graph: &NodeLimits) -> TaskLimits {
    TaskLimits {
        fuel: limits.fuel.min(own.fuel.or(graph.fuel).unwrap_or(u64::MAX)),
        memory: limits.memory.min(own.memory.or(graph.memory).unwrap_or(u64::MAX)),
        timeout: limits.timeout.min(own.timeout.or(graph.timeout).unwrap_or(Duration::MAX)),
        ..limits
    }
}
