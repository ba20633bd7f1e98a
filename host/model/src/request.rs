//! A request of a completion, as components make it: independent of the API that it is sent to.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A request of a completion. [`Request::check`] checks its rules, [`Api::encode`](crate::Api::encode) writes it for an API.
///
/// Its JSON form is what a journal keeps and what people are shown; fields that say nothing are left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The name of the model in the manifest. The provider has a name of its own ([`Target::model`](crate::Target::model)).
    pub model: String,
    /// Instructions that precede the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The conversation; the last message is the user's.
    pub messages: Vec<Message>,
    /// The tools that the model may ask for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    /// Which of them; without meaning if there are none.
    #[serde(default, skip_serializing_if = "ToolChoice::is_auto")]
    pub tool_choice: ToolChoice,
    /// The JSON Schema that the answer's text has to fit; `None`: free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// The most tokens of an answer; the manifest's bound of the model holds, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    /// The temperature, from 0 to 2; `None`: the provider's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Texts at which the model stops, at most four.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
}

impl Request {
    /// Whether the model may call no tool, or only the one that is named and returns the answer. The tools themselves may
    /// stay in the request: providers refuse a conversation about tools that it does not have.
    pub fn is_without_tools(&self) -> bool {
        self.tools.is_empty() || matches!(self.tool_choice, ToolChoice::None | ToolChoice::Named(_))
    }

    /// A request with these messages and nothing else.
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
    /// Who it is from.
    pub role: Role,
    /// Its parts, in order. A model can answer with none.
    pub blocks: Vec<Block>,
}

impl Message {
    /// A message of the user with one text.
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, blocks: vec![Block::Text(text.into())] }
    }

    /// The texts of the message, joined without a separator.
    pub fn text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|block| match block {
            Block::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// The calls of tools that the message asks for, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            _ => None,
        })
    }
}

/// Who a message is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The user, and results of tools.
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
    /// What the model has thought, in the form of one API; only from the assistant.
    Reasoning(Reasoning),
    /// A call of a tool; only from the assistant.
    ToolCall(ToolCall),
    /// A result of a tool; only from the user.
    ToolResult(ToolResult),
    /// A file; only from the user.
    Media(Media),
}

/// What a model has thought. It is sent back unchanged to the API that it is from, and left out for every other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reasoning {
    /// The API that it is from, as [`Api`](crate::Api) is displayed. A text, so that a component may bring what a later version made.
    pub api: String,
    /// It, in the form of that API.
    pub item: Value,
}

/// A call of a tool that a model asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// The provider's id of the call; the result names it. It is unique in its message.
    pub id: String,
    /// The name of a tool. It is the model's text: a model can name a tool that does not exist.
    pub name: String,
    /// The arguments, a JSON object. They need not fit the tool's schema. Where the model has not written an object, a string with what it
    /// has written: models make mistakes, and an answer can reach the most tokens within the arguments.
    pub arguments: Value,
}

/// The result of a tool call, in the message after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Media {
    /// Its type, as `image/png`.
    pub media_type: String,
    /// Its bytes; in JSON, as Base64 text.
    #[serde(with = "base64_text")]
    pub data: Vec<u8>,
}

/// A tool that the model may ask for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// Its name: letters, digits, `_` and `-`, at most 64 bytes.
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The JSON Schema of its arguments, an object.
    pub parameters: Value,
}

/// Which tools the model may ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// Any, or none.
    #[default]
    Auto,
    /// None, although the request names some.
    None,
    /// At least one.
    Required,
    /// This one.
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
