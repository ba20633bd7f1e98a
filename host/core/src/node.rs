//! The node contract as host types: the input and the answer of a node's action. The WIT package `graph-host:node` defines the same
//! contract for components; `graph-engine` converts between the two.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::diagnostic::escape;

/// The category of a node action's failure. Documents and components may write `-` or `_`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Category {
    /// A retry may succeed.
    Transient,
    /// Too many requests were sent; a later one may succeed.
    #[serde(alias = "rate_limited")]
    RateLimited,
    /// The answer did not arrive in time.
    Timeout,
    /// No retry will succeed.
    Permanent,
    /// The node rejects its params or an answer.
    #[serde(alias = "invalid_input")]
    InvalidInput,
    /// A capability is missing.
    Denied,
    /// A limit was exceeded: fuel, memory, steps, depth.
    Limit,
    /// The host or the component itself is broken.
    Internal,
}

impl Category {
    /// Every category, in the order of the contract.
    pub const ALL: [Self; 8] = [
        Self::Transient,
        Self::RateLimited,
        Self::Timeout,
        Self::Permanent,
        Self::InvalidInput,
        Self::Denied,
        Self::Limit,
        Self::Internal,
    ];

    /// Returns the name in documents and records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::RateLimited => "rate-limited",
            Self::Timeout => "timeout",
            Self::Permanent => "permanent",
            Self::InvalidInput => "invalid-input",
            Self::Denied => "denied",
            Self::Limit => "limit",
            Self::Internal => "internal",
        }
    }

    /// Reads a category; `_` and `-` are equivalent.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.replace('_', "-");
        Self::ALL.into_iter().find(|category| category.as_str() == text)
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A node action's failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{category}: {message}")]
pub struct Failure {
    /// The category of the failure, which retry policies refer to.
    pub category: Category,
    /// The message for people.
    pub message: String,
    /// Details for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// In a child run, the path of nodes to the failure. Only the host sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
}

impl Failure {
    /// Creates a failure without details.
    pub fn new(category: Category, message: impl Into<String>) -> Self {
        Self { category, message: message.into(), details: None, within: None }
    }
}

/// Longest failure message of a component, in bytes; the rest is cut off.
const LONGEST_MESSAGE: usize = 8 << 10;

/// Cuts a message of a component to the longest that a failure may have, and escapes its control characters.
pub fn shortened(message: &str) -> String {
    let end = message.floor_char_boundary(LONGEST_MESSAGE);
    let mut shown = escape(&message[..end]);
    if end < message.len() {
        shown.push('…');
    }
    shown
}

/// The bytes of JSON that are left for a component's answer.
#[derive(Clone, Debug)]
pub struct OutputBudget {
    limit: u64,
    left: u64,
}

impl OutputBudget {
    /// Creates a budget in bytes.
    pub const fn new(limit: u64) -> Self {
        Self { limit, left: limit }
    }

    /// Returns the limit in bytes.
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// Charges bytes before they are written; fails with `limit` if too few are left.
    pub fn spend(&mut self, bytes: usize) -> Result<(), Failure> {
        self.left = self.left.checked_sub(bytes as u64).ok_or_else(|| {
            Failure::new(Category::Limit, format!("what it answered has more than {} bytes", self.limit))
        })?;
        Ok(())
    }
}

/// A target that a node names in a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Goto {
    /// The name of the node.
    pub node: String,
    /// Makes the target a send: a task of its own, never merged with another.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub argument: Option<Value>,
}

/// Reads a present value: `null` is `Some(null)`, only a missing key is `None`.
pub fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(reader: D) -> Result<Option<T>, D::Error> {
    T::deserialize(reader).map(Some)
}

/// The answer of a node's action that has not failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// A value for the node's `assign`.
    Result(Value),
    /// Writes and routing by the action itself, within the limits of the graph's node entry.
    Command {
        /// Channel values to write, by channel name.
        update: Map<String, Value>,
        /// The nodes that follow; an empty list leaves routing to the node's `next`.
        goto: Vec<Goto>,
    },
    /// A question to a person; the action runs again from its top with the answer.
    Interrupt(Value),
}

/// The data that a node's action receives about its task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activation {
    /// The id of the run; for a node of a child run, the child run's own.
    pub run_id: String,
    /// The run at the top of the tree of runs; the run itself if it has no parent.
    pub root_run_id: String,
    /// The run that started this one.
    pub parent_run_id: Option<String>,
    /// The id of the graph that the node belongs to.
    pub graph_id: String,
    /// The node's name in the graph.
    pub node_id: String,
    /// The superstep, from 1.
    pub superstep: u64,
    /// The task's id, `namespace/step.ordinal`.
    pub task: String,
    /// The attempt, from 1.
    pub attempt: u32,
    /// Number of times that the node has been entered in this run, from 1.
    pub visit: u64,
    /// The argument of the send, or the item of the `foreach`, for which the task was created.
    pub argument: Option<Value>,
    /// The answers to this task's interrupts so far, in the order they were asked.
    pub answers: Vec<Value>,
    /// A key that all attempts of one task share, and no other task has.
    pub idempotency_key: String,
}

/// The world that a component implements, with the version of the contract.
pub const WORLD: &str = "graph-host:node/node@0.1.0";

/// Replaces [`WORLD`] for a component that is no node action itself and exports functions that nodes can call.
pub const FUNCTIONS: &str = "functions";

/// A function that a component exports and that nodes can call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunctionDescription {
    /// The name after `#` in an item id: `add`, or `acme:math/ops/add` if an interface exports it.
    pub name: String,
    /// A summary from the documentation in the component's WIT; empty if the component has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// JSON Schema (2020-12) of its params: an object with its parameters.
    pub params: Value,
    /// JSON Schema of its result.
    pub result: Value,
}

/// An interface that a node requests, and the reason: a person reads it before granting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WantedInterface {
    /// The interface, for example `wasi:filesystem/types`.
    pub name: String,
    /// The reason of the request.
    pub why: String,
}

/// A component's description of itself, made when it is built or signed: the answer of `describe`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// A summary of the node in one line.
    pub summary: String,
    /// JSON Schema (2020-12) of its params.
    pub params: Value,
    /// JSON Schema of its result.
    pub result: Value,
    /// The interfaces that it requests.
    pub interfaces: Vec<WantedInterface>,
}
