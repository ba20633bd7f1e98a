//! The types of a function, and the conversion of a call from and to JSON.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::read::{self, Mismatch};
use super::{WitType, WitValue, write};
use crate::node::{Category, Failure};
use crate::work::{Meter, size};

/// The types of a function: of its parameters, by name and in their order, and of its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct Signature")]
pub struct FunctionSignature {
    /// The parameters.
    pub params: Vec<(String, WitType)>,
    /// The type of its result, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<WitType>,
}

impl FunctionSignature {
    /// Creates the arguments of a call from its params. Each value is charged in advance.
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

    /// Creates the answer of a call: its result, or the failure that its error represents. `limit` is its largest number of bytes. An
    /// answer that cannot be written is the outer error. Each value is charged in advance.
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

/// Largest cost of creating a value, as a multiple of its size, that the charges for params and answers cover.
const COVERED: u64 = 8;
/// Cost that the charge for a call covers.
const COVERED_BY_CALL: u64 = 50_000;

/// Returns the part of some work for a value that a run is charged: the excess over the covered cost. There is an excess only if the names
/// in a type are much longer than the values.
pub fn charged(spent: u64, value: &Value) -> u64 {
    if spent <= COVERED_BY_CALL {
        return 0;
    }
    spent.saturating_sub(COVERED_BY_CALL.saturating_add(size::of(value).saturating_mul(COVERED)))
}
