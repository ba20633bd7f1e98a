//! Calls of language models, as the native host makes them: allowed requests, their budgets, the meaning of answers, and their entries in
//! the journal. Wraps [`graph_model::exchange`] in texts.
//!
//! A host divides the work between two places. The one that runs the component has a [`ModelCall`] and the [`ComponentBudget`] of the component, which
//! see no key. The one that has the keys has a [`Provider`], which completes the request and removes the key from answers. The host
//! passes their texts between the two, sends the request, and waits as long as they say.

mod budget;
mod call;
#[cfg(test)]
mod exchange_tests;
mod provider;

pub use budget::{ComponentBudget, used_in};
pub use call::{ModelCall, PartialRequest};
pub use provider::{Provider, ProviderRequest};
