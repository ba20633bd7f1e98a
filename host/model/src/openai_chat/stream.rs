//! Events of a stream.

use super::answer::{Answer, usage};
use crate::{Bounds, DecodeError, Delta, Response, Usage, json};

#[derive(Debug)]
pub(crate) struct Events {
    answer: Answer,
    done: bool,
}

impl Events {
    pub(crate) fn new(bounds: &Bounds) -> Self {
        Self { answer: Answer::in_pieces(bounds), done: false }
    }

    pub(crate) fn event(
        &mut self,
        name: &str,
        data: &[u8],
        bounds: &Bounds,
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
        // Some servers say what has been used until then in every piece. It only grows.
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

    /// Not every server says `[DONE]`, nor why the answer ends. One that has said either has said all of it; `[DONE]` after nothing is
    /// no answer.
    pub(crate) fn finish(self, bounds: &Bounds) -> Result<Response, DecodeError> {
        let is_whole = self.answer.is_finished() || (self.done && self.answer.has_begun());
        if !is_whole {
            return Err(DecodeError::Cut { usage: self.answer.usage });
        }
        self.answer.finish(bounds)
    }
}
