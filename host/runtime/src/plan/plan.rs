//! Everything that can be known before a run starts: which items it dispatches, who vouches for them, what each is
//! granted, and what is missing. Nothing of the graph runs here.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use graph_core::capability::EffectiveGrant;
use graph_core::digest::Digest;
use graph_core::graph::{Action, Graph, NodeIndex};
use graph_core::hook::{Hook, HookAction, HookEvent};
use graph_core::walker::Graphs;
use graph_engine::PreparedNode;

use super::problem::PlanProblem;
use super::resolve::{admit_all, check_node, resolve_item};
use super::scope::{Inside, is_built_in, names_graph, outline, param_problems};
use crate::error::Error;
use crate::items::text_items::Text;
use crate::plan::admission::{Admitted, Components};
use graph_core::diagnostic::printable;

/// What a graph is about to do.
#[derive(Debug)]
pub struct Plan {
    /// The nodes with an action, in document order.
    pub nodes: Vec<PlannedNode>,
    /// The hooks that dispatch an item, in the order in which they are asked.
    pub hooks: Vec<PlannedNode>,
    /// The items that they name, by id.
    pub items: BTreeMap<String, Result<Admitted, PlanProblem>>,
    /// The knowledge and directives that they name, by type and id.
    pub texts: BTreeMap<(&'static str, String), Result<Arc<Text>, PlanProblem>>,
}

/// A node with an action, or a hook with one.
pub struct PlannedNode {
    /// Where it is.
    pub scope: Scope,
    /// Its place in its graph; of a hook it means nothing.
    pub index: NodeIndex,
    /// Its name; in a child graph the path of nodes to it.
    pub name: String,
    /// The item is a graph.
    pub is_graph: bool,
    /// The item is a function of the program.
    pub is_function: bool,
    /// When the hook is asked, if it is one.
    pub hook: Option<HookEvent>,
    /// The item, or the template that gives it.
    pub item: PlannedId,
    /// Whether the manifest permits the dispatch; not known for a template.
    pub dispatch: Option<bool>,
    /// The manifest permits it, and `capabilities` among inputs, or of a node above, leave it out.
    pub left_out: bool,
    /// The capability that the dispatch needs.
    pub capability: Option<String>,
    /// What its component is granted.
    pub grant: Option<EffectiveGrant>,
    /// The component, linked.
    pub ready: Option<PreparedNode>,
    /// What stands in the way.
    pub problems: Vec<PlanProblem>,
}

/// A graph under a manifest: the nodes of a child graph have what its parents leave them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scope {
    /// The graph's digest.
    pub graph: Digest,
    /// What was left: [`graph_core::capability::Manifest::narrowing`].
    pub narrowing: String,
}

/// Which item a node dispatches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlannedId {
    /// This one; empty for a search over everything.
    Literal(String),
    /// One that is known when it is dispatched.
    Template(String),
}

impl std::fmt::Debug for PlannedNode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlannedNode")
            .field("name", &self.name)
            .field("item", &self.item)
            .finish_non_exhaustive()
    }
}

impl PlannedNode {
    /// `node` or `hook`.
    pub const fn kind(&self) -> &'static str {
        if self.hook.is_some() { "hook" } else { "node" }
    }

    /// What it is, for messages.
    pub fn subject(&self) -> String {
        match self.hook {
            Some(event) => format!("hook `{}` ({event})", printable(&self.name)),
            None => format!("node `{}`", printable(&self.name)),
        }
    }
}

impl Plan {
    /// Works out what a graph is about to do, with the hooks from outside of it. Compiling what is in no cache takes time.
    pub async fn make(graph: &Arc<Graph>, graphs: &Graphs, outer: &[Hook], components: &Components) -> Self {
        Self::make_for(graph, graphs, outer, components, |_| true).await
    }

