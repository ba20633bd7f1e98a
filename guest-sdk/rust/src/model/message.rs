//! Messages of a conversation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Who it is from.
    pub role: Role,
    /// Its parts, in order. A model can answer with none.
    pub blocks: Vec<Block>,
}

/// Who a message is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The user, and results of tools.
    User,
    /// The model.
    Assistant,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    /// Text, not empty.
    Text(String),
    /// What the model has thought, in the form of its provider; only from the assistant. It is sent back unchanged.
    Reasoning(Value),
    /// A call of a tool; only from the assistant.
    ToolCall(ToolCall),
    /// A result of a tool; only from the user.
    ToolResult(ToolResult),
    /// A file; only from the user.
    Media(Media),
}

/// A call of a tool that a model asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// The provider's id of the call; the result names it.
    pub id: String,
    /// The name of a tool. It is the model's text: a model can name a tool that does not exist.
    pub name: String,
    /// The arguments, a JSON object. They need not fit the tool's schema. Where the model has not written an object, a string with what it
    /// has written.
    pub arguments: Value,
}

/// The result of a tool call, in the message after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolResult {
    /// The id of the call.
    pub id: String,
    /// What the tool has returned, as text for the model.
    pub content: String,
    /// The tool has failed; `content` says why.
    #[serde(default, skip_serializing_if = "is_false")]
    pub failed: bool,
}

/// An image or another file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Media {
    /// Its type, as `image/png`.
    pub media_type: String,
    /// Its bytes; in JSON, as Base64 text.
    #[serde(with = "base64_text")]
    #[schemars(with = "String")]
    pub data: Vec<u8>,
}

impl Message {
    /// Creates a message of the user with one text.
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, blocks: vec![Block::Text(text.into())] }
    }

    /// Creates a message of the assistant with one text.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self { role: Role::Assistant, blocks: vec![Block::Text(text.into())] }
    }

    /// Creates a message of the user with results of tools.
    pub fn results(results: impl IntoIterator<Item = ToolResult>) -> Self {
        Self { role: Role::User, blocks: results.into_iter().map(Block::ToolResult).collect() }
    }

    /// Returns the texts of the message, joined without a separator.
    pub fn text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|block| match block {
            Block::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// Returns the tool calls of the message, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// Returns the results of tools in the message, in order.
    pub fn tool_results(&self) -> impl Iterator<Item = &ToolResult> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolResult(result) => Some(result),
            _ => None,
        })
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

mod base64_text {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(data: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(data))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map_err(de::Error::custom)
    }
}
