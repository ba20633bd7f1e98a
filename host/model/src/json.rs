//! Parsing of untrusted JSON, and access to its fields.

use std::fmt::Display;

use graph_core::json::{self, ReadJsonError, TreeLimit};
use graph_core::limits::LARGEST_FIGURE;
use serde_json::{Map, Value};

use crate::{DecodeError, DecoderBounds, lone_surrogates};

/// Creates an object of these fields, which are moved into it: `json!` copies the values that it is given.
pub(crate) fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>())
}

/// Parses a JSON text within the bounds. Its values are counted first, because a value takes far more memory than its
/// bytes in the text. The parser limits the nesting.
pub(crate) fn parse(text: &[u8], bounds: &DecoderBounds) -> Result<Value, DecodeError> {
    if text.len() > bounds.answer_bytes {
        return Err(DecodeError::bound("bytes of an answer", bounds.answer_bytes as u64));
    }
    if values(text) > bounds.json_values {
        return Err(DecodeError::bound("JSON values of an answer", bounds.json_values as u64));
    }
    json::read(lone_surrogates::replaced(text), TreeLimit::ANSWER).map_err(|error| match error {
        ReadJsonError::TooLarge(error) => {
            DecodeError::bound("bytes of memory of an answer", error.limit.most())
        }
        ReadJsonError::Malformed(error) => DecodeError::Json { problem: error.to_string(), usage: None },
    })
}

/// Returns an upper bound of the number of values, keys included, in a JSON text.
fn values(text: &[u8]) -> usize {
    let mut count = 1;
    let mut in_string = false;
    let mut escaped = false;
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            b',' | b':' | b'[' | b'{' if !in_string => count += 1,
            _ => {}
        }
    }
    count
}

/// Returns a field that is present and not `null`.
pub(crate) fn field<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    value.get(name).filter(|value| !value.is_null())
}

/// Returns a text field, or `None` if it is missing. Any other type is an error.
pub(crate) fn text<'a>(
    value: &'a Value,
    name: &str,
    place: impl Display,
) -> Result<Option<&'a str>, DecodeError> {
    match field(value, name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(DecodeError::shape(format!("{place}.{name}"), "a text")),
    }
}

/// Returns the items of an array, or none if it is missing. Any other type is an error.
pub(crate) fn items<'a>(
    value: &'a Value,
    name: &str,
    place: impl Display,
) -> Result<&'a [Value], DecodeError> {
    match field(value, name) {
        None => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(DecodeError::shape(format!("{place}.{name}"), "an array")),
    }
}

/// Returns a number of tokens or a position, at most [`LARGEST_FIGURE`]. Some servers write whole numbers with a
/// fraction of zero.
pub(crate) fn count(value: &Value, name: &str) -> Option<u64> {
    let number = field(value, name)?;
    let count = number.as_u64().or_else(|| {
        let number = number.as_f64().filter(|number| number.fract() == 0.0 && *number >= 0.0)?;
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it was compared with the range"
        )]
        Some(if number < 9.0e15 { number as u64 } else { LARGEST_FIGURE })
    });
    count.map(|count| count.min(LARGEST_FIGURE))
}

/// Returns a number of tokens: 0 if the field is missing, `None` if it is present and not a whole number.
pub(crate) fn count_or_none(value: &Value, name: &str) -> Option<u64> {
    match field(value, name) {
        None => Some(0),
        Some(_) => count(value, name),
    }
}
