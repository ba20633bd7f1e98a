//! Scalars of the core schema (YAML 1.2.2, 10.3.2).

use serde_json::Number;

use super::node::Yaml;

/// The reason why a plain scalar has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScalarError {
    /// An integer beyond 64 bits.
    IntegerRange,
    /// A float beyond 64 bits, an infinity, or not a number.
    NotFinite,
}

/// Returns the value of a plain scalar; `None` for a text.
pub(super) fn plain(text: &str) -> Result<Option<Yaml>, ScalarError> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Some(Yaml::Null),
        "true" | "True" | "TRUE" => Some(Yaml::Bool(true)),
        "false" | "False" | "FALSE" => Some(Yaml::Bool(false)),
        _ => number(text)?.map(Yaml::Number),
    })
}

/// Reads a plain scalar as a number; `None` for other scalars.
pub(super) fn number(text: &str) -> Result<Option<Number>, ScalarError> {
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        Some(b'0'..=b'9' | b'.') => (false, text),
        _ => return Ok(None),
    };
    if matches!(digits, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Err(ScalarError::NotFinite);
    }
    let radix = [("0x", 16), ("0o", 8)]
        .into_iter()
        .find_map(|(prefix, radix)| text.strip_prefix(prefix).map(|rest| (rest, radix)));
    if let Some((rest, radix)) = radix {
        if rest.is_empty() || !rest.chars().all(|c| c.is_digit(radix)) {
            return Ok(None);
        }
        return u64::from_str_radix(rest, radix)
            .map(|value| Some(Number::from(value)))
            .map_err(|_| ScalarError::IntegerRange);
    }
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let parsed = if negative {
            text.parse::<i64>().map(Number::from)
        } else {
            digits.parse::<u64>().map(Number::from)
        };
        return parsed.map(Some).map_err(|_| ScalarError::IntegerRange);
    }
    if !is_float(digits) {
        return Ok(None);
    }
    let value = text.parse::<f64>().map_err(|_| ScalarError::NotFinite)?;
    Number::from_f64(value).map(Some).ok_or(ScalarError::NotFinite)
}

/// Matches `( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?`.
fn is_float(text: &str) -> bool {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let mantissa_fits = match mantissa.split_once('.') {
        Some((whole, part)) => (!whole.is_empty() || !part.is_empty()) && digits(whole) && digits(part),
        None => !mantissa.is_empty() && digits(mantissa),
    };
    let exponent_fits = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    mantissa_fits && exponent_fits
}

/// Checks whether YAML 1.1 would have read the text as a boolean.
pub(super) fn looks_boolean(text: &str) -> bool {
    ["yes", "no", "on", "off"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn json(text: &str) -> Option<String> {
        number(text).unwrap().map(|number| number.to_string())
    }

    #[test]
    fn integers_are_exact() {
        assert_eq!(json("18446744073709551615").as_deref(), Some("18446744073709551615"));
        assert_eq!(json("-9223372036854775808").as_deref(), Some("-9223372036854775808"));
        assert_eq!(json("0x1F").as_deref(), Some("31"));
        assert_eq!(json("0o17").as_deref(), Some("15"));
        assert_eq!(json("+12").as_deref(), Some("12"));
        assert_eq!(json("012").as_deref(), Some("12"));
        assert_eq!(number("18446744073709551616"), Err(ScalarError::IntegerRange));
        assert_eq!(number("-9223372036854775809"), Err(ScalarError::IntegerRange));
    }

    #[test]
    fn floats_follow_the_core_schema() {
        assert_eq!(json("1.5").as_deref(), Some("1.5"));
        assert_eq!(json(".5e1").as_deref(), Some("5.0"));
        assert_eq!(json("1.").as_deref(), Some("1.0"));
        for text in [".inf", "-.INF", ".nan", "1e999"] {
            assert_eq!(number(text), Err(ScalarError::NotFinite), "{text}");
        }
        for text in ["1_000", "1e", ".", "-", "+", "1.2.3", "0x", "0xg", "1:30", "e5", "--1", "inf", "NaN"] {
            assert_eq!(json(text), None, "{text}");
        }
    }
}
