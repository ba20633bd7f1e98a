//! `graph-host:host/model`: completions of the language models that a component is granted.
//!
//! The host has the keys and knows the providers: a component names a model of the manifest. Before a request is sent, the
//! most that it may use is set aside from the task's budget; afterwards, what it has used is charged
//! ([`ModelBudget`](graph_core::model_budget::ModelBudget)). A call has one entry in the journal, with the answer, however
//! often it was sent. What is decided on the way is in [`graph_model::exchange`]. A key never leaves this module except in the header of a
//! request: answers have its handle in its place.

mod ask;
mod complete;
mod convert;
mod granted;
mod show;

pub(crate) use granted::provider;
