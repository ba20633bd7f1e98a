//! A granted model, as its manifest has it.

use graph_core::capability::ModelRule;

use crate::{Api, EncodeError, Encoded, MaxTokensKey, Options, Request, Target};

/// A model that a component may ask, without its key.
#[derive(Clone, Debug)]
pub struct Model {
    rule: ModelRule,
    options: Options,
}

impl Model {
    /// From what a manifest says of it.
    pub fn new(rule: ModelRule) -> Self {
        let max_tokens_key =
            if rule.max_tokens { MaxTokensKey::MaxTokens } else { MaxTokensKey::MaxCompletionTokens };
        let encrypted_reasoning = rule.encrypted_reasoning;
        Self { rule, options: Options { max_tokens_key, encrypted_reasoning, ..Options::default() } }
    }

    /// What its manifest says of it.
    pub const fn rule(&self) -> &ModelRule {
        &self.rule
    }

    /// The API of its provider.
    pub fn api(&self) -> Api {
        self.rule.api.into()
    }

    /// The most tokens of the answer to a request.
    pub fn max_output(&self, request: &Request) -> u64 {
        self.target(self.rule.max_output, false).max_output_of(request)
    }

    fn target(&self, max_output: u64, streamed: bool) -> Target<'_> {
        Target { model: &self.rule.model, max_output, streamed, options: &self.options }
    }

    /// A request in the provider's API, whose answer has at most `max_output` tokens. `streamed`: it comes as a stream of events.
    pub fn encode(&self, request: &Request, max_output: u64, streamed: bool) -> Result<Encoded, EncodeError> {
        self.api().encode(request, &self.target(max_output, streamed))
    }

    /// The model and its provider, as messages name them.
    pub fn shown(&self) -> String {
        format!("the model `{}` at {}", self.rule.name, self.rule.url())
    }
}
