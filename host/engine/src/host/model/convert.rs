//! Converts requests and answers between the contract's types and the host's.

use graph_core::limits::ModelUse;
use graph_model::exchange::{
    ComponentBlock, ComponentMessage, ComponentRequest, ComponentResponse, ComponentTool, ComponentToolCall,
    ComponentUsage,
};
use graph_model::{Media, Request, Response, Role, StopReason, ToolChoice, ToolResult};

use crate::bindings::graph_host::host::model as wit;

/// Converts a request; the error names the place that is not JSON.
pub(super) fn request(request: wit::Request) -> Result<Request, String> {
    let tool = |wit::Tool { name, description, parameters }| ComponentTool { name, description, parameters };
    let given = ComponentRequest {
        model: request.model,
        system: request.system,
        messages: request.messages.into_iter().map(message).collect(),
        tools: request.tools.into_iter().map(tool).collect(),
        tool_choice: match request.tool_choice {
            wit::ToolChoice::Auto => ToolChoice::Auto,
            wit::ToolChoice::None => ToolChoice::None,
            wit::ToolChoice::Required => ToolChoice::Required,
            wit::ToolChoice::Named(name) => ToolChoice::Named(name),
        },
        output_schema: request.output_schema,
        max_output: request.max_output,
        temperature: request.temperature,
        stop: request.stop,
    };
    given.read()
}

fn message(message: wit::Message) -> ComponentMessage {
    let role = match message.role {
        wit::Role::User => Role::User,
        wit::Role::Assistant => Role::Assistant,
    };
    ComponentMessage { role, blocks: message.blocks.into_iter().map(block).collect() }
}

fn block(block: wit::Block) -> ComponentBlock {
    match block {
        wit::Block::Text(text) => ComponentBlock::Text(text),
        wit::Block::Reasoning(text) => ComponentBlock::Reasoning(text),
        wit::Block::ToolCall(wit::ToolCall { id, name, arguments }) => {
            ComponentBlock::ToolCall(ComponentToolCall { id, name, arguments })
        }
        wit::Block::ToolResult(wit::ToolResult { id, content, failed }) => {
            ComponentBlock::ToolResult(ToolResult { id, content, failed })
        }
        wit::Block::Media(wit::Media { media_type, data }) => {
            ComponentBlock::Media(Media { media_type, data })
        }
    }
}

/// Converts an answer for a component, with its cost in millionths.
pub(super) fn response(response: Response, cost: u64) -> wit::Response {
    let ComponentResponse { message, stop, usage } = ComponentResponse::new(response, cost);
    let ComponentUsage { input, output, cached, reasoning, cost } = usage;
    wit::Response {
        message: wit::Message {
            role: match message.role {
                Role::User => wit::Role::User,
                Role::Assistant => wit::Role::Assistant,
            },
            blocks: message.blocks.into_iter().map(answered_block).collect(),
        },
        stop: match stop {
            StopReason::End => wit::StopReason::End,
            StopReason::ToolCalls => wit::StopReason::ToolCalls,
            StopReason::MaxOutput => wit::StopReason::MaxOutput,
            StopReason::StopText => wit::StopReason::StopText,
            StopReason::Refused => wit::StopReason::Refused,
        },
        usage: wit::Usage { input, output, cached, reasoning, cost },
    }
}

fn answered_block(block: ComponentBlock) -> wit::Block {
    match block {
        ComponentBlock::Text(text) => wit::Block::Text(text),
        ComponentBlock::Reasoning(text) => wit::Block::Reasoning(text),
        ComponentBlock::ToolCall(ComponentToolCall { id, name, arguments }) => {
            wit::Block::ToolCall(wit::ToolCall { id, name, arguments })
        }
        ComponentBlock::ToolResult(ToolResult { id, content, failed }) => {
            wit::Block::ToolResult(wit::ToolResult { id, content, failed })
        }
        ComponentBlock::Media(Media { media_type, data }) => {
            wit::Block::Media(wit::Media { media_type, data })
        }
    }
}

/// Converts the rest of a budget; a figure without a limit becomes `None`.
pub(super) fn budget(left: ModelUse) -> wit::Budget {
    let figure = |figure: u64| (figure != u64::MAX).then_some(figure);
    let ModelUse { calls, input, output, cost } = left;
    wit::Budget { calls: figure(calls), input: figure(input), output: figure(output), cost: figure(cost) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use graph_model::exchange::MAX_NESTING;
    use graph_model::{Block, Message, Reasoning};
    use serde_json::json;

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
    fn a_request_is_read_from_the_types_of_components() {
        let media = wit::Media { media_type: "image/png".to_owned(), data: vec![0; 3] };
        let blocks = vec![wit::Block::Text("hello".to_owned()), wit::Block::Media(media)];
        let tool = wit::Tool {
            name: "a".to_owned(),
            description: String::new(),
            parameters: r#"{ "type": "object" }"#.to_owned(),
        };
        let given = wit::Request {
            system: Some("s".to_owned()),
            tools: vec![tool],
            tool_choice: wit::ToolChoice::Named("a".to_owned()),
            output_schema: Some("{}".to_owned()),
            max_output: Some(5),
            ..asks(blocks)
        };
        let media = json!({ "media_type": "image/png", "data": "AAAA" });
        assert_eq!(
            json!(request(given).unwrap()),
            json!({
                "model": "fast",
                "system": "s",
                "messages": [{ "role": "user", "blocks": [{ "text": "hello" }, { "media": media }] }],
                "tools": [{ "name": "a", "parameters": { "type": "object" } }],
                "tool_choice": { "named": "a" },
                "output_schema": {},
                "max_output": 5,
                "temperature": 0.5,
                "stop": ["end"],
            })
        );
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
        let message = Message { role: Role::Assistant, blocks: vec![block.clone()] };
        let answer = response(Response { message, stop: StopReason::End, usage: None }, 7);
        assert_eq!(answer.usage.cost, 7);
        let read = request(asks(answer.message.blocks)).unwrap();
        assert_eq!(read.messages[0].blocks, [block]);
    }
}
