//! How much a value takes up, in a measure that is the same on every target.

use serde_json::Value;

use super::{Exhausted, Meter};

/// What each value counts, apart from its text.
pub const VALUE: u64 = 64;

/// An object that has fields counts as if it had at least so many: a map takes its room for several fields at a time, and
/// a list of objects with one field each would otherwise take five times what it counts.
pub const LEAST_FIELDS: u64 = 5;

/// The size of a value: 64 for each value in it plus the bytes of its texts and keys. An object with fields counts as one
/// with at least [`LEAST_FIELDS`].
pub fn of(value: &Value) -> u64 {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => VALUE,
        Value::String(text) => VALUE + text.len() as u64,
        Value::Array(items) => items.iter().map(of).fold(VALUE, u64::saturating_add),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, field)| key.len() as u64 + of(field))
            .fold(of_map(fields.len()), u64::saturating_add),
    }
}

/// Charges the size of a value ([`of`]). It stops at the first part that is refused, so that it takes no longer than what
/// it charges for.
pub fn charge(value: &Value, meter: &Meter) -> Result<(), Exhausted> {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => meter.charge(VALUE),
        Value::String(text) => meter.charge(VALUE + text.len() as u64),
        Value::Array(items) => {
            meter.charge(VALUE)?;
            items.iter().try_for_each(|item| charge(item, meter))
        }
        Value::Object(fields) => {
            meter.charge(of_map(fields.len()))?;
            fields.iter().try_for_each(|(key, field)| match field {
                Value::Array(_) | Value::Object(_) => {
                    meter.charge(key.len() as u64)?;
                    charge(field, meter)
                }
                simple => meter.charge(key.len() as u64 + of(simple)),
            })
        }
    }
}

/// A copy of a value. All of it is charged before any memory is taken: to look at a value costs a small part of what it
/// costs to copy it.
pub fn copy(value: &Value, meter: &Meter) -> Result<Value, Exhausted> {
    charge(value, meter)?;
    Ok(value.clone())
}

/// The size of an object apart from its keys and fields.
pub const fn of_map(fields: usize) -> u64 {
    let missing = if fields == 0 { 0 } else { LEAST_FIELDS.saturating_sub(fields as u64) };
    VALUE + missing * VALUE
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_counts_64_and_its_text() {
        for (value, size) in [
            (json!(null), 64),
            (json!(1.5), 64),
            (json!("abc"), 67),
            (json!([]), 64),
            (json!([1, "ab"]), 64 + 64 + 66),
            (json!({}), 64),
            (json!({"a": 1}), 64 + 4 * 64 + 1 + 64),
            (json!({"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6}), 64 + 6 * 65),
        ] {
            assert_eq!(of(&value), size, "{value}");
            let meter = Meter::new(size);
            assert_eq!(copy(&value, &meter), Ok(value.clone()));
            assert_eq!(meter.spent(), size);
            assert_eq!(copy(&value, &Meter::new(size - 1)), Err(Exhausted::Fuel));
        }
    }
}
