//! The wire formats of language models.

mod anthropic;
mod api;
mod bounds;
mod check;
mod draft;
mod encode;
mod error;
mod json;
mod openai_chat;
mod openai_responses;
mod request;
mod response;
mod sse;
mod stream;
mod usage;

pub use api::{Api, EncodeError, Encoded, MaxTokensKey, Options, Target, UnknownApi};
pub use bounds::Bounds;
pub use check::{
    CheckError, MAX_BLOCKS, MAX_MESSAGES, MAX_REQUEST, MAX_SHORT_TEXT, MAX_STOP, MAX_TOOL_NAME, MAX_TOOLS,
    Rule,
};
pub use error::{Category, DecodeError, ErrorAnswer, MAX_MESSAGE, MAX_RETRY_AFTER_MS};
pub use request::{Block, Media, Message, Reasoning, Request, Role, Tool, ToolCall, ToolChoice, ToolResult};
pub use response::{Response, StopReason};
pub use stream::{Delta, Stream};
pub use usage::Usage;
