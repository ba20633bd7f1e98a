//! The services for a call that the engine does not have itself: knowledge and other items. The program that embeds the
//! engine provides them.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use graph_core::limits::{HostUse, ModelUse};
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
    /// Answers for language models. Without it, the models' providers are asked.
    pub model: Option<Arc<dyn ModelDoubles>>,
    /// What language models use in the call; for a component that another one calls, that of [`ToolCall`].
    pub meter: ModelMeter,
    /// Puts on record what the call may use of language models, before one is asked. Without it, they are asked at once.
    pub ledger: Option<Arc<dyn ModelLedger>>,
}

/// Puts on record what an attempt may use of language models, so that it counts if the host crashes while it waits.
pub trait ModelLedger: fmt::Debug + Send + Sync {
    /// The attempt has used and may use so much, components around and below it included, and asks the model with that name in
    /// the manifest. False if the run no longer
    /// waits for the attempt: then no model may be asked.
    fn record(&self, total: ModelUse, model: &str) -> Recording<'_>;
}

/// A reservation on its way to its record.
pub type Recording<'a> = Pin<Box<dyn Future<Output = bool> + Send + 'a>>;

/// Answers for language models. Requests that are not permitted, or for which the budget does not suffice, never get here.
pub trait ModelDoubles: fmt::Debug + Send + Sync {
    /// The outcome of one try of a request.
    fn answer(&self, asked: &AskedModel<'_>) -> DoubledModel;
}

/// A request to a language model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AskedModel<'a> {
    /// The model's name in the manifest.
    pub model: &'a str,
    /// The request.
    pub request: &'a graph_model::Request,
    /// The idempotency key of the component that asks.
    pub key: &'a str,
    /// The attempt of its task.
    pub attempt: u32,
    /// Which call of a model it is in the attempt, from 1.
    pub call: u64,
}

/// How a request to a language model is answered.
#[derive(Clone, Debug, PartialEq)]
pub enum DoubledModel {
    /// With this. Without a usage, all that was set aside counts as used.
    Answer(graph_model::Response),
    /// With a failure, which is not tried again.
    Fail(Failure),
    /// The model's provider is asked.
    Send,
    /// There is no answer: the attempt ends with this message.
    Missing(String),
}

/// What language models use in a call of a component and in all that it calls: what was used, and what is set aside for requests
/// under way. Clones share it. A caller that does not wait for a component any longer learns from it what to charge.
#[derive(Clone, Debug, Default)]
pub struct ModelMeter(Arc<Mutex<ModelUse>>);

impl ModelMeter {
    /// What is used or set aside now.
    pub fn total(&self) -> ModelUse {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn change(&self, less: ModelUse, more: ModelUse) {
        let mut total = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *total = total.less(less).plus(more);
    }
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
#[derive(Clone, Debug)]
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
    /// Measures what the called component, and those that it calls, use of language models: for [`Services::meter`].
    pub meter: ModelMeter,
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
