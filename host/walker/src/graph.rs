//! A graph as the walker sees it: names resolved to indices, templates and conditions parsed, defaults filled in.
//! `document` makes one from YAML and has checked everything that can be checked without running.

mod bounds;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::compat::Dialect;
use crate::hook::Hook;
use graph_core::condition::Condition;
use graph_core::digest::Digest;
use graph_core::item::{ItemOperation, ItemType, NodeCapabilities};
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
    /// The purpose of the graph: the document's `description`.
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
    /// `max_steps`: the largest number of supersteps.
    pub max_steps: u64,
    /// The outcome once `max_steps` are used up while nodes are still active.
    pub on_max_steps: OnMaxSteps,
    /// The outcome of a failure that nothing else handles.
    pub on_error: OnError,
    /// The outcome if no edge of a conditional list matches.
    pub on_no_match: OnNoMatch,
    /// The outcome of a half-filled barrier when nothing else is left.
    pub on_stalled_barrier: OnStalledBarrier,
    /// Number of tasks of a superstep that run at the same time; `None` leaves it to the driver.
    pub max_concurrency: Option<u32>,
    /// Largest number of tasks of a superstep.
    pub max_fan_out: u64,
    /// Largest number of supersteps of the run and its children together.
    pub max_total_steps: u64,
    /// Largest number of times that one node may be entered.
    pub max_visits_per_node: Option<u64>,
    /// Limit on the wall time of a run, suspension not counted.
    pub timeout: Duration,
    /// The moment at which a boundary counts as persisted.
    pub durability: Durability,
    /// Treatment of a missing path in a template: null or an error.
    pub templates: TemplateMode,
    /// Limits for every node that does not say otherwise.
    pub limits: NodeLimits,
    /// The run's output; `None`: the state without the keys that begin with `_`.
    pub output: Option<ValueTemplate>,
    /// The graph's own hooks, in document order.
    pub hooks: Vec<Hook>,
    /// The hooks that its dialect adds, in order. They follow those of the project; a hook of the project replaces the one here with the
    /// same name.
    pub built_in_hooks: Vec<Hook>,
    pub(crate) names: GraphNames,
}

/// Indices of a graph's nodes and channels by name, since components, edits and stored records refer to names.
#[derive(Debug, Default)]
pub(crate) struct GraphNames {
    nodes: BTreeMap<String, NodeIndex>,
    channels: BTreeMap<String, usize>,
    /// The nodes that have an edge whose condition reads `node`.
    reading_node: BTreeSet<NodeIndex>,
}

impl GraphNames {
    pub(crate) fn new(nodes: &[Node], channels: &[Channel]) -> Self {
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
    /// Returns the node at an index of this graph.
    pub fn node(&self, index: NodeIndex) -> &Node {
        &self.nodes[index.0 as usize]
    }

    /// Returns the index of the node with that name.
    pub fn find(&self, name: &str) -> Option<NodeIndex> {
        self.names.nodes.get(name).copied()
    }

    /// Returns the declared channel with that name.
    pub fn channel(&self, name: &str) -> Option<&Channel> {
        self.names.channels.get(name).and_then(|at| self.channels.get(*at))
    }

    /// Reports whether a condition on an edge of a node reads `node`.
    pub fn edges_read_node(&self, index: NodeIndex) -> bool {
        self.names.reading_node.contains(&index)
    }

    /// Returns all nodes with their indices, in document order.
    pub fn indexed(&self) -> impl Iterator<Item = (NodeIndex, &Node)> {
        (0..).map(NodeIndex).zip(&self.nodes)
    }
}

/// A target of `start`.
#[derive(Clone, Debug)]
pub struct StartTarget {
    /// The index of the node that is started.
    pub node: NodeIndex,
    /// Makes the target a send. A template over `inputs` and `run`.
    pub argument: Option<ValueTemplate>,
}

/// A node of a graph.
#[derive(Debug)]
pub struct Node {
    /// The node's name, unique in the graph.
    pub name: String,
    /// The node's kind.
    pub kind: NodeKind,
    /// The node's action; a node without one passes through, and its result is `null`.
    pub action: Option<Action>,
    /// Channel writes from the result, in document order.
    pub assign: Vec<Assignment>,
    /// The nodes that follow.
    pub next: Next,
    /// The node that follows if the action fails for good.
    pub on_error: Option<NodeIndex>,
    /// Number and timing of attempts.
    pub retry: RetryPolicy,
    /// The node's own limits.
    pub limits: NodeLimits,
    /// The nodes that a barrier waits for; empty: not a barrier.
    pub wait_for: Vec<NodeIndex>,
    /// `true` if the node runs only when nothing else is active.
    pub defer: bool,
    /// Pauses around the node.
    pub interrupt: StaticInterrupt,
    /// Permissions of the node's commands; `None`: commands are refused.
    pub command: Option<CommandGrant>,
    /// Further restriction of the capabilities of the node's item or child graph.
    pub capabilities: Option<NodeCapabilities>,
    /// The templates in the limits and in `capabilities`, which each task evaluates.
    pub bounds: NodeTemplates,
    /// Time for which a cached result may be used; `None`: results are not cached.
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
    /// The value; for `{overwrite: v}`, only `v`.
    pub value: ValueTemplate,
    /// The way in which the value is written. Only the document decides it, never a value from a template.
    pub mode: WriteMode,
}

/// The way in which a value is written to a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteMode {
    /// The value is folded by the channel's reducer, whatever its form.
    #[default]
    Fold,
    /// The value replaces that of a reducer channel, and all other writes of its superstep.
    Overwrite,
}

