//! Plans: everything that is known before a run starts. Nothing of the graph runs here.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use graph_core::capability::EffectiveGrant;
use graph_core::digest::Digest;
use graph_core::hook_event::HookEvent;
use graph_engine::PreparedNode;
use graph_walker::graph::{Action, Graph, NodeIndex};
use graph_walker::hook::{Hook, HookAction};
use graph_walker::host_item::HostItem;
use graph_walker::walker::Graphs;

use super::host_items;
use super::models;
use super::problem::PlanProblem;
use super::resolve::{Items, check_node, compile_all, examine_all, resolve_item};
use super::scope::{Inside, Use, is_built_in, names_graph, outline, param_problems};
use super::work::PlanWork;
use crate::error::Error;
use crate::items::text_items::Text;
use crate::plan::admission::{Admitted, Components};
use graph_core::diagnostic::printable;

/// The items that a run of a graph would dispatch, and their grants.
#[derive(Debug)]
pub struct Plan {
    /// The nodes with an action, in document order.
    pub nodes: Vec<PlannedNode>,
    /// The hooks that dispatch an item, in their order of dispatch.
    pub hooks: Vec<PlannedNode>,
    /// The items that they name, by id.
    pub items: BTreeMap<String, Result<Admitted, PlanProblem>>,
    /// The knowledge and directives that they name, by type and id.
    pub texts: BTreeMap<(&'static str, String), Result<Arc<Text>, PlanProblem>>,
}

/// A node with an action, or a hook with one.
pub struct PlannedNode {
    /// The graph that it belongs to, under the manifest that holds there.
    pub scope: Scope,
    /// Its index in its graph; meaningless for a hook.
    pub index: NodeIndex,
    /// Its name; in a child graph, after the path of nodes to that graph.
    pub name: String,
    /// `true` if the item is a graph.
    pub is_graph: bool,
    /// `true` if the item is a function of the program.
    pub is_function: bool,
    /// Event of the hook, if it is one.
    pub hook: Option<HookEvent>,
    /// The item, or the template that gives it.
    pub item: PlannedId,
    /// `true` if the manifest permits the dispatch; `None` for a template.
    pub dispatch: Option<bool>,
    /// `true` if the manifest permits the dispatch, but `capabilities` among the inputs or of a node above leave it out.
    pub left_out: bool,
    /// The capability that the dispatch needs.
    pub capability: Option<String>,
    /// The effective grant of its component.
    pub grant: Option<EffectiveGrant>,
    /// Its component, linked with its grant; `None` if it cannot be called.
    pub linked: Option<PreparedNode>,
    /// Problems that keep the node from running.
    pub problems: Vec<PlanProblem>,
    /// Problems that may make it fail.
    pub warnings: Vec<String>,
}

/// Limit of the graphs of a plan, each counted once for every manifest under which it runs.
const MOST_SCOPES: usize = 4096;
/// Limit of the nodes and hooks of a plan, above which it adds no further graphs.
const MOST_NODES: usize = 200_000;

/// A graph under a manifest, which its parents narrow for a child graph.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scope {
    /// The digest of the graph, which identifies it among all graphs of the run.
    pub graph: Digest,
    /// The narrowing of the manifest: [`graph_core::capability::Manifest::narrowing`].
    pub narrowing: String,
}

/// The item that a node dispatches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlannedId {
    /// A written-out id; empty for a search over everything.
    Literal(String),
    /// A template, resolved when the node is dispatched.
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

    /// Names the node or hook in messages.
    pub fn subject(&self) -> String {
        match self.hook {
            Some(event) => format!("hook `{}` ({event})", printable(&self.name)),
            None => format!("node `{}`", printable(&self.name)),
        }
    }
}

impl Plan {
    /// Plans a graph with the hooks outside of it. This may compile components, which takes time.
    pub(crate) async fn make(
        graph: &Arc<Graph>,
        graphs: &Graphs,
        outer: &[Hook],
        components: &Components,
    ) -> Self {
        Self::make_for(graph, graphs, outer, components, |_| true).await
    }

