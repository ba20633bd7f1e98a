//! Requests and answers of components, in their own types and in those of the wire formats.

use graph_core::json::{canonical_string, depth, parse_strict};
use graph_core::limits::ModelUse;
use graph_core::record::journal::digested;
use graph_model::{Block, Media, Message, Reasoning, Request, Role, Tool, ToolCall, ToolChoice, ToolResult};
use serde_json::{Value, json};

use crate::bindings::graph_host::host::model as wit;

/// How deep a JSON value in a request or an answer may nest. The records around it nest, too, and have to be readable.
const MAX_NESTING: usize = 64;

/// A request, or where in it is no JSON.
pub(super) fn request(request: wit::Request) -> Result<Request, String> {
    let messages = request.messages.into_iter().enumerate();
    let tools = request.tools.into_iter().enumerate();
    Ok(Request {
        model: request.model,
        system: request.system,
        messages: messages.map(|(at, found)| message(at, found)).collect::<Result<_, _>>()?,
        tools: tools.map(|(at, found)| tool(at, found)).collect::<Result<_, _>>()?,
        tool_choice: match request.tool_choice {
            wit::ToolChoice::Auto => ToolChoice::Auto,
            wit::ToolChoice::None => ToolChoice::None,
            wit::ToolChoice::Required => ToolChoice::Required,
            wit::ToolChoice::Named(name) => ToolChoice::Named(name),
        },
        output_schema: request.output_schema.map(|text| json("output_schema", &text)).transpose()?,
        max_output: request.max_output,
        temperature: request.temperature,
        stop: request.stop,
    })
}

fn json(path: &str, text: &str) -> Result<Value, String> {
    parse_strict(text, MAX_NESTING).map_err(|error| format!("{path}: it is not JSON: {error}"))
}

fn message(at: usize, message: wit::Message) -> Result<Message, String> {
    let role = match message.role {
        wit::Role::User => Role::User,
        wit::Role::Assistant => Role::Assistant,
    };
    let blocks = message.blocks.into_iter().enumerate();
    let blocks = blocks.map(|(block_at, found)| block(&format!("messages[{at}].blocks[{block_at}]"), found));
    Ok(Message { role, blocks: blocks.collect::<Result<_, _>>()? })
}

fn block(path: &str, block: wit::Block) -> Result<Block, String> {
    Ok(match block {
        wit::Block::Text(text) => Block::Text(text),
        wit::Block::Reasoning(text) => {
            let read = serde_json::from_value::<Reasoning>(json(&format!("{path}.reasoning"), &text)?);
            Block::Reasoning(read.map_err(|_| {
                format!("{path}.reasoning: it is not what an answer had: `{{\"api\": .., \"item\": ..}}`")
            })?)
        }
        wit::Block::ToolCall(wit::ToolCall { id, name, arguments }) => {
            let arguments = json(&format!("{path}.tool_call.arguments"), &arguments)?;
            Block::ToolCall(ToolCall { id, name, arguments })
        }
        wit::Block::ToolResult(wit::ToolResult { id, content, failed }) => {
            Block::ToolResult(ToolResult { id, content, failed })
        }
        wit::Block::Media(wit::Media { media_type, data }) => Block::Media(Media { media_type, data }),
    })
}

fn tool(at: usize, tool: wit::Tool) -> Result<Tool, String> {
    let wit::Tool { name, description, parameters } = tool;
    let parameters = json(&format!("tools[{at}].parameters"), &parameters)?;
    Ok(Tool { name, description, parameters })
}

/// A request as its journal entry has it: whole, with digests of files.
pub(super) fn asked(request: &Request) -> Value {
    let blocks = |message: &Message| message.blocks.iter().map(asked_block).collect::<Vec<_>>();
    let messages: Vec<_> = request
        .messages
        .iter()
        .map(|message| json!({ "role": message.role, "blocks": blocks(message) }))
        .collect();
    let mut asked = json!(without_messages(request));
    asked["messages"] = Value::Array(messages);
    json!({ "model": request.model, "request": asked })
}

fn asked_block(block: &Block) -> Value {
    match block {
        Block::Media(Media { media_type, data }) => {
            json!({ "media": { "media_type": media_type, "data": digested(data) } })
        }
        other => json!(other),
    }
}

/// The rest of a request: a copy of its messages would have copies of files.
fn without_messages(request: &Request) -> Request {
    Request {
        model: request.model.clone(),
        system: request.system.clone(),
        messages: Vec::new(),
        tools: request.tools.clone(),
        tool_choice: request.tool_choice.clone(),
        output_schema: request.output_schema.clone(),
        max_output: request.max_output,
        temperature: request.temperature,
        stop: request.stop.clone(),
    }
}

/// Whether an answer can be recorded and given to a component.
pub(super) fn is_shallow(response: &Value) -> bool {
    depth(response) <= MAX_NESTING
}

