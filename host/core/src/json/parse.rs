//! Strict reading of JSON text (RFC 8259) from components and files.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::tree::{TreeLimit, TreeTooLarge};
use crate::work::rates::PARSE_BYTE;
use crate::work::{FuelExhausted, Meter, size};

/// Largest nesting of values: the depth of `[]` is 1. Records around a value then stay within the limit of common JSON readers (128).
pub const MAX_DEPTH: usize = 100;
/// Largest nesting of a document of the host that contains such a value, as an event of the walker contains a task's outcome.
pub const MAX_ENVELOPE_DEPTH: usize = MAX_DEPTH + 16;

/// The reason why a text is not accepted as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrictJsonError {
    /// The message, without the position.
    pub message: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in bytes, from 1, at which reading stopped.
    pub column: usize,
    /// Present if the text would take too much memory; nothing was read then.
    pub too_large: Option<TreeTooLarge>,
}

impl fmt::Display for StrictJsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { message, line, column, too_large } = self;
        match too_large {
            None => write!(f, "{message} at line {line}, column {column}"),
            Some(_) => f.write_str(message),
        }
    }
}

impl std::error::Error for StrictJsonError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.too_large.as_ref().map(|error| error as _)
    }
}

impl From<TreeTooLarge> for StrictJsonError {
    fn from(error: TreeTooLarge) -> Self {
        Self { message: error.to_string(), line: 1, column: 1, too_large: Some(error) }
    }
}

/// The reason why a text was not read as JSON under a meter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MeteredJsonError {
    /// The text is not accepted as JSON.
    #[error(transparent)]
    Refused(#[from] StrictJsonError),
    /// Reading the text takes more work than there is fuel for.
    #[error(transparent)]
    Exhausted(#[from] FuelExhausted),
}

/// Reads JSON text, and refuses everything that other readers interpret differently: an object with a duplicate key, nesting deeper than
/// `max_depth` (at most [`MAX_DEPTH`]), `NaN` and `Infinity`, numbers beyond a double, integers that a double would silently change, and
/// text after the value. A text that would take more memory than `limit` is refused before it is read.
pub fn parse_strict(text: &str, max_depth: usize, limit: TreeLimit) -> Result<Value, StrictJsonError> {
    limit.allows(text.as_bytes())?;
    read(text, max_depth.min(MAX_DEPTH), &mut Progress::default())
}

/// Like [`parse_strict`], for a document of the host that contains values of a graph: it may nest up to [`MAX_ENVELOPE_DEPTH`].
pub fn parse_envelope(text: &str, limit: TreeLimit) -> Result<Value, StrictJsonError> {
    limit.allows(text.as_bytes())?;
    read(text, MAX_ENVELOPE_DEPTH, &mut Progress::default())
}

/// Reads one value of a text that arrives in pieces, like [`parse_envelope`]. A meter is charged with the [size](size::of) of each value as
/// it is created.
#[derive(Debug)]
pub struct MeteredValue<'m>(pub &'m Meter);

impl<'de> DeserializeSeed<'de> for MeteredValue<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let progress = &mut Progress { meter: Some(self.0), ..Progress::default() };
        Strict { left: MAX_ENVELOPE_DEPTH, progress }.deserialize(deserializer)
    }
}

/// Like [`parse_strict`], with charges: [`PARSE_BYTE`] for each byte before it is read, and the [size](size::of) of each value as it is
/// created.
pub fn parse_strict_metered(text: &str, max_depth: usize, meter: &Meter) -> Result<Value, MeteredJsonError> {
    meter.charge_each(text.len(), PARSE_BYTE)?;
    let mut progress = Progress { meter: Some(meter), ..Progress::default() };
    read(text, max_depth.min(MAX_DEPTH), &mut progress).map_err(|error| match progress.exhausted {
        Some(exhausted) => exhausted.into(),
        None => error.into(),
    })
}

fn read(text: &str, left: usize, progress: &mut Progress<'_>) -> Result<Value, StrictJsonError> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let seed = Strict { left, progress: &mut *progress };
    let value = seed.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    let value = value.map_err(|error| refused(text, &error))?;
    if progress.rounded {
        refuse_changed_integers(text)?;
    }
    Ok(value)
}

/// Returns the nesting of a value: 0 for a scalar, 1 for an empty list.
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
    StrictJsonError { message, line, column, too_large: None }
}

