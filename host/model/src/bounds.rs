//! How much of an answer is read.

use crate::DecodeError;

/// Bounds of what a decoder takes from a provider, which is a stranger. Memory is in proportion to them, whatever is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The most bytes of a whole stream of events. They are not kept.
    pub stream_bytes: u64,
    /// The most bytes of a whole answer, of one event of a stream, and of what the events of a stream add up to.
    pub answer_bytes: usize,
    /// The most blocks of an answer.
    pub blocks: usize,
    /// The most values of a JSON text: of a whole answer, of an event, and of the arguments of a call.
    pub json_values: usize,
}

impl Default for Bounds {
    /// Several times of what the largest answers of today's models take.
    fn default() -> Self {
        Self { stream_bytes: 128 << 20, answer_bytes: 8 << 20, blocks: 1024, json_values: 256 << 10 }
    }
}

impl Bounds {
    /// The bounds of an answer whose body has at most `most` bytes.
    pub fn for_body(most: u64) -> Self {
        let own = Self::default();
        let answer_bytes = own.answer_bytes.min(usize::try_from(most).unwrap_or(usize::MAX));
        Self { stream_bytes: most, answer_bytes, ..own }
    }
}

/// What is left of the bounds of one answer.
#[derive(Debug)]
pub(crate) struct Meter {
    bounds: Bounds,
    bytes: usize,
    blocks: usize,
}

impl Meter {
    pub(crate) fn new(bounds: &Bounds) -> Self {
        Self { bounds: *bounds, bytes: 0, blocks: 0 }
    }

    /// Counts bytes that are about to be kept.
    pub(crate) fn bytes(&mut self, count: usize) -> Result<(), DecodeError> {
        self.bytes = self.bytes.saturating_add(count);
        if self.bytes > self.bounds.answer_bytes {
            return Err(DecodeError::bound("bytes of an answer", self.bounds.answer_bytes as u64));
        }
        Ok(())
    }

    /// Adds a piece to a text.
    pub(crate) fn append(&mut self, text: &mut String, piece: &str) -> Result<(), DecodeError> {
        self.bytes(piece.len())?;
        text.push_str(piece);
        Ok(())
    }

    /// Counts a block that is about to be kept.
    pub(crate) fn block(&mut self) -> Result<(), DecodeError> {
        self.blocks += 1;
        if self.blocks > self.bounds.blocks {
            return Err(DecodeError::bound("blocks of an answer", self.bounds.blocks as u64));
        }
        Ok(())
    }
}
