//! Builder of a graph: its nodes, the edges between them, and its settings.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::fields::{MappingFields, duration, list, model_limits, names, text};
use super::hook_builder::HookBuilder;
use super::node_builder::{NodeBuilder, Retry};
use super::when::When;
use crate::document;
use crate::graph::Graph;
use crate::topology::Topology;
use graph_core::diagnostic::{Diagnostics, excerpt, nearest};
use graph_core::id::ItemId;
use graph_core::limits::NodeLimits;
use graph_core::policy::{
    Durability, OnError, OnMaxSteps, OnNoMatch, OnStalledBarrier, Reducer, TemplateMode,
};
use graph_core::yaml;
use graph_core::yaml::{Node, Yaml};

/// Reason why a graph could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Calls of the builder contradict each other, a line each.
    #[error("the graph cannot be built: {}", .0.join("; "))]
    Contradiction(Vec<String>),
    /// The built document is not a valid graph. Positions are those of [`GraphBuilder::to_yaml`].
    #[error("{0}")]
    Document(Box<Diagnostics>),
}

/// A graph that was built and checked.
#[derive(Clone, Debug)]
pub struct BuiltGraph {
    /// The graph, for a walker.
    pub graph: Arc<Graph>,
    /// The document from which the graph was read.
    pub yaml: String,
    /// The warnings of the document. Positions are those of `yaml`.
    pub warnings: Diagnostics,
}

impl BuiltGraph {
    /// Returns the nodes and edges, for pictures and reports.
    pub fn topology(&self) -> Topology {
        Topology::of(&self.graph)
    }
}

/// An edge of a conditional list: it is taken if it is the first whose condition holds.
#[derive(Clone, Debug)]
pub struct Branch(MappingFields);

impl Branch {
    /// Creates an edge that is taken if a condition holds.
    pub fn when(condition: When, to: &str) -> Self {
        let mut branch = Self::otherwise(to);
        branch.0.set_node("when", condition.into_node());
        branch
    }

    /// Creates an edge that is taken if no condition before it holds.
    pub fn otherwise(to: &str) -> Self {
        let mut fields = MappingFields::default();
        fields.set("to", to);
        Self(fields)
    }

    /// Sets the targets of the edge: several nodes at once, or none to end the branch.
    #[must_use]
    pub fn to_all<N: Into<String>>(mut self, nodes: impl IntoIterator<Item = N>) -> Self {
        self.0.set_node("to", list(names(nodes)));
        self
    }

    /// Sets a name for people.
    #[must_use]
    pub fn label(mut self, label: &str) -> Self {
        self.0.set("label", label);
        self
    }
}

/// Builds a graph.
///
/// ```
/// use graph_walker::builder::{Branch, GraphBuilder, NodeBuilder, When};
/// use graph_core::policy::Reducer;
/// use serde_json::json;
///
/// let mut builder = GraphBuilder::new("acme/triage");
/// builder
///     .description("Reads reports until there are none")
///     .channel("seen", Reducer::Append)
///     .node("read", NodeBuilder::tool("acme/read", json!({ "after": "${state.seen | length}" })).assign("report", "${result}"))
///     .node("keep", NodeBuilder::pass().assign("seen", json!(["${state.report.id}"])))
///     .node("done", NodeBuilder::end_with(json!({ "seen": "${state.seen}" })))
///     .start("read")
///     .conditional_edges("read", [
///         Branch::when(When::path("result.left").eq(0), "done"),
///         Branch::otherwise("keep"),
///     ])
///     .edge("keep", "read");
/// let built = builder.compile()?;
///
/// assert_eq!(built.graph.nodes.len(), 3);
/// assert_eq!(built.topology().edges.len(), 4);
/// let written = graph_walker::document::load("triage.yaml", &builder.to_yaml()?, "acme/triage").unwrap();
/// assert_eq!(written.graph.digest, built.graph.digest);
/// # Ok::<(), graph_walker::builder::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct GraphBuilder {
    id: String,
    head: MappingFields,
    config: MappingFields,
    channels: MappingFields,
    nodes: Vec<(String, NodeBuilder)>,
    start: Vec<Node>,
    edges: BTreeMap<String, Edges>,
    waits: BTreeMap<String, Vec<String>>,
    contradictions: Vec<String>,
}

