//! Calls of other items. Needs `graph-host:host/tools`.

use graph_sdk::{Failure, serde_json};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bindings::graph_host::host::tools;
use crate::failure::given;

/// Calls an item and gives its result. It uses this node's fuel and time.
pub fn call<T: DeserializeOwned>(item: &str, params: impl Serialize) -> Result<T, Failure> {
    let result = tools::call(item, &serde_json::to_string(&params)?).map_err(given)?;
    Ok(serde_json::from_str(&result)?)
}
