//! Conversions between the types of this module and those of the contract.

use serde_json::Value;

use super::{
    Block, Budget, Media, Message, Request, Response, Role, StopReason, Tool, ToolCall, ToolChoice,
    ToolResult, Usage,
};
use crate::Failure;
use crate::bindings::model::graph_host::host::model as wit;

pub(super) fn request_into_wit(request: &Request) -> wit::Request {
    wit::Request {
        model: request.model.clone(),
        system: request.system.clone(),
        messages: request.messages.iter().map(message_into_wit).collect(),
        tools: request
            .tools
            .iter()
            .map(|tool| wit::Tool {
                name: tool.name.clone(),
                description: tool.description.clone(),
                parameters: tool.parameters.to_string(),
            })
            .collect(),
        tool_choice: match &request.tool_choice {
            ToolChoice::Auto => wit::ToolChoice::Auto,
            ToolChoice::None => wit::ToolChoice::None,
            ToolChoice::Required => wit::ToolChoice::Required,
            ToolChoice::Named(name) => wit::ToolChoice::Named(name.clone()),
        },
        output_schema: request.output_schema.as_ref().map(Value::to_string),
        max_output: request.max_output,
        temperature: request.temperature,
        stop: request.stop.clone(),
    }
}

/// Converts the request for the host of a test.
#[cfg_attr(target_arch = "wasm32", allow(dead_code, reason = "only a test's host gets requests"))]
pub(crate) fn request_from_wit(request: wit::Request) -> Result<Request, Failure> {
    let tool = |tool: wit::Tool| {
        Ok(Tool { name: tool.name, description: tool.description, parameters: json(&tool.parameters)? })
    };
    Ok(Request {
        model: request.model,
        system: request.system,
        messages: request.messages.into_iter().map(message_from_wit).collect::<Result<_, Failure>>()?,
        tools: request.tools.into_iter().map(tool).collect::<Result<_, Failure>>()?,
        tool_choice: match request.tool_choice {
            wit::ToolChoice::Auto => ToolChoice::Auto,
            wit::ToolChoice::None => ToolChoice::None,
            wit::ToolChoice::Required => ToolChoice::Required,
            wit::ToolChoice::Named(name) => ToolChoice::Named(name),
        },
        output_schema: request.output_schema.as_deref().map(json).transpose()?,
        max_output: request.max_output,
        temperature: request.temperature,
        stop: request.stop,
    })
}

pub(super) fn response_from_wit(response: wit::Response) -> Result<Response, Failure> {
    let wit::Usage { input, output, cached, reasoning, cost } = response.usage;
    Ok(Response {
        message: message_from_wit(response.message)?,
        stop: match response.stop {
            wit::StopReason::End => StopReason::End,
            wit::StopReason::ToolCalls => StopReason::ToolCalls,
            wit::StopReason::MaxOutput => StopReason::MaxOutput,
            wit::StopReason::StopText => StopReason::StopText,
            wit::StopReason::Refused => StopReason::Refused,
        },
        usage: Usage { input, output, cached, reasoning, cost },
    })
}

/// Converts the answer of the host of a test.
#[cfg_attr(target_arch = "wasm32", allow(dead_code, reason = "only a test's host gives answers"))]
pub(crate) fn response_into_wit(response: &Response) -> wit::Response {
    let Usage { input, output, cached, reasoning, cost } = response.usage;
    wit::Response {
        message: message_into_wit(&response.message),
        stop: match response.stop {
            StopReason::End => wit::StopReason::End,
            StopReason::ToolCalls => wit::StopReason::ToolCalls,
            StopReason::MaxOutput => wit::StopReason::MaxOutput,
            StopReason::StopText => wit::StopReason::StopText,
            StopReason::Refused => wit::StopReason::Refused,
        },
        usage: wit::Usage { input, output, cached, reasoning, cost },
    }
}

pub(super) fn budget_from_wit(budget: &wit::Budget) -> Budget {
    let wit::Budget { calls, input, output, cost } = *budget;
    Budget { calls, input, output, cost }
}

/// Converts the budget of the host of a test.
#[cfg_attr(target_arch = "wasm32", allow(dead_code, reason = "only a test's host has a budget of its own"))]
pub(crate) fn budget_into_wit(budget: &Budget) -> wit::Budget {
    let Budget { calls, input, output, cost } = *budget;
    wit::Budget { calls, input, output, cost }
}

fn message_into_wit(message: &Message) -> wit::Message {
    let block = |block: &Block| match block {
        Block::Text(text) => wit::Block::Text(text.clone()),
        Block::Reasoning(item) => wit::Block::Reasoning(item.to_string()),
        Block::ToolCall(call) => wit::Block::ToolCall(wit::ToolCall {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.to_string(),
        }),
        Block::ToolResult(result) => wit::Block::ToolResult(wit::ToolResult {
            id: result.id.clone(),
            content: result.content.clone(),
            failed: result.failed,
        }),
        Block::Media(media) => {
            wit::Block::Media(wit::Media { media_type: media.media_type.clone(), data: media.data.clone() })
        }
    };
    wit::Message {
        role: match message.role {
            Role::User => wit::Role::User,
            Role::Assistant => wit::Role::Assistant,
        },
        blocks: message.blocks.iter().map(block).collect(),
    }
}

fn message_from_wit(message: wit::Message) -> Result<Message, Failure> {
    let block = |block: wit::Block| {
        Ok(match block {
            wit::Block::Text(text) => Block::Text(text),
            wit::Block::Reasoning(item) => Block::Reasoning(json(&item)?),
            wit::Block::ToolCall(wit::ToolCall { id, name, arguments }) => {
                Block::ToolCall(ToolCall { id, name, arguments: json(&arguments)? })
            }
            wit::Block::ToolResult(wit::ToolResult { id, content, failed }) => {
                Block::ToolResult(ToolResult { id, content, failed })
            }
            wit::Block::Media(wit::Media { media_type, data }) => Block::Media(Media { media_type, data }),
        })
    };
    Ok(Message {
        role: match message.role {
            wit::Role::User => Role::User,
            wit::Role::Assistant => Role::Assistant,
        },
        blocks: message.blocks.into_iter().map(block).collect::<Result<_, Failure>>()?,
    })
}

fn json(text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text)
        .map_err(|error| Failure::internal(format_args!("the host gave a text that is no JSON: {error}")))
}
