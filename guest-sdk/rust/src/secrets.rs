//! Secrets that a node may send and never sees. Needs `graph-host:host/secrets`.

use crate::imports::secrets;
use crate::{Category, Failure};

/// The handle of a granted secret, to be written into the one header that it is for: the host puts the value in its
/// place as the request leaves.
///
/// ```
/// use graph_sdk::{Failure, http, secrets};
///
/// fn me() -> Result<String, Failure> {
///     http::request("https://api.acme.com/me")
///         .field("authorization", format!("Bearer {}", secrets::handle("ACME_TOKEN")?))
///         .send()?
///         .text()
/// }
/// ```
pub fn handle(name: &str) -> Result<String, Failure> {
    secrets::handle(name)
        .map_err(|_| Failure::new(Category::Denied, format!("no secret `{name}` is granted")))
}

/// The names of all secrets that are granted.
pub fn names() -> Vec<String> {
    secrets::names()
}
