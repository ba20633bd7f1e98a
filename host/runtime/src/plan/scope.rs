//! A graph under the capabilities that its parents leave it, and the checks of its entries alone.

use std::sync::Arc;

use graph_core::capability::{Manifest, capability_name};
use graph_core::id::without_version;
use graph_core::item::{ItemOperation, ItemType, NodeCapabilities};
use graph_core::limits::NodeLimits;
use graph_core::schema::InputSchema;
use graph_core::template::ValueTemplate;
use graph_core::work::Meter;
use graph_walker::graph::{Action, Graph, Node, NodeIndex};
use graph_walker::hook::is_control_item;
use graph_walker::parameters;
use graph_walker::walker::Graphs;
use serde_json::Value;

use super::work::PlanWork;
use super::{PlanProblem, PlannedId, PlannedNode, Scope};
use crate::error::Error;

/// A graph in a plan, and what it may use.
pub(super) struct Inside {
    pub(super) graph: Arc<Graph>,
    pub(super) manifest: Arc<Manifest>,
    /// The path of nodes to it; empty for the graph at the top.
    pub(super) path: String,
    /// Number of graphs around it.
    pub(super) level: u32,
}

impl Inside {
    pub(super) fn scope(&self) -> Scope {
        Scope { graph: self.graph.digest, narrowing: self.manifest.narrowing().to_owned() }
    }

    pub(super) fn used<'a>(
        &'a self,
        capabilities: Option<&'a NodeCapabilities>,
        limits: NodeLimits,
    ) -> Use<'a> {
        Use { manifest: &self.manifest, capabilities, limits }
    }

    fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}/{name}", self.path) }
    }

    /// Checks whether the manifest permits a dispatch. The walker denies what a node's own `capabilities` leave out.
    fn permits(&self, action: &Action, id: &str) -> bool {
        self.manifest.dispatch().permits(action.operation, action.item_type, id)
    }

    /// Returns the graph that a node starts by a written-out id, under its narrowed manifest.
    pub(super) fn child(&self, node: &Node, action: &Action, graphs: &Graphs) -> Option<Self> {
        if action.operation != ItemOperation::Execute || action.item_type != ItemType::Tool {
            return None;
        }
        let id = action.item_id.literal().and_then(Value::as_str)?;
        let graph = graphs.get(&*without_version(id))?;
        let memory = node.limits.memory.or(self.graph.limits.memory);
        let mut manifest = self.manifest.narrowed(node.capabilities.as_ref(), memory);
        let level = self.level.saturating_add(1);
        if let Ok(asked) = parameters::written(graph, &action.params).parameters {
            manifest = asked.narrow(&manifest, level);
        }
        let (graph, manifest, path) = (Arc::clone(graph), Arc::new(manifest), self.path_of(&node.name));
        Some(Self { graph, manifest, path, level })
    }
}

/// Checks a node's written-out params against the schema of its graph.
pub(super) fn param_problems(action: &Action, graph: &Graph, work: &PlanWork) -> Vec<PlanProblem> {
    let params = parameters::written(graph, &action.params);
    let wrong = params.parameters.err().unwrap_or_default();
    let wrong = wrong.into_iter().map(|problem| {
        let id = &graph.id;
        Error::invalid(format!("its params say about the run of graph `{id}` what cannot be: {problem}"))
            .into()
    });
    wrong.chain(work.step(|meter| unfit_inputs(&params.inputs, graph, meter))).collect()
}

fn unfit_inputs(params: &ValueTemplate, graph: &Graph, meter: &Meter) -> Vec<PlanProblem> {
    let Some(schema) = &graph.input_schema else { return Vec::new() };
    match InputSchema::compile(schema, meter) {
        Ok(schema) => match schema.check_literal(params, meter) {
            Ok(problems) => problems
                .into_iter()
                .map(|problem| {
                    Error::invalid(format!("its params are not what graph `{}` takes: {problem}", graph.id))
                        .into()
                })
                .collect(),
            Err(exhausted) => {
                let message = format!(
                    "its params cannot be checked against what graph `{}` takes: {exhausted}",
                    graph.id
                );
                vec![Error::limit(message).into()]
            }
        },
        Err(errors) => {
            let reasons: Vec<_> = errors.iter().map(ToString::to_string).collect();
            let message =
                format!("`config_schema` of graph `{}` is not usable: {}", graph.id, reasons.join("; "));
            vec![Error::limit(message).into()]
        }
    }
}

/// Checks whether an action names a graph by a written-out id.
pub(super) fn names_graph(action: &Action, graphs: &Graphs) -> bool {
    let id = action.item_id.literal().and_then(Value::as_str);
    (action.operation, action.item_type) == (ItemOperation::Execute, ItemType::Tool)
        && id.is_some_and(|id| graphs.contains_key(&*without_version(id)))
}

/// Restrictions of a component at one use.
#[derive(Clone, Copy)]
pub(super) struct Use<'a> {
    pub(super) manifest: &'a Manifest,
    pub(super) capabilities: Option<&'a NodeCapabilities>,
    pub(super) limits: NodeLimits,
}

/// Checks whether an action is the built-in control item, which the host performs itself.
pub fn is_built_in(action: &Action) -> bool {
    let id = action.item_id.literal().and_then(Value::as_str);
    id.is_some_and(|id| is_control_item(action.operation, action.item_type, id))
}

/// Makes the plan of a node from its entry alone.
pub(super) fn outline(index: NodeIndex, name: &str, action: &Action, inside: &Inside) -> PlannedNode {
    let literal = match action.item_id.literal() {
        // A search without an id covers everything.
        Some(Value::Null) if action.operation == ItemOperation::Search => Some(""),
        literal => literal.and_then(Value::as_str),
    };
    let mut left_out = false;
    let (item, dispatch, capability) = if let Some(id) = literal {
        let permitted = inside.permits(action, id);
        left_out = inside.manifest.dispatch().leaves_out(action.operation, action.item_type, id);
        let capability = capability_name(action.operation, action.item_type, id);
        (PlannedId::Literal(id.to_owned()), Some(permitted), Some(capability))
    } else {
        let source = action.item_id.source();
        let text = source.as_str().map_or_else(|| source.to_string(), str::to_owned);
        (PlannedId::Template(text), None, None)
    };
    PlannedNode {
        scope: inside.scope(),
        index,
        name: inside.path_of(name),
        is_graph: false,
        is_function: false,
        hook: None,
        item,
        dispatch,
        left_out,
        capability,
        grant: None,
        linked: None,
        problems: Vec::new(),
        warnings: Vec::new(),
    }
}
