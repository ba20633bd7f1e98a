//! A graph as the walker sees it: names resolved to indices, templates and conditions parsed, defaults filled in.
//! `document` makes one from YAML and has checked everything that can be checked without running.

mod bounds;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::compat::Dialect;
use crate::hook::Hook;
use graph_core::condition::Condition;
use graph_core::digest::Digest;
use graph_core::item::{ItemType, NodeCapabilities, Primary};
use graph_core::limits::NodeLimits;
use graph_core::node::Category;
use graph_core::policy::{
    Durability, OnError, OnItemError, OnMaxSteps, OnNoMatch, OnStalledBarrier, Reducer, TemplateMode,
};
use graph_core::question::FormSources;
use graph_core::schema::InputMarks;
use graph_core::template::ValueTemplate;

pub use bounds::NodeTemplates;

/// The place of a node in [`Graph::nodes`], which is its place in the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIndex(pub u32);

/// A state graph, ready to be walked.
#[derive(Debug)]
pub struct Graph {
    /// The graph's item id, or the name of the file it came from.
    pub id: String,
    /// The digest of the document's meaning (its `config`, `config_schema` and id), independent of its layout.
    pub digest: Digest,
    /// The whole document as JSON, for the snapshot that a run keeps.
    pub document: Arc<Value>,
    /// What the graph is for: the document's `description`.
    pub description: Option<String>,
    /// The graph's name for people; if it has none, its id is shown.
    pub name: Option<String>,
    /// The rules that it follows where hosts differ.
    pub dialect: Dialect,
    /// `config_schema`: JSON Schema of the inputs.
    pub input_schema: Option<Value>,
    /// The inputs that the schema marks for the host.
    pub marks: InputMarks,
    /// The nodes at which a run starts.
    pub start: Vec<StartTarget>,
    /// The nodes, in document order.
    pub nodes: Vec<Node>,
    /// The declared channels, in document order; every other key is a `last_value` channel.
    pub channels: Vec<Channel>,
    /// `max_steps`: how many supersteps may run.
    pub max_steps: u64,
    /// What happens when `max_steps` are used up and something is next.
    pub on_max_steps: OnMaxSteps,
    /// What happens to a failure that nothing else handles.
    pub on_error: OnError,
    /// What happens when no edge of a conditional list matches.
    pub on_no_match: OnNoMatch,
    /// What happens to a half-filled barrier when nothing else is left.
    pub on_stalled_barrier: OnStalledBarrier,
    /// How many tasks of a superstep run at the same time; `None` leaves it to the driver.
    pub max_concurrency: Option<u32>,
    /// How many tasks a superstep may have.
    pub max_fan_out: u64,
    /// How many supersteps the run and its children may take together.
    pub max_total_steps: u64,
    /// How often one node may be entered.
    pub max_visits_per_node: Option<u64>,
    /// Wall time of a run, suspension not counted.
    pub timeout: Duration,
    /// When a boundary counts as persisted.
    pub durability: Durability,
    /// Whether a missing path in a template is null or an error.
    pub templates: TemplateMode,
    /// Limits for every node that does not say otherwise.
    pub limits: NodeLimits,
    /// The run's output; `None` is the state without keys that begin with `_`.
    pub output: Option<ValueTemplate>,
    /// The graph's own hooks, in document order.
    pub hooks: Vec<Hook>,
    /// The hooks that its dialect adds, in order. They follow those of the project, one of which replaces a hook of these
    /// that has the same name.
    pub built_in_hooks: Vec<Hook>,
    pub(crate) names: GraphNames,
}

/// The places of a graph's nodes and channels by name: components, edits and stored records name many of them.
#[derive(Debug, Default)]
pub(crate) struct GraphNames {
    nodes: BTreeMap<String, NodeIndex>,
    channels: BTreeMap<String, usize>,
    /// The nodes with a condition on an edge that reads `node`.
    reading_node: BTreeSet<NodeIndex>,
}

impl GraphNames {
    pub(crate) fn of(nodes: &[Node], channels: &[Channel]) -> Self {
        let indexed = || (0..).map(NodeIndex).zip(nodes);
        let channels = channels.iter().enumerate().map(|(at, channel)| (channel.name.clone(), at));
        Self {
            nodes: indexed().map(|(index, node)| (node.name.clone(), index)).collect(),
            channels: channels.collect(),
            reading_node: indexed()
                .filter(|(_, node)| node.next.reads_node())
                .map(|(index, _)| index)
                .collect(),
        }
    }
}

impl Graph {
    /// The node at an index of this graph.
    pub fn node(&self, index: NodeIndex) -> &Node {
        &self.nodes[index.0 as usize]
    }

