//! Rules of requests that hold for every API.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{Block, Media, Message, Request, Role, ToolChoice};

/// Maximum number of messages of a request.
pub const MAX_MESSAGES: usize = 10_000;
/// Maximum number of blocks of a message.
pub const MAX_BLOCKS: usize = 1_000;
/// Maximum number of tools of a request.
pub const MAX_TOOLS: usize = 128;
/// Maximum number of texts in `stop`.
pub const MAX_STOP: usize = 4;
/// Maximum number of bytes of a tool's name.
pub const MAX_TOOL_NAME: usize = 64;
/// Maximum number of bytes of a call's id, of a text in `stop` and of a media type.
pub const MAX_SHORT_TEXT: usize = 256;
/// Maximum number of bytes of everything in a request. Providers refuse larger ones.
pub const MAX_REQUEST: usize = 32 << 20;

/// Error of [`Request::check`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {rule}")]
pub struct CheckError {
    /// Path in the request, such as `messages[2].blocks[0].tool_result.id`.
    pub path: String,
    /// Rule that is broken.
    pub rule: RequestRule,
}

/// A rule that a request breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestRule {
    /// The value is missing or empty.
    #[error("must not be empty")]
    Empty,
    /// The value has more elements or bytes than are allowed.
    #[error("at most {limit} {unit} are allowed, not {found}")]
    TooMany {
        /// Maximum that is allowed.
        limit: usize,
        /// Unit of `limit` and `found`, such as `bytes`.
        unit: &'static str,
        /// Number of elements or bytes that were found.
        found: usize,
    },
    /// The last message is the assistant's, or there is no message.
    #[error("the last message must be the user's")]
    LastMessage,
    /// A block is in a message of the wrong role.
    #[error("only a message of the {role} can have this block")]
    WrongRole {
        /// Role that the block requires: `user` or `assistant`.
        role: &'static str,
    },
    /// The name has a character that is not allowed.
    #[error("must consist of letters, digits, `_` and `-`")]
    Characters,
    /// The text is not a media type.
    #[error("must be a media type, as `image/png`")]
    MediaType,
    /// The value is not a JSON object.
    #[error("must be a JSON object")]
    NotAnObject,
    /// The same name or id occurs twice.
    #[error("is used twice in the request's list")]
    Repeated,
    /// The request has no tool of this name.
    #[error("the request has no tool of this name")]
    UnknownTool,
    /// The temperature is not from 0 to 2.
    #[error("must be from 0 to 2")]
    Temperature,
    /// The result belongs to no call of the message before it.
    #[error("the message before has no call with this id")]
    UnknownCall,
    /// The message after the call has no result of it.
    #[error("the message after it must have a result of this call")]
    Unanswered,
}

impl Request {
    /// Checks the rules that hold for every API, in time proportional to the request's size.
    pub fn check(&self) -> Result<(), CheckError> {
        self.check_sizes()?;
        if self.model.is_empty() {
            return fail("model", RequestRule::Empty);
        }
        if self.messages.last().is_none_or(|message| message.role != Role::User) {
            return fail("messages", RequestRule::LastMessage);
        }
        for (index, message) in self.messages.iter().enumerate() {
            let path = format!("messages[{index}]");
            check_message(&path, message)?;
            let before = index.checked_sub(1).and_then(|index| self.messages.get(index));
            check_results(&path, message, before)?;
            check_answered(&path, message, self.messages.get(index + 1))?;
        }
        self.check_tools()?;
        if self.output_schema.as_ref().is_some_and(|schema| !schema.is_object()) {
            return fail("output_schema", RequestRule::NotAnObject);
        }
        if self.max_output == Some(0) {
            return fail("max_output", RequestRule::Empty);
        }
        if self.temperature.is_some_and(|temperature| !(0.0..=2.0).contains(&temperature)) {
            return fail("temperature", RequestRule::Temperature);
        }
        for (index, text) in self.stop.iter().enumerate() {
            short(&format!("stop[{index}]"), text)?;
        }
        Ok(())
    }

    fn check_sizes(&self) -> Result<(), CheckError> {
        at_most("messages", self.messages.len(), MAX_MESSAGES, "messages")?;
        at_most("tools", self.tools.len(), MAX_TOOLS, "tools")?;
        at_most("stop", self.stop.len(), MAX_STOP, "texts")?;
        let mut bytes = self.system.as_ref().map_or(0, String::len) + self.model.len();
        for (index, message) in self.messages.iter().enumerate() {
            at_most(&format!("messages[{index}].blocks"), message.blocks.len(), MAX_BLOCKS, "blocks")?;
            for block in &message.blocks {
                bytes += match block {
                    Block::Text(text) => text.len(),
                    Block::Reasoning(reasoning) => reasoning.api.len() + json_size(&reasoning.item),
                    Block::ToolCall(call) => call.id.len() + call.name.len() + json_size(&call.arguments),
                    Block::ToolResult(result) => result.id.len() + result.content.len(),
                    Block::Media(media) => media.data.len().div_ceil(3) * 4 + media.media_type.len(),
                };
            }
        }
        for tool in &self.tools {
            bytes += tool.name.len() + tool.description.len() + json_size(&tool.parameters);
        }
        bytes += self.output_schema.as_ref().map_or(0, json_size);
        bytes += self.stop.iter().map(String::len).sum::<usize>();
        at_most("request", bytes, MAX_REQUEST, "bytes")
    }

