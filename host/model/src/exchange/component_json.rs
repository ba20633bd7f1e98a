//! Requests and answers in the form that components exchange with every host: JSON values are texts in it.

use graph_core::json::{TreeLimit, canonical_string, parse_strict};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    Block, Media, Message, Reasoning, Request, Response, Role, StopReason, Tool, ToolCall, ToolChoice,
    ToolResult,
};

/// Maximum nesting depth of a JSON value in a request or an answer. The records that contain it nest, too, and have to
/// stay readable.
pub const MAX_NESTING: usize = 64;

/// A request of a component.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct GivenRequest")]
pub struct ComponentRequest {
    /// Name of the model in the manifest.
    pub model: String,
    /// Instructions that precede the conversation.
    #[serde(default)]
    pub system: Option<String>,
    /// The conversation.
    pub messages: Vec<ComponentMessage>,
    /// The tools that the model may ask for.
    #[serde(default)]
    pub tools: Vec<ComponentTool>,
    /// Choice among the tools.
    #[serde(default)]
    pub tool_choice: ToolChoice,
    /// JSON Schema that the answer has to match, as JSON text.
    #[serde(default)]
    pub output_schema: Option<String>,
    /// Maximum number of tokens of the answer.
    #[serde(default)]
    pub max_output: Option<u64>,
    /// The temperature.
    #[serde(default)]
    pub temperature: Option<f64>,
    /// Texts at which the model stops.
    #[serde(default)]
    pub stop: Vec<String>,
}

/// A message of a conversation.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct GivenMessage")]
pub struct ComponentMessage {
    /// Author of the message.
    pub role: Role,
    /// Parts of the message.
    pub blocks: Vec<ComponentBlock>,
}

/// A part of a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComponentBlock {
    /// Text.
    Text(String),
    /// Reasoning of the model: the JSON text of a [`Reasoning`].
    Reasoning(String),
    /// A call of a tool.
    ToolCall(ComponentToolCall),
    /// A result of a tool.
    ToolResult(ToolResult),
    /// A file.
    Media(Media),
}

/// A call of a tool.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct GivenCall")]
pub struct ComponentToolCall {
    /// The provider's id of the call.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// Arguments, as JSON text.
    pub arguments: String,
}

/// A tool that the model may ask for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct GivenTool")]
pub struct ComponentTool {
    /// Name of the tool.
    pub name: String,
    /// Description of the tool for the model.
    pub description: String,
    /// JSON Schema of the arguments, as JSON text.
    pub parameters: String,
}

/// An answer for a component.
#[derive(Clone, Debug, Serialize)]
pub struct ComponentResponse {
    /// The model's message.
    pub message: ComponentMessage,
    /// Reason for the end of the answer.
    pub stop: StopReason,
    /// Usage of the call.
    pub usage: ComponentUsage,
}

/// Usage of a call: tokens, and their cost.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ComponentUsage {
    /// Tokens of the request.
    pub input: u64,
    /// Tokens of the answer.
    pub output: u64,
    /// Tokens of the request that the provider has read from a cache.
    pub cached: u64,
    /// Tokens of the answer that are reasoning.
    pub reasoning: u64,
    /// Cost in millionths of the currency.
    pub cost: u64,
}

impl ComponentRequest {
    /// Parses the JSON texts of the request. The error has the path of the first text that is not JSON.
    pub fn read(self) -> Result<Request, String> {
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
    parse_strict(text, MAX_NESTING, TreeLimit::CALL)
        .map_err(|error| format!("{path}: it is not JSON: {error}"))
}

fn message(at: usize, ComponentMessage { role, blocks }: ComponentMessage) -> Result<Message, String> {
    let blocks = blocks.into_iter().enumerate();
    let blocks = blocks.map(|(block_at, found)| block(&format!("messages[{at}].blocks[{block_at}]"), found));
    Ok(Message { role, blocks: blocks.collect::<Result<_, _>>()? })
}

fn block(path: &str, block: ComponentBlock) -> Result<Block, String> {
    Ok(match block {
        ComponentBlock::Text(text) => Block::Text(text),
        ComponentBlock::Reasoning(text) => {
            let read = serde_json::from_value::<Reasoning>(parse(&format!("{path}.reasoning"), &text)?);
            Block::Reasoning(read.map_err(|_| {
                format!("{path}.reasoning: it is not what an answer had: `{{\"api\": .., \"item\": ..}}`")
            })?)
        }
        ComponentBlock::ToolCall(ComponentToolCall { id, name, arguments }) => {
            let arguments = parse(&format!("{path}.tool_call.arguments"), &arguments)?;
            Block::ToolCall(ToolCall { id, name, arguments })
        }
        ComponentBlock::ToolResult(result) => Block::ToolResult(result),
        ComponentBlock::Media(media) => Block::Media(media),
    })
}

fn tool(at: usize, ComponentTool { name, description, parameters }: ComponentTool) -> Result<Tool, String> {
    let parameters = parse(&format!("tools[{at}].parameters"), &parameters)?;
    Ok(Tool { name, description, parameters })
}

impl ComponentResponse {
    /// Creates the form of an answer for the component. `cost` is in millionths of the currency.
    pub fn new(response: Response, cost: u64) -> Self {
        let Response { message, stop, usage } = response;
        let usage = usage.unwrap_or_default();
        Self {
            message: ComponentMessage {
                role: message.role,
                blocks: message.blocks.into_iter().map(given_block).collect(),
            },
            stop,
            usage: ComponentUsage {
                input: usage.input,
                output: usage.output,
                cached: usage.cached,
                reasoning: usage.reasoning,
                cost,
            },
        }
    }
}

fn given_block(block: Block) -> ComponentBlock {
    match block {
        Block::Text(text) => ComponentBlock::Text(text),
        Block::Reasoning(reasoning) => ComponentBlock::Reasoning(canonical_string(&json!(reasoning))),
        Block::ToolCall(ToolCall { id, name, arguments }) => {
            ComponentBlock::ToolCall(ComponentToolCall { id, name, arguments: canonical_string(&arguments) })
        }
        Block::ToolResult(result) => ComponentBlock::ToolResult(result),
        Block::Media(media) => ComponentBlock::Media(media),
    }
}
