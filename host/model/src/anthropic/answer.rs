//! Decoding of an answer, from whole blocks or from pieces of them.

use std::collections::BTreeMap;
use std::fmt::Display;

use serde_json::Value;

use crate::answer_builder::{AnswerBuilder, Arguments};
use crate::bounds::Meter;
use crate::{Api, DecodeError, DecoderBounds, Delta, Response, StopReason, Usage, json};

#[derive(Debug)]
pub(super) struct AnswerDecoder {
    meter: Meter,
    blocks: BTreeMap<u64, Open>,
    calls: usize,
    stop: Stop,
    counts: Counts,
}

/// Reason for the end of the answer.
#[derive(Debug)]
enum Stop {
    /// The answer has not ended.
    Open,
    Known(StopReason),
    /// A reason that is not known, so that the answer may be incomplete.
    Unknown,
}

/// A block, or the part of it that was received.
#[derive(Debug)]
enum Open {
    Text(String),
    /// `block` has all fields that are not sent in pieces.
    Thinking {
        block: Value,
        thinking: String,
        signature: Option<String>,
    },
    Redacted(Value),
    Call {
        call: usize,
        id: String,
        name: String,
        input: Value,
        pieces: String,
    },
    /// A block of a tool that the provider runs, which no request asks for.
    Other,
}

impl AnswerDecoder {
    pub(super) fn new(bounds: &DecoderBounds) -> Self {
        Self {
            meter: Meter::new(bounds),
            blocks: BTreeMap::new(),
            calls: 0,
            stop: Stop::Open,
            counts: Counts::default(),
        }
    }

    /// Adds a block, or the start of one. `size` is the number of bytes of its event, to be counted.
    pub(super) fn block(
        &mut self,
        index: u64,
        mut block: Value,
        size: usize,
        place: impl Display,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), DecodeError> {
        self.meter.block()?;
        self.meter.bytes(size)?;
        let open = match json::text(&block, "type", &place)? {
            Some("text") => {
                let text = json::text(&block, "text", &place)?.unwrap_or_default();
                deltas.extend((!text.is_empty()).then(|| Delta::Text(text.to_owned())));
                Open::Text(text.to_owned())
            }
            Some("thinking") => {
                let thinking = json::text(&block, "thinking", &place)?.unwrap_or_default().to_owned();
                deltas.extend((!thinking.is_empty()).then(|| Delta::Reasoning(thinking.clone())));
                let signature = json::text(&block, "signature", &place)?.map(str::to_owned);
                Open::Thinking { block, thinking, signature }
            }
            Some("redacted_thinking") => Open::Redacted(block),
            Some("tool_use") => {
                let text =
                    |name| json::text(&block, name, &place).map(|text| text.unwrap_or_default().to_owned());
                let (id, name) = (text("id")?, text("name")?);
                let input = block.get_mut("input").map_or(Value::Null, Value::take);
                let call = self.calls;
                self.calls += 1;
                deltas.push(Delta::ToolCall { call, name: Some(name.clone()), arguments: String::new() });
                Open::Call { call, id, name, input, pieces: String::new() }
            }
            _ => Open::Other,
        };
        self.blocks.insert(index, open);
        Ok(())
    }

    /// Appends a piece to a block.
    pub(super) fn delta(
        &mut self,
        index: u64,
        delta: &Value,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), DecodeError> {
        let place = "content_block_delta.delta";
        let Some(open) = self.blocks.get_mut(&index) else {
            return Err(DecodeError::shape("content_block_delta.index".to_owned(), "that of a block"));
        };
        let piece = |name| json::text(delta, name, place).map(Option::unwrap_or_default);
        match (json::text(delta, "type", place)?, open) {
            (Some("text_delta"), Open::Text(text)) => {
                let piece = piece("text")?;
                self.meter.append(text, piece)?;
                deltas.extend((!piece.is_empty()).then(|| Delta::Text(piece.to_owned())));
            }
            (Some("thinking_delta"), Open::Thinking { thinking, .. }) => {
                let piece = piece("thinking")?;
                self.meter.append(thinking, piece)?;
                deltas.extend((!piece.is_empty()).then(|| Delta::Reasoning(piece.to_owned())));
            }
            (Some("signature_delta"), Open::Thinking { signature, .. }) => {
                let mut text = String::new();
                self.meter.append(&mut text, piece("signature")?)?;
                *signature = Some(text);
            }
            (Some("input_json_delta"), Open::Call { call, pieces, .. }) => {
                let piece = piece("partial_json")?;
                self.meter.append(pieces, piece)?;
                if !piece.is_empty() {
                    deltas.push(Delta::ToolCall { call: *call, name: None, arguments: piece.to_owned() });
                }
            }
            // Citations, and what later versions of the API add.
            _ => {}
        }
        Ok(())
    }

