//! A completion request of a component, in a form that is independent of the API.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A completion request. [`Request::check`] checks its rules, and [`Api::encode`](crate::Api::encode) encodes it for an
/// API.
///
/// Its JSON form is stored in the journal and shown to the user; empty fields are left out.
///
/// Its JSON form is what a journal keeps and what people are shown; fields that say nothing are left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Name of the model in the manifest. The provider has its own name for it
    /// ([`Target::model`](crate::Target::model)).
    pub model: String,
    /// Instructions that precede the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The conversation; the last message is the user's.
    pub messages: Vec<Message>,
    /// The tools that the model may ask for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    /// Choice among the tools. It has no effect if there are none.
    #[serde(default, skip_serializing_if = "ToolChoice::is_auto")]
    pub tool_choice: ToolChoice,
    /// JSON Schema that the text of the answer has to match; `None` for free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Maximum number of tokens of the answer. The model's limit in the manifest applies, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    /// Temperature, from 0 to 2; `None` for the provider's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Texts at which the model stops, at most four.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
}

impl Request {
    /// Reports whether the model may call no tool, or only a named one, which returns the answer. The tools themselves
    /// may stay in the request: providers refuse a conversation with calls of tools that the request does not have.
    pub fn is_without_tools(&self) -> bool {
        self.tools.is_empty() || matches!(self.tool_choice, ToolChoice::None | ToolChoice::Named(_))
    }

    /// Creates a request that has these messages and no options.
    pub fn new(model: impl Into<String>, messages: Vec<Message>) -> Self {
        Self {
            model: model.into(),
            system: None,
            messages,
            tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            output_schema: None,
            max_output: None,
            temperature: None,
            stop: Vec::new(),
        }
    }
}

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Author of the message.
    pub role: Role,
    /// Parts of the message, in order. A model can answer with none.
    pub blocks: Vec<Block>,
}

impl Message {
    /// Creates a message of the user with one text.
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, blocks: vec![Block::Text(text.into())] }
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
}

/// Author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The user. Results of tools are in messages of the user.
    User,
    /// The model.
    Assistant,
}

/// A part of a message, as `{"text": …}`, `{"reasoning": …}`, `{"tool_call": …}`, `{"tool_result": …}` or `{"media": …}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    /// Text, not empty.
    Text(String),
    /// Reasoning of the model, in the form of one API; only in messages of the assistant.
    Reasoning(Reasoning),
    /// A tool call; only in messages of the assistant.
    ToolCall(ToolCall),
    /// Result of a tool call; only in messages of the user.
    ToolResult(ToolResult),
    /// A file; only in messages of the user.
    Media(Media),
}

/// Reasoning of a model. It is sent back unchanged to the API that it is from, and left out for every other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reasoning {
    /// Name of the API that it is from ([`Api::name`](crate::Api::name)). It is a text, so that components can also
    /// pass on reasoning of APIs that this version does not support.
    pub api: String,
    /// The reasoning, as that API returns it.
    pub item: Value,
}

/// A tool call that a model asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// The provider's id of the call, unique in its message. The result has the same id.
    pub id: String,
    /// Name of the tool. The model writes it, and can name a tool that does not exist.
    pub name: String,
    /// Arguments, a JSON object that need not match the tool's schema. If the model has not written an object, a string
    /// with the text that it has written: a model can make mistakes, and an answer can reach its maximum length within
    /// the arguments.
    pub arguments: Value,
}

/// Result of a tool call, in the message after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolResult {
    /// Id of the call.
    pub id: String,
    /// Output of the tool, as text for the model.
    pub content: String,
    /// True if the tool has failed; `content` is the reason.
    #[serde(default, skip_serializing_if = "is_false")]
    pub failed: bool,
}

/// An image or another file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Media {
    /// Media type, such as `image/png`.
    pub media_type: String,
    /// Content of the file; Base64 in the JSON form.
    #[serde(with = "base64_text")]
    pub data: Vec<u8>,
}

/// A tool that the model may ask for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// Name: letters, digits, `_` and `-`, at most 64 bytes.
    pub name: String,
    /// Description of the tool for the model.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// JSON Schema of the arguments, an object.
    pub parameters: Value,
}

/// Choice among the tools that the model may call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// Any number of tools, or none.
    #[default]
    Auto,
    /// No tool, although the request has some.
    None,
    /// At least one tool.
    Required,
    /// The tool of this name.
    Named(String),
}

impl ToolChoice {
    fn is_auto(&self) -> bool {
        *self == Self::Auto
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
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        STANDARD.decode(text.as_bytes()).map_err(de::Error::custom)
    }
}