    /// Plans only the nodes and hooks whose action satisfies `wanted`. This may compile components, which takes time.
    pub async fn make_for(
        graph: &Arc<Graph>,
        graphs: &Graphs,
        outer: &[Hook],
        components: &Components,
        wanted: impl Fn(&Action) -> bool,
    ) -> Self {
        let mut items = BTreeSet::new();
        // The nodes and hooks of these items, with their graphs.
        let mut named = Vec::new();
        let mut texts = BTreeMap::new();
        let mut schemas = HashMap::new();
        let work = PlanWork::default();
        let (mut nodes, mut hooks) = (Vec::new(), Vec::new());
        let mut waiting = WaitingGraphs::of(Inside {
            graph: Arc::clone(graph),
            manifest: components.manifest.shared(),
            path: String::new(),
            level: 0,
        });
        while let Some(inside) = waiting.graphs.pop_front() {
            let inside = Arc::new(inside);
            for (index, node) in inside.graph.indexed() {
                let Some(action) = node.action.as_ref() else { continue };
                if let Some(item) = HostItem::of_action(action) {
                    let mut planned = outline(index, &node.name, action, &inside);
                    host_items::check_node(item, node, action, &inside.manifest, &mut planned, &work);
                    nodes.push(planned);
                    continue;
                }
                if let Some(child) = inside.child(node, action, graphs) {
                    let mut planned = outline(index, &node.name, action, &inside);
                    planned.is_graph = true;
                    planned.problems.extend(param_problems(action, &child.graph, &work));
                    let schema = child.graph.input_schema.as_ref();
                    planned.warnings.extend(models::warnings(schema, action, &inside.manifest, None, &work));
                    if node.cache.is_some() {
                        let refused = Error::invalid("`cache` is on a node that runs a graph: the result of a run is not kept for others")
                            .help("take `cache` out, or write it at the nodes inside that graph");
                        planned.problems.push(refused.into());
                    }
                    if planned.dispatch != Some(false) {
                        let too_wide = waiting.add(child, nodes.len() + hooks.len());
                        planned.problems.extend(too_wide.map(PlanProblem::from));
                    }
                    nodes.push(planned);
                    continue;
                }
                if !wanted(action) || is_built_in(action) {
                    continue;
                }
                let mut planned = outline(index, &node.name, action, &inside);
                let used = inside.used(node.capabilities.as_ref(), node.limits);
                if resolve_item(components, used, action, &mut planned, &mut items, &mut texts, &work) {
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
                if let Some(item) = HostItem::of_action(action) {
                    planned.problems.push(host_items::not_in_hooks(item));
                } else if names_graph(action, graphs) {
                    planned.problems.push(Error::invalid("a hook runs no graph; name a component").into());
                } else if resolve_item(
                    components,
                    inside.used(None, inside.graph.limits),
                    action,
                    &mut planned,
                    &mut items,
                    &mut texts,
                    &work,
                ) {
                    named.push(Named { inside: Arc::clone(&inside), hook: Some(place), at: hooks.len() });
                }
                hooks.push(planned);
            }
        }
        let mut items = examine_all(components, items);
        // Refused items need not be compiled.
        let refused = refused(&named, outer, components, &items, (&nodes, &hooks));
        compile_all(components, &mut items, |id| !refused.contains(id));
        for named in &named {
            let planned = if named.hook.is_some() { &mut hooks[named.at] } else { &mut nodes[named.at] };
            let Some((action, used)) = named.what(planned.index, outer) else { continue };
            let PlannedId::Literal(id) = &planned.item else { continue };
            match items.get(id) {
                Some(Ok(admitted)) => {
                    check_node(components, admitted, used, action, planned, &mut schemas, &work).await;
                }
                Some(Err(problem)) => planned.problems.push(problem.clone()),
                None => {}
            }
        }
        Self { nodes, hooks, items, texts }
    }
}

/// The graphs within graphs that still have to be planned.
struct WaitingGraphs {
    graphs: VecDeque<Inside>,
    /// All graphs that were ever added: each is planned once per manifest.
    seen: HashSet<Scope>,
    /// Limit of the levels of graphs within graphs.
    depth: u32,
    is_too_wide: bool,
}

impl WaitingGraphs {
    fn of(top: Inside) -> Self {
        let (seen, depth) = (HashSet::from([top.scope()]), top.manifest.run_limits().depth);
        Self { graphs: VecDeque::from([top]), seen, depth, is_too_wide: false }
    }

    /// Adds a graph. `planned` is the number of nodes and hooks so far. Returns an error for the first graph beyond a limit.
    fn add(&mut self, graph: Inside, planned: usize) -> Option<Error> {
        let scope = graph.scope();
        if graph.level > self.depth || self.seen.contains(&scope) {
            return None;
        }
        if self.seen.len() < MOST_SCOPES && planned < MOST_NODES {
            self.seen.insert(scope);
            self.graphs.push_back(graph);
            return None;
        }
        (!std::mem::replace(&mut self.is_too_wide, true)).then(|| {
            Error::limit(format!(
                "the graphs within graphs cannot all be planned: {MOST_SCOPES} graphs, each counted once for every list of capabilities \
                 under which it runs, with {MOST_NODES} nodes, are the most"
            ))
            .help("give nodes that run the same graph the same `capabilities` and `memory`, or nest fewer graphs")
        })
    }
}

/// Returns the items that are refused at a node that may dispatch them, and those that no node may dispatch.
fn refused(
    named: &[Named],
    outer: &[Hook],
    components: &Components,
    items: &Items,
    (nodes, hooks): (&[PlannedNode], &[PlannedNode]),
) -> BTreeSet<String> {
    let mut refused = BTreeSet::new();
    let mut dispatched = BTreeSet::new();
    for named in named {
        let planned = if named.hook.is_some() { &hooks[named.at] } else { &nodes[named.at] };
        let PlannedId::Literal(id) = &planned.item else { continue };
        let Some(Ok(admitted)) = items.get(id) else { continue };
        let Some((_, used)) = named.what(planned.index, outer) else { continue };
        if planned.dispatch == Some(false) {
            continue;
        }
        dispatched.insert(id.as_str());
        if components.grant(id, admitted, used.manifest, used.capabilities, used.limits).is_err() {
            refused.insert(id.clone());
        }
    }
    refused.extend(items.keys().filter(|id| !dispatched.contains(id.as_str())).cloned());
    refused
}

/// A node or a hook whose item is still to be resolved.
struct Named {
    /// The graph that it is in.
    inside: Arc<Inside>,
    /// Index among the hooks of its graph and those from outside, if it is a hook.
    hook: Option<usize>,
    /// Index among the nodes or the hooks of the plan.
    at: usize,
}

impl Named {
    /// Returns its action, and the restrictions of its use. `index` is that of its node.
    fn what<'a>(&'a self, index: NodeIndex, outer: &'a [Hook]) -> Option<(&'a Action, Use<'a>)> {
        let graph = &self.inside.graph;
        if let Some(place) = self.hook {
            let hook = graph.hooks.iter().chain(outer).nth(place)?;
            let HookAction::Item(action) = &hook.action else { return None };
            return Some((action, self.inside.used(None, graph.limits)));
        }
        let node = graph.node(index);
        Some((node.action.as_ref()?, self.inside.used(node.capabilities.as_ref(), node.limits)))
    }
}
