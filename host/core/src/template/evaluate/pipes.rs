//! Application of pipes.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde_json::{Number, Value};

use super::super::expression::Expression;
use super::super::pipe::{Pipe, PipeCall};
use super::{TemplateError, kind, shown, time};
use crate::json::{
    self, MAX_DEPTH, MeteredJsonError, add_numbers, canonical_length, compare_numbers, write_canonical,
};
use crate::work::rates::{BYTE, CASE_BYTE, LOOKUP, PASS, SORT_STEP};
use crate::work::size::{self, VALUE};
use crate::work::{FuelExhausted, Meter};

/// Largest growth of text in upper or lower case, in bytes: `\u{390}` has two bytes, and in upper case it is three characters of two bytes
/// each.
pub(super) const CASE_GROWTH: u64 = 3;

/// The reason why a pipe gives no value.
enum Failure {
    Exhausted(FuelExhausted),
    /// The pipe does not convert this value.
    Unsuitable(String),
}

impl From<FuelExhausted> for Failure {
    fn from(exhausted: FuelExhausted) -> Self {
        Self::Exhausted(exhausted)
    }
}

fn unsuitable<T>(given: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Unsuitable(given.into()))
}

/// Applies a pipe. Null passes unchanged through every pipe but `json`. The work, and the size of the result, is charged in advance.
pub(super) fn apply<'t>(
    call: &PipeCall,
    value: Cow<'t, Value>,
    expression: &Expression,
    meter: &Meter,
) -> Result<Cow<'t, Value>, TemplateError> {
    meter.charge(LOOKUP)?;
    if value.is_null() && call.pipe != Pipe::Json {
        return Ok(value);
    }
    let applied = match (call.pipe, value) {
        (Pipe::First | Pipe::Last, Cow::Borrowed(Value::Array(items))) => {
            Ok(at_end(call.pipe, items).map_or(Cow::Owned(Value::Null), Cow::Borrowed))
        }
        (Pipe::First | Pipe::Last, Cow::Owned(Value::Array(items))) => {
            let found = match call.pipe {
                Pipe::First => items.into_iter().next(),
                _ => items.into_iter().next_back(),
            };
            Ok(Cow::Owned(found.unwrap_or_default()))
        }
        (_, value) => convert(call, &value, meter).map(Cow::Owned),
    };
    applied.map_err(|failure| match failure {
        Failure::Exhausted(exhausted) => exhausted.into(),
        Failure::Unsuitable(given) => TemplateError::Pipe {
            pipe: call.pipe.as_str(),
            takes: call.pipe.takes(),
            given,
            expression: shown(&expression.text),
        },
    })
}

fn at_end(pipe: Pipe, items: &[Value]) -> Option<&Value> {
    if pipe == Pipe::First { items.first() } else { items.last() }
}

