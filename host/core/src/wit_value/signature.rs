//! The types of a function, and what a call of it does with JSON.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::read::{self, Mismatch};
use super::{WitType, WitValue, write};
use crate::node::{Category, Failure};
use crate::work::{Meter, size};

/// The types of a function: of its parameters, by name and in their order, and of its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// The parameters.
    pub params: Vec<(String, WitType)>,
    /// The type of its result, if it gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<WitType>,
}

impl Signature {
    /// The arguments of a call, from its params. Each value is charged before it is made.
    pub fn arguments(&self, params: &Value, meter: &Meter) -> Result<Vec<WitValue>, Failure> {
        read::arguments(self, params, meter).map_err(|mismatch| match mismatch {
            Mismatch::Exhausted(exhausted) => {
                let message = format!("its params cannot be made values of its types: {exhausted}");
                Failure::new(Category::Limit, message)
            }
            mismatch @ Mismatch::Value { .. } => {
                Failure::new(Category::InvalidInput, format!("its params are not what it takes: {mismatch}"))
            }
        })
    }

    /// The answer of a call: its result, or the failure that its error stands for. `limit` is how many bytes it may have. An answer that
    /// cannot be written is the outer error. Each value is charged before it is written.
    #[allow(clippy::needless_pass_by_value, reason = "the caller has no more use for the value")]
    pub fn answer(
        &self,
        value: Option<WitValue>,
        limit: u64,
        meter: &Meter,
    ) -> Result<Result<Value, Failure>, Failure> {
        write::answer(value.as_ref(), self.result.as_ref(), limit, meter)
    }
}

/// How many times its size to make a value may cost before that is charged: what a run pays for params and answers anyway covers it.
const COVERED: u64 = 8;
/// What a call costs anyway.
const COVERED_BY_CALL: u64 = 50_000;

/// The part of some work for a value that a run is charged: what is far more than the size of the value. That is so only where the names in a
/// type are much longer than what is written with them.
pub fn charged(spent: u64, value: &Value) -> u64 {
    if spent <= COVERED_BY_CALL {
        return 0;
    }
    spent.saturating_sub(COVERED_BY_CALL.saturating_add(size::of(value).saturating_mul(COVERED)))
}
