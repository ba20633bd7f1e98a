//! The APIs of providers, their options, and encoded requests.

use std::fmt;
use std::str::FromStr;

use graph_core::capability::ModelApi;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::encode::{self, Body};
use crate::{
    CheckError, DecodeError, DecoderBounds, Request, Response, anthropic, openai_chat, openai_responses,
};

/// An API of language models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Api {
    /// `openai-chat`: Chat Completions of OpenAI, which Ollama, vLLM, llama.cpp, OpenRouter and others have, too.
    #[serde(rename = "openai-chat")]
    OpenAiChat,
    /// `openai-responses`: Responses of OpenAI. The conversation is sent whole; the provider is asked to keep nothing.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// `anthropic`: Messages of Anthropic.
    #[serde(rename = "anthropic")]
    Anthropic,
}

/// Error for a name that no API has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no such API; there are `openai-chat`, `openai-responses` and `anthropic`")]
pub struct UnknownApi;

impl Api {
    /// All APIs.
    pub const ALL: [Self; 3] = [Self::OpenAiChat, Self::OpenAiResponses, Self::Anthropic];

    /// Returns the name of the API, as it is written in a manifest.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
        }
    }

    /// Returns the path of the API, which follows the provider's base URL (`https://api.openai.com/v1`,
    /// `https://api.anthropic.com/v1`).
    pub const fn path(self) -> &'static str {
        match self {
            Self::OpenAiChat => ModelApi::OpenAiChat.path(),
            Self::OpenAiResponses => ModelApi::OpenAiResponses.path(),
            Self::Anthropic => ModelApi::Anthropic.path(),
        }
    }

    /// Returns the header that carries the key: its name, and the text that precedes the key in its value.
    pub const fn key_header(self) -> (&'static str, &'static str) {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses => ("authorization", "Bearer "),
            Self::Anthropic => ("x-api-key", ""),
        }
    }

    /// Checks a request and encodes it for this API.
    pub fn encode(self, request: &Request, target: &Target<'_>) -> Result<EncodedRequest, EncodeError> {
        request.check()?;
        let mut body = Body::default();
        match self {
            Self::OpenAiChat => openai_chat::encode(&mut body, request, target),
            Self::OpenAiResponses => openai_responses::encode(&mut body, request, target)?,
            Self::Anthropic => anthropic::encode(&mut body, request, target)?,
        }
        encode::merge(&mut body.fields, &target.options.extra)?;
        let mut headers = vec![("content-type", "application/json")];
        headers.push(("accept", if target.streamed { "text/event-stream" } else { "application/json" }));
        if self == Self::Anthropic {
            headers.push(("anthropic-version", "2023-06-01"));
        }
        Ok(EncodedRequest {
            path: self.path(),
            headers,
            // A map with text keys, and without infinite numbers or NaN, can always be written.
            body: Value::Object(body.fields).to_string().into_bytes(),
            media_blocks: body.media_blocks,
            media_bytes: body.media_bytes,
            hidden: !request.tools.is_empty() || request.output_schema.is_some(),
        })
    }

    /// Decodes a whole answer: the body of a response with status 200.
    pub fn decode(self, body: &[u8], bounds: &DecoderBounds) -> Result<Response, DecodeError> {
        match self {
            Self::OpenAiChat => openai_chat::decode(body, bounds),
            Self::OpenAiResponses => openai_responses::decode(body, bounds),
            Self::Anthropic => anthropic::decode(body, bounds),
        }
    }
}

impl From<ModelApi> for Api {
    fn from(api: ModelApi) -> Self {
        match api {
            ModelApi::OpenAiChat => Self::OpenAiChat,
            ModelApi::OpenAiResponses => Self::OpenAiResponses,
            ModelApi::Anthropic => Self::Anthropic,
        }
    }
}

impl fmt::Display for Api {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Api {
    type Err = UnknownApi;

