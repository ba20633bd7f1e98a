//! Providers of granted models: their keys, and requests to them.

use bytes::Bytes;
use graph_core::capability::{ModelRule, SecretValue};
use graph_model::Encoded;
use graph_model::exchange::Provider;

use crate::host::http::{Request, SecretError, read_secret};

/// What is sent instead of a key that is not set, where nothing should be sent.
const PLACEHOLDER: &str = "a-key-that-is-not-set";

/// Reads the key of a model. `without_key`: a key that is not set is replaced by a placeholder.
pub(crate) fn provider(rule: &ModelRule, without_key: bool) -> Result<Provider, SecretError> {
    Provider::new(rule.clone(), |secret| match read_secret(secret) {
        Err(SecretError::Unset { .. }) if without_key => {
            Ok(SecretValue::new(secret, PLACEHOLDER.to_owned())?)
        }
        read => read,
    })
}

/// The request to a provider.
pub(super) fn http(provider: &Provider, encoded: Encoded) -> Request {
    let rule = provider.model().rule();
    let field = |(name, value): &(&str, &str)| ((*name).to_owned(), value.as_bytes().to_vec());
    let agent = ("user-agent", concat!("graph-host/", env!("CARGO_PKG_VERSION")));
    let own = encoded.headers.iter().chain([&agent]);
    Request {
        method: "POST".to_owned(),
        scheme: rule.scheme,
        host: rule.host.clone(),
        port: rule.port,
        path: format!("{}{}", rule.path, encoded.path),
        fields: own.map(field).chain(provider.key().cloned()).collect(),
        body: Bytes::from(encoded.body),
    }
}
