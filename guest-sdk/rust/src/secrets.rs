//! Secrets that a node can send, but not read. Requires `graph-host:host/secrets`.

use crate::imports::secrets;
use crate::{Category, Failure};

/// Returns the handle of a granted secret, for the one header that it is granted for. The host replaces it with the
/// value when it sends the request.
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

/// Returns the names of all granted secrets.
pub fn names() -> Vec<String> {
    secrets::names()
}
