//! Encoding of requests.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::check::is_name_byte;
use crate::encode::{Body, parameters, reasoning_item, sent_arguments, tool_name};
use crate::json::object;
use crate::{Api, Block, EncodeError, Media, Message, Request, Role, Target, ToolChoice};

const API: Api = Api::Anthropic;

pub(crate) fn encode(body: &mut Body, request: &Request, target: &Target<'_>) -> Result<(), EncodeError> {
    body.set("model", target.model);
    body.set("max_tokens", target.max_output_of(request));
    if let Some(system) = request.system.as_ref().filter(|text| !text.trim().is_empty()) {
        body.set("system", system.as_str());
    }
    let mut messages = Vec::new();
    for (index, message) in request.messages.iter().enumerate() {
        let (role, content) = match message.role {
            Role::User => ("user", user(body, index, message)?),
            Role::Assistant => ("assistant", assistant(message)),
        };
        // The API refuses a message without content. A message that has only reasoning of another API has none.
        if !content.is_empty() {
            messages.push(object([("role", role.into()), ("content", Value::Array(content))]));
        }
    }
    body.set("messages", messages);
    if !request.tools.is_empty() {
        body.set("tools", request.tools.iter().map(tool).collect::<Vec<_>>());
        match &request.tool_choice {
            ToolChoice::Auto => {}
            ToolChoice::None => body.set("tool_choice", json!({"type": "none"})),
            ToolChoice::Required => body.set("tool_choice", json!({"type": "any"})),
            ToolChoice::Named(name) => body.set("tool_choice", json!({"type": "tool", "name": name})),
        }
    }
    if let Some(schema) = &request.output_schema {
        body.set("output_config", json!({"format": {"type": "json_schema", "schema": schema}}));
    }
    if let Some(temperature) = request.temperature {
        if temperature > 1.0 {
            return Err(unsupported("temperature".to_owned(), "takes temperatures from 0 to 1"));
        }
        body.set("temperature", temperature);
    }
    if !request.stop.is_empty() {
        body.set("stop_sequences", request.stop.clone());
    }
    if target.streamed {
        body.set("stream", true);
    }
    Ok(())
}

fn unsupported(path: String, problem: &'static str) -> EncodeError {
    EncodeError::Unsupported { path, api: API, problem }
}

fn tool(tool: &crate::Tool) -> Value {
    let mut fields = Map::new();
    fields.insert("name".to_owned(), json!(tool.name));
    if !tool.description.is_empty() {
        fields.insert("description".to_owned(), json!(tool.description));
    }
    fields.insert("input_schema".to_owned(), parameters(&tool.parameters));
    Value::Object(fields)
}

/// Returns the content of a user message. Results of tools come first: the API refuses other blocks before them.
fn user(body: &mut Body, index: usize, message: &Message) -> Result<Vec<Value>, EncodeError> {
    let mut results = Vec::new();
    let mut others = Vec::new();
    for (block_index, block) in message.blocks.iter().enumerate() {
        match block {
            Block::ToolResult(result) => {
                let mut fields = Map::new();
                fields.insert("type".to_owned(), json!("tool_result"));
                fields.insert("tool_use_id".to_owned(), json!(call_id(&result.id)));
                if !result.content.is_empty() {
                    fields.insert("content".to_owned(), json!(result.content));
                }
                if result.failed {
                    fields.insert("is_error".to_owned(), json!(true));
                }
                results.push(Value::Object(fields));
            }
            Block::Text(text) => others.push(json!({"type": "text", "text": text})),
            Block::Media(media) => {
                let path = || format!("messages[{index}].blocks[{block_index}].media");
                others.push(file(body, media).map_err(|problem| unsupported(path(), problem))?);
            }
            Block::Reasoning(_) | Block::ToolCall(_) => {}
        }
    }
    results.append(&mut others);
    Ok(results)
}

fn file(body: &mut Body, media: &Media) -> Result<Value, &'static str> {
    let kind = media.media_type.as_str();
    match kind {
        "image/jpeg" | "image/png" | "image/gif" | "image/webp" => {
            Ok(object([("type", "image".into()), ("source", base64(body, media))]))
        }
        "application/pdf" => Ok(object([("type", "document".into()), ("source", base64(body, media))])),
        "text/plain" => {
            // The content is sent as text, so it is not counted as a file.
            let text = str::from_utf8(&media.data).map_err(|_| "takes text in UTF-8 only")?;
            Ok(json!({"type": "document", "source": {"type": "text", "media_type": kind, "data": text}}))
        }
        _ => Err("takes JPEG, PNG, GIF, WebP, PDF and plain text only"),
    }
}

fn base64(body: &mut Body, media: &Media) -> Value {
    let data = body.base64(media).into();
    object([("type", "base64".into()), ("media_type", media.media_type.as_str().into()), ("data", data)])
}

fn assistant(message: &Message) -> Vec<Value> {
    let mut content = Vec::new();
    for block in &message.blocks {
        match block {
            // Models of other providers write empty lines between calls, which this API refuses.
            Block::Text(text) if text.trim().is_empty() => {}
            Block::Text(text) => content.push(json!({"type": "text", "text": text})),
            Block::Reasoning(reasoning) => {
                content.extend(reasoning_item(reasoning, API, &["thinking", "redacted_thinking"]).cloned());
            }
            Block::ToolCall(call) => content.push(json!({
                "type": "tool_use",
                "id": call_id(&call.id),
                "name": tool_name(&call.name),
                "input": sent_arguments(call),
            })),
            Block::ToolResult(_) | Block::Media(_) => {}
        }
    }
    content
}

/// Returns the id of a call in the characters that this API accepts, because ids of other providers can have others. A
/// call and its result are changed in the same way.
fn call_id(id: &str) -> Cow<'_, str> {
    if id.bytes().all(is_name_byte) {
        return Cow::Borrowed(id);
    }
    let mut safe = String::new();
    for byte in id.bytes() {
        if is_name_byte(byte) {
            safe.push(char::from(byte));
        } else {
            // Writing to a text cannot fail.
            let _ = write!(safe, "_{byte:02x}");
        }
    }
    Cow::Owned(safe)
}
