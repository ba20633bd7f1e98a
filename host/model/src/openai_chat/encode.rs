//! Encoding of requests.

use serde_json::{Map, Value, json};

use crate::encode::{Body, can_be_strict, parameters, sent_arguments, tool_name};
use crate::json::object;
use crate::{Api, Block, MaxTokensKey, Media, Message, Reasoning, Request, Role, Target, ToolChoice};

/// Fields of a message in which servers return reasoning.
pub(crate) const REASONING: [&str; 2] = ["reasoning_content", "reasoning"];

pub(crate) fn encode(body: &mut Body, request: &Request, target: &Target<'_>) {
    body.set("model", target.model);
    let mut messages = Vec::new();
    if let Some(system) = request.system.as_ref().filter(|text| !text.is_empty()) {
        messages.push(json!({"role": "system", "content": system}));
    }
    for message in &request.messages {
        match message.role {
            Role::User => user(body, message, &mut messages),
            Role::Assistant => messages.extend(assistant(message, target.options.send_reasoning)),
        }
    }
    body.set("messages", messages);
    let key = match target.options.max_tokens_key {
        MaxTokensKey::MaxCompletionTokens => "max_completion_tokens",
        MaxTokensKey::MaxTokens => "max_tokens",
    };
    body.set(key, target.max_output_of(request));
    if !request.tools.is_empty() {
        body.set("tools", request.tools.iter().map(tool).collect::<Vec<_>>());
        match &request.tool_choice {
            ToolChoice::Auto => {}
            ToolChoice::None => body.set("tool_choice", "none"),
            ToolChoice::Required => body.set("tool_choice", "required"),
            ToolChoice::Named(name) => {
                body.set("tool_choice", json!({"type": "function", "function": {"name": name}}));
            }
        }
    }
    if let Some(schema) = &request.output_schema {
        let format = json!({"name": "answer", "schema": schema, "strict": can_be_strict(schema)});
        body.set("response_format", json!({"type": "json_schema", "json_schema": format}));
    }
    if let Some(temperature) = request.temperature {
        body.set("temperature", temperature);
    }
    if !request.stop.is_empty() {
        body.set("stop", request.stop.clone());
    }
    if target.streamed {
        body.set("stream", true);
        body.set("stream_options", json!({"include_usage": true}));
    }
}

fn tool(tool: &crate::Tool) -> Value {
    let mut function = Map::new();
    function.insert("name".to_owned(), json!(tool.name));
    if !tool.description.is_empty() {
        function.insert("description".to_owned(), json!(tool.description));
    }
    function.insert("parameters".to_owned(), parameters(&tool.parameters));
    object([("type", "function".into()), ("function", Value::Object(function))])
}

/// Adds a user message. Each result of a tool is a message of its own, and these come first: they have to follow the
/// calls directly.
fn user(body: &mut Body, message: &Message, messages: &mut Vec<Value>) {
    let mut parts = Vec::new();
    for block in &message.blocks {
        match block {
            Block::ToolResult(result) => {
                messages.push(json!({"role": "tool", "tool_call_id": result.id, "content": result.content}));
            }
            Block::Text(text) => parts.push(json!({"type": "text", "text": text})),
            Block::Media(media) => parts.push(file(body, media)),
            Block::Reasoning(_) | Block::ToolCall(_) => {}
        }
    }
    if !parts.is_empty() {
        messages.push(object([("role", "user".into()), ("content", content(parts))]));
    }
}

/// Returns a single text as a string, because many servers do not support an array of parts.
fn content(mut parts: Vec<Value>) -> Value {
    if parts.len() == 1
        && let Some(Value::Object(part)) = parts.first_mut()
        && let Some(text) = part.remove("text")
    {
        return text;
    }
    Value::Array(parts)
}

fn file(body: &mut Body, media: &Media) -> Value {
    let audio = match media.media_type.as_str() {
        "audio/wav" | "audio/x-wav" | "audio/wave" => Some("wav"),
        "audio/mpeg" | "audio/mp3" => Some("mp3"),
        _ => None,
    };
    if let Some(format) = audio {
        let audio = object([("data", body.base64(media).into()), ("format", format.into())]);
        object([("type", "input_audio".into()), ("input_audio", audio)])
    } else if media.media_type.starts_with("image/") {
        let url = object([("url", body.data_url(media).into())]);
        object([("type", "image_url".into()), ("image_url", url)])
    } else {
        let name = crate::encode::file_name(media).into();
        let file = object([("filename", name), ("file_data", body.data_url(media).into())]);
        object([("type", "file".into()), ("file", file)])
    }
}

/// Returns a message of the assistant, or `None` if it has no text and no calls, for example only reasoning of another
/// API.
fn assistant(message: &Message, send_reasoning: bool) -> Option<Value> {
    let mut fields = Map::new();
    let mut parts = Vec::new();
    let mut calls = Vec::new();
    for block in &message.blocks {
        match block {
            Block::Text(text) => parts.push(json!({"type": "text", "text": text})),
            Block::Reasoning(reasoning) if send_reasoning => add_reasoning(&mut fields, reasoning),
            Block::ToolCall(call) => {
                let function =
                    json!({"name": tool_name(&call.name), "arguments": sent_arguments(call).to_string()});
                let id = call.id.as_str().into();
                calls.push(object([("id", id), ("type", "function".into()), ("function", function)]));
            }
            Block::Reasoning(_) | Block::ToolResult(_) | Block::Media(_) => {}
        }
    }
    if parts.is_empty() && calls.is_empty() {
        return None;
    }
    fields.insert("role".to_owned(), json!("assistant"));
    if !parts.is_empty() {
        fields.insert("content".to_owned(), content(parts));
    }
    if !calls.is_empty() {
        fields.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    Some(Value::Object(fields))
}

fn add_reasoning(fields: &mut Map<String, Value>, reasoning: &Reasoning) {
    if reasoning.api != Api::OpenAiChat.name() {
        return;
    }
    for name in REASONING {
        if let Some(text @ Value::String(_)) = reasoning.item.get(name) {
            fields.insert(name.to_owned(), text.clone());
        }
    }
}
