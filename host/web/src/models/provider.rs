//! The provider of a granted model, in the place that has its key.

use graph_core::capability::{EffectiveGrant, HttpField, HttpResponse, ModelRule, SecretValue};
use graph_core::diagnostic::escape;
use graph_model::DecoderBounds;
use graph_model::exchange::{self, AttemptOutcome, Charge, ExchangeObstacle};

use crate::read;

/// The provider of a granted model, with the key. The key leaves it only in the header of a request.
#[derive(Debug)]
pub struct Provider(exchange::Provider);

/// A request to a provider: a `POST`.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderRequest {
    /// The URL.
    pub url: String,
    /// Header fields, with the key.
    pub fields: Vec<HttpField>,
    /// Time limit of the whole exchange, in milliseconds.
    pub timeout: u64,
}

impl Provider {
    /// Opens the provider of a model by its name in a grant, as JSON. `key` is `None` if it is not known. A missing or unusable key is an
    /// error.
    pub fn open(grant: &str, name: &str, key: Option<&str>) -> Result<Self, String> {
        let grant: EffectiveGrant = read::document("grant", grant).map_err(|problem| problem.message)?;
        let rule = grant.models.into_iter().find(|rule| rule.name == name);
        let rule = rule.ok_or_else(|| format!("no model `{}` is granted", escape(name)))?;
        let provider = exchange::Provider::new(rule, |secret| {
            let key = key.ok_or_else(|| format!("the key of the model `{name}` is missing"))?;
            SecretValue::new(secret, key.to_owned()).map_err(|error| error.to_string())
        });
        provider.map(Self)
    }

    /// Completes a request. The error says why it is denied.
    pub fn prepare(&self, mut fields: Vec<HttpField>) -> Result<ProviderRequest, String> {
        let model = self.0.model();
        let ModelRule { scheme, host, port, path, timeout, .. } = model.rule();
        fields.extend(self.0.key().cloned());
        self.0
            .outgoing()
            .prepare(*scheme, host, *port, "POST", &mut fields)
            .map_err(|denied| denied.to_string())?;
        let shown = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let url = format!("{scheme}://{shown}:{port}{path}{}", model.api().path());
        Ok(ProviderRequest { url, fields, timeout: u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX) })
    }

    /// Returns the outcome of a try with a response, as JSON for [`ModelCall::settle`](super::ModelCall::settle). Its body has at most `most`
    /// bytes.
    pub fn read(&self, status: u16, fields: Vec<HttpField>, body: Vec<u8>, most: u64) -> String {
        let model = self.0.model();
        let received = self.0.outgoing().receive(&model.rule().host, HttpResponse { status, fields, body });
        written(&match received {
            Err(error) => self.0.not_exchanged(ExchangeObstacle::Unusable, &error.to_string(), None),
            Ok(response) => {
                self.0.read(&response, |body| model.api().decode(body, &DecoderBounds::for_body(most)))
            }
        })
    }

    /// Returns the outcome of a try without a response. `error` is a case of `error-code` of `wasi:http`. `sent` is `true` if the request
    /// may have reached the provider whatever the error: a browser does not tell where an exchange ended.
    pub fn failed(&self, error: &str, message: &str, sent: bool) -> String {
        let mut tried = self.0.not_exchanged(ExchangeObstacle::of_error_code(error), message, None);
        if sent && tried.spent == Charge::Call {
            tried.spent = Charge::Unknown(None);
        }
        written(&tried)
    }
}

fn written(tried: &AttemptOutcome) -> String {
    // Cannot fail: all keys are strings, and all numbers are finite.
    serde_json::to_string(tried).unwrap_or_default()
}
