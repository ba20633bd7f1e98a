//! The outcome of one try of a request, as it is carried from the keys to the component.

use graph_core::node::{Category, Failure};
use graph_model::{Response, Usage};
use serde::{Deserialize, Serialize};

/// The outcome of one try.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tried {
    pub(super) result: TryResult,
    pub(super) spent: Spent,
}

/// The answer, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TryResult {
    Answered(Response),
    Unanswered(Unanswered),
}

/// Why a try has no answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Unanswered {
    pub(super) failure: Failure,
    /// Whether the same request may be answered later.
    pub(super) again: bool,
    /// How long the provider asks to wait, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) wait: Option<u64>,
}

/// What a try has used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Spent {
    /// Nothing but the call: the provider has refused it, or was not reached.
    Call,
    /// What the provider says.
    Said(Usage),
    /// It is not known: everything that was set aside, and at least what the provider has said.
    Unknown(Option<Usage>),
}

/// The category of a provider's failure, as a component gets it.
pub(super) const fn category(category: graph_model::Category) -> Category {
    match category {
        graph_model::Category::RateLimited => Category::RateLimited,
        graph_model::Category::Transient => Category::Transient,
        graph_model::Category::Timeout => Category::Timeout,
        graph_model::Category::InvalidInput => Category::InvalidInput,
        graph_model::Category::Denied => Category::Denied,
        graph_model::Category::Permanent => Category::Permanent,
    }
}
