//! `graph-host:host/model`: completions of the language models that a component is granted.
//!
//! The host has the keys and knows the providers: a component names a model of the manifest. Before a request is sent, its largest possible
//! use is set aside from the task's budget; afterwards, its actual use is charged ([`ModelBudget`](graph_core::model_budget::ModelBudget)).
//! A call has one entry in the journal, with the answer, however often it was sent. [`graph_model::exchange`] makes the decisions. A key
//! leaves this module only in the header of a request: answers contain its handle instead.

mod ask;
mod complete;
mod convert;
mod granted;
mod show;

pub(crate) use granted::provider;
