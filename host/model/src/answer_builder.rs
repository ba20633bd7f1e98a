//! An answer while it is decoded.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::check::MAX_SHORT_TEXT;
use crate::{
    Api, Block, DecodeError, DecoderBounds, Message, Reasoning, Response, Role, StopReason, ToolCall, Usage,
    json,
};

/// Arguments of a call, in the form in which an API returns them.
#[derive(Debug)]
pub(crate) enum Arguments {
    /// Text that should be JSON.
    Text(String),
    /// JSON value.
    Value(Value),
}

#[derive(Debug)]
enum Part {
    Block(Block),
    Call { id: String, name: String, arguments: Arguments },
}

/// Blocks of an answer, in order, while it is decoded.
#[derive(Debug, Default)]
pub(crate) struct AnswerBuilder {
    parts: Vec<Part>,
}

impl AnswerBuilder {
    /// Adds a text, unless it is empty.
    pub(crate) fn text(&mut self, text: String) {
        if !text.is_empty() {
            self.parts.push(Part::Block(Block::Text(text)));
        }
    }

    pub(crate) fn reasoning(&mut self, api: Api, item: Value) {
        self.parts.push(Part::Block(Block::Reasoning(Reasoning { api: api.name().to_owned(), item })));
    }

    /// Adds a tool call. A name that is longer than a request may have is cut: no tool has such a name.
    pub(crate) fn call(&mut self, id: String, mut name: String, arguments: Arguments) {
        name.truncate(name.floor_char_boundary(MAX_SHORT_TEXT));
        self.parts.push(Part::Call { id, name, arguments });
    }

    /// Completes the answer. Some servers report a wrong stop reason, so it is corrected: an answer with calls asks for
    /// tools, one without does not. One that ends with calls, and has neither a call nor text, has lost them.
    pub(crate) fn finish(
        self,
        stop: StopReason,
        usage: Option<Usage>,
        bounds: &DecoderBounds,
    ) -> Result<Response, DecodeError> {
        let is_answer = |part: &Part| !matches!(part, Part::Block(Block::Reasoning(_)));
        if stop == StopReason::ToolCalls && !self.parts.iter().any(is_answer) {
            return Err(DecodeError::Cut { usage });
        }
        let mut ids = BTreeSet::new();
        let mut blocks = Vec::with_capacity(self.parts.len());
        for part in self.parts {
            blocks.push(match part {
                Part::Block(block) => block,
                Part::Call { id, name, arguments } => {
                    let arguments = object_or_text(arguments, bounds);
                    let id = unique(id, &ids);
                    ids.insert(id.clone());
                    Block::ToolCall(ToolCall { id, name, arguments })
                }
            });
        }
        let stop = match stop {
            StopReason::End if !ids.is_empty() => StopReason::ToolCalls,
            StopReason::ToolCalls if ids.is_empty() => StopReason::End,
            stop => stop,
        };
        Ok(Response { message: Message { role: Role::Assistant, blocks }, stop, usage })
    }
}

/// Returns the id of a call, or a new id if it is empty, too long or used by another call of the answer: some servers
/// send such ids, but a result has to name exactly one call.
fn unique(id: String, taken: &BTreeSet<String>) -> String {
    if !id.is_empty() && id.len() <= MAX_SHORT_TEXT && !taken.contains(&id) {
        return id;
    }
    let mut number = taken.len();
    loop {
        let id = format!("call_{number}");
        if !taken.contains(&id) {
            return id;
        }
        number += 1;
    }
}

/// Returns arguments that are a JSON object, and all others as a string with the text that the model has written. Empty
/// arguments become an empty object.
fn object_or_text(arguments: Arguments, bounds: &DecoderBounds) -> Value {
    match arguments {
        Arguments::Text(text) if text.trim().is_empty() => Value::Object(Map::new()),
        Arguments::Text(text) => match json::parse(text.as_bytes(), bounds) {
            Ok(object @ Value::Object(_)) => object,
            Ok(_) | Err(_) => Value::String(text),
        },
        Arguments::Value(object @ Value::Object(_)) => object,
        Arguments::Value(other) => Value::String(other.to_string()),
    }
}