/// The kind of a node.
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
        /// The sources of the parts of its form.
        sources: FormSources,
        /// Time to wait for an answer, from the moment of the question; `None`: without end.
        timeout: Option<Duration>,
    },
    /// Waits for a time or an event. The template gives the `wait` mapping ([`graph_core::wait`]); the data of the event is the result.
    Wait(ValueTemplate),
    /// Fails like a task. The template gives `{category, message, details}`.
    Fail(ValueTemplate),
}

/// The additional keys of a `foreach` node.
#[derive(Debug)]
pub struct Foreach {
    /// The list, or a JSON string of one.
    pub over: ValueTemplate,
    /// The number of elements in each item; without it, each element is an item.
    pub batch: Option<NonZeroUsize>,
    /// `true` if a template reads the index of the item.
    pub reads_index: bool,
    /// The item's name in the action's templates.
    pub variable: String,
    /// The channel that receives the results in item order.
    pub collect: Option<String>,
    /// `true` if items run concurrently.
    pub parallel: bool,
    /// The effect of an item's failure.
    pub on_item_error: OnItemError,
    /// `true` if the list holds the whole result of a failed item, as in Rye, instead of `{_error: ..}`.
    pub keeps_failures: bool,
}

/// Use of a cached result instead of a dispatch.
#[derive(Debug)]
pub struct CachePolicy {
    /// Largest age of a result, by recorded times; above zero.
    pub ttl: Duration,
    /// A further part of the key, in addition to the item, its params and its grant.
    pub key: Option<ValueTemplate>,
}

/// The item that a node dispatches.
#[derive(Debug)]
pub struct Action {
    /// `execute`, `search`, `load` or `sign`.
    pub operation: ItemOperation,
    /// `tool`, `knowledge` or `directive`.
    pub item_type: ItemType,
    /// The item's id; a template is checked when it is dispatched.
    pub item_id: ValueTemplate,
    /// The params of the action.
    pub params: ValueTemplate,
}

/// The nodes that follow a node.
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
    /// Checks whether a condition reads `node`.
    fn reads_node(&self) -> bool {
        let Self::First(edges) = self else { return false };
        let conditions = edges.iter().filter_map(|edge| edge.when.as_ref());
        conditions.flat_map(Condition::paths).any(|path| path.root() == "node")
    }
}

/// An edge of a list, of which the first whose condition holds is taken.
#[derive(Debug)]
pub struct Edge {
    /// The nodes that follow; an empty list ends the branch.
    pub to: Vec<NodeIndex>,
    /// `None` is the default edge.
    pub when: Option<Condition>,
    /// A name for people.
    pub label: Option<String>,
}

/// Number and timing of the attempts after a failure.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryPolicy {
    /// Attempts in all, the first included; at least 1.
    pub max_attempts: u32,
    /// Wait before the second attempt.
    pub initial_interval: Duration,
    /// Factor of each further wait; at least 1.
    pub backoff: f64,
    /// Longest wait between two attempts.
    pub max_interval: Duration,
    /// `true` if each wait is a seeded draw between half of it and all of it.
    pub jitter: bool,
    /// The categories of failures that are retried.
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
    /// `true` if the run pauses before the superstep in which the node is active.
    pub before: bool,
    /// `true` if the run pauses after the superstep has committed.
    pub after: bool,
}

/// The targets and channels that a command may name.
#[derive(Clone, Debug, Default)]
pub struct CommandGrant {
    /// The nodes that `goto` may name.
    pub goto: Vec<NodeIndex>,
    /// `true` if `goto` may name [`END`](graph_core::id::END), which ends the branch.
    pub may_end: bool,
    /// The channels that `update` may name.
    pub write: Vec<String>,
    /// The reducer channels that `update` may name, and whose value `{overwrite: v}` replaces.
    pub overwrite: Vec<String>,
    /// The same nodes and channels, indexed: a command may name many of them.
    targets: BTreeSet<NodeIndex>,
    channels: BTreeMap<String, WriteMode>,
}

impl CommandGrant {
    /// Creates a grant of these nodes and channels, and of the end of a branch if `may_end`.
    pub fn new(goto: Vec<NodeIndex>, may_end: bool, write: Vec<String>, overwrite: Vec<String>) -> Self {
        let fold = write.iter().map(|channel| (channel.clone(), WriteMode::Fold));
        let instead = overwrite.iter().map(|channel| (channel.clone(), WriteMode::Overwrite));
        let channels = fold.chain(instead).collect();
        Self { targets: goto.iter().copied().collect(), channels, goto, may_end, write, overwrite }
    }

    /// Checks whether a command may go to a node.
    pub fn may_go_to(&self, node: NodeIndex) -> bool {
        self.targets.contains(&node)
    }

    /// Checks whether an update may name a channel.
    pub fn may_write(&self, channel: &str) -> bool {
        self.channels.contains_key(channel)
    }

    /// Checks whether `{overwrite: v}` in an update replaces the value of a channel; otherwise it is data.
    pub fn may_overwrite(&self, channel: &str) -> bool {
        self.channels.get(channel) == Some(&WriteMode::Overwrite)
    }
}

/// A channel that the graph declares under `channels`.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// The key of the state that the channel holds.
    pub name: String,
    /// The way in which the writes of one superstep are combined.
    pub reducer: Reducer,
    /// The value before any write; `None`: the reducer's own default.
    pub default: Option<Value>,
}
