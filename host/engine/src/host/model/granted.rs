//! A granted model: what its manifest says, with the key.

use std::sync::Arc;

use bytes::Bytes;
use graph_core::capability::{HttpField, ModelApi, ModelRule, Outgoing, SecretRule, SecretValue};
use graph_model::{Api, EncodeError, Encoded, MaxTokensKey, Options, Target};

use crate::host::http::{Request, SecretError, read_secret};

/// What is sent instead of a key that is not set, where nothing should be sent.
const PLACEHOLDER: &str = "a-key-that-is-not-set";

/// A model that a component may ask.
pub(crate) struct GrantedModel {
    pub(super) rule: ModelRule,
    pub(super) api: Api,
    pub(super) outgoing: Arc<Outgoing>,
    options: Options,
    /// The header for the key, with the handle in the place of the key.
    key: Option<HttpField>,
}

impl GrantedModel {
    /// Reads the key of a model. `without_key`: a key that is not set is replaced by a placeholder.
    pub(crate) fn prepare(rule: &ModelRule, without_key: bool) -> Result<Self, SecretError> {
        let api = match rule.api {
            ModelApi::OpenAiChat => Api::OpenAiChat,
            ModelApi::OpenAiResponses => Api::OpenAiResponses,
            ModelApi::Anthropic => Api::Anthropic,
        };
        let (header, before) = api.key_header();
        let secret = rule.secret.as_ref().map(|from| {
            let secret = SecretRule {
                name: rule.name.clone(),
                from: from.clone(),
                header: header.to_owned(),
                host: rule.host.clone(),
                schemes: vec![rule.scheme],
            };
            match read_secret(&secret) {
                Err(SecretError::Unset { .. }) if without_key => {
                    Ok(SecretValue::new(&secret, PLACEHOLDER.to_owned())?)
                }
                read => read,
            }
        });
        let secret = secret.transpose()?;
        let key = secret
            .as_ref()
            .map(|secret| (header.to_owned(), format!("{before}{}", secret.handle()).into_bytes()));
        let max_tokens_key =
            if rule.max_tokens { MaxTokensKey::MaxTokens } else { MaxTokensKey::MaxCompletionTokens };
        Ok(Self {
            rule: rule.clone(),
            api,
            outgoing: Arc::new(Outgoing { rules: vec![rule.http()], secrets: secret.into_iter().collect() }),
            options: Options {
                max_tokens_key,
                encrypted_reasoning: rule.encrypted_reasoning,
                ..Options::default()
            },
            key,
        })
    }

    /// The most tokens of the answer to a request.
    pub(super) fn max_output(&self, request: &graph_model::Request) -> u64 {
        self.target(self.rule.max_output, false).max_output_of(request)
    }

    fn target(&self, max_output: u64, streamed: bool) -> Target<'_> {
        Target { model: &self.rule.model, max_output, streamed, options: &self.options }
    }

    /// A request in the provider's API, whose answer has at most `max_output` tokens.
    pub(super) fn encode(
        &self,
        request: &graph_model::Request,
        max_output: u64,
        streamed: bool,
    ) -> Result<Encoded, EncodeError> {
        self.api.encode(request, &self.target(max_output, streamed))
    }

    /// The request to the provider.
    pub(super) fn http(&self, encoded: Encoded) -> Request {
        let field = |(name, value): &(&str, &str)| ((*name).to_owned(), value.as_bytes().to_vec());
        let agent = ("user-agent", concat!("graph-host/", env!("CARGO_PKG_VERSION")));
        let own = encoded.headers.iter().chain([&agent]);
        Request {
            method: "POST".to_owned(),
            scheme: self.rule.scheme,
            host: self.rule.host.clone(),
            port: self.rule.port,
            path: format!("{}{}", self.rule.path, encoded.path),
            fields: own.map(field).chain(self.key.clone()).collect(),
            body: Bytes::from(encoded.body),
        }
    }

    /// The model and its provider, as messages name them.
    pub(super) fn shown(&self) -> String {
        format!("the model `{}` at {}", self.rule.name, self.rule.url())
    }
}