    /// As [`Plan::make`], for those nodes and hooks alone whose action is `wanted`.
    pub async fn make_for(
        graph: &Arc<Graph>,
        graphs: &Graphs,
        outer: &[Hook],
        components: &Components,
        wanted: impl Fn(&Action) -> bool,
    ) -> Self {
        let mut items = BTreeSet::new();
        // The nodes and hooks of these items, with the graph that each is in.
        let mut named = Vec::new();
        let mut texts = BTreeMap::new();
        let mut schemas = HashMap::new();
        let (mut nodes, mut hooks) = (Vec::new(), Vec::new());
        let mut seen = HashSet::new();
        let mut waiting = VecDeque::from([Inside {
            graph: Arc::clone(graph),
            manifest: Arc::clone(&components.manifest),
            path: String::new(),
            level: 0,
        }]);
        while let Some(inside) = waiting.pop_front() {
            let scope = inside.scope();
            let inside = Arc::new(inside);
            // A graph that is named again under the same manifest holds nothing new.
            if !seen.insert(scope.clone()) {
                continue;
            }
            for (index, node) in inside.graph.indexed() {
                let Some(action) = node.action.as_ref() else { continue };
                if let Some(child) = inside.child(node, action, graphs) {
                    let mut planned = outline(index, &node.name, action, &inside);
                    planned.is_graph = true;
                    planned.problems.extend(param_problems(action, &child.graph));
                    if planned.dispatch != Some(false) {
                        waiting.push_back(child);
                    }
                    nodes.push(planned);
                    continue;
                }
                if !wanted(action) || is_built_in(action) {
                    continue;
                }
                let mut planned = outline(index, &node.name, action, &inside);
                let used = inside.used(node.capabilities.as_ref(), node.limits);
                if resolve_item(components, used, action, &mut planned, &mut items, &mut texts) {
                    named.push(Named { inside: Arc::clone(&inside), hook: None, at: nodes.len() });
                }
                nodes.push(planned);
            }
            for (place, hook) in inside.graph.hooks.iter().chain(outer).enumerate() {
                let HookAction::Item(action) = &hook.action else { continue };
                if !wanted(action) || is_built_in(action) {
                    continue;
                }
                let planned = outline(NodeIndex(0), &hook.name, action, &inside);
                let mut planned = PlannedNode { hook: Some(hook.event), ..planned };
                if names_graph(action, graphs) {
                    planned.problems.push(Error::invalid("a hook runs no graph; name a component").into());
                } else if resolve_item(
                    components,
                    inside.used(None, inside.graph.limits),
                    action,
                    &mut planned,
                    &mut items,
                    &mut texts,
                ) {
                    named.push(Named { inside: Arc::clone(&inside), hook: Some(place), at: hooks.len() });
                }
                hooks.push(planned);
            }
        }
        let items = admit_all(components, items);
        for Named { inside, hook, at } in named {
            let planned: &mut PlannedNode = if hook.is_some() { &mut hooks[at] } else { &mut nodes[at] };
            let (action, used) = if let Some(place) = hook {
                let hook = inside.graph.hooks.iter().chain(outer).nth(place);
                let Some(HookAction::Item(action)) = hook.map(|hook| &hook.action) else { continue };
                (action, inside.used(None, inside.graph.limits))
            } else {
                let node = inside.graph.node(planned.index);
                let Some(action) = node.action.as_ref() else { continue };
                (action, inside.used(node.capabilities.as_ref(), node.limits))
            };
            let PlannedId::Literal(id) = &planned.item else { continue };
            match items.get(id) {
                Some(Ok(admitted)) => {
                    check_node(components, admitted, used, action, planned, &mut schemas).await;
                }
                Some(Err(problem)) => planned.problems.push(problem.clone()),
                None => {}
            }
        }
        Self { nodes, hooks, items, texts }
    }
}

/// A node or a hook whose item is yet to be looked at.
struct Named {
    /// The graph that it is in.
    inside: Arc<Inside>,
    /// Its place among the hooks of its graph and those from outside, if it is one.
    hook: Option<usize>,
    /// Its place in the plan.
    at: usize,
}
