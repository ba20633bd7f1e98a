//! The wire formats of language models.

mod request;
mod response;
mod usage;

pub use request::{Block, Media, Message, Reasoning, Request, Role, Tool, ToolCall, ToolChoice, ToolResult};
pub use response::{Response, StopReason};
pub use usage::Usage;
