//! Failures of the host's functions, as nodes have them.

use graph_sdk::{Category, Failure};

use crate::bindings::graph_host::node::types as wit;

/// A failure that the host has given.
pub(crate) fn given(failure: wit::Failure) -> Failure {
    let category = match failure.category {
        wit::Category::Transient => Category::Transient,
        wit::Category::RateLimited => Category::RateLimited,
        wit::Category::Timeout => Category::Timeout,
        wit::Category::Permanent => Category::Permanent,
        wit::Category::InvalidInput => Category::InvalidInput,
        wit::Category::Denied => Category::Denied,
        wit::Category::Limit => Category::Limit,
        wit::Category::Internal => Category::Internal,
    };
    let told = Failure::new(category, failure.message);
    match failure.details.and_then(|details| graph_sdk::serde_json::from_str::<graph_sdk::serde_json::Value>(&details).ok()) {
        Some(details) => told.with_details(details),
        None => told,
    }
}
