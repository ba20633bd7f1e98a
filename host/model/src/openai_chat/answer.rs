//! Decoding of an answer, from a whole message or from pieces of one, which have the same fields.

use std::fmt::Display;

use serde_json::{Map, Value};

use super::encode::REASONING;
use crate::answer_builder::{AnswerBuilder, Arguments};
use crate::bounds::Meter;
use crate::{Api, DecodeError, DecoderBounds, Delta, Response, StopReason, Usage, json};

#[derive(Debug)]
pub(super) struct AnswerDecoder {
    meter: Meter,
    /// Reasoning, by the fields of [`REASONING`].
    reasoning: [String; REASONING.len()],
    text: String,
    refusal: String,
    calls: Vec<Call>,
    /// True if the answer is one message, so that each of its calls is a new one.
    is_whole: bool,
    finish: Option<Finish>,
    pub(super) usage: Option<Usage>,
}

#[derive(Debug)]
struct Call {
    index: u64,
    id: String,
    name: String,
    arguments: String,
}

/// Reason for the end of the answer. With one that is not known, the answer may be incomplete.
#[derive(Debug)]
enum Finish {
    Known(StopReason),
    Failed,
    Unknown,
}

impl AnswerDecoder {
    /// Creates an answer that is received in pieces.
    pub(super) fn in_pieces(bounds: &DecoderBounds) -> Self {
        Self { is_whole: false, ..Self::whole(bounds) }
    }

    /// Creates an answer that is received as one message.
    pub(super) fn whole(bounds: &DecoderBounds) -> Self {
        Self {
            meter: Meter::new(bounds),
            reasoning: Default::default(),
            text: String::new(),
            refusal: String::new(),
            calls: Vec::new(),
            is_whole: true,
            finish: None,
            usage: None,
        }
    }

    /// Adds a message, or the next piece of it.
    pub(super) fn message(
        &mut self,
        message: &Value,
        place: impl Display,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), DecodeError> {
        let mut shown = false;
        for (index, name) in REASONING.into_iter().enumerate() {
            let Some(piece) = json::text(message, name, &place)?.filter(|piece| !piece.is_empty()) else {
                continue;
            };
            self.meter.append(&mut self.reasoning[index], piece)?;
            // Servers that send both fields send the same text in both.
            if !std::mem::replace(&mut shown, true) {
                deltas.push(Delta::Reasoning(piece.to_owned()));
            }
        }
        self.content(message, &place, deltas)?;
        if let Some(piece) = json::text(message, "refusal", &place)? {
            self.meter.append(&mut self.refusal, piece)?;
            show(piece, deltas);
        }
        // The one call of an API that came before this one.
        if json::field(message, "function_call").is_some() {
            let expected = "where calls are: they are in `tool_calls`";
            return Err(DecodeError::shape(format!("{place}.function_call"), expected));
        }
        for (position, call) in json::items(message, "tool_calls", &place)?.iter().enumerate() {
            self.call(call, format_args!("{place}.tool_calls[{position}]"), deltas)?;
        }
        Ok(())
    }

    /// Adds the content: a text or, as some servers send it, an array of parts.
    fn content(
        &mut self,
        message: &Value,
        place: impl Display,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), DecodeError> {
        match json::field(message, "content") {
            None => {}
            Some(Value::String(piece)) => {
                self.meter.append(&mut self.text, piece)?;
                show(piece, deltas);
            }
            Some(Value::Array(parts)) => {
                for (index, part) in parts.iter().enumerate() {
                    if let Some(piece) = json::text(part, "text", format_args!("{place}.content[{index}]"))? {
                        self.meter.append(&mut self.text, piece)?;
                        show(piece, deltas);
                    }
                }
            }
            Some(_) => return Err(DecodeError::shape(format!("{place}.content"), "a text")),
        }
        Ok(())
    }

    fn call(
        &mut self,
        value: &Value,
        place: impl Display,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), DecodeError> {
        let id = json::text(value, "id", &place)?.unwrap_or_default();
        let function = json::field(value, "function").unwrap_or(&Value::Null);
        let name = json::text(function, "name", format_args!("{place}.function"))?.unwrap_or_default();
        // Some servers send an object.
        let object;
        let piece = match json::field(function, "arguments") {
            None => "",
            Some(Value::String(piece)) => piece,
            Some(value @ Value::Object(_)) => {
                object = value.to_string();
                &object
            }
            Some(_) => return Err(DecodeError::shape(format!("{place}.function.arguments"), "a text")),
        };
        let position = self.position(json::count(value, "index"), id, name);
        let position = if let Some(position) = position {
            position
        } else {
            self.meter.block()?;
            let index = json::count(value, "index").unwrap_or(self.calls.len() as u64);
            self.calls.push(Call { index, id: String::new(), name: String::new(), arguments: String::new() });
            self.calls.len() - 1
        };
        let call = &mut self.calls[position];
        let starts = call.name.is_empty() && !name.is_empty();
        if call.id.is_empty() {
            self.meter.append(&mut call.id, id)?;
        }
        if starts {
            self.meter.append(&mut call.name, name)?;
        }
        self.meter.append(&mut call.arguments, piece)?;
        if starts || !piece.is_empty() {
            deltas.push(Delta::ToolCall {
                call: position,
                name: starts.then(|| name.to_owned()),
                arguments: piece.to_owned(),
            });
        }
        Ok(())
    }

