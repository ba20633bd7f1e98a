//! An answer, while it is put together.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::check::MAX_SHORT_TEXT;
use crate::{
    Api, Block, Bounds, DecodeError, Message, Reasoning, Response, Role, StopReason, ToolCall, Usage, json,
};

/// The arguments of a call, as an API says them.
#[derive(Debug)]
pub(crate) enum Arguments {
    /// A text of JSON.
    Text(String),
    /// JSON.
    Value(Value),
}

#[derive(Debug)]
enum Part {
    Block(Block),
    Call { id: String, name: String, arguments: Arguments },
}

/// The blocks of an answer, in order.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    parts: Vec<Part>,
}

impl Draft {
    /// Empty text is left out.
    pub(crate) fn text(&mut self, text: String) {
        if !text.is_empty() {
            self.parts.push(Part::Block(Block::Text(text)));
        }
    }

    pub(crate) fn reasoning(&mut self, api: Api, item: Value) {
        self.parts.push(Part::Block(Block::Reasoning(Reasoning { api: api.name().to_owned(), item })));
    }

    /// A call of a tool. A name that is too long for a conversation to hold is cut: there is no such tool.
    pub(crate) fn call(&mut self, id: String, mut name: String, arguments: Arguments) {
        name.truncate(name.floor_char_boundary(MAX_SHORT_TEXT));
        self.parts.push(Part::Call { id, name, arguments });
    }

    /// The answer. Servers that are not exact about why it ends do not matter: it asks for tools if it has calls. One that ends with
    /// calls, and has neither a call nor text, has lost them.
    pub(crate) fn finish(
        self,
        stop: StopReason,
        usage: Option<Usage>,
        bounds: &Bounds,
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

/// Some servers have no ids, the same one for all calls of an answer, or one without an end; results have to name one call.
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

/// The object, or else a string with what the model has written. A model that has nothing to say to a tool can leave out the arguments.
fn object_or_text(arguments: Arguments, bounds: &Bounds) -> Value {
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
