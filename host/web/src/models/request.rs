//! Requests and answers as components have them: JSON of components is in texts.

use graph_core::json::{canonical_string, depth, parse_strict};
use graph_core::record::journal::digested;
use graph_model::{
    Block, Media, Message, Reasoning, Request, Response, Role, StopReason, Tool, ToolCall, ToolChoice,
    ToolResult,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// How deep a JSON value in a request or an answer may nest. The records around it nest, too, and have to be readable.
const MAX_NESTING: usize = 64;

/// A request of a component.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GivenRequest {
    model: String,
    #[serde(default)]
    system: Option<String>,
    messages: Vec<GivenMessage>,
    #[serde(default)]
    tools: Vec<GivenTool>,
    #[serde(default)]
    tool_choice: ToolChoice,
    #[serde(default)]
    output_schema: Option<String>,
    #[serde(default)]
    max_output: Option<u64>,
    #[serde(default)]
    temperature: Option<f64>,
    #[serde(default)]
    stop: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenMessage {
    role: Role,
    blocks: Vec<GivenBlock>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum GivenBlock {
    Text(String),
    Reasoning(String),
    ToolCall(GivenCall),
    ToolResult(ToolResult),
    Media(Media),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenCall {
    id: String,
    name: String,
    arguments: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenTool {
    name: String,
    description: String,
    parameters: String,
}

impl GivenRequest {
    /// The request, or where in it is no JSON.
    pub(super) fn read(self) -> Result<Request, String> {
        let messages = self.messages.into_iter().enumerate();
        let tools = self.tools.into_iter().enumerate();
        Ok(Request {
            model: self.model,
            system: self.system,
            messages: messages.map(|(at, found)| message(at, found)).collect::<Result<_, _>>()?,
            tools: tools.map(|(at, found)| tool(at, found)).collect::<Result<_, _>>()?,
            tool_choice: self.tool_choice,
            output_schema: self.output_schema.map(|text| parse("output_schema", &text)).transpose()?,
            max_output: self.max_output,
            temperature: self.temperature,
            stop: self.stop,
        })
    }
}

fn parse(path: &str, text: &str) -> Result<Value, String> {
    parse_strict(text, MAX_NESTING).map_err(|error| format!("{path}: it is not JSON: {error}"))
}

fn message(at: usize, GivenMessage { role, blocks }: GivenMessage) -> Result<Message, String> {
    let blocks = blocks.into_iter().enumerate();
    let blocks = blocks.map(|(block_at, found)| block(&format!("messages[{at}].blocks[{block_at}]"), found));
    Ok(Message { role, blocks: blocks.collect::<Result<_, _>>()? })
}

fn block(path: &str, block: GivenBlock) -> Result<Block, String> {
    Ok(match block {
        GivenBlock::Text(text) => Block::Text(text),
        GivenBlock::Reasoning(text) => {
            let read = serde_json::from_value::<Reasoning>(parse(&format!("{path}.reasoning"), &text)?);
            Block::Reasoning(read.map_err(|_| {
                format!("{path}.reasoning: it is not what an answer had: `{{\"api\": .., \"item\": ..}}`")
            })?)
        }
        GivenBlock::ToolCall(GivenCall { id, name, arguments }) => {
            let arguments = parse(&format!("{path}.tool_call.arguments"), &arguments)?;
            Block::ToolCall(ToolCall { id, name, arguments })
        }
        GivenBlock::ToolResult(result) => Block::ToolResult(result),
        GivenBlock::Media(media) => Block::Media(media),
    })
}

fn tool(at: usize, GivenTool { name, description, parameters }: GivenTool) -> Result<Tool, String> {
    let parameters = parse(&format!("tools[{at}].parameters"), &parameters)?;
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
pub(super) fn given(response: Response, cost: u64) -> Value {
    let usage = response.usage.unwrap_or_default();
    let blocks: Vec<_> = response.message.blocks.into_iter().map(given_block).collect();
    let message = GivenMessage { role: response.message.role, blocks };
    let stop: StopReason = response.stop;
    json!({
        "message": message,
        "stop": stop,
        "usage": {
            "input": usage.input,
            "output": usage.output,
            "cached": usage.cached,
            "reasoning": usage.reasoning,
            "cost": cost,
        },
    })
}

fn given_block(block: Block) -> GivenBlock {
    match block {
        Block::Text(text) => GivenBlock::Text(text),
        Block::Reasoning(reasoning) => GivenBlock::Reasoning(canonical_string(&json!(reasoning))),
        Block::ToolCall(ToolCall { id, name, arguments }) => {
            GivenBlock::ToolCall(GivenCall { id, name, arguments: canonical_string(&arguments) })
        }
        Block::ToolResult(result) => GivenBlock::ToolResult(result),
        Block::Media(media) => GivenBlock::Media(media),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn read(request: Value) -> Result<Request, String> {
        serde_json::from_value::<GivenRequest>(request).unwrap().read()
    }

    fn asks(block: &Value) -> Value {
        json!({ "model": "fast", "messages": [{ "role": "user", "blocks": [block] }] })
    }

    #[test]
    fn a_journal_has_the_request_with_digests_of_files() {
        let data = "AAAA";
        let request = json!({
            "model": "fast",
            "system": "s",
            "messages": [{ "role": "user", "blocks": [{ "text": "hello" }, { "media": { "media_type": "image/png", "data": data } }] }],
            "tools": [{ "name": "a", "description": "", "parameters": "{ \"type\": \"object\" }" }],
            "tool_choice": { "named": "a" },
            "output_schema": "{}",
            "max_output": 5,
            "temperature": 1,
            "stop": ["end"],
        });
        let media = json!({ "media_type": "image/png", "data": digested(&[0; 3]) });
        assert_eq!(
            canonical_string(&asked(&read(request).unwrap())),
            canonical_string(&json!({
                "model": "fast",
                "request": {
                    "model": "fast",
                    "system": "s",
                    "messages": [{ "role": "user", "blocks": [{ "text": "hello" }, { "media": media }] }],
                    "tools": [{ "name": "a", "parameters": { "type": "object" } }],
                    "tool_choice": { "named": "a" },
                    "output_schema": {},
                    "max_output": 5,
                    "temperature": 1,
                    "stop": ["end"],
                },
            }))
        );
    }

    #[test]
    fn json_of_components_is_read_strictly() {
        let call = |arguments: &str| {
            asks(&json!({ "tool_call": { "id": "1", "name": "a", "arguments": arguments } }))
        };
        let deep = format!("{}{}", "[".repeat(MAX_NESTING + 1), "]".repeat(MAX_NESTING + 1));
        for arguments in ["", "{", r#"{"a":1,"a":2}"#, "NaN", &deep] {
            let refused = read(call(arguments)).unwrap_err();
            assert!(refused.starts_with("messages[0].blocks[0].tool_call.arguments: "), "{refused}");
        }
        assert!(read(call("{}")).is_ok());
        for reasoning in ["{}", r#"{"api":"anthropic"}"#, r#""thought""#] {
            let refused = read(asks(&json!({ "reasoning": reasoning }))).unwrap_err();
            assert!(refused.starts_with("messages[0].blocks[0].reasoning: "), "{refused}");
        }
    }

    #[test]
    fn what_an_answer_has_can_be_sent_back() {
        let item = json!({ "type": "thinking", "thinking": "hm", "signature": "s" });
        let blocks = vec![
            Block::Reasoning(Reasoning { api: "anthropic".to_owned(), item }),
            Block::Text("hello".to_owned()),
            Block::ToolCall(ToolCall {
                id: "1".to_owned(),
                name: "a".to_owned(),
                arguments: json!({ "b": u64::MAX }),
            }),
        ];
        let message = Message { role: Role::Assistant, blocks: blocks.clone() };
        let answer = given(Response { message, stop: StopReason::ToolCalls, usage: None }, 7);
        assert_eq!((&answer["stop"], &answer["usage"]["cost"]), (&json!("tool_calls"), &json!(7)));
        let sent = read(json!({ "model": "fast", "messages": [answer["message"]] })).unwrap();
        assert_eq!(sent.messages[0].blocks, blocks);
    }
}
