//! Rules of requests that the host checks, so that a test detects a conversation that every provider would refuse.

use std::collections::BTreeSet;

use crate::Failure;
use crate::model::{Block, Message, Request, Role};

pub(super) fn check(request: &Request) -> Result<(), Failure> {
    if request.messages.last().is_none_or(|message| message.role != Role::User) {
        return refuse("messages", "the last message must be the user's");
    }
    for (index, message) in request.messages.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| request.messages.get(before));
        let path = format!("messages[{index}]");
        check_blocks(&path, message)?;
        check_results(&path, message, before)?;
    }
    let mut names = BTreeSet::new();
    for tool in &request.tools {
        let characters = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        let name = tool.name.as_str();
        if !(1..=64).contains(&name.len()) || !name.bytes().all(characters) {
            return refuse(&format!("tools: `{name}`"), "a name has 1 to 64 letters, digits, `_` and `-`");
        }
        if !names.insert(name) {
            return refuse(&format!("tools: `{name}`"), "the name is used twice");
        }
        if !tool.parameters.is_object() {
            return refuse(&format!("tools: `{name}`"), "the parameters must be an object");
        }
    }
    if request.stop.len() > 4 {
        return refuse("stop", "at most 4 texts are allowed");
    }
    if request.temperature.is_some_and(|temperature| !(0.0..=2.0).contains(&temperature)) {
        return refuse("temperature", "must be from 0 to 2");
    }
    Ok(())
}

fn check_blocks(path: &str, message: &Message) -> Result<(), Failure> {
    if message.role == Role::User && message.blocks.is_empty() {
        return refuse(path, "a message of the user must not be empty");
    }
    for block in &message.blocks {
        let role = match block {
            Block::Text(text) if text.is_empty() => return refuse(path, "a text must not be empty"),
            Block::Text(_) => continue,
            Block::Reasoning(_) | Block::ToolCall(_) => Role::Assistant,
            Block::ToolResult(_) | Block::Media(_) => Role::User,
        };
        if role != message.role {
            return refuse(path, "a block is in a message of the wrong role");
        }
    }
    Ok(())
}

/// Checks that every call of a message has one result in the message after it, and that there are no other results.
fn check_results(path: &str, message: &Message, before: Option<&Message>) -> Result<(), Failure> {
    let calls: BTreeSet<_> =
        before.into_iter().flat_map(Message::tool_calls).map(|call| call.id.as_str()).collect();
    let results: Vec<_> = message.tool_results().map(|result| result.id.as_str()).collect();
    let answered: BTreeSet<_> = results.iter().copied().collect();
    if calls != answered || answered.len() != results.len() {
        return refuse(path, "each call of the message before must have one result");
    }
    Ok(())
}

fn refuse(path: &str, rule: &str) -> Result<(), Failure> {
    Err(Failure::invalid_input(format_args!("{path}: {rule}")))
}
