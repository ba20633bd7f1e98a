//! Check of the values that a log has for a channel: a whole value and the segments after it.

use graph_core::record::{ChannelValue, ValueKind};

use crate::error::ReadError;
use crate::store::WantedChannel;

/// Checks that values form the value of a channel: the whole value at its base, and the segments up to its version.
pub(super) fn check_span(
    run: &str,
    wanted: &WantedChannel<'_>,
    span: &[ChannelValue],
) -> Result<(), ReadError> {
    let missing = |version| {
        Err(ReadError::MissingValue { run: run.to_owned(), channel: wanted.channel.to_owned(), version })
    };
    let begins =
        span.first().is_some_and(|value| value.kind == ValueKind::Whole && value.version == wanted.base);
    if !begins || span[1..].iter().any(|value| value.kind != ValueKind::Segment) {
        return missing(wanted.base);
    }
    match span.last() {
        Some(last) if last.version == wanted.version => Ok(()),
        _ => missing(wanted.version),
    }
}
