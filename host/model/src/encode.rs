//! Helpers that the encoders of all APIs share.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::check::{MAX_TOOL_NAME, is_name_byte};
use crate::{Api, EncodeError, Media, Reasoning, ToolCall};

/// Body of a request while it is encoded, with the number of its files and their bytes.
#[derive(Default)]
pub(crate) struct Body {
    pub(crate) fields: Map<String, Value>,
    pub(crate) media_blocks: u64,
    pub(crate) media_bytes: u64,
}

impl Body {
    pub(crate) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.fields.insert(name.to_owned(), value.into());
    }

    /// Encodes a file in Base64, and counts it.
    pub(crate) fn base64(&mut self, media: &Media) -> String {
        let text = STANDARD.encode(&media.data);
        self.media_blocks += 1;
        self.media_bytes += text.len() as u64;
        text
    }

    /// Encodes a file as a `data:` URL, and counts it.
    pub(crate) fn data_url(&mut self, media: &Media) -> String {
        let text = self.base64(media);
        format!("data:{};base64,{text}", media.media_type)
    }
}

/// Fields that the request sets itself, or with which one call would give several answers or continue a stored
/// conversation.
const RESERVED: [&str; 22] = [
    "background",
    "conversation",
    "functions",
    "input",
    "instructions",
    "max_completion_tokens",
    "max_output_tokens",
    "max_tokens",
    "messages",
    "model",
    "n",
    "previous_response_id",
    "prompt",
    "response_format",
    "stop",
    "stop_sequences",
    "store",
    "stream",
    "system",
    "temperature",
    "tool_choice",
    "tools",
];

/// Adds the extra fields of the model's options.
pub(crate) fn merge(fields: &mut Map<String, Value>, extra: &Map<String, Value>) -> Result<(), EncodeError> {
    for (name, value) in extra {
        if RESERVED.contains(&name.as_str()) {
            return Err(EncodeError::Reserved { field: name.clone() });
        }
        match (fields.get_mut(name), value) {
            (None, _) => {
                fields.insert(name.clone(), value.clone());
            }
            (Some(Value::Object(inner)), Value::Object(added)) => {
                for (key, value) in added {
                    if inner.contains_key(key) {
                        return Err(EncodeError::Reserved { field: format!("{name}.{key}") });
                    }
                    inner.insert(key.clone(), value.clone());
                }
            }
            (Some(_), _) => return Err(EncodeError::Reserved { field: name.clone() }),
        }
    }
    Ok(())
}

/// Returns the schema of a tool's arguments, with `"type": "object"` if it names no type: every API requires one.
pub(crate) fn parameters(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(fields) = &mut schema
        && !fields.contains_key("type")
    {
        fields.insert("type".to_owned(), json!("object"));
    }
    schema
}

/// Returns the name of a tool from a call in the conversation, in the characters and the length that every API accepts.
/// A model can call a tool by an empty or invalid name, which its provider refuses in the next request.
pub(crate) fn tool_name(name: &str) -> Cow<'_, str> {
    if name.is_empty() {
        return Cow::Borrowed("unnamed");
    }
    if name.len() <= MAX_TOOL_NAME && name.bytes().all(is_name_byte) {
        return Cow::Borrowed(name);
    }
    let allowed =
        |character: char| if character.is_ascii_alphanumeric() || character == '-' { character } else { '_' };
    name.chars().map(allowed).take(MAX_TOOL_NAME).collect()
}

/// Returns the arguments of a call in the conversation, as an object: Anthropic, and many servers with the other APIs,
/// refuse anything else.
pub(crate) fn sent_arguments(call: &ToolCall) -> Cow<'_, Value> {
    if call.arguments.is_object() {
        return Cow::Borrowed(&call.arguments);
    }
    Cow::Owned(json!({ "invalid_arguments": call.arguments }))
}

/// Returns the item of a reasoning block if it is of this API and has one of these types. Components can put any value
/// into a block, and an item of another type could name files of the account.
pub(crate) fn reasoning_item<'a>(reasoning: &'a Reasoning, api: Api, types: &[&str]) -> Option<&'a Value> {
    let kind = reasoning.item.get("type")?.as_str()?;
    (reasoning.api == api.name() && types.contains(&kind)).then_some(&reasoning.item)
}

/// Reports whether OpenAI can enforce a schema: every object lists all its properties as required and allows no others.
/// Any other schema is sent as one that the model should follow.
pub(crate) fn can_be_strict(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            let closed = fields.get("additionalProperties") == Some(&Value::Bool(false));
            let complete = match (fields.get("properties"), fields.get("required")) {
                (Some(Value::Object(properties)), Some(Value::Array(required))) => {
                    properties.keys().all(|name| required.iter().any(|known| known == name))
                }
                (Some(Value::Object(properties)), None) => properties.is_empty(),
                (None, _) => true,
                _ => false,
            };
            let is_object = fields.get("type") == Some(&json!("object")) || fields.contains_key("properties");
            (!is_object || (closed && complete)) && fields.values().all(can_be_strict)
        }
        Value::Array(items) => items.iter().all(can_be_strict),
        _ => true,
    }
}

/// Returns a name for a file: OpenAI requires one, and derives the type of the file from it.
pub(crate) fn file_name(media: &Media) -> String {
    let subtype = media.media_type.split_once('/').map_or("", |(_, subtype)| subtype);
    let extension = match subtype {
        "plain" => "txt",
        "markdown" => "md",
        other => other,
    };
    if extension.len() <= 8 && extension.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        format!("file.{extension}")
    } else {
        "file".to_owned()
    }
}
