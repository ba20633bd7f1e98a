//! Events of a stream.

use serde_json::Value;

use super::answer::AnswerDecoder;
use crate::{DecodeError, DecoderBounds, Delta, Response, Usage, json};

#[derive(Debug)]
pub(crate) struct EventDecoder {
    answer: AnswerDecoder,
    done: bool,
}

impl EventDecoder {
    pub(crate) fn new(bounds: &DecoderBounds) -> Self {
        Self { answer: AnswerDecoder::new(bounds), done: false }
    }

    pub(crate) fn event(
        &mut self,
        name: &str,
        data: &[u8],
        bounds: &DecoderBounds,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), DecodeError> {
        if self.done || data.is_empty() || data.trim_ascii() == b"[DONE]" {
            return Ok(());
        }
        let mut event = json::parse(data, bounds)?;
        let kind = json::text(&event, "type", "event")?.unwrap_or(name).to_owned();
        let index = json::count(&event, "index").unwrap_or(0);
        match kind.as_str() {
            "message_start" => {
                self.answer.count(event.get("message").unwrap_or(&Value::Null));
            }
            "content_block_start" => {
                let block = event.get_mut("content_block").map_or(Value::Null, Value::take);
                self.answer.block(index, block, data.len(), "content_block_start.content_block", deltas)?;
            }
            "content_block_delta" => {
                self.answer.delta(index, event.get("delta").unwrap_or(&Value::Null), deltas)?;
            }
            "message_delta" => {
                self.answer.count(&event);
                self.answer.stop(event.get("delta").unwrap_or(&Value::Null), "message_delta.delta")?;
            }
            "message_stop" => self.done = true,
            "error" => return Err(DecodeError::provider(&event)),
            // `ping`, `content_block_stop`, and what later versions of the API add.
            _ => {}
        }
        Ok(())
    }

    pub(crate) fn usage(&self) -> Option<Usage> {
        self.answer.usage()
    }

    /// Completes the answer. The event with the reason for its end follows all blocks, so that `message_stop` is not
    /// required.
    pub(crate) fn finish(self, bounds: &DecoderBounds) -> Result<Response, DecodeError> {
        if !self.answer.is_stopped() {
            return Err(DecodeError::Cut { usage: self.answer.usage() });
        }
        self.answer.finish(bounds)
    }
}
