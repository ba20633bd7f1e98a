//! Values of functions that components export, and their JSON.
//!
//! `host/docs/reference/functions.md` has the mapping. `types` has the types, `value` the values, `schema` writes JSON Schemas of types,
//! `read` creates values from JSON, `write` creates JSON from values, and `signature` combines both for a call. The engine and the page
//! convert these values to their own, so that both call a function with the same values, messages and charges.
//!
//! ```
//! use graph_core::wit_value::{FunctionSignature, WitType, WitValue};
//! use graph_core::work::Meter;
//! use serde_json::json;
//!
//! let add = FunctionSignature { params: vec![("a".to_owned(), WitType::U8)], result: Some(WitType::U64) };
//! let meter = Meter::of_one_step();
//! assert_eq!(add.arguments(&json!({ "a": 7 }), &meter).unwrap(), [WitValue::U8(7)]);
//! let refused = add.arguments(&json!({ "a": 256 }), &meter).unwrap_err();
//! assert_eq!(refused.message, "its params are not what it takes: `a`: expected an integer from 0 to 255, found 256");
//! let answer = add.answer(Some(WitValue::U64(u64::MAX)), 100, &meter).unwrap();
//! assert_eq!(answer.unwrap(), json!(u64::MAX));
//! ```

mod read;
mod schema;
mod signature;
#[cfg(test)]
mod tests;
mod types;
mod value;
mod write;

pub use schema::{of_params, of_type};
pub use signature::{FunctionSignature, charged};
pub use types::WitType;
pub use value::WitValue;

/// The texts that represent floating-point numbers without a JSON number.
const NOT_A_NUMBER: &str = "NaN";
const INFINITY: &str = "Infinity";
const NEGATIVE_INFINITY: &str = "-Infinity";
/// The text of negative zero, which canonical JSON (RFC 8785) writes as `0`.
const NEGATIVE_ZERO: &str = "-0";
/// The key of a present option whose value could itself be `null`.
const SOME: &str = "some";
/// The keys of a `result` inside of another type.
const OK: &str = "ok";
const ERR: &str = "err";

/// Checks whether the JSON of a type can be `null`, so that `null` cannot represent its absence.
const fn can_be_null(ty: &WitType) -> bool {
    matches!(ty, WitType::Option(_))
}