    /// Reads the reason for the end of the answer, if `value` has one.
    pub(super) fn stop(&mut self, value: &Value, place: impl Display) -> Result<(), DecodeError> {
        let Some(reason) = json::text(value, "stop_reason", place)? else {
            return Ok(());
        };
        self.stop = match reason {
            "end_turn" => Stop::Known(StopReason::End),
            "max_tokens" | "model_context_window_exceeded" => Stop::Known(StopReason::MaxOutput),
            "stop_sequence" => Stop::Known(StopReason::StopText),
            "tool_use" => Stop::Known(StopReason::ToolCalls),
            "refusal" => Stop::Known(StopReason::Refused),
            _ => Stop::Unknown,
        };
        Ok(())
    }

    pub(super) fn is_stopped(&self) -> bool {
        !matches!(self.stop, Stop::Open)
    }

    /// Reads the `usage` of a message or of an event.
    pub(super) fn count(&mut self, value: &Value) {
        self.counts.read(value);
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        self.counts.usage()
    }

    pub(super) fn finish(self, bounds: &DecoderBounds) -> Result<Response, DecodeError> {
        let usage = self.counts.usage();
        let Stop::Known(stop) = self.stop else {
            return Err(DecodeError::shape("stop_reason".to_owned(), "a reason that is known"));
        };
        let mut draft = AnswerBuilder::default();
        for open in self.blocks.into_values() {
            match open {
                Open::Text(text) => draft.text(text),
                Open::Thinking { mut block, thinking, signature } => {
                    block["thinking"] = Value::String(thinking);
                    if let Some(signature) = signature {
                        block["signature"] = Value::String(signature);
                    }
                    draft.reasoning(Api::Anthropic, block);
                }
                Open::Redacted(block) => draft.reasoning(Api::Anthropic, block),
                Open::Call { id, name, input, pieces, .. } => {
                    let arguments = if pieces.is_empty() && !input.is_null() {
                        Arguments::Value(input)
                    } else {
                        Arguments::Text(pieces)
                    };
                    draft.call(id, name, arguments);
                }
                Open::Other => {}
            }
        }
        draft.finish(stop, usage, bounds)
    }
}

/// Token counts. A stream reports them in several events. They only grow, and an event can leave out counts that
/// another has.
#[derive(Debug, Default)]
struct Counts {
    input: Option<u64>,
    output: Option<u64>,
    cache_write: Option<u64>,
    cached: Option<u64>,
    reasoning: Option<u64>,
    /// True if the count of input or output tokens was not a number.
    unusable: bool,
}

impl Counts {
    fn read(&mut self, value: &Value) {
        let Some(usage) = json::field(value, "usage") else {
            return;
        };
        let unusable = |name| json::count_or_none(usage, name).is_none();
        self.unusable |= unusable("input_tokens") || unusable("output_tokens");
        let details = json::field(usage, "output_tokens_details").unwrap_or(&Value::Null);
        for (count, said) in [
            (&mut self.input, json::count(usage, "input_tokens")),
            (&mut self.output, json::count(usage, "output_tokens")),
            (&mut self.cache_write, json::count(usage, "cache_creation_input_tokens")),
            (&mut self.cached, json::count(usage, "cache_read_input_tokens")),
            (&mut self.reasoning, json::count(details, "thinking_tokens")),
        ] {
            *count = (*count).max(said);
        }
    }

    /// Returns the usage. Anthropic's `input_tokens` do not include the tokens that were read from or written to a
    /// cache, so these are added.
    fn usage(&self) -> Option<Usage> {
        if self.unusable {
            return None;
        }
        let cached = self.cached.unwrap_or(0);
        let cache_write = self.cache_write.unwrap_or(0);
        let usage = Usage {
            input: self.input?.saturating_add(cached).saturating_add(cache_write),
            output: self.output.unwrap_or(0),
            cached,
            cache_write,
            reasoning: self.reasoning.unwrap_or(0),
        };
        Some(usage.bounded())
    }
}
