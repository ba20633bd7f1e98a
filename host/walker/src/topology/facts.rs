//! The parts of a graph's JSON besides nodes and edges: limits, policies, channels, and warnings.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::shape::name_of;
use crate::graph::{CachePolicy, Channel, CommandGrant, Graph, Node, NodeTemplates, RetryPolicy};
use crate::structure::Finding;
use graph_core::diagnostic::visible;
use graph_core::id::END;
use graph_core::limits::{ModelLimits, NodeLimits, written_cost};
use graph_core::template::ValueTemplate;

/// The limits of a run of the graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopologyLimits {
    /// Limit of supersteps.
    pub max_steps: u64,
    /// Behaviour when `max_steps` is used up: `fail`, `return_last` or `return_with_flag`.
    pub on_max_steps: String,
    /// Limit of supersteps of the run and its child runs together.
    pub max_total_steps: u64,
    /// Limit of entries of one node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_visits_per_node: Option<u64>,
    /// Limit of tasks that run at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_concurrency: Option<u32>,
    /// Limit of tasks of a superstep.
    pub max_fan_out: u64,
    /// Wall time of a run in milliseconds.
    pub timeout_ms: u64,
    /// The limits of nodes that set none of their own.
    #[serde(default, skip_serializing_if = "NodeBounds::is_nothing")]
    pub nodes: NodeBounds,
}

/// Limits of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeBounds {
    /// Limit of fuel of one attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fuel: Option<u64>,
    /// Limit of memory of one attempt, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Limit of wall time, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Limits of language models for each task.
    #[serde(default, skip_serializing_if = "ModelBounds::is_nothing")]
    pub model: ModelBounds,
}

/// Limits of language models for a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelBounds {
    /// Limit of requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// Limit of tokens of requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Limit of tokens of answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Limit of the cost, as a decimal number in the manifest's currency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
}

/// Policies for cases that no node decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopologyPolicies {
    /// Policy for a failure that nothing else handles.
    pub on_error: String,
    /// Policy if no entry of a conditional list matches.
    pub on_no_match: String,
    /// Policy for a half-filled barrier with nothing else left.
    pub on_stalled_barrier: String,
    /// Durability mode: it decides when a boundary counts as persisted.
    pub durability: String,
    /// Template mode: a missing path in a template is null (`lenient`) or an error (`strict`).
    pub templates: String,
}

/// A channel that the graph declares under `channels`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopologyChannel {
    /// The key of the state that the channel holds.
    pub name: String,
    /// Reducer that folds the writes of one superstep.
    pub reducer: String,
    /// The value before any write, if the graph sets one.
    #[serde(
        default,
        deserialize_with = "graph_core::node::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub default: Option<Value>,
}

/// A node's own settings for its attempts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodePolicy {
    /// The retry policy, if the node has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<TopologyRetry>,
    /// The limits that the node sets.
    #[serde(default, skip_serializing_if = "NodeBounds::is_nothing")]
    pub limits: NodeBounds,
    /// The limits and `capabilities` that each task evaluates, as they are written: by key, such as `limits.model.calls`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub templates: BTreeMap<String, Value>,
    /// Cache policy, if results are cached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<TopologyCache>,
}

/// Retry policy of the node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopologyRetry {
    /// Limit of attempts, the first included.
    pub max_attempts: u32,
    /// Milliseconds before the second attempt.
    pub initial_interval_ms: u64,
    /// Factor of each further wait.
    pub backoff: f64,
    /// Limit of a wait, in milliseconds.
    pub max_interval_ms: u64,
    /// `true` if waits are drawn between half and all of the interval.
    pub jitter: bool,
    /// The categories of failures that are tried again.
    pub retry_on: Vec<String>,
}

/// Cache policy of the node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopologyCache {
    /// Milliseconds for which a result is used.
    pub ttl_ms: u64,
    /// The key as it is written, if the node has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Value>,
}

/// Grants for commands of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopologyCommand {
    /// The nodes that `goto` may name.
    pub goto: Vec<String>,
    /// The channels that `update` may name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<String>,
    /// The channels whose value `{overwrite: v}` may replace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overwrite: Vec<String>,
}

/// The findings of the checks of a graph. A graph with errors has no topology.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopologyReport {
    /// `true` if the graph can run.
    pub ok: bool,
    /// The errors; empty, since a graph with errors has no topology.
    pub errors: Vec<Finding>,
    /// The findings that `graph report` lists.
    pub warnings: Vec<Finding>,
}

