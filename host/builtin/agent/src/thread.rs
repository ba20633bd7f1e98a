//! The conversation: a list of messages that only grows, except for summaries.

use graph_sdk::model::{Block, Message, Role};

/// The messages as a model gets them: messages of the user that follow each other are one, as every provider requires of results of
/// tools and what the user says next to them.
pub(crate) fn merged<'m>(messages: impl Iterator<Item = &'m Message>) -> Vec<Message> {
    let mut merged: Vec<Message> = Vec::new();
    for message in messages {
        match merged.last_mut() {
            Some(last) if last.role == Role::User && message.role == Role::User => {
                last.blocks.extend(message.blocks.iter().cloned());
            }
            _ => merged.push(message.clone()),
        }
    }
    merged
}

/// About the tokens of messages.
pub(crate) fn tokens(messages: &[Message]) -> u64 {
    tokens_of(messages.iter().map(size).sum())
}

/// About the tokens of JSON text, by its bytes: a token is about 4 bytes.
pub(crate) fn tokens_of(bytes: usize) -> u64 {
    bytes as u64 / 4
}

/// The bytes of a message's JSON text.
pub(crate) fn size(message: &Message) -> usize {
    graph_sdk::serde_json::to_string(message).map_or(0, |text| text.len())
}

/// Whether a message brings results of tools, which belong to the message before it.
pub(crate) fn has_results(message: &Message) -> bool {
    message.tool_results().next().is_some()
}

/// The messages as text, for a summary.
pub(crate) fn transcript(messages: &[Message]) -> String {
    let mut text = String::new();
    for message in messages {
        for block in &message.blocks {
            let (who, what) = match (block, message.role) {
                (Block::Text(said), Role::User) => ("User".to_owned(), said.clone()),
                (Block::Text(said), Role::Assistant) => ("Assistant".to_owned(), said.clone()),
                (Block::ToolCall(call), _) => {
                    (format!("Assistant calls `{}`", call.name), call.arguments.to_string())
                }
                (Block::ToolResult(result), _) => (
                    if result.failed { "The tool failed" } else { "The tool returned" }.to_owned(),
                    result.content.clone(),
                ),
                (Block::Media(media), _) => {
                    ("User".to_owned(), format!("[a file: {}, {} bytes]", media.media_type, media.data.len()))
                }
                // It is in the form of one provider and says nothing to others.
                (Block::Reasoning(_), _) => continue,
            };
            text.push_str(&who);
            text.push_str(": ");
            text.push_str(&what);
            text.push_str("\n\n");
        }
    }
    text
}