#[derive(Clone, Debug)]
enum Edges {
    All(Vec<String>),
    First(Vec<Branch>),
}

impl GraphBuilder {
    /// Creates a graph without nodes. `id` is its item id, `category/name`.
    pub fn new(id: &str) -> Self {
        let mut head = MappingFields::default();
        head.set("tool_type", "graph");
        Self {
            id: id.to_owned(),
            head,
            config: MappingFields::default(),
            channels: MappingFields::default(),
            nodes: Vec::new(),
            start: Vec::new(),
            edges: BTreeMap::new(),
            waits: BTreeMap::new(),
            contradictions: Vec::new(),
        }
    }

    /// Sets the description of the graph, for people.
    pub fn description(&mut self, description: &str) -> &mut Self {
        self.head.set("description", description);
        self
    }

    /// Sets the JSON Schema of the inputs.
    pub fn input_schema(&mut self, schema: impl Into<Value>) -> &mut Self {
        self.head.set("config_schema", schema);
        self
    }

    /// Adds a node. The order in which nodes are added is the order of the tasks of a superstep.
    pub fn node(&mut self, name: &str, node: NodeBuilder) -> &mut Self {
        if self.nodes.iter().any(|(known, _)| known == name) {
            self.contradictions.push(format!("two nodes are called `{name}`"));
        } else {
            self.nodes.push((name.to_owned(), node));
        }
        self
    }

    /// Adds a node to those that the run starts at.
    pub fn start(&mut self, node: &str) -> &mut Self {
        self.start.push(text(node));
        self
    }

    /// Begins the run with a send: a task of the node with an argument, a template over `inputs` and `run`.
    pub fn start_with(&mut self, node: &str, argument: impl Into<Value>) -> &mut Self {
        let mut send = MappingFields::default();
        send.set("node", node);
        send.set("argument", argument);
        self.start.push(send.into_node());
        self
    }

    /// Adds an edge. Several edges from one node are all taken.
    pub fn edge(&mut self, from: &str, to: &str) -> &mut Self {
        match self.edges.entry(from.to_owned()).or_insert_with(|| Edges::All(Vec::new())) {
            Edges::All(targets) => targets.push(to.to_owned()),
            Edges::First(_) => {
                self.contradictions
                    .push(format!("`{from}` has conditional edges; `edge` to `{to}` is one more"));
            }
        }
        self
    }

    /// Adds an edge from each of these nodes to the next.
    pub fn sequence<N: AsRef<str>>(&mut self, nodes: impl IntoIterator<Item = N>) -> &mut Self {
        let mut last: Option<N> = None;
        for node in nodes {
            if let Some(last) = &last {
                self.edge(last.as_ref(), node.as_ref());
            }
            last = Some(node);
        }
        self
    }

    /// Sets the conditional edges of a node: the first whose condition holds is taken.
    pub fn conditional_edges(&mut self, from: &str, branches: impl IntoIterator<Item = Branch>) -> &mut Self {
        let branches = branches.into_iter().collect();
        if self.edges.insert(from.to_owned(), Edges::First(branches)).is_some() {
            self.contradictions.push(format!("the edges of `{from}` are said twice"));
        }
        self
    }

    /// Makes a node a barrier that waits for all of these nodes, in whichever supersteps. No other edge can lead to it.
    pub fn waiting_edge<N: Into<String>>(
        &mut self,
        from: impl IntoIterator<Item = N>,
        to: &str,
    ) -> &mut Self {
        self.waits.entry(to.to_owned()).or_default().extend(from.into_iter().map(Into::into));
        self
    }