    /// The index of the node of that name.
    pub fn find(&self, name: &str) -> Option<NodeIndex> {
        self.names.nodes.get(name).copied()
    }

    /// The declared channel of that name.
    pub fn channel(&self, name: &str) -> Option<&Channel> {
        self.names.channels.get(name).and_then(|at| self.channels.get(*at))
    }

    /// Reports whether a condition on an edge of a node reads `node`.
    pub fn edges_read_node(&self, index: NodeIndex) -> bool {
        self.names.reading_node.contains(&index)
    }

    /// All nodes with their indices, in document order.
    pub fn indexed(&self) -> impl Iterator<Item = (NodeIndex, &Node)> {
        (0..).map(NodeIndex).zip(&self.nodes)
    }
}

/// A target of `start`.
#[derive(Clone, Debug)]
pub struct StartTarget {
    /// The index of the node that is started.
    pub node: NodeIndex,
    /// With an argument, a send. A template over `inputs` and `run`.
    pub argument: Option<ValueTemplate>,
}

/// A node of a graph.
#[derive(Debug)]
pub struct Node {
    /// Its name, unique in the graph.
    pub name: String,
    /// What kind of node it is.
    pub kind: NodeKind,
    /// Its action; a node without one passes through, and its result is `null`.
    pub action: Option<Action>,
    /// Channel writes from the result, in document order.
    pub assign: Vec<Assignment>,
    /// Where to go from here.
    pub next: Next,
    /// Where to go when the action fails for good.
    pub on_error: Option<NodeIndex>,
    /// How often to try.
    pub retry: RetryPolicy,
    /// The node's own limits.
    pub limits: NodeLimits,
    /// The nodes that a barrier waits for; empty: not a barrier.
    pub wait_for: Vec<NodeIndex>,
    /// Runs only when nothing else is active.
    pub defer: bool,
    /// Pauses around the node.
    pub interrupt: StaticInterrupt,
    /// What commands of this node may do; `None`: it may not use commands.
    pub command: Option<CommandGrant>,
    /// A further narrowing of what the node's item, or child graph, may use.
    pub capabilities: Option<NodeCapabilities>,
    /// What of the limits and of `capabilities` each task evaluates by itself.
    pub bounds: NodeTemplates,
    /// How long a cached result of the node may be used; `None`: results are not cached.
    pub cache: Option<CachePolicy>,
    /// `revisit: {feedback: true}`: the result of its last visit is stored. Its templates and edges read it as
    /// `node.previous`, and a request to refine it as `node.feedback`.
    pub feedback: bool,
    /// Any value, for tools: the host does not read it.
    pub metadata: Option<Value>,
}

/// A write of a node's `assign`.
#[derive(Debug)]
pub struct Assignment {
    /// The name of the channel that is written.
    pub channel: String,
    /// The value; of `{overwrite: v}`, `v` alone.
    pub value: ValueTemplate,
    /// How the value is written: the document says so itself, no value that a template gives does.
    pub mode: WriteMode,
}

/// How a value is written to a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteMode {
    /// The value is folded by the channel's reducer, whatever its form.
    #[default]
    Fold,
    /// The value replaces that of a reducer channel, and all other writes of its superstep.
    Overwrite,
}

/// What kind of node it is.
#[derive(Debug)]
pub enum NodeKind {
    /// Runs its action, if it has one.
    Default,
    /// Ends the run at the boundary of its superstep.
    Return {
        /// The run's output; `None` falls back to the graph's.
        output: Option<ValueTemplate>,
    },
    /// Runs its action once for each item of a list.
    Foreach(Foreach),
    /// Asks a person; the answer is the result.
    Ask {
        /// The `ask` mapping, which becomes the payload of the interrupt ([`graph_core::question`]).
        question: ValueTemplate,
        /// Where the parts of its form come from.
        sources: FormSources,
        /// How long an answer is waited for, from the moment in which it is asked; `None`: for good.
        timeout: Option<Duration>,
    },
    /// Fails as a task would; a template of `{category, message, details}`.
    Fail(ValueTemplate),
}

/// The additional keys of a `foreach` node.
#[derive(Debug)]
pub struct Foreach {
    /// The list, or a JSON string of one.
    pub over: ValueTemplate,
    /// The item's name in the action's templates.
    pub variable: String,
    /// The channel that receives the results in item order.
    pub collect: Option<String>,
    /// Whether items run side by side.
    pub parallel: bool,
    /// What an item's failure does.
    pub on_item_error: OnItemError,
    /// The list has the result that says that an item has failed, as Rye's has it, in place of `{_error: ..}`.
    pub keeps_failures: bool,
}