    fn check_tools(&self) -> Result<(), CheckError> {
        let mut names = BTreeSet::new();
        for (index, tool) in self.tools.iter().enumerate() {
            let path = format!("tools[{index}].name");
            if tool.name.is_empty() {
                return fail(path, RequestRule::Empty);
            }
            at_most(&path, tool.name.len(), MAX_TOOL_NAME, "bytes")?;
            if !tool.name.bytes().all(is_name_byte) {
                return fail(path, RequestRule::Characters);
            }
            if !names.insert(tool.name.as_str()) {
                return fail(path, RequestRule::Repeated);
            }
            if !tool.parameters.is_object() {
                return fail(format!("tools[{index}].parameters"), RequestRule::NotAnObject);
            }
        }
        match &self.tool_choice {
            ToolChoice::Named(name) if !names.is_empty() && !names.contains(name.as_str()) => {
                fail("tool_choice.named", RequestRule::UnknownTool)
            }
            _ => Ok(()),
        }
    }
}

/// Reports whether every API accepts this byte in the name of a tool.
pub(crate) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn check_message(path: &str, message: &Message) -> Result<(), CheckError> {
    // A model can answer with an empty message, and a conversation can continue after one.
    if message.role == Role::User && message.blocks.is_empty() {
        return fail(format!("{path}.blocks"), RequestRule::Empty);
    }
    let mut calls = BTreeSet::new();
    for (index, block) in message.blocks.iter().enumerate() {
        let path = format!("{path}.blocks[{index}]");
        let only = match block {
            Block::Text(_) => None,
            Block::Reasoning(_) | Block::ToolCall(_) => Some((Role::Assistant, "assistant")),
            Block::ToolResult(_) | Block::Media(_) => Some((Role::User, "user")),
        };
        if let Some((only, role)) = only
            && only != message.role
        {
            return fail(path, RequestRule::WrongRole { role });
        }
        match block {
            Block::Text(text) if text.is_empty() => return fail(format!("{path}.text"), RequestRule::Empty),
            Block::Text(_) => {}
            Block::Reasoning(reasoning) => short(&format!("{path}.reasoning.api"), &reasoning.api)?,
            Block::ToolCall(call) => {
                let path = format!("{path}.tool_call");
                short(&format!("{path}.id"), &call.id)?;
                if !calls.insert(call.id.as_str()) {
                    return fail(format!("{path}.id"), RequestRule::Repeated);
                }
                // A model can call a tool with an empty name, or one that the request does not have; the conversation
                // continues with the result of that call.
                at_most(&format!("{path}.name"), call.name.len(), MAX_SHORT_TEXT, "bytes")?;
                if !call.arguments.is_object() && !call.arguments.is_string() {
                    return fail(format!("{path}.arguments"), RequestRule::NotAnObject);
                }
            }
            Block::ToolResult(result) => short(&format!("{path}.tool_result.id"), &result.id)?,
            Block::Media(media) => check_media(&format!("{path}.media"), media)?,
        }
    }
    Ok(())
}

fn check_media(path: &str, media: &Media) -> Result<(), CheckError> {
    short(&format!("{path}.media_type"), &media.media_type)?;
    let is_token = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte))
    };
    if !media.media_type.split_once('/').is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype)) {
        return fail(format!("{path}.media_type"), RequestRule::MediaType);
    }
    if media.data.is_empty() {
        return fail(format!("{path}.data"), RequestRule::Empty);
    }
    Ok(())
}

/// Checks that every result belongs to a call of the message before it, and that no call has two results.
fn check_results(path: &str, message: &Message, before: Option<&Message>) -> Result<(), CheckError> {
    let calls: BTreeSet<_> =
        before.into_iter().flat_map(Message::tool_calls).map(|call| call.id.as_str()).collect();
    let mut seen = BTreeSet::new();
    for (index, block) in message.blocks.iter().enumerate() {
        if let Block::ToolResult(result) = block {
            let rule = if !calls.contains(result.id.as_str()) {
                RequestRule::UnknownCall
            } else if !seen.insert(result.id.as_str()) {
                RequestRule::Repeated
            } else {
                continue;
            };
            return fail(format!("{path}.blocks[{index}].tool_result.id"), rule);
        }
    }
    Ok(())
}

/// Checks that every call has a result in the message after it: every API refuses a conversation that lacks one.
fn check_answered(path: &str, message: &Message, after: Option<&Message>) -> Result<(), CheckError> {
    let results: BTreeSet<_> = after
        .into_iter()
        .flat_map(|message| &message.blocks)
        .filter_map(|block| match block {
            Block::ToolResult(result) => Some(result.id.as_str()),
            _ => None,
        })
        .collect();
    for (index, block) in message.blocks.iter().enumerate() {
        if let Block::ToolCall(call) = block
            && !results.contains(call.id.as_str())
        {
            return fail(format!("{path}.blocks[{index}].tool_call.id"), RequestRule::Unanswered);
        }
    }
    Ok(())
}

fn short(path: &str, text: &str) -> Result<(), CheckError> {
    if text.is_empty() {
        return fail(path, RequestRule::Empty);
    }
    at_most(path, text.len(), MAX_SHORT_TEXT, "bytes")
}

fn at_most(path: &str, found: usize, limit: usize, unit: &'static str) -> Result<(), CheckError> {
    if found > limit { fail(path, RequestRule::TooMany { limit, unit, found }) } else { Ok(()) }
}

fn fail<T>(path: impl Into<String>, rule: RequestRule) -> Result<T, CheckError> {
    Err(CheckError { path: path.into(), rule })
}

/// Estimates the number of bytes of a value as JSON, without writing it.
fn json_size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 5,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| json_size(item) + 1).sum::<usize>(),
        Value::Object(fields) => {
            2 + fields.iter().map(|(key, item)| key.len() + 4 + json_size(item)).sum::<usize>()
        }
    }
}