    /// Declares a channel whose writes fold. A key of the state that is not declared keeps the last value.
    pub fn channel(&mut self, name: &str, reducer: Reducer) -> &mut Self {
        self.channels.set_inside(name, "reducer", text(reducer.as_str()));
        self
    }

    /// Sets the value of a channel before any write.
    pub fn default(&mut self, channel: &str, value: impl Into<Value>) -> &mut Self {
        self.channels.set_inside(channel, "default", Node::from_json(&value.into()));
        self
    }

    /// Sets the initial state from a Rust type: each field is the default of the channel of its name.
    /// [`Summary::state_as`](crate::walker::Summary::state_as) reads the final state back.
    pub fn state(&mut self, state: &impl Serialize) -> &mut Self {
        match serde_json::to_value(state) {
            Ok(Value::Object(fields)) => {
                for (channel, value) in fields {
                    self.default(&channel, value);
                }
            }
            Ok(_) => self.contradictions.push("the state is not a struct or a map".to_owned()),
            Err(error) => self.contradictions.push(format!("the state is not JSON: {error}")),
        }
        self
    }

    /// Sets the output of the run, unless the node that ends it has one. Without either, the state is the output.
    pub fn output(&mut self, output: impl Into<Value>) -> &mut Self {
        self.config.set("output", output);
        self
    }

    /// Adds a hook to the graph, after those added before.
    pub fn hook(&mut self, hook: HookBuilder) -> &mut Self {
        self.config.extend("hooks", [hook.into_node()]);
        self
    }

    /// Sets the name of the graph, for people.
    pub fn name(&mut self, name: &str) -> &mut Self {
        self.config.set("name", name);
        self
    }

    /// Sets the retry policy of nodes without their own.
    pub fn retry(&mut self, policy: Retry) -> &mut Self {
        self.config.set_node("retry", policy.into_node());
        self
    }

    /// Lets every node without its own setting read its result from its last visit.
    pub fn feedback(&mut self) -> &mut Self {
        self.config.set("revisit", true);
        self
    }

    /// Sets the limit of supersteps.
    pub fn max_steps(&mut self, most: u64) -> &mut Self {
        self.config.set("max_steps", most);
        self
    }

    /// Sets the limit of supersteps of the run and its child runs together.
    pub fn max_total_steps(&mut self, most: u64) -> &mut Self {
        self.config.set("max_total_steps", most);
        self
    }

    /// Sets the policy for a run that has used up `max_steps` and has a next node.
    pub fn on_max_steps(&mut self, policy: OnMaxSteps) -> &mut Self {
        self.config.set("on_max_steps", policy.as_str());
        self
    }

    /// Sets the policy for failures that nothing else handles.
    pub fn on_error(&mut self, policy: OnError) -> &mut Self {
        self.config.set("on_error", policy.as_str());
        self
    }

    /// Sets the policy for a conditional list of which no edge matches.
    pub fn on_no_match(&mut self, policy: OnNoMatch) -> &mut Self {
        self.config.set("on_no_match", policy.as_str());
        self
    }

    /// Sets the policy for a node that still waits when nothing else is left.
    pub fn on_stalled_barrier(&mut self, policy: OnStalledBarrier) -> &mut Self {
        self.config.set("on_stalled_barrier", policy.as_str());
        self
    }

    /// Sets the limit of tasks of a superstep that run at the same time.
    pub fn max_concurrency(&mut self, most: u32) -> &mut Self {
        self.config.set("max_concurrency", most);
        self
    }

    /// Sets the limit of tasks of a superstep.
    pub fn max_fan_out(&mut self, most: u64) -> &mut Self {
        self.config.set("max_fan_out", most);
        self
    }

    /// Sets the limit of entries of one node.
    pub fn max_visits_per_node(&mut self, most: u64) -> &mut Self {
        self.config.set("max_visits_per_node", most);
        self
    }