    fn from_str(name: &str) -> Result<Self, UnknownApi> {
        Self::ALL.into_iter().find(|api| api.name() == name).ok_or(UnknownApi)
    }
}

/// The provider's model that a request is encoded for, and its options.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The provider's name of the model.
    pub model: &'a str,
    /// Maximum number of tokens of an answer. A request can only ask for fewer.
    pub max_output: u64,
    /// True if the answer is requested as a stream of events.
    pub streamed: bool,
    /// Options for servers that implement the API differently.
    pub options: &'a ApiOptions,
}

impl Target<'_> {
    /// Returns the maximum number of tokens of the answer to a request.
    pub fn max_output_of(&self, request: &Request) -> u64 {
        request.max_output.map_or(self.max_output, |asked| asked.min(self.max_output))
    }
}

/// Differences between servers with the same API.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiOptions {
    /// `openai-chat`: field that carries the maximum number of tokens of an answer.
    pub max_tokens_key: MaxTokensKey,
    /// `openai-chat`: true if reasoning of the model is sent back. Servers that return reasoning accept it, and some
    /// require it between tool calls; others refuse a message that has it.
    pub send_reasoning: bool,
    /// `openai-responses`: true if the request asks for encrypted reasoning, which can be sent back. Models that do not
    /// reason refuse a request that asks for it.
    pub encrypted_reasoning: bool,
    /// Further fields of the body, such as `reasoning_effort` or `thinking`. An object is merged with the object of the
    /// same name in the request (`{"output_config": {"effort": "low"}}`); a field that the request sets itself is
    /// refused.
    pub extra: Map<String, Value>,
}

impl Default for ApiOptions {
    /// Returns the options that OpenAI and Anthropic themselves expect, for models that reason.
    fn default() -> Self {
        Self {
            max_tokens_key: MaxTokensKey::default(),
            send_reasoning: true,
            encrypted_reasoning: true,
            extra: Map::new(),
        }
    }
}

/// Field of Chat Completions that carries the maximum number of tokens of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensKey {
    /// `max_completion_tokens`, of OpenAI.
    #[default]
    MaxCompletionTokens,
    /// `max_tokens`, for servers that do not support `max_completion_tokens`.
    MaxTokens,
}

/// An encoded request. The caller adds the key ([`Api::key_header`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedRequest {
    /// Path that follows the provider's base URL.
    pub path: &'static str,
    /// Headers; their names are in lower case.
    pub headers: Vec<(&'static str, &'static str)>,
    /// Body of the request, as JSON.
    pub body: Vec<u8>,
    media_blocks: u64,
    media_bytes: u64,
    hidden: bool,
}

/// Tokens of the instructions that providers add to requests with tools or with a schema of the output.
const HIDDEN: u64 = 1024;

impl EncodedRequest {
    /// Returns the number of files in the request, without those that the API receives as text.
    pub const fn media_blocks(&self) -> u64 {
        self.media_blocks
    }

    /// Returns an upper bound of the tokens that the provider counts for the request: one token for each byte of the
    /// body without the files, because no tokenizer needs more; `media_tokens` for each file; and 1024 for the
    /// instructions that providers add to requests with tools or with a schema of the output.
    pub fn bound_input(&self, media_tokens: u64) -> u64 {
        let text = (self.body.len() as u64).saturating_sub(self.media_bytes);
        let hidden = if self.hidden { HIDDEN } else { 0 };
        text.saturating_add(self.media_blocks.saturating_mul(media_tokens)).saturating_add(hidden)
    }
}

/// Error of [`Api::encode`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The request breaks a rule that holds for every API.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// The API does not support a part of the request.
    #[error("{path}: the API `{api}` {problem}")]
    Unsupported {
        /// Path of that part in the request.
        path: String,
        /// API that does not support it.
        api: Api,
        /// Limitation of the API, as the rest of the message.
        problem: &'static str,
    },
    /// [`ApiOptions::extra`] has a field that the request sets itself.
    #[error("the option `{field}` is decided by the request and cannot be set for the model")]
    Reserved {
        /// Name of the field, such as `output_config.format`.
        field: String,
    },
}
