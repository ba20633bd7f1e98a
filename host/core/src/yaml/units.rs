//! Durations and sizes as documents write them.

use std::time::Duration;

/// The reason why a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseDurationError {
    /// The text does not have the form of a duration.
    #[error("a duration is a whole number with a unit, such as `10ms`, `5s`, `2m`, `1h` or `1m30s`")]
    Form,
    /// The duration exceeds the limit.
    #[error("the duration is longer than 100 years")]
    TooLong,
}

/// Longest duration in milliseconds: longer ones are mistakes, and would overflow when added to a time.
const LONGEST_MILLIS: u64 = 100 * 366 * 24 * 3_600_000;

/// Reads `10ms`, `5s`, `2m`, `1h`, `7d`, parts joined from larger to smaller (`1m30s`), and a plain number as seconds.
pub fn parse_duration(text: &str) -> Result<Duration, ParseDurationError> {
    const UNITS: [(&str, u64); 5] =
        [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];
    let mut rest = text.trim();
    if !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()) {
        let seconds = rest.parse::<u64>().map_err(|_| ParseDurationError::TooLong)?;
        return checked(seconds.checked_mul(1_000));
    }
    let mut total = Some(0_u64);
    let mut allowed = &UNITS[..];
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, tail) = rest.split_at(digits);
        let letters = tail.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (unit, tail) = tail.split_at(letters);
        let at = allowed.iter().position(|(name, _)| *name == unit).ok_or(ParseDurationError::Form)?;
        if digits == 0 {
            return Err(ParseDurationError::Form);
        }
        let part = number.parse::<u64>().ok().and_then(|number| number.checked_mul(allowed[at].1));
        total = total.zip(part).and_then(|(total, part)| total.checked_add(part));
        allowed = &allowed[at + 1..];
        rest = tail;
    }
    if allowed.len() == UNITS.len() {
        return Err(ParseDurationError::Form);
    }
    checked(total)
}

fn checked(millis: Option<u64>) -> Result<Duration, ParseDurationError> {
    millis
        .filter(|millis| *millis <= LONGEST_MILLIS)
        .map(Duration::from_millis)
        .ok_or(ParseDurationError::TooLong)
}

/// The reason why a text is not a size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseSizeError {
    /// The text does not have the form of a size.
    #[error("a size is a whole number of bytes, or one with a unit, such as `64KiB`, `1MiB` or `5MB`")]
    Form,
    /// The size exceeds 64 bits.
    #[error("the size does not fit 64 bits")]
    TooLarge,
}

/// Reads a size in bytes: `123`, `123B`, `64KiB`, `1MiB`, `2GiB`, `5kB`, `5MB`, `1GB`; units in any case.
pub fn parse_size(text: &str) -> Result<u64, ParseSizeError> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    if digits == 0 {
        return Err(ParseSizeError::Form);
    }
    let factor: u64 = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return Err(ParseSizeError::Form),
    };
    number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor)).ok_or(ParseSizeError::TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let millis = |text| parse_duration(text).map(|span| span.as_millis());
        assert_eq!(millis("10ms"), Ok(10));
        assert_eq!(millis("5s"), Ok(5_000));
        assert_eq!(millis("2m"), Ok(120_000));
        assert_eq!(millis("1h"), Ok(3_600_000));
        assert_eq!(millis("1m30s"), Ok(90_000));
        assert_eq!(millis("600"), Ok(600_000));
        assert_eq!(millis("0s"), Ok(0));
        for text in ["", "s", "5 s", "-5s", "1.5s", "5S", "30s1m", "1m1m", "5sec", "٥s"] {
            assert_eq!(millis(text), Err(ParseDurationError::Form), "{text}");
        }
        assert_eq!(millis("99999999999999999999s"), Err(ParseDurationError::TooLong));
        assert_eq!(millis("18446744073709551615"), Err(ParseDurationError::TooLong));
    }

    #[test]
    fn sizes() {
        assert_eq!(parse_size("64KiB"), Ok(65_536));
        assert_eq!(parse_size("1MiB"), Ok(1_048_576));
        assert_eq!(parse_size("5MB"), Ok(5_000_000));
        assert_eq!(parse_size("123"), Ok(123));
        for text in ["", "MiB", "-1", "1.5MiB", "64 megs", "1K"] {
            assert_eq!(parse_size(text), Err(ParseSizeError::Form), "{text}");
        }
        assert_eq!(parse_size("99999999999TB"), Err(ParseSizeError::TooLarge));
    }
}
