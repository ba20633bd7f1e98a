//! What calls have used, in tokens.

use graph_core::limits::LARGEST_FIGURE;
use serde::{Deserialize, Serialize};

/// What a call has used, in tokens.
///
/// `cached` and `cache_write` together are at most `input`, and `reasoning` is at most `output`, in every value that a decoder returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Tokens of the request, those of a cache included.
    pub input: u64,
    /// Tokens of the answer, those of its reasoning included.
    pub output: u64,
    /// Tokens of the request that the provider has read from a cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached: u64,
    /// Tokens of the request that the provider has written to a cache: some providers have a price of their own for them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write: u64,
    /// Tokens of the answer that are reasoning.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning: u64,
}

impl Usage {
    /// The same, with the wholes reduced to the largest figure that is kept, and the parts to what their wholes allow.
    pub(crate) fn bounded(self) -> Self {
        let (input, output) = (self.input.min(LARGEST_FIGURE), self.output.min(LARGEST_FIGURE));
        let cached = self.cached.min(input);
        Self {
            input,
            output,
            cached,
            cache_write: self.cache_write.min(input - cached),
            reasoning: self.reasoning.min(output),
        }
    }

    /// The larger of each count of two: what a stream says first counts, if it says less later.
    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            input: self.input.max(other.input),
            output: self.output.max(other.output),
            cached: self.cached.max(other.cached),
            cache_write: self.cache_write.max(other.cache_write),
            reasoning: self.reasoning.max(other.reasoning),
        }
        .bounded()
    }

    /// The sum of two; each count saturates.
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cached: self.cached.saturating_add(other.cached),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            reasoning: self.reasoning.saturating_add(other.reasoning),
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}