fn convert(call: &PipeCall, value: &Value, meter: &Meter) -> Result<Value, Failure> {
    match (call.pipe, value) {
        (Pipe::Json, value) => {
            let length = canonical_length(value, meter)?;
            meter.charge(VALUE)?;
            let mut text = String::with_capacity(length);
            write_canonical(value, &mut text);
            Ok(text.into())
        }
        (Pipe::FromJson, Value::String(text)) => {
            json::parse_strict_metered(text, MAX_DEPTH, meter).map_err(|error| match error {
                MeteredJsonError::Exhausted(exhausted) => Failure::Exhausted(exhausted),
                MeteredJsonError::Refused(error) => Failure::Unsuitable(format!("this text: {error}")),
            })
        }
        (Pipe::Length, Value::String(text)) => {
            meter.charge_each(text.len(), CASE_BYTE)?;
            Ok(text.chars().count().into())
        }
        (Pipe::Length, Value::Array(items)) => Ok(items.len().into()),
        (Pipe::Length, Value::Object(fields)) => Ok(fields.len().into()),
        (Pipe::Keys, Value::Object(fields)) => {
            meter.charge(VALUE)?;
            for key in fields.keys() {
                meter.charge(VALUE + key.len() as u64)?;
            }
            let mut keys: Vec<&String> = fields.keys().collect();
            keys.sort_unstable();
            Ok(keys.into_iter().cloned().map(Value::String).collect())
        }
        (Pipe::Upper, Value::String(text)) => {
            charge_case(text, meter)?;
            Ok(text.to_uppercase().into())
        }
        (Pipe::Lower, Value::String(text)) => {
            charge_case(text, meter)?;
            Ok(text.to_lowercase().into())
        }
        (Pipe::Trim, Value::String(text)) => {
            meter.charge(VALUE)?;
            meter.charge_each(text.len(), CASE_BYTE)?;
            Ok(text.trim().into())
        }
        (Pipe::Lines, Value::String(text)) => parts(text, text.lines(), meter),
        (Pipe::Split, Value::String(text)) => parts(text, text.split(call.text(0).unwrap_or("\n")), meter),
        (Pipe::Join, Value::Array(items)) => join(items, call.text(0).unwrap_or_default(), meter),
        (Pipe::Slice, Value::Array(items)) => {
            let (from, to) = range(call, items.len());
            meter.charge(VALUE)?;
            let items = items[from..to].iter().map(|item| size::copy(item, meter));
            Ok(Value::Array(items.collect::<Result<_, _>>()?))
        }
        (Pipe::Slice, Value::String(text)) => {
            meter.charge(VALUE)?;
            meter.charge_each(text.len(), CASE_BYTE + BYTE)?;
            let (from, to) = range(call, text.chars().count());
            Ok(text.chars().skip(from).take(to - from).collect::<String>().into())
        }
        (Pipe::Unique, Value::Array(items)) => unique(items, meter),
        (Pipe::Sort, Value::Array(items)) => sort(items, meter),
        (Pipe::Min, Value::Array(items)) => extreme(items, Ordering::Less, meter),
        (Pipe::Max, Value::Array(items)) => extreme(items, Ordering::Greater, meter),
        (Pipe::Sum, Value::Array(items)) => sum(items, meter),
        (Pipe::Round, Value::Number(number)) => {
            let digits = call.integer(0).and_then(|digits| usize::try_from(digits).ok()).unwrap_or(0);
            Ok(Value::Number(json::round_number(number, digits)))
        }
        (Pipe::Time, Value::String(_) | Value::Number(_)) => {
            time::format(value, call.text(0), call.text(1), meter).map_err(|error| match error {
                time::TimeError::Exhausted(exhausted) => Failure::Exhausted(exhausted),
                time::TimeError::Unsuitable(given) => Failure::Unsuitable(given),
            })
        }
        (_, other) => unsuitable(kind(other)),
    }
}

/// Copies the parts of a text into a list.
fn parts<'t>(text: &str, parts: impl Iterator<Item = &'t str>, meter: &Meter) -> Result<Value, Failure> {
    meter.charge(VALUE)?;
    // The search for the ends of the parts.
    meter.charge_each(text.len(), CASE_BYTE)?;
    let copied = parts.map(|part| {
        meter.charge(VALUE + part.len() as u64)?;
        Ok::<_, FuelExhausted>(Value::from(part))
    });
    Ok(Value::Array(copied.collect::<Result<_, _>>()?))
}

/// Joins texts, numbers and booleans as templates insert them in text: null as nothing.
fn join(items: &[Value], separator: &str, meter: &Meter) -> Result<Value, Failure> {
    meter.charge(VALUE)?;
    let mut joined = String::new();
    for (at, item) in items.iter().enumerate() {
        meter.charge(PASS)?;
        if at > 0 {
            meter.charge_each(separator.len(), BYTE)?;
            joined.push_str(separator);
        }
        match item {
            Value::Null => {}
            Value::String(text) => {
                meter.charge_each(text.len(), BYTE)?;
                joined.push_str(text);
            }
            Value::Bool(_) | Value::Number(_) => {
                joined.reserve(canonical_length(item, meter)?);
                write_canonical(item, &mut joined);
            }
            Value::Array(_) | Value::Object(_) => return unsuitable(format!("a list with {}", kind(item))),
        }
    }
    Ok(joined.into())
}

