//! Calls of other items. Needs `graph-host:host/tools`.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Failure;
use crate::imports::tools;

/// Calls an item and gives its result. It uses this node's fuel and time.
pub fn call<T: DeserializeOwned>(item: &str, params: impl Serialize) -> Result<T, Failure> {
    let result = tools::call(item, &serde_json::to_string(&params)?).map_err(Failure::from_wit)?;
    Ok(serde_json::from_str(&result)?)
}
