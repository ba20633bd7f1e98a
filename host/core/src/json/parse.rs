//! Strict reading of JSON text (RFC 8259) from components and files.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// How deeply values may nest: the depth of `[]` is 1. It leaves room for the records around a value within what
/// common JSON readers take (128).
pub const MAX_DEPTH: usize = 100;

/// Why a text is not taken as JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} at line {line}, column {column}")]
pub struct StrictJsonError {
    /// What is wrong.
    pub message: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in bytes, from 1; at the place where reading stopped.
    pub column: usize,
}

/// Reads JSON text, and refuses what other readers take in different ways: an object with one key twice, nesting
/// deeper than `max_depth` (at most [`MAX_DEPTH`]), `NaN` and `Infinity`, numbers beyond a double, integers that a
/// double would silently change, and text behind the value.
pub fn parse_strict(text: &str, max_depth: usize) -> Result<Value, StrictJsonError> {
    let mut rounded = false;
    let mut reader = serde_json::Deserializer::from_str(text);
    let seed = Strict { left: max_depth.min(MAX_DEPTH), rounded: &mut rounded };
    let value = seed.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    let value = value.map_err(|error| refused(text, &error))?;
    if rounded {
        refuse_changed_integers(text)?;
    }
    Ok(value)
}

/// How deeply a value nests: 0 for a scalar, 1 for an empty list.
pub fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn refused(json: &str, error: &serde_json::Error) -> StrictJsonError {
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    let message = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text).to_owned();
    let message = match message.as_str() {
        "expected value" | "invalid number" => not_a_number(json, line, column).unwrap_or(message),
        "lone leading surrogate in hex escape" | "unexpected end of hex escape" => {
            "a `\\u` escape is cut short, or half of a surrogate pair".to_owned()
        }
        _ => message,
    };
    StrictJsonError { message, line, column }
}

/// What stands at a place where a value was expected, if it is a number that JSON does not have.
fn not_a_number(json: &str, line: usize, column: usize) -> Option<String> {
    let line = json.lines().nth(line.checked_sub(1)?)?;
    let rest = line.get(column.checked_sub(1)?..)?;
    let found = ["NaN", "Infinity"].into_iter().find(|word| rest.starts_with(word))?;
    Some(format!("`{found}` is no JSON value"))
}

/// Whether a text is JSON by its grammar, though [`parse_strict`] may refuse what it holds.
pub fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Integer literals beyond 64 bits become doubles. That is fine for those that a double writes back digit for digit,
/// as the canonical text of every double up to 10^21 does, and an error for the others.
fn refuse_changed_integers(text: &str) -> Result<(), StrictJsonError> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at += 1;
                while let Some(&inside) = bytes.get(at) {
                    match inside {
                        b'"' => break,
                        b'\\' => at += 2,
                        _ => at += 1,
                    }
                }
                at += 1;
            }
            b'-' | b'0'..=b'9' => {
                let is_part = |byte: &u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                let end = bytes[at..]
                    .iter()
                    .position(|byte| !is_part(byte))
                    .map_or(bytes.len(), |length| at + length);
                let literal = &text[at..end];
                if literal.len() > 18 && !is_exact(literal) {
                    let before = &text[..at];
                    return Err(StrictJsonError {
                        message: format!("the integer {literal} does not fit in 64 bits (a string holds it)"),
                        line: before.matches('\n').count() + 1,
                        column: at - before.rfind('\n').map_or(0, |newline| newline + 1) + 1,
                    });
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    Ok(())
}

fn is_exact(literal: &str) -> bool {
    if literal.contains(['.', 'e', 'E']) || literal.parse::<i64>().is_ok() || literal.parse::<u64>().is_ok() {
        return true;
    }
    literal.parse::<f64>().is_ok_and(|float| ryu_js::Buffer::new().format(float) == literal)
}

/// Reads one value with `left` levels of nesting to go.
struct Strict<'a> {
    left: usize,
    rounded: &'a mut bool,
}

impl Strict<'_> {
    fn inner<E: serde::de::Error>(self) -> Result<Self, E> {
        match self.left.checked_sub(1) {
            Some(left) => Ok(Self { left, rounded: self.rounded }),
            None => Err(E::custom("values nest too deeply")),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        // 2^63: below it an integer literal is read as an integer.
        *self.rounded |= value.abs() >= 9_223_372_036_854_775_808.0;
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let Strict { left, rounded } = self.inner()?;
        let mut items = Vec::new();
        while let Some(item) = list.next_element_seed(Strict { left, rounded })? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let Strict { left, rounded } = self.inner()?;
        let mut fields = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            if fields.contains_key(&key) {
                return Err(A::Error::custom(format_args!("the key {} appears twice", quoted(&key))));
            }
            let value = map.next_value_seed(Strict { left, rounded })?;
            fields.insert(key, value);
        }
        Ok(Value::Object(fields))
    }
}

