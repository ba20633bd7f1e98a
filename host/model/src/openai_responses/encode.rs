//! Encoding of requests. They are stateless: the whole conversation is sent, and the provider is asked to store
//! nothing.

use serde_json::{Map, Value, json};

use crate::encode::{Body, can_be_strict, file_name, parameters, reasoning_item, sent_arguments, tool_name};
use crate::json::object;
use crate::{Api, Block, EncodeError, Media, Message, Request, Role, Target, ToolChoice};

const API: Api = Api::OpenAiResponses;

pub(crate) fn encode(body: &mut Body, request: &Request, target: &Target<'_>) -> Result<(), EncodeError> {
    if !request.stop.is_empty() {
        return Err(EncodeError::Unsupported {
            path: "stop".to_owned(),
            api: API,
            problem: "cannot stop at a text",
        });
    }
    body.set("model", target.model);
    body.set("store", false);
    if target.options.encrypted_reasoning {
        body.set("include", json!(["reasoning.encrypted_content"]));
    }
    if let Some(system) = request.system.as_ref().filter(|text| !text.is_empty()) {
        body.set("instructions", system.as_str());
    }
    let mut items = Vec::new();
    for (index, message) in request.messages.iter().enumerate() {
        match message.role {
            Role::User => user(body, index, message, &mut items)?,
            Role::Assistant => assistant(message, &mut items),
        }
    }
    body.set("input", items);
    body.set("max_output_tokens", target.max_output_of(request));
    if !request.tools.is_empty() {
        body.set("tools", request.tools.iter().map(tool).collect::<Vec<_>>());
        match &request.tool_choice {
            ToolChoice::Auto => {}
            ToolChoice::None => body.set("tool_choice", "none"),
            ToolChoice::Required => body.set("tool_choice", "required"),
            ToolChoice::Named(name) => body.set("tool_choice", json!({"type": "function", "name": name})),
        }
    }
    if let Some(schema) = &request.output_schema {
        let format = json!({
            "type": "json_schema",
            "name": "answer",
            "schema": schema,
            "strict": can_be_strict(schema),
        });
        body.set("text", json!({"format": format}));
    }
    if let Some(temperature) = request.temperature {
        body.set("temperature", temperature);
    }
    if target.streamed {
        body.set("stream", true);
    }
    Ok(())
}

fn tool(tool: &crate::Tool) -> Value {
    let mut fields = Map::new();
    fields.insert("type".to_owned(), json!("function"));
    fields.insert("name".to_owned(), json!(tool.name));
    if !tool.description.is_empty() {
        fields.insert("description".to_owned(), json!(tool.description));
    }
    fields.insert("parameters".to_owned(), parameters(&tool.parameters));
    // Without it, OpenAI takes a schema as a strict one and changes it.
    fields.insert("strict".to_owned(), json!(false));
    Value::Object(fields)
}

fn user(body: &mut Body, index: usize, message: &Message, items: &mut Vec<Value>) -> Result<(), EncodeError> {
    let mut parts = Vec::new();
    for (block_index, block) in message.blocks.iter().enumerate() {
        match block {
            Block::ToolResult(result) => {
                items.push(json!({
                    "type": "function_call_output",
                    "call_id": result.id,
                    "output": result.content,
                }));
            }
            Block::Text(text) => parts.push(json!({"type": "input_text", "text": text})),
            Block::Media(media) => {
                let part = file(body, media).ok_or_else(|| EncodeError::Unsupported {
                    path: format!("messages[{index}].blocks[{block_index}].media"),
                    api: API,
                    problem: "takes no audio and video",
                })?;
                parts.push(part);
            }
            Block::Reasoning(_) | Block::ToolCall(_) => {}
        }
    }
    if !parts.is_empty() {
        items.push(object([
            ("type", "message".into()),
            ("role", "user".into()),
            ("content", Value::Array(parts)),
        ]));
    }
    Ok(())
}

fn file(body: &mut Body, media: &Media) -> Option<Value> {
    match media.media_type.split_once('/') {
        Some(("audio" | "video", _)) => None,
        Some(("image", _)) => {
            let url = body.data_url(media).into();
            Some(object([("type", "input_image".into()), ("detail", "auto".into()), ("image_url", url)]))
        }
        _ => {
            let (name, data) = (file_name(media).into(), body.data_url(media).into());
            Some(object([("type", "input_file".into()), ("filename", name), ("file_data", data)]))
        }
    }
}

/// Adds a message of the assistant. The order of its blocks is kept: a reasoning item has to precede the item that
/// results from it.
fn assistant(message: &Message, items: &mut Vec<Value>) {
    for block in &message.blocks {
        match block {
            Block::Text(text) => {
                items.push(json!({"type": "message", "role": "assistant", "content": text}));
            }
            Block::Reasoning(reasoning) => {
                items.extend(reasoning_item(reasoning, API, &["reasoning"]).cloned());
            }
            Block::ToolCall(call) => {
                items.push(json!({
                    "type": "function_call",
                    "call_id": call.id,
                    "name": tool_name(&call.name),
                    "arguments": sent_arguments(call).to_string(),
                }));
            }
            Block::ToolResult(_) | Block::Media(_) => {}
        }
    }
}
