//! Calls of other items. Requires `graph-host:host/tools`.
//!
//! ```
//! use graph_sdk::serde_json::json;
//! use graph_sdk::{Failure, tools};
//!
//! fn total(numbers: &[i64]) -> Result<i64, Failure> {
//!     tools::call("acme/sum", json!({ "numbers": numbers }))
//! }
//! # let _host = graph_sdk::testing::Host::new().item("acme/sum", |params| Ok(json!(params["numbers"][0])));
//! # assert_eq!(total(&[3]), Ok(3));
//! ```

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Failure;
use crate::imports::tools;

/// Calls an item, and returns its result. The call uses this node's fuel and time.
pub fn call<T: DeserializeOwned>(item: &str, params: impl Serialize) -> Result<T, Failure> {
    let result = tools::call(item, &serde_json::to_string(&params)?).map_err(Failure::from_wit)?;
    Ok(serde_json::from_str(&result)?)
}
