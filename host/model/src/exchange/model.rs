//! A granted model, with its options from the manifest.

use graph_core::capability::ModelRule;

use crate::{Api, ApiOptions, EncodeError, EncodedRequest, MaxTokensKey, Request, Target};

/// A model that a component is granted, without its key.
#[derive(Clone, Debug)]
pub struct Model {
    rule: ModelRule,
    options: ApiOptions,
}

impl Model {
    /// Creates the model from its rule in the manifest.
    pub fn new(rule: ModelRule) -> Self {
        let max_tokens_key =
            if rule.max_tokens { MaxTokensKey::MaxTokens } else { MaxTokensKey::MaxCompletionTokens };
        let encrypted_reasoning = rule.encrypted_reasoning;
        Self { rule, options: ApiOptions { max_tokens_key, encrypted_reasoning, ..ApiOptions::default() } }
    }

    /// Returns the model's rule from the manifest.
    pub const fn rule(&self) -> &ModelRule {
        &self.rule
    }

    /// Returns the API of the provider.
    pub fn api(&self) -> Api {
        self.rule.api.into()
    }

    /// Returns the maximum number of tokens of the answer to a request.
    pub fn max_output(&self, request: &Request) -> u64 {
        self.target(self.rule.max_output, false).max_output_of(request)
    }

    fn target(&self, max_output: u64, streamed: bool) -> Target<'_> {
        Target { model: &self.rule.model, max_output, streamed, options: &self.options }
    }

    /// Encodes a request for the provider's API, with an answer of at most `max_output` tokens. `streamed` is true if
    /// the answer is requested as a stream of events.
    pub fn encode(
        &self,
        request: &Request,
        max_output: u64,
        streamed: bool,
    ) -> Result<EncodedRequest, EncodeError> {
        self.api().encode(request, &self.target(max_output, streamed))
    }

    /// Returns the model and the URL of its provider, for messages.
    pub fn shown(&self) -> String {
        format!("the model `{}` at {}", self.rule.name, self.rule.url())
    }
}