    /// Returns the call that a piece continues, or `None` if it starts a call. A piece has the index of its call, but
    /// some servers leave it out, or use the same one for every call; then another id, or another tool, starts another
    /// call.
    fn position(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        if self.is_whole {
            return None;
        }
        let position = match index {
            Some(index) => self.calls.iter().rposition(|call| call.index == index)?,
            None if id.is_empty() && name.is_empty() => self.calls.len().checked_sub(1)?,
            None if id.is_empty() => return None,
            None => self.calls.iter().rposition(|call| call.id == id)?,
        };
        let call = &self.calls[position];
        let differs = |known: &str, said: &str| !known.is_empty() && !said.is_empty() && known != said;
        let begins =
            !id.is_empty() && !name.is_empty() && (differs(&call.id, id) || differs(&call.name, name));
        (!begins).then_some(position)
    }

    /// Reads the reason for the end of the answer.
    pub(super) fn choice(&mut self, choice: &Value, place: impl Display) -> Result<(), DecodeError> {
        let Some(reason) = json::text(choice, "finish_reason", place)? else {
            return Ok(());
        };
        self.finish = Some(match reason {
            // vLLM puts the text at which the model has stopped into `stop_reason`.
            "stop" if choice.get("stop_reason").is_some_and(Value::is_string) => {
                Finish::Known(StopReason::StopText)
            }
            "stop" | "eos" | "end_turn" => Finish::Known(StopReason::End),
            "tool_calls" | "function_call" => Finish::Known(StopReason::ToolCalls),
            // `max_tokens` and `model_length` are what other APIs call it.
            "length" | "max_tokens" | "model_length" => Finish::Known(StopReason::MaxOutput),
            "content_filter" => Finish::Known(StopReason::Refused),
            "error" => Finish::Failed,
            _ => Finish::Unknown,
        });
        Ok(())
    }

    pub(super) fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// Reports whether text, a refusal or a call was received. Reasoning alone is not an answer.
    pub(super) fn has_begun(&self) -> bool {
        !(self.text.is_empty() && self.refusal.is_empty() && self.calls.is_empty())
    }

    pub(super) fn finish(self, bounds: &DecoderBounds) -> Result<Response, DecodeError> {
        let stop = match self.finish {
            _ if !self.refusal.is_empty() => StopReason::Refused,
            Some(Finish::Known(stop)) => stop,
            Some(Finish::Failed) => return Err(DecodeError::provider(&Value::Null)),
            Some(Finish::Unknown) => {
                let expected = "a reason that is known";
                return Err(DecodeError::shape("choices[0].finish_reason".to_owned(), expected));
            }
            None => StopReason::End,
        };
        let mut draft = AnswerBuilder::default();
        let mut item = Map::new();
        for (name, text) in REASONING.into_iter().zip(self.reasoning) {
            if !text.is_empty() {
                item.insert(name.to_owned(), Value::String(text));
            }
        }
        if !item.is_empty() {
            draft.reasoning(Api::OpenAiChat, Value::Object(item));
        }
        draft.text(self.text);
        draft.text(self.refusal);
        for call in self.calls {
            draft.call(call.id, call.name, Arguments::Text(call.arguments));
        }
        draft.finish(stop, self.usage, bounds)
    }
}

fn show(piece: &str, deltas: &mut Vec<Delta>) {
    if !piece.is_empty() {
        deltas.push(Delta::Text(piece.to_owned()));
    }
}

/// Returns the usage of an answer or of a piece of one, if it is reported.
pub(super) fn usage(answer: &Value) -> Option<Usage> {
    let usage = json::field(answer, "usage")?;
    let input = json::count(usage, "prompt_tokens")?;
    let completion = json::count_or_none(usage, "completion_tokens")?;
    // Some servers count reasoning tokens only in the total.
    let rest = json::count_or_none(usage, "total_tokens")?.saturating_sub(input);
    let detail = |of: &str, name: &str| json::field(usage, of).and_then(|details| json::count(details, name));
    let usage = Usage {
        input,
        output: completion.max(rest),
        // DeepSeek uses another field.
        cached: detail("prompt_tokens_details", "cached_tokens")
            .or_else(|| json::count(usage, "prompt_cache_hit_tokens"))
            .unwrap_or(0),
        cache_write: detail("prompt_tokens_details", "cache_write_tokens").unwrap_or(0),
        reasoning: detail("completion_tokens_details", "reasoning_tokens").unwrap_or(0),
    };
    Some(usage.bounded())
}