/// Returns the message about `NaN` or `Infinity`, if one of them is at the position where a value was expected.
fn not_a_number(json: &str, line: usize, column: usize) -> Option<String> {
    let line = json.lines().nth(line.checked_sub(1)?)?;
    let rest = line.get(column.checked_sub(1)?..)?;
    let found = ["NaN", "Infinity"].into_iter().find(|word| rest.starts_with(word))?;
    Some(format!("`{found}` is no JSON value"))
}

/// Checks whether a text is JSON by its grammar, even if [`parse_strict`] refuses its content.
pub fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Refuses integer literals that a double would change. Literals beyond 64 bits become doubles, which is correct for those that a double
/// writes back digit for digit, as the canonical text of every double up to 10^21 does.
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
                        too_large: None,
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

/// The state of reading a text.
#[derive(Default)]
struct Progress<'m> {
    /// `true` once a number exceeds 64 bits.
    rounded: bool,
    /// The meter that is charged for the values, if any.
    meter: Option<&'m Meter>,
    /// The reason why reading was ended: errors of `serde` carry only a text.
    exhausted: Option<FuelExhausted>,
}

impl Progress<'_> {
    fn charge<E: serde::de::Error>(&mut self, size: u64) -> Result<(), E> {
        match self.meter.map_or(Ok(()), |meter| meter.charge(size)) {
            Ok(()) => Ok(()),
            Err(exhausted) => {
                self.exhausted = Some(exhausted);
                Err(E::custom(exhausted))
            }
        }
    }
}

/// Reads one value with at most `left` further levels of nesting.
struct Strict<'a, 'm> {
    left: usize,
    progress: &'a mut Progress<'m>,
}

