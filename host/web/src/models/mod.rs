//! Calls of language models, made as the native host makes them: which requests may be sent, what they may use, what an answer
//! means, and what the journal keeps of it: [`graph_model::exchange`], with texts.
//!
//! A host divides the work between two places. Where the component runs there are a [`Call`] and the [`Budget`] of the component;
//! they see no key. Where the keys are there is a [`Provider`]: it completes the request, and its answers have no key in them. The
//! host carries what they write from one to the other, sends the request, and waits as long as they say.

mod budget;
mod call;
#[cfg(test)]
mod exchange_tests;
mod provider;

pub use budget::{Budget, used_in};
pub use call::{Call, Sending};
pub use provider::{Provider, ProviderRequest};
