//! Providers of granted models: their keys, and requests to them.

use bytes::Bytes;
use graph_core::capability::ModelRule;
use graph_model::EncodedRequest;
use graph_model::exchange::Provider;

use crate::host::http::{Request, SecretError, placeholder, read_secret};

/// Reads the key of a model, or uses a placeholder unless `with_key`.
pub(crate) fn provider(rule: &ModelRule, with_key: bool) -> Result<Provider, SecretError> {
    Provider::new(rule.clone(), |secret| if with_key { read_secret(secret) } else { placeholder(secret) })
}

/// Creates the HTTP request to a provider.
pub(super) fn http(provider: &Provider, encoded: EncodedRequest) -> Request {
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