    /// Sets the time limit of a run, in whole milliseconds; suspensions do not count.
    pub fn timeout(&mut self, span: Duration) -> &mut Self {
        self.config.set("timeout", duration(span));
        self
    }

    /// Sets the durability mode, which decides when a boundary counts as persisted.
    pub fn durability(&mut self, durability: Durability) -> &mut Self {
        self.config.set("durability", durability.as_str());
        self
    }

    /// Sets the template mode: a missing path in a template is null or an error.
    pub fn templates(&mut self, mode: TemplateMode) -> &mut Self {
        self.config.set("templates", mode.as_str());
        self
    }

    /// Sets the limits of nodes without their own.
    pub fn limits(&mut self, limits: NodeLimits) -> &mut Self {
        let mut fields = MappingFields::default();
        for (key, value) in [("fuel", limits.fuel), ("memory", limits.memory)] {
            if let Some(value) = value {
                fields.set(key, value);
            }
        }
        if let Some(span) = limits.timeout {
            fields.set("timeout", duration(span));
        }
        if let Some(model) = model_limits(limits.model) {
            fields.set_node("model", model);
        }
        self.config.set_node("limits", fields.into_node());
        self
    }

    /// Writes the graph as a YAML document, which loads as the same graph. Only contradictory calls of the builder are errors here.
    pub fn to_yaml(&self) -> Result<String, BuildError> {
        self.clone().into_document().map(|document| yaml::write(&document))
    }

    /// Builds the graph, with the checks of every document.
    pub fn compile(&self) -> Result<BuiltGraph, BuildError> {
        let yaml = self.to_yaml()?;
        ItemId::parse(&self.id).map_err(|error| {
            let id = excerpt(&self.id);
            BuildError::Contradiction(vec![format!(
                "a graph cannot be called `{id}`: {error}; its id is such as `acme/pipeline`"
            )])
        })?;
        let loaded = document::load(&self.id, &yaml, &self.id).map_err(BuildError::Document)?;
        Ok(BuiltGraph { graph: Arc::new(loaded.graph), yaml, warnings: loaded.warnings })
    }

    fn into_document(mut self) -> Result<Node, BuildError> {
        let known: Vec<&str> = self.nodes.iter().map(|(name, _)| name.as_str()).collect();
        for name in self.edges.keys().chain(self.waits.keys()) {
            if !known.contains(&name.as_str()) {
                let meant = nearest(name, known.iter().copied());
                let meant = meant.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                self.contradictions.push(format!("no node is called `{name}`{meant}"));
            }
        }
        if !self.contradictions.is_empty() {
            self.contradictions.dedup();
            return Err(BuildError::Contradiction(self.contradictions));
        }
        let mut config = MappingFields::default();
        config.set_node("start", one_or_list(self.start));
        if let Yaml::Mapping(settings) = self.config.into_node().value {
            for entry in settings.entries {
                config.set_node(&entry.key.name, entry.value);
            }
        }
        let channels = self.channels.into_node();
        if channels.as_mapping().is_some_and(|channels| !channels.is_empty()) {
            config.set_node("channels", channels);
        }
        let mut nodes = MappingFields::default();
        for (name, mut node) in self.nodes {
            if let Some(others) = self.waits.remove(&name) {
                node.fields().set_node("wait_for", list(names(others)));
            }
            match self.edges.remove(&name) {
                Some(Edges::All(targets)) => {
                    node.fields().set_node("next", one_or_list(names(targets)));
                }
                Some(Edges::First(branches)) => {
                    let branches = branches.into_iter().map(|branch| branch.0.into_node()).collect();
                    node.fields().set_node("next", list(branches));
                }
                None => {}
            }
            nodes.set_node(&name, node.into_node());
        }
        config.set_node("nodes", nodes.into_node());
        let mut document = self.head;
        document.set_node("config", config.into_node());
        Ok(document.into_node())
    }
}

fn one_or_list(mut items: Vec<Node>) -> Node {
    match items.len() {
        1 => items.remove(0),
        _ => list(items),
    }
}
