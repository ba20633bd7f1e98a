//! Bounds of the bytes, blocks and JSON values that are read of one answer.

use crate::DecodeError;

/// Bounds of what a decoder reads from a provider, which is not trusted. They limit the memory that a decoder uses,
/// whatever the provider sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecoderBounds {
    /// Maximum number of bytes of a whole stream of events. These bytes are not kept.
    pub stream_bytes: u64,
    /// Maximum number of bytes of a whole answer, of one event of a stream, and of everything that is kept of a stream.
    pub answer_bytes: usize,
    /// Maximum number of blocks of an answer.
    pub blocks: usize,
    /// Maximum number of values of one JSON text: a whole answer, an event, or the arguments of a call.
    pub json_values: usize,
}

impl Default for DecoderBounds {
    /// Returns bounds that are several times the size of the largest answers of current models.
    fn default() -> Self {
        Self { stream_bytes: 128 << 20, answer_bytes: 8 << 20, blocks: 1024, json_values: 256 << 10 }
    }
}

impl DecoderBounds {
    /// Returns the bounds of an answer whose body has at most `most` bytes.
    pub fn for_body(most: u64) -> Self {
        let own = Self::default();
        let answer_bytes = own.answer_bytes.min(usize::try_from(most).unwrap_or(usize::MAX));
        Self { stream_bytes: most, answer_bytes, ..own }
    }
}

/// Counts of the bytes and blocks that are kept of one answer. An error is returned when one of them exceeds its bound.
#[derive(Debug)]
pub(crate) struct Meter {
    bounds: DecoderBounds,
    bytes: usize,
    blocks: usize,
}

impl Meter {
    pub(crate) fn new(bounds: &DecoderBounds) -> Self {
        Self { bounds: *bounds, bytes: 0, blocks: 0 }
    }

    /// Adds to the count of kept bytes.
    pub(crate) fn bytes(&mut self, count: usize) -> Result<(), DecodeError> {
        self.bytes = self.bytes.saturating_add(count);
        if self.bytes > self.bounds.answer_bytes {
            return Err(DecodeError::bound("bytes of an answer", self.bounds.answer_bytes as u64));
        }
        Ok(())
    }

    /// Appends a piece to a text, and counts its bytes.
    pub(crate) fn append(&mut self, text: &mut String, piece: &str) -> Result<(), DecodeError> {
        self.bytes(piece.len())?;
        text.push_str(piece);
        Ok(())
    }

    /// Adds one to the count of kept blocks.
    pub(crate) fn block(&mut self) -> Result<(), DecodeError> {
        self.blocks += 1;
        if self.blocks > self.bounds.blocks {
            return Err(DecodeError::bound("blocks of an answer", self.bounds.blocks as u64));
        }
        Ok(())
    }
}