impl TopologyReport {
    /// The report of a graph that can run.
    pub const fn from_warnings(warnings: Vec<Finding>) -> Self {
        Self { ok: true, errors: Vec::new(), warnings }
    }
}

impl TopologyLimits {
    pub(super) fn from_graph(graph: &Graph) -> Self {
        Self {
            max_steps: graph.max_steps,
            on_max_steps: graph.on_max_steps.as_str().to_owned(),
            max_total_steps: graph.max_total_steps,
            max_visits_per_node: graph.max_visits_per_node,
            max_concurrency: graph.max_concurrency,
            max_fan_out: graph.max_fan_out,
            timeout_ms: milliseconds(graph.timeout),
            nodes: NodeBounds::from_limits(&graph.limits),
        }
    }
}

impl TopologyPolicies {
    pub(super) fn from_graph(graph: &Graph) -> Self {
        Self {
            on_error: graph.on_error.as_str().to_owned(),
            on_no_match: graph.on_no_match.as_str().to_owned(),
            on_stalled_barrier: graph.on_stalled_barrier.as_str().to_owned(),
            durability: graph.durability.as_str().to_owned(),
            templates: graph.templates.as_str().to_owned(),
        }
    }
}

impl NodeBounds {
    fn from_limits(limits: &NodeLimits) -> Self {
        Self {
            fuel: limits.fuel,
            memory: limits.memory,
            timeout_ms: limits.timeout.map(milliseconds),
            model: ModelBounds::from_limits(&limits.model),
        }
    }

    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl ModelBounds {
    fn from_limits(limits: &ModelLimits) -> Self {
        Self {
            calls: limits.calls,
            input_tokens: limits.input,
            output_tokens: limits.output,
            cost: limits.cost.map(written_cost),
        }
    }

    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// The templates among a node's limits, by key.
fn templates(node: &Node) -> BTreeMap<String, Value> {
    let NodeTemplates { timeout, model, dispatch } = &node.bounds;
    let model = model.iter().map(|(figure, template)| (format!("limits.model.{}", figure.key()), template));
    let timeout = timeout.iter().map(|template| ("timeout".to_owned(), template));
    let dispatch = dispatch.iter().map(|template| ("capabilities.dispatch".to_owned(), template));
    timeout.chain(model).chain(dispatch).map(|(key, template)| (key, as_written(template))).collect()
}

/// A template as it is written, safe to show.
fn as_written(template: &ValueTemplate) -> Value {
    match template.source() {
        Value::String(text) => Value::from(visible(text)),
        other => other.clone(),
    }
}

impl TopologyChannel {
    pub(super) fn from_channel(channel: &Channel) -> Self {
        Self {
            name: channel.name.clone(),
            reducer: channel.reducer.as_str().to_owned(),
            default: channel.default.clone(),
        }
    }
}

impl NodePolicy {
    /// Returns the node's settings; `None` if all are at their defaults.
    pub(super) fn from_node(node: &Node) -> Option<Self> {
        let policy = Self {
            retry: (node.retry.max_attempts > 1).then(|| TopologyRetry::from_policy(&node.retry)),
            limits: NodeBounds::from_limits(&node.limits),
            templates: templates(node),
            cache: node.cache.as_ref().map(TopologyCache::from_policy),
        };
        (policy != Self::default()).then_some(policy)
    }
}

impl TopologyRetry {
    fn from_policy(policy: &RetryPolicy) -> Self {
        Self {
            max_attempts: policy.max_attempts,
            initial_interval_ms: milliseconds(policy.initial_interval),
            backoff: policy.backoff,
            max_interval_ms: milliseconds(policy.max_interval),
            jitter: policy.jitter,
            retry_on: policy.retry_on.iter().map(|category| category.as_str().to_owned()).collect(),
        }
    }
}

impl TopologyCache {
    fn from_policy(policy: &CachePolicy) -> Self {
        let key = policy.key.as_ref().map(as_written);
        Self { ttl_ms: milliseconds(policy.ttl), key }
    }
}

impl TopologyCommand {
    pub(super) fn from_grant(grant: &CommandGrant, graph: &Graph) -> Self {
        Self {
            goto: grant
                .goto
                .iter()
                .map(|node| name_of(graph, *node))
                .chain(grant.may_end.then(|| END.to_owned()))
                .collect(),
            write: grant.write.clone(),
            overwrite: grant.overwrite.clone(),
        }
    }
}

fn milliseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