/// Returns the positions that `slice` selects in a value of that length: negative ones count from the end, others end there.
fn range(call: &PipeCall, length: usize) -> (usize, usize) {
    let place = |index: i64| {
        let from_end = usize::try_from(index.unsigned_abs()).unwrap_or(usize::MAX);
        if index < 0 { length.saturating_sub(from_end) } else { from_end.min(length) }
    };
    let from = place(call.integer(0).unwrap_or(0));
    (from, call.integer(1).map_or(length, place).max(from))
}

fn unique(items: &[Value], meter: &Meter) -> Result<Value, Failure> {
    meter.charge(VALUE)?;
    let mut known = BTreeSet::new();
    let mut unique = Vec::new();
    let steps = steps_of_search(items.len());
    for item in items {
        // Equal values have the same canonical text: numbers are compared by value.
        let length = canonical_length(item, meter)?;
        meter.charge(VALUE + length as u64)?;
        meter.charge((SORT_STEP + length as u64 * BYTE).saturating_mul(steps))?;
        let mut text = String::with_capacity(length);
        write_canonical(item, &mut text);
        if known.insert(text) {
            unique.push(size::copy(item, meter)?);
        }
    }
    Ok(Value::Array(unique))
}

fn sort(items: &[Value], meter: &Meter) -> Result<Value, Failure> {
    check_ordered(items)?;
    let steps = steps_of_search(items.len());
    meter.charge(VALUE)?;
    for item in items {
        let bytes = item.as_str().map_or(0, str::len) as u64;
        meter.charge((SORT_STEP + bytes * BYTE).saturating_mul(steps))?;
        size::charge(item, meter)?;
    }
    let mut sorted = items.to_vec();
    sorted.sort_by(compare);
    Ok(Value::Array(sorted))
}

fn extreme(items: &[Value], wanted: Ordering, meter: &Meter) -> Result<Value, Failure> {
    check_ordered(items)?;
    let mut found: Option<&Value> = None;
    for item in items {
        meter.charge(LOOKUP)?;
        meter.charge_each(item.as_str().map_or(0, str::len), BYTE)?;
        if found.is_none_or(|found| compare(item, found) == wanted) {
            found = Some(item);
        }
    }
    Ok(found.map_or(Ok(Value::Null), |found| size::copy(found, meter))?)
}

/// Checks that a list has numbers only, or texts only.
fn check_ordered(items: &[Value]) -> Result<(), Failure> {
    let Some(first) = items.first() else { return Ok(()) };
    match items.iter().find(|item| {
        !matches!((first, item), (Value::Number(_), Value::Number(_)) | (Value::String(_), Value::String(_)))
    }) {
        Some(other) => unsuitable(format!(
            "a list with {}",
            if matches!(first, Value::Number(_) | Value::String(_)) {
                format!("{} and {}", kind(first), kind(other))
            } else {
                kind(first).to_owned()
            }
        )),
        None => Ok(()),
    }
}

/// Compares numbers by value and texts by code points.
fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b),
        (a, b) => a.as_str().cmp(&b.as_str()),
    }
}

fn sum(items: &[Value], meter: &Meter) -> Result<Value, Failure> {
    let mut total = Number::from(0);
    for item in items {
        meter.charge(LOOKUP)?;
        let Value::Number(number) = item else { return unsuitable(format!("a list with {}", kind(item))) };
        total = match add_numbers(&total, number) {
            Ok(total) => total,
            Err(error) => return unsuitable(format!("these numbers: {error}")),
        };
    }
    meter.charge(VALUE)?;
    Ok(Value::Number(total))
}

/// Returns the largest number of comparisons for an element among that many.
fn steps_of_search(elements: usize) -> u64 {
    u64::from(elements.max(1).ilog2()) + 1
}

/// Charges a change of case in advance. ASCII text keeps its length; other text is charged for the largest possible growth.
fn charge_case(text: &str, meter: &Meter) -> Result<(), FuelExhausted> {
    let bytes = text.len() as u64;
    meter.charge(VALUE)?;
    meter.charge(bytes.saturating_mul(CASE_BYTE))?;
    let growth = if text.is_ascii() { 1 } else { CASE_GROWTH };
    meter.charge(bytes.saturating_mul(growth * BYTE))
}
