//! A granted model, as its manifest has it.

use graph_core::capability::{ModelApi, ModelRule};
use graph_model::{Api, EncodeError, Encoded, MaxTokensKey, Options, Request, Target};

/// A model that a component may ask.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) rule: ModelRule,
    pub(super) api: Api,
    options: Options,
}

impl Model {
    pub(super) fn new(rule: ModelRule) -> Self {
        let api = match rule.api {
            ModelApi::OpenAiChat => Api::OpenAiChat,
            ModelApi::OpenAiResponses => Api::OpenAiResponses,
            ModelApi::Anthropic => Api::Anthropic,
        };
        let max_tokens_key =
            if rule.max_tokens { MaxTokensKey::MaxTokens } else { MaxTokensKey::MaxCompletionTokens };
        let encrypted_reasoning = rule.encrypted_reasoning;
        Self { rule, api, options: Options { max_tokens_key, encrypted_reasoning, ..Options::default() } }
    }

    /// The most tokens of the answer to a request.
    pub(super) fn max_output(&self, request: &Request) -> u64 {
        self.target(self.rule.max_output).max_output_of(request)
    }

    fn target(&self, max_output: u64) -> Target<'_> {
        // Answers are taken as a whole, whatever the manifest says about streams: parts of them are not shown.
        Target { model: &self.rule.model, max_output, streamed: false, options: &self.options }
    }

    /// A request in the provider's API, whose answer has at most `max_output` tokens.
    pub(super) fn encode(&self, request: &Request, max_output: u64) -> Result<Encoded, EncodeError> {
        self.api.encode(request, &self.target(max_output))
    }

    /// The model and its provider, as messages name them.
    pub(super) fn shown(&self) -> String {
        format!("the model `{}` at {}", self.rule.name, self.rule.url())
    }
}