impl Strict<'_, '_> {
    fn inner<E: serde::de::Error>(self) -> Result<Self, E> {
        match self.left.checked_sub(1) {
            Some(left) => Ok(Self { left, progress: self.progress }),
            None => Err(E::custom("values nest too deeply")),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Value, E> {
        self.progress.charge(size::VALUE)?;
        Ok(Value::Null)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Value, E> {
        self.progress.charge(size::VALUE)?;
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Value, E> {
        self.progress.charge(size::VALUE)?;
        Ok(value.into())
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        self.progress.charge(size::VALUE)?;
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        // Integer literals below 2^63 are read as integers.
        self.progress.charge(size::VALUE)?;
        self.progress.rounded |= value.abs() >= 9_223_372_036_854_775_808.0;
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        self.progress.charge(size::VALUE + value.len() as u64)?;
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E: serde::de::Error>(self, value: String) -> Result<Value, E> {
        self.progress.charge(size::VALUE + value.len() as u64)?;
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let Strict { left, progress } = self.inner()?;
        progress.charge(size::VALUE)?;
        let mut items = Vec::new();
        while let Some(item) = list.next_element_seed(Strict { left, progress })? {
            items.push(item);
        }
        // A growing list has room for at least four items, and there may be many lists with a single one.
        if items.len() < 4 {
            items.shrink_to_fit();
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let Strict { left, progress } = self.inner()?;
        progress.charge(size::VALUE)?;
        let mut fields = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            progress.charge(size::VALUE + key.len() as u64)?;
            if fields.contains_key(&key) {
                return Err(A::Error::custom(format_args!("the key {} appears twice", quoted(&key))));
            }
            let value = map.next_value_seed(Strict { left, progress })?;
            fields.insert(key, value);
        }
        // The additional size of an object with few fields is known at its end; at most `left` of them are open.
        progress.charge(size::of_map(fields.len()) - size::VALUE * (1 + fields.len() as u64))?;
        Ok(Value::Object(fields))
    }
}

/// Quotes a key for a message: escaped, cut to a readable length.
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

    /// Generates any JSON value of moderate size.
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
        parse_strict(text, MAX_DEPTH, TreeLimit::VALUE).unwrap_err()
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
        assert_eq!(depth(&parse_strict(&nested(MAX_DEPTH), MAX_DEPTH, TreeLimit::VALUE).unwrap()), MAX_DEPTH);
        assert_eq!(refusal(&nested(MAX_DEPTH + 1)).message, "values nest too deeply");
        let most = MAX_ENVELOPE_DEPTH;
        assert_eq!(depth(&parse_envelope(&nested(most), TreeLimit::VALUE).unwrap()), most);
        assert!(parse_envelope(&nested(most + 1), TreeLimit::VALUE).is_err());
        assert!(parse_strict(&nested(MAX_DEPTH + 1), usize::MAX, TreeLimit::VALUE).is_err());
        assert_eq!(
            parse_strict(&nested(3), 2, TreeLimit::VALUE).unwrap_err().message,
            "values nest too deeply"
        );
        assert_eq!(parse_strict("[{\"a\": []}]", 3, TreeLimit::VALUE).unwrap(), json!([{"a": []}]));
        parse_strict(&"[".repeat(100_000), usize::MAX, TreeLimit::VALUE).unwrap_err();
        assert_eq!(depth(&json!({"a": [1]})), 2);
        assert_eq!(depth(&json!(1)), 0);
    }

    #[test]
    fn integers_stay_exact_or_are_refused() {
        let exact = "[18446744073709551615,-9223372036854775808,9007199254740993]";
        assert_eq!(
            parse_strict(exact, 4, TreeLimit::VALUE).unwrap(),
            json!([u64::MAX, i64::MIN, 9_007_199_254_740_993_u64])
        );
        // The text of a double of that size.
        assert_eq!(
            parse_strict("295147905179352830000", 4, TreeLimit::VALUE).unwrap(),
            json!(295_147_905_179_352_830_000.0)
        );
        let error = refusal("{\"x\": \"\\\"12345678901234567890123\",\n \"y\": 123456789012345678901}");
        assert_eq!(
            error.to_string(),
            "the integer 123456789012345678901 does not fit in 64 bits (a string holds it) at line 2, column 7"
        );
        assert_eq!(refusal("18446744073709551617").line, 1);
        assert_eq!(
            parse_strict("1.8446744073709551617e19", 1, TreeLimit::VALUE).unwrap(),
            json!(18_446_744_073_709_551_616.0)
        );
    }

    #[test]
    fn reading_costs_the_text_and_the_values() {
        for text in ["null", "[]", "{}", "[1.5,\"ab\",true]", "{\"a\":{\"b\":[-1,12]},\"c\":\"\\u0041\"}"] {
            let meter = Meter::of_one_step();
            let value = parse_strict_metered(text, MAX_DEPTH, &meter).unwrap();
            assert_eq!(meter.spent(), text.len() as u64 * PARSE_BYTE + size::of(&value), "{text}");
        }
    }

    #[test]
    fn what_is_too_large_is_refused_while_it_is_read() {
        let text = format!("[{}[]]", "[],".repeat(100_000));
        let bytes = text.len() as u64 * PARSE_BYTE;
        let meter = Meter::new(bytes + 100 * size::VALUE);
        let error = parse_strict_metered(&text, MAX_DEPTH, &meter).unwrap_err();
        assert_eq!(error, MeteredJsonError::Exhausted(FuelExhausted::Fuel));
        let error = parse_strict_metered("[1,", MAX_DEPTH, &Meter::of_one_step()).unwrap_err();
        assert!(matches!(error, MeteredJsonError::Refused(_)));
        // Nothing is read if the text alone costs too much.
        let error = parse_strict_metered(&text, MAX_DEPTH, &Meter::new(bytes - 1)).unwrap_err();
        assert_eq!(error, MeteredJsonError::Exhausted(FuelExhausted::Fuel));
    }

    proptest! {
        #[test]
        fn the_meter_changes_nothing_that_is_read(value in any_json()) {
            let text = crate::json::canonical_string(&value);
            let meter = Meter::of_one_step();
            let read = parse_strict_metered(&text, MAX_DEPTH, &meter).unwrap();
            prop_assert_eq!(meter.spent(), text.len() as u64 * PARSE_BYTE + size::of(&read));
            prop_assert_eq!(read, parse_strict(&text, MAX_DEPTH, TreeLimit::VALUE).unwrap());
        }

        #[test]
        fn reading_never_panics(text in any::<String>()) {
            let _ = parse_strict(&text, 8, TreeLimit::VALUE);
        }

        #[test]
        fn reading_never_panics_on_near_json(text in "[\\[\\]{}\",:0-9eE.+\\- a\\\\]{0,40}") {
            if let Ok(value) = parse_strict(&text, 8, TreeLimit::VALUE) {
                prop_assert!(depth(&value) <= 8);
            }
        }

        #[test]
        fn what_serde_json_writes_is_read(value in any_json()) {
            // serde_json writes a double from 2^63 on in full; canonical text is the form that reads back.
            let text = crate::json::canonical_string(&value);
            prop_assert!(parse_strict(&text, MAX_DEPTH, TreeLimit::VALUE).is_ok());
        }
    }
}
