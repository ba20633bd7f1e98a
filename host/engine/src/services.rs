//! Services for a call that the embedding program provides: knowledge and other items.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use graph_core::limits::{HostUse, ModelUse};
use graph_core::node::Failure;
use serde_json::Value;

use crate::host::output::EventRecord;

/// The services for a call that the engine does not provide itself. If one is missing, calls of it fail.
#[derive(Clone, Debug, Default)]
pub struct Services {
    /// The knowledge of the project; `None` if components have no access to any.
    pub knowledge: Option<Arc<dyn Knowledge>>,
    /// Other items that a component may call.
    pub tools: Option<Arc<dyn Tools>>,
    /// Answers requests instead of the network. `None`: requests are sent.
    pub http: Option<Arc<dyn HttpDoubles>>,
    /// Answers for language models. `None`: the models' providers are asked.
    pub model: Option<Arc<dyn ModelDoubles>>,
    /// The use of language models in the call; for a component that another one calls, the meter of [`ToolCall`].
    pub meter: ModelMeter,
    /// Stores the call's reservation for language models before a request is sent. `None`: requests are sent at once.
    pub ledger: Option<Arc<dyn ModelLedger>>,
}

/// Stores the reservation of an attempt for language models, so that it counts if the host crashes while it waits.
pub trait ModelLedger: fmt::Debug + Send + Sync {
    /// Stores the attempt's use and reservation, components around and below it included, and the manifest's name of the requested model.
    /// Returns `false` if the run no longer waits for the attempt: then no request may be sent.
    fn record(&self, total: ModelUse, model: &str) -> PendingReservation<'_>;
}

/// A reservation that is being stored.
pub type PendingReservation<'a> = Pin<Box<dyn Future<Output = bool> + Send + 'a>>;

/// Answers for language models. Requests that are not permitted, or exceed the budget, are not passed to it.
pub trait ModelDoubles: fmt::Debug + Send + Sync {
    /// Returns the outcome of one attempt of a request.
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
    /// The call of a model in the attempt, from 1.
    pub call: u64,
}

/// The outcome of a request to a language model.
#[derive(Clone, Debug, PartialEq)]
pub enum DoubledModel {
    /// The request gets this answer. Without a usage, the whole reservation counts as used.
    Answer(graph_model::Response),
    /// The request fails, and is not retried.
    Fail(Failure),
    /// The model's provider is asked.
    Send,
    /// There is no answer: the attempt ends with this message.
    Missing(String),
}

/// The use of language models in a call of a component and in all components that it calls: used amounts, and reservations for requests
/// under way. Clones share the meter. A caller that no longer waits for a component reads the amount to charge from it.
#[derive(Clone, Debug, Default)]
pub struct ModelMeter(Arc<Mutex<ModelUse>>);

impl ModelMeter {
    /// Returns the sum of used amounts and reservations.
    pub fn total(&self) -> ModelUse {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn change(&self, less: ModelUse, more: ModelUse) {
        let mut total = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *total = total.less(less).plus(more);
    }
}

/// Answers the requests of components instead of the network. Requests that are not permitted are not passed to it, and secrets are still
/// handles.
pub trait HttpDoubles: fmt::Debug + Send + Sync {
    /// Returns the outcome of a request.
    fn answer(&self, request: &HttpRequest) -> DoubledAnswer;

    /// Receives the answer, without secrets, to a request that was sent because of [`DoubledAnswer::Send`].
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

/// The answer of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpAnswer {
    /// The HTTP status, from 100 to 999.
    pub status: u16,
    /// The fields of its head.
    pub fields: Vec<(String, Vec<u8>)>,
    /// The whole body, as it was received.
    pub body: Vec<u8>,
}

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DoubledAnswer {
    /// The request gets this answer, and is not sent.
    Answer(HttpAnswer),
    /// The request is sent to the network.
    Send,
    /// There is no answer: the attempt ends with this message.
    Missing(String),
}

/// Texts by key that outlast a run. Keys and prefixes were checked before, and are in granted scopes.
pub trait Knowledge: fmt::Debug + Send + Sync {
    /// Returns the text of a key.
    fn get(&self, key: &str) -> Result<Option<String>, KnowledgeError>;
    /// Writes the text of a key, durably when it returns.
    fn put(&self, key: &str, text: &str) -> Result<(), KnowledgeError>;
    /// Returns the entries below a prefix that contain all words of a query, best first.
    fn search(&self, prefix: &str, query: &str, limit: u32) -> Result<Vec<SearchHit>, KnowledgeError>;
    /// Returns the keys that begin with a prefix, after the key `after`, in byte order.
    fn list(&self, prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<String>, KnowledgeError>;
}

/// An entry that a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchHit {
    /// The key of the entry.
    pub key: String,
    /// The best matching part of its text, on one line.
    pub excerpt: String,
}

/// The reason why knowledge could not be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KnowledgeError {
    /// The request is invalid.
    #[error("{0}")]
    Invalid(String),
    /// The project's knowledge has reached its limit.
    #[error("{0}")]
    Full(String),
    /// The store is unavailable.
    #[error("{0}")]
    Unavailable(String),
}

/// A call of another item by a component.
#[derive(Clone, Debug)]
pub struct ToolCall {
    /// The id of the called item.
    pub item: String,
    /// The params.
    pub params: Value,
    /// Fuel limit: the caller's remaining fuel, without the part that every caller keeps.
    pub fuel: u64,
    /// The caller's remaining use of the host.
    pub host: HostUse,
    /// The caller's remaining time.
    pub timeout: Duration,
    /// The index of the call among its caller's, from 0.
    pub number: u64,
    /// Measures the use of language models by the called component, and by those that it calls: for [`Services::meter`].
    pub meter: ModelMeter,
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolReport {
    /// The result's value, or the failure.
    pub result: Result<Value, Failure>,
    /// Fuel used, calls of its own included.
    pub fuel: u64,
    /// Use of the host by the call, calls of its own included.
    pub host: HostUse,
    /// Events of the call, those of the items that it called included, in order.
    pub events: Vec<EventRecord>,
}

/// A call under way.
pub type PendingToolCall<'a> = Pin<Box<dyn Future<Output = ToolReport> + Send + 'a>>;

/// Calls other items for a component, and checks permissions and depth.
pub trait Tools: fmt::Debug + Send + Sync {
    /// Calls an item. Dropping the future ends the call.
    fn call(&self, call: ToolCall) -> PendingToolCall<'_>;
}