/// An answer for a component, with its cost in millionths.
pub(super) fn response(response: graph_model::Response, cost: u64) -> wit::Response {
    let usage = response.usage.unwrap_or_default();
    wit::Response {
        message: wit::Message {
            role: match response.message.role {
                Role::User => wit::Role::User,
                Role::Assistant => wit::Role::Assistant,
            },
            blocks: response.message.blocks.into_iter().map(answered_block).collect(),
        },
        stop: match response.stop {
            graph_model::StopReason::End => wit::StopReason::End,
            graph_model::StopReason::ToolCalls => wit::StopReason::ToolCalls,
            graph_model::StopReason::MaxOutput => wit::StopReason::MaxOutput,
            graph_model::StopReason::StopText => wit::StopReason::StopText,
            graph_model::StopReason::Refused => wit::StopReason::Refused,
        },
        usage: wit::Usage {
            input: usage.input,
            output: usage.output,
            cached: usage.cached,
            reasoning: usage.reasoning,
            cost,
        },
    }
}

fn answered_block(block: Block) -> wit::Block {
    match block {
        Block::Text(text) => wit::Block::Text(text),
        Block::Reasoning(reasoning) => wit::Block::Reasoning(canonical_string(&json!(reasoning))),
        Block::ToolCall(ToolCall { id, name, arguments }) => {
            wit::Block::ToolCall(wit::ToolCall { id, name, arguments: canonical_string(&arguments) })
        }
        Block::ToolResult(ToolResult { id, content, failed }) => {
            wit::Block::ToolResult(wit::ToolResult { id, content, failed })
        }
        Block::Media(Media { media_type, data }) => wit::Block::Media(wit::Media { media_type, data }),
    }
}

/// What is left of a budget; a figure without a limit is none.
pub(super) fn budget(left: ModelUse) -> wit::Budget {
    let figure = |figure: u64| (figure != u64::MAX).then_some(figure);
    let ModelUse { calls, input, output, cost } = left;
    wit::Budget { calls: figure(calls), input: figure(input), output: figure(output), cost: figure(cost) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn asks(blocks: Vec<wit::Block>) -> wit::Request {
        wit::Request {
            model: "fast".to_owned(),
            system: None,
            messages: vec![wit::Message { role: wit::Role::User, blocks }],
            tools: Vec::new(),
            tool_choice: wit::ToolChoice::Auto,
            output_schema: None,
            max_output: None,
            temperature: Some(0.5),
            stop: vec!["end".to_owned()],
        }
    }

    #[test]
    fn a_journal_has_the_request_with_digests_of_files() {
        let media = wit::Media { media_type: "image/png".to_owned(), data: vec![0; 1000] };
        let blocks = vec![wit::Block::Text("hello".to_owned()), wit::Block::Media(media)];
        let read = request(asks(blocks)).unwrap();
        let media = json!({ "media_type": "image/png", "data": digested(&[0; 1000]) });
        assert_eq!(
            asked(&read),
            json!({
                "model": "fast",
                "request": {
                    "model": "fast",
                    "messages": [{ "role": "user", "blocks": [{ "text": "hello" }, { "media": media }] }],
                    "temperature": 0.5,
                    "stop": ["end"],
                },
            })
        );
        let without: Request = serde_json::from_value(json!({
            "model": "fast", "messages": [{ "role": "user", "blocks": [{ "text": "hello" }] }],
            "tools": [{ "name": "a", "parameters": {} }], "tool_choice": { "named": "a" }, "output_schema": {}, "max_output": 5,
            "system": "s",
        }))
        .unwrap();
        assert_eq!(asked(&without)["request"], json!(without), "only files are written in another way");
    }

    #[test]
    fn json_of_components_is_read_strictly() {
        let call = |arguments: &str| {
            wit::Block::ToolCall(wit::ToolCall {
                id: "1".to_owned(),
                name: "a".to_owned(),
                arguments: arguments.to_owned(),
            })
        };
        let deep = format!("{}{}", "[".repeat(MAX_NESTING + 1), "]".repeat(MAX_NESTING + 1));
        for arguments in ["", "{", r#"{"a":1,"a":2}"#, "NaN", &deep] {
            let refused = request(asks(vec![call(arguments)])).unwrap_err();
            assert!(refused.starts_with("messages[0].blocks[0].tool_call.arguments: "), "{refused}");
        }
        assert!(request(asks(vec![call("{}")])).is_ok());
        for reasoning in ["{}", r#"{"api":"anthropic"}"#, r#""thought""#] {
            let refused = request(asks(vec![wit::Block::Reasoning(reasoning.to_owned())])).unwrap_err();
            assert!(refused.starts_with("messages[0].blocks[0].reasoning: "), "{refused}");
        }
    }

    #[test]
    fn reasoning_comes_back_as_it_was_given() {
        let item = json!({ "type": "thinking", "thinking": "hm", "signature": "s" });
        let block = Block::Reasoning(Reasoning { api: "anthropic".to_owned(), item });
        let wit::Block::Reasoning(text) = answered_block(block.clone()) else { panic!() };
        let read = request(asks(vec![wit::Block::Reasoning(text)])).unwrap();
        assert_eq!(read.messages[0].blocks, [block]);
    }
}
