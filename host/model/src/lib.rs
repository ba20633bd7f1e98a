//! Wire formats of language models, and the decisions that every host makes about a call of one. An [`Api`] encodes a
//! [`Request`], and decodes the answer of the provider into a [`Response`], whole or as a [`Stream`] of events. Three
//! APIs are supported: Chat Completions and Responses of OpenAI, and Messages of Anthropic.
//!
//! The crate sends nothing: the caller has the connection, the key, the clock and the budgets. The crate provides what
//! the caller needs for them: an upper bound of the tokens of a request before it is sent ([`EncodedRequest::bound_input`]),
//! the usage of a call, also if its answer cannot be read ([`DecodeError::usage`]), and whether the same request can be
//! sent again ([`ProviderErrorCategory::can_retry`]). [`exchange`] combines them into the call of a component: it reserves budget,
//! settles it, retries, and writes the entry of the journal.
//!
//! Providers are not trusted. An answer is read within [`DecoderBounds`], and a provider's text is put on one line when it is
//! part of an error.
//!
//! ```
//! use graph_model::{Api, Block, DecoderBounds, Delta, Message, ApiOptions, Request, Stream, Target};
//!
//! let api: Api = "openai-chat".parse()?;
//! let request = Request::new("small", vec![Message::user("Say hello.")]);
//! let options = ApiOptions::default();
//! let target = Target { model: "gpt-5", max_output: 1000, streamed: true, options: &options };
//! let encoded = api.encode(&request, &target)?;
//! assert_eq!(encoded.path, "/chat/completions");
//! assert!(encoded.bound_input(0) < 250);
//!
//! // Now the caller sends `encoded.body`, and passes on what comes, in pieces of any size.
//! let body = [
//!     r#"data: {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hel"}}]}"#,
//!     r#"data: {"choices": [{"index": 0, "delta": {"content": "lo."}, "finish_reason": "stop"}]}"#,
//!     r#"data: {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 3}}"#,
//!     "data: [DONE]\n\n",
//! ]
//! .join("\n\n");
//! let mut stream = Stream::new(api, DecoderBounds::default());
//! let mut shown = String::new();
//! for piece in body.as_bytes().chunks(7) {
//!     for delta in stream.feed(piece)? {
//!         if let Delta::Text(text) = delta {
//!             shown.push_str(&text);
//!         }
//!     }
//! }
//! let response = stream.finish()?;
//! assert_eq!(response.message.blocks, [Block::Text(shown)]);
//! assert_eq!(response.usage.map(|usage| (usage.input, usage.output)), Some((10, 3)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Differences between the APIs
//!
//! | | `openai-chat` | `openai-responses` | `anthropic` |
//! |---|---|---|---|
//! | Reasoning that is sent back | `reasoning_content` and `reasoning` of the message | items `reasoning`, encrypted | blocks `thinking` and `redacted_thinking` |
//! | Texts to stop at | yes; most servers do not say that they have | refused | yes |
//! | Temperature | 0 to 2 | 0 to 2 | 0 to 1 |
//! | Schema of the output | `response_format` | `text.format` | `output_config.format` |
//! | Failed results of tools | by their content only | by their content only | `is_error` |
//! | Files | images, WAV and MP3, files | images, files | JPEG, PNG, GIF, WebP, PDF, plain text |

mod answer_builder;
mod anthropic;
mod api;
mod bounds;
mod check;
mod encode;
mod error;
pub mod exchange;
mod json;
mod lone_surrogates;
mod openai_chat;
mod openai_responses;
mod request;
mod response;
mod sse;
mod stream;
mod usage;

pub use api::{Api, ApiOptions, EncodeError, EncodedRequest, MaxTokensKey, Target, UnknownApi};
pub use bounds::DecoderBounds;
pub use check::{
    CheckError, MAX_BLOCKS, MAX_MESSAGES, MAX_REQUEST, MAX_SHORT_TEXT, MAX_STOP, MAX_TOOL_NAME, MAX_TOOLS,
    RequestRule,
};
pub use error::{DecodeError, ErrorAnswer, MAX_MESSAGE, MAX_RETRY_AFTER_MS, ProviderErrorCategory};
pub use request::{Block, Media, Message, Reasoning, Request, Role, Tool, ToolCall, ToolChoice, ToolResult};
pub use response::{Response, StopReason};
pub use stream::{Delta, Stream};
pub use usage::Usage;

#[cfg(test)]
mod tests;
