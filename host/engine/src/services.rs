//! The services for a call that the engine does not have itself: knowledge and other items. The program that embeds the
//! engine provides them.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use graph_core::limits::HostUse;
use graph_core::node::Failure;
use serde_json::Value;

use crate::host::output::EventRecord;

/// The services for a call that the engine does not have itself. If one is missing, calls of it fail.
#[derive(Clone, Debug, Default)]
pub struct Services {
    /// The knowledge of the project; none if components have no access to any.
    pub knowledge: Option<Arc<dyn Knowledge>>,
    /// Other items that a component may call.
    pub tools: Option<Arc<dyn Tools>>,
    /// Answers requests instead of the network. Without it, requests are sent.
    pub http: Option<Arc<dyn HttpDoubles>>,
}

/// Answers the requests of components instead of the network. Requests that are not permitted never get here, and secrets
/// are still handles.
pub trait HttpDoubles: fmt::Debug + Send + Sync {
    /// The outcome of a request.
    fn answer(&self, request: &HttpRequest) -> DoubledAnswer;

    /// A request was sent because [`DoubledAnswer::Send`] said so; this was the answer, without secrets.
    fn sent(&self, request: &HttpRequest, answer: &HttpAnswer);
}

/// A request of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// The HTTP method, in capitals: `GET`.
    pub method: String,
    /// The whole URL, with its port.
    pub url: String,
    /// The fields of its head.
    pub fields: Vec<(String, Vec<u8>)>,
    /// The whole body, after the component has finished it.
    pub body: Vec<u8>,
}

/// What a server answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpAnswer {
    /// The HTTP status, from 100 to 999.
    pub status: u16,
    /// The fields of its head.
    pub fields: Vec<(String, Vec<u8>)>,
    /// The whole body, as it was received.
    pub body: Vec<u8>,
}

/// How a request is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DoubledAnswer {
    /// The request is answered with this, and not sent.
    Answer(HttpAnswer),
    /// The request is sent to the network.
    Send,
    /// There is no answer: the attempt ends with this message.
    Missing(String),
}

/// Texts by key that outlast a run. Keys and prefixes were checked, and are in granted scopes.
pub trait Knowledge: fmt::Debug + Send + Sync {
    /// The text of a key.
    fn get(&self, key: &str) -> Result<Option<String>, KnowledgeError>;
    /// Writes the text of a key; durable when it returns.
    fn put(&self, key: &str, text: &str) -> Result<(), KnowledgeError>;
    /// The entries below a prefix that hold all words of a query, best first.
    fn search(&self, prefix: &str, query: &str, limit: u32) -> Result<Vec<Hit>, KnowledgeError>;
    /// The keys that begin with a prefix, after the key `after`, in byte order.
    fn list(&self, prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<String>, KnowledgeError>;
}

/// An entry that a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The key of the entry that was found.
    pub key: String,
    /// The part of its text that fits best, on one line.
    pub excerpt: String,
}

/// Why knowledge could not be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KnowledgeError {
    /// The request is invalid.
    #[error("{0}")]
    Invalid(String),
    /// The project's knowledge has reached its limit.
    #[error("{0}")]
    Full(String),
    /// The store cannot be used now.
    #[error("{0}")]
    Unavailable(String),
}

/// A call of another item by a component.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// The id of the item that is called.
    pub item: String,
    /// What it is given.
    pub params: Value,
    /// The fuel that it may use: what the caller has left, without the part that every caller keeps.
    pub fuel: u64,
    /// How much use of the host the caller has left.
    pub host: HostUse,
    /// The time that the caller has left.
    pub timeout: Duration,
    /// The index of the call among its caller's, from 0.
    pub number: u64,
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolReport {
    /// The result's value, or the failure.
    pub result: Result<Value, Failure>,
    /// The fuel that it used, calls of its own included.
    pub fuel: u64,
    /// Its use of the host, calls of its own included.
    pub host: HostUse,
    /// Its events, those of the items that it called included, in order.
    pub events: Vec<EventRecord>,
}

/// A call under way.
pub type Calling<'a> = Pin<Box<dyn Future<Output = ToolReport> + Send + 'a>>;

/// Calls other items on a component's behalf: checks permissions and depth.
pub trait Tools: fmt::Debug + Send + Sync {
    /// Calls an item. Dropping the future ends the call.
    fn call(&self, call: ToolCall) -> Calling<'_>;
}
