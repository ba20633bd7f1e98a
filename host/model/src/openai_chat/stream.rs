//! Events of a stream.

use super::answer::{AnswerDecoder, usage};
use crate::{DecodeError, DecoderBounds, Delta, Response, Usage, json};

#[derive(Debug)]
pub(crate) struct EventDecoder {
    answer: AnswerDecoder,
    done: bool,
}

impl EventDecoder {
    pub(crate) fn new(bounds: &DecoderBounds) -> Self {
        Self { answer: AnswerDecoder::in_pieces(bounds), done: false }
    }

    pub(crate) fn event(
        &mut self,
        name: &str,
        data: &[u8],
        bounds: &DecoderBounds,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), DecodeError> {
        if self.done || data.is_empty() {
            return Ok(());
        }
        if data.trim_ascii() == b"[DONE]" {
            self.done = true;
            return Ok(());
        }
        let event = json::parse(data, bounds)?;
        // Some servers report the usage so far in every piece. It only grows.
        if let Some(usage) = usage(&event) {
            self.answer.usage = Some(self.answer.usage.map_or(usage, |known| known.max(usage)));
        }
        if json::field(&event, "error").is_some() || name == "error" {
            return Err(DecodeError::provider(&event));
        }
        // The piece with the usage has no choices.
        if let Some(choice) = json::items(&event, "choices", "chunk")?.first() {
            if let Some(delta) = json::field(choice, "delta") {
                self.answer.message(delta, "choices[0].delta", deltas)?;
            }
            self.answer.choice(choice, "choices[0]")?;
        }
        Ok(())
    }

    pub(crate) fn usage(&self) -> Option<Usage> {
        self.answer.usage
    }

    /// Completes the answer. Not every server sends `[DONE]` or a reason for the end. One of them suffices, but
    /// `[DONE]` without any text or call is not an answer.
    pub(crate) fn finish(self, bounds: &DecoderBounds) -> Result<Response, DecodeError> {
        let is_whole = self.answer.is_finished() || (self.done && self.answer.has_begun());
        if !is_whole {
            return Err(DecodeError::Cut { usage: self.answer.usage });
        }
        self.answer.finish(bounds)
    }
}