/// A key in a message: quoted, escaped, cut to a readable length.
fn quoted(key: &str) -> String {
    let shown: String = key.chars().take(60).collect();
    let dots = if shown.len() < key.len() { "…" } else { "" };
    format!("`{}{dots}`", shown.escape_debug())
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Any JSON value of moderate size.
    pub(crate) fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-5_i64..5).prop_map(Value::from),
            (proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL | proptest::num::f64::ZERO)
                .prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            "[a-c${}. ]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((prop_oneof!["[a-e]", any::<String>()], inner), 0..6)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    fn refusal(text: &str) -> StrictJsonError {
        parse_strict(text, MAX_DEPTH).unwrap_err()
    }

    #[test]
    fn what_is_refused_says_what_and_where() {
        let error = refusal("{\n  \"a\": 1,\n  \"a\": 2}");
        assert_eq!((error.message.as_str(), error.line), ("the key `a` appears twice", 3));
        assert_eq!(refusal("{\"a\": {\"b\": 1, \"\\u0062\": 2}}").message, "the key `b` appears twice");
        assert_eq!(refusal("[1e400]").message, "number out of range");
        assert_eq!(refusal("1 2").message, "trailing characters");
        assert_eq!(refusal("").message, "EOF while parsing a value");
        for text in [
            "NaN",
            "Infinity",
            "-Infinity",
            "[1,]",
            "{'a': 1}",
            "01",
            "1.",
            "\u{feff}1",
            "// x\n1",
            "\"\\ud800\"",
        ] {
            refusal(text);
        }
    }

    #[test]
    fn nesting_is_capped() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(depth(&parse_strict(&nested(MAX_DEPTH), MAX_DEPTH).unwrap()), MAX_DEPTH);
        assert_eq!(refusal(&nested(MAX_DEPTH + 1)).message, "values nest too deeply");
        assert_eq!(parse_strict(&nested(3), 2).unwrap_err().message, "values nest too deeply");
        assert_eq!(parse_strict("[{\"a\": []}]", 3).unwrap(), json!([{"a": []}]));
        parse_strict(&"[".repeat(100_000), usize::MAX).unwrap_err();
        assert_eq!(depth(&json!({"a": [1]})), 2);
        assert_eq!(depth(&json!(1)), 0);
    }

    #[test]
    fn integers_stay_exact_or_are_refused() {
        let exact = "[18446744073709551615,-9223372036854775808,9007199254740993]";
        assert_eq!(parse_strict(exact, 4).unwrap(), json!([u64::MAX, i64::MIN, 9_007_199_254_740_993_u64]));
        // What a double of that size is written as.
        assert_eq!(parse_strict("295147905179352830000", 4).unwrap(), json!(295_147_905_179_352_830_000.0));
        let error = refusal("{\"x\": \"\\\"12345678901234567890123\",\n \"y\": 123456789012345678901}");
        assert_eq!(
            error.to_string(),
            "the integer 123456789012345678901 does not fit in 64 bits (a string holds it) at line 2, column 7"
        );
        assert_eq!(refusal("18446744073709551617").line, 1);
        assert_eq!(parse_strict("1.8446744073709551617e19", 1).unwrap(), json!(18_446_744_073_709_551_616.0));
    }

    proptest! {
        #[test]
        fn reading_never_panics(text in any::<String>()) {
            let _ = parse_strict(&text, 8);
        }

        #[test]
        fn reading_never_panics_on_near_json(text in "[\\[\\]{}\",:0-9eE.+\\- a\\\\]{0,40}") {
            if let Ok(value) = parse_strict(&text, 8) {
                prop_assert!(depth(&value) <= 8);
            }
        }

        #[test]
        fn what_serde_json_writes_is_read(value in any_json()) {
            // A double from 2^63 on is written in full by serde_json; canonical text is the form that reads back.
            let text = crate::json::canonical_string(&value);
            prop_assert!(parse_strict(&text, MAX_DEPTH).is_ok());
        }
    }
}