/// When a cached result is used instead of a dispatch.
#[derive(Debug)]
pub struct CachePolicy {
    /// How old a result may become, by recorded times; above zero.
    pub ttl: Duration,
    /// What the key covers in addition to the item, its params and what it may use.
    pub key: Option<ValueTemplate>,
}

/// The item that a node dispatches.
#[derive(Debug)]
pub struct Action {
    /// `execute`, `search`, `load` or `sign`.
    pub primary: Primary,
    /// `tool`, `knowledge` or `directive`.
    pub item_type: ItemType,
    /// The item's id; a template is checked when it is dispatched.
    pub item_id: ValueTemplate,
    /// The params of the action.
    pub params: ValueTemplate,
}

/// Which nodes follow a node.
#[derive(Debug)]
pub enum Next {
    /// None: the branch ends.
    End,
    /// Unconditional edges: all of these nodes are next.
    All(Vec<NodeIndex>),
    /// The first whose condition holds.
    First(Vec<Edge>),
}

impl Next {
    /// Reports whether a condition reads `node`.
    fn reads_node(&self) -> bool {
        let Self::First(edges) = self else { return false };
        let conditions = edges.iter().filter_map(|edge| edge.when.as_ref());
        conditions.flat_map(Condition::paths).any(|path| path.root() == "node")
    }
}

/// An edge of a list, of which the first whose condition holds is taken.
#[derive(Debug)]
pub struct Edge {
    /// Where to go; an empty list ends the branch.
    pub to: Vec<NodeIndex>,
    /// `None` is the default edge.
    pub when: Option<Condition>,
    /// A name for people.
    pub label: Option<String>,
}

/// How often and when a failed attempt is tried again.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryPolicy {
    /// Attempts in all, the first included; at least 1.
    pub max_attempts: u32,
    /// The wait before the second attempt.
    pub initial_interval: Duration,
    /// What each further wait is multiplied by; at least 1.
    pub backoff: f64,
    /// The longest wait between two attempts, however often it was multiplied.
    pub max_interval: Duration,
    /// Whether the wait is a seeded draw between half and all of it.
    pub jitter: bool,
    /// The categories that are tried again.
    pub retry_on: Vec<Category>,
}

impl Default for RetryPolicy {
    /// One attempt: nothing is retried.
    fn default() -> Self {
        Self {
            max_attempts: 1,
            initial_interval: Duration::from_millis(500),
            backoff: 2.0,
            max_interval: Duration::from_mins(1),
            jitter: false,
            retry_on: vec![Category::Transient, Category::RateLimited, Category::Timeout],
        }
    }
}

/// Pauses around a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StaticInterrupt {
    /// The superstep in which the node is active does not start.
    pub before: bool,
    /// The run pauses once the superstep has committed.
    pub after: bool,
}

/// What a command may do: its targets and channels.
#[derive(Clone, Debug, Default)]
pub struct CommandGrant {
    /// The nodes it may name in `goto`.
    pub goto: Vec<NodeIndex>,
    /// It may name [`END`](graph_core::id::END) there, which ends the branch.
    pub may_end: bool,
    /// The channels it may name in `update`.
    pub write: Vec<String>,
    /// The reducer channels it may name in `update`, and whose value `{overwrite: v}` in an update replaces.
    pub overwrite: Vec<String>,
    /// The same nodes and channels, to look them up: a command may name as many.
    targets: BTreeSet<NodeIndex>,
    channels: BTreeMap<String, WriteMode>,
}

impl CommandGrant {
    /// A grant of these nodes and channels, and of the end of a branch.
    pub fn new(goto: Vec<NodeIndex>, may_end: bool, write: Vec<String>, overwrite: Vec<String>) -> Self {
        let fold = write.iter().map(|channel| (channel.clone(), WriteMode::Fold));
        let instead = overwrite.iter().map(|channel| (channel.clone(), WriteMode::Overwrite));
        let channels = fold.chain(instead).collect();
        Self { targets: goto.iter().copied().collect(), channels, goto, may_end, write, overwrite }
    }

    /// Whether a command may go to a node.
    pub fn may_go_to(&self, node: NodeIndex) -> bool {
        self.targets.contains(&node)
    }

    /// Whether an update may name a channel.
    pub fn may_write(&self, channel: &str) -> bool {
        self.channels.contains_key(channel)
    }

    /// Whether `{overwrite: v}` in an update replaces the value of a channel; elsewhere it is data.
    pub fn may_overwrite(&self, channel: &str) -> bool {
        self.channels.get(channel) == Some(&WriteMode::Overwrite)
    }
}

/// A channel that the graph declares under `channels`.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// The key of the state that it holds.
    pub name: String,
    /// How the writes of one superstep are folded into its value.
    pub reducer: Reducer,
    /// The value before any write; `None` is the reducer's own.
    pub default: Option<Value>,
}
