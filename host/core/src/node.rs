//! The node contract as host types: what a node's action receives and what it may answer. The WIT package
//! `graph-host:node` defines the same contract for components; `graph-engine` converts between the two.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::diagnostic::escape;

/// Why a node action failed. Documents and components may write `-` or `_`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Category {
    /// It may work if it is tried again.
    Transient,
    /// It was asked too often; it may work later.
    #[serde(alias = "rate_limited")]
    RateLimited,
    /// It did not answer in its time.
    Timeout,
    /// It will not work however often it is tried.
    Permanent,
    /// The node rejects its params or an answer.
    #[serde(alias = "invalid_input")]
    InvalidInput,
    /// It lacks a capability.
    Denied,
    /// It went over a limit: fuel, memory, steps, depth.
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

    /// The name in documents and records.
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

    /// Reads a category; `_` and `-` are the same.
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
    /// What kind of failure it is: retry policies go by it.
    pub category: Category,
    /// What went wrong, for a person.
    pub message: String,
    /// More, for a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// In a child run, the path of nodes to the failure. Only the host sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
}

impl Failure {
    /// A failure without details.
    pub fn new(category: Category, message: impl Into<String>) -> Self {
        Self { category, message: message.into(), details: None, within: None }
    }
}

/// The longest failure message of a component that is kept, in bytes.
const LONGEST_MESSAGE: usize = 8 << 10;

/// A message of a component, cut to the longest that a failure may have, its control characters escaped.
pub fn shortened(message: &str) -> String {
    let end = message.floor_char_boundary(LONGEST_MESSAGE);
    let mut shown = escape(&message[..end]);
    if end < message.len() {
        shown.push('…');
    }
    shown
}

/// The bytes of JSON that are left for the answer of a component.
#[derive(Clone, Debug)]
pub struct OutputBudget {
    limit: u64,
    left: u64,
}

impl OutputBudget {
    /// A budget in bytes.
    pub const fn new(limit: u64) -> Self {
        Self { limit, left: limit }
    }

    /// The bytes that it began with.
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// Takes bytes from it, before they are written.
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
    /// The node to go to.
    pub node: String,
    /// With an argument it is a send: a task of its own, never merged with another.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub argument: Option<Value>,
}

/// Reads a value that is present: `null` is a value, only a missing key is none.
pub fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(reader: D) -> Result<Option<T>, D::Error> {
    T::deserialize(reader).map(Some)
}

/// The answer of a node's action, unless it fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// A value for the node's `assign`.
    Result(Value),
    /// Writes and routing by the action itself, within what the graph's node entry allows.
    Command {
        /// Channel values to write, by channel name.
        update: Map<String, Value>,
        /// Where to go; an empty list leaves routing to the node's `next`.
        goto: Vec<Goto>,
    },
    /// A question to a person; the action runs again from its top with the answer.
    Interrupt(Value),
}

/// What a node's action receives about the task that it performs.
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
    /// How often the node has been entered in this run, from 1.
    pub visit: u64,
    /// The argument of the send, or the item of the `foreach`, that made this task.
    pub argument: Option<Value>,
    /// The answers to this task's interrupts so far, in the order they were asked.
    pub answers: Vec<Value>,
    /// The same for every attempt of one task, and for no other task.
    pub idempotency_key: String,
}

/// The world that a component implements, with the version of the contract.
pub const WORLD: &str = "graph-host:node/node@0.1.0";

/// In place of [`WORLD`], of a component that is no node action itself and exports functions that nodes can call.
pub const FUNCTIONS: &str = "functions";

/// A function that a component exports, as a node can call it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunctionDescription {
    /// Its name after `#` in an item id: `add`, or `acme:math/ops/add` if an interface has it.
    pub name: String,
    /// What it does, from the documentation in its WIT; empty if that is not in the component.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// JSON Schema (2020-12) of its params: an object with its parameters.
    pub params: Value,
    /// JSON Schema of its result.
    pub result: Value,
}

/// An interface that a node wants, and why: a person reads it before granting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WantedInterface {
    /// The interface, for example `wasi:filesystem/types`.
    pub name: String,
    /// Why the node needs it.
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
