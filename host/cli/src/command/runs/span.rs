//! Spans of time on the command line.

use std::time::Duration;

/// Reads `500ms`, `30s`, `2m`, `12h` or `30d`.
pub(in crate::command) fn parse_span(text: &str) -> Result<Duration, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let milliseconds = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err("a span is a number and a unit: 500ms, 30s, 2m, 12h, 30d".to_owned()),
    };
    let number: u64 = number.parse().map_err(|_| format!("`{text}` does not start with a number"))?;
    number
        .checked_mul(milliseconds)
        .filter(|span| *span <= 1000 * 365 * 86_400_000)
        .map(Duration::from_millis)
        .ok_or_else(|| "a span of more than a thousand years is too long".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_a_unit() {
        assert_eq!(parse_span("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_span("30d"), Ok(Duration::from_hours(30 * 24)));
        for bad in ["", "5", "s", "-1s", "1.5s", "99999999999d", "99999999999999999999s"] {
            assert!(parse_span(bad).is_err(), "{bad}");
        }
    }
}
