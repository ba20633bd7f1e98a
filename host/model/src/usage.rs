//! Usage of calls, in tokens.

use graph_core::limits::LARGEST_FIGURE;
use serde::{Deserialize, Serialize};

/// Usage of a call, in tokens.
///
/// In every value that a decoder returns, `cached` and `cache_write` together are at most `input`, and `reasoning` is
/// at most `output`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Tokens of the request, including cached ones.
    pub input: u64,
    /// Tokens of the answer, including reasoning.
    pub output: u64,
    /// Tokens of the request that the provider has read from a cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached: u64,
    /// Tokens of the request that the provider has written to a cache, for which some providers have a separate price.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write: u64,
    /// Tokens of the answer that are reasoning.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning: u64,
}

impl Usage {
    /// Limits `input` and `output` to the largest figure that is kept, and the other counts to the part of these that
    /// they can be.
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

    /// Returns the larger of each count: a stream can report a smaller count later than it did first.
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

    /// Adds the counts of both; each sum saturates.
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
