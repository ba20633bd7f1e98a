//! What the host has for a call beside the engine: knowledge and other items. Whoever embeds the engine brings them.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use graph_core::limits::HostUse;
use graph_core::node::Failure;
use serde_json::Value;

use crate::host::output::EventRecord;

/// What the host has for a call beside the engine. What is missing here fails when a component asks for it.
#[derive(Clone, Debug, Default)]
pub struct Services {
    /// The project's knowledge.
    pub knowledge: Option<Arc<dyn Knowledge>>,
    /// Other items that a component may call.
    pub tools: Option<Arc<dyn Tools>>,
}

/// Texts by key that outlast a run. Keys and prefixes have been checked, and lie in the scopes that are granted.
pub trait Knowledge: fmt::Debug + Send + Sync {
    /// The text of a key.
    fn get(&self, key: &str) -> Result<Option<String>, KnowledgeError>;
    /// Writes the text of a key; durable when it returns.
    fn put(&self, key: &str, text: &str) -> Result<(), KnowledgeError>;
    /// The entries below a prefix that hold all words of a query, best first.
    fn search(&self, prefix: &str, query: &str, limit: u32) -> Result<Vec<Hit>, KnowledgeError>;
    /// The keys that begin with a prefix, from the one behind `after` on, in order of their bytes.
    fn list(&self, prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<String>, KnowledgeError>;
}

/// An entry that a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Its key.
    pub key: String,
    /// The part of its text that fits best, on one line.
    pub excerpt: String,
}

/// Why knowledge could not be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KnowledgeError {
    /// What was asked makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// There is no room for more.
    #[error("{0}")]
    Full(String),
    /// The store cannot be used now.
    #[error("{0}")]
    Unavailable(String),
}

/// A call of another item by a component.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// The item.
    pub item: String,
    /// What it is given.
    pub params: Value,
    /// The fuel that it may use: of what the caller has left, all but what a caller keeps for itself.
    pub fuel: u64,
    /// What the caller has left of the host's use.
    pub host: HostUse,
    /// The time that the caller has left.
    pub timeout: Duration,
    /// Which call of its caller it is, from 0.
    pub number: u64,
}

/// What a call came to.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolReport {
    /// The result's value, or the failure.
    pub result: Result<Value, Failure>,
    /// The fuel that it used, calls of its own included.
    pub fuel: u64,
    /// What it used of the host, calls of its own included.
    pub host: HostUse,
    /// Its events, those of the items that it called included, in order.
    pub events: Vec<EventRecord>,
}

/// A call under way.
pub type Calling<'a> = Pin<Box<dyn Future<Output = ToolReport> + Send + 'a>>;

/// Calls other items on a component's behalf: checks that it may, and that the call is not too deep.
pub trait Tools: fmt::Debug + Send + Sync {
    /// Calls an item. Dropping the future ends the call.
    fn call(&self, call: ToolCall) -> Calling<'_>;
}
