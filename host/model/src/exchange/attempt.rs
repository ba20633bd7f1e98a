//! Outcome of one try of a request, which is passed from [`Provider`](super::Provider) to [`Call`](super::Call).

use graph_core::capability::{ModelPrice, ModelTokens};
use graph_core::limits::ModelUse;
use graph_core::node::Failure;
use serde::{Deserialize, Serialize};

use crate::{Response, Usage};

/// Outcome of one try. Its JSON form is for hosts that run the provider and the component in different places.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct Tried")]
pub struct AttemptOutcome {
    /// The answer, or the reason why there is none.
    pub result: AttemptResult,
    /// Usage that the call is charged for.
    pub spent: Charge,
}

/// The answer, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptResult {
    /// The answer, without the key.
    Answered(Response),
    /// The failure of the try.
    Unanswered(AttemptFailure),
}

/// Failure of a try.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct Unanswered")]
pub struct AttemptFailure {
    /// Failure that the component gets if this was the last try.
    pub failure: Failure,
    /// True if the same request can succeed later.
    pub again: bool,
    /// Time that the provider asks to wait, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<u64>,
}

/// Usage of a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Charge {
    /// One call without tokens: the provider has refused the request, or was not reached.
    Call,
    /// Usage that the provider reports.
    Said(Usage),
    /// Unknown usage: everything that was reserved is charged, and at least the usage that the provider has reported.
    Unknown(Option<Usage>),
}

impl AttemptOutcome {
    /// Creates the outcome of a try that has an answer. If the answer has no usage, the usage is unknown.
    pub fn answered(response: Response) -> Self {
        let spent = response.usage.map_or(Charge::Unknown(None), Charge::Said);
        Self { result: AttemptResult::Answered(response), spent }
    }

    /// Creates the outcome of a failed try. `again` is true if the same request can succeed later.
    pub fn failed(failure: Failure, again: bool, spent: Charge) -> Self {
        Self { result: AttemptResult::Unanswered(AttemptFailure { failure, again, wait: None }), spent }
    }
}

impl Charge {
    /// Returns the usage to charge for a try that had `reserved` this much of the budget, at this price.
    pub fn used(&self, reserved: ModelUse, price: &ModelPrice) -> ModelUse {
        let said = |usage: Usage| {
            let Usage { input, output, cached, cache_write, .. } = usage;
            let cost = price.cost(ModelTokens { input, output, cached, cache_write });
            ModelUse { calls: 1, input, output, cost }.counted()
        };
        match self {
            Self::Call => ModelUse { calls: 1, ..ModelUse::NOTHING },
            Self::Said(usage) => said(*usage),
            Self::Unknown(None) => reserved.counted(),
            Self::Unknown(Some(usage)) => {
                let least = said(*usage);
                ModelUse {
                    calls: 1,
                    input: reserved.input.max(least.input),
                    output: reserved.output.max(least.output),
                    cost: reserved.cost.max(least.cost),
                }
            }
        }
    }
}
