//! The outcome of one try of a request, as it is carried from the keys to the component.

use graph_core::capability::{ModelPrice, ModelTokens};
use graph_core::limits::ModelUse;
use graph_core::node::Failure;
use serde::{Deserialize, Serialize};

use crate::{Response, Usage};

/// The outcome of one try. Its JSON form is for hosts that have the keys in another place than the component.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tried {
    /// What came of it.
    pub result: TryResult,
    /// What it has used.
    pub spent: Spent,
}

/// The answer, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TryResult {
    /// The answer, without the key.
    Answered(Response),
    /// Why there is none.
    Unanswered(Unanswered),
}

/// Why a try has no answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unanswered {
    /// The failure that the component gets if it is the last try.
    pub failure: Failure,
    /// Whether the same request may be answered later.
    pub again: bool,
    /// How long the provider asks to wait, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<u64>,
}

/// What a try has used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spent {
    /// Nothing but the call: the provider has refused it, or was not reached.
    Call,
    /// What the provider says.
    Said(Usage),
    /// It is not known: everything that was set aside, and at least what the provider has said.
    Unknown(Option<Usage>),
}

impl Tried {
    /// A try that was answered. Without a usage, it is not known what it has used.
    pub fn answered(response: Response) -> Self {
        let spent = response.usage.map_or(Spent::Unknown(None), Spent::Said);
        Self { result: TryResult::Answered(response), spent }
    }

    /// A try that has failed, and may succeed later if `again`.
    pub fn failed(failure: Failure, again: bool, spent: Spent) -> Self {
        Self { result: TryResult::Unanswered(Unanswered { failure, again, wait: None }), spent }
    }
}

impl Spent {
    /// What a try has used for which this was `reserved`, at this price.
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
