//! Size of a value, in a measure that is the same on every target.

use serde_json::Value;

use super::{FuelExhausted, Meter};

/// Size of each value apart from its text, and of each key of an object apart from its text.
pub const VALUE: u64 = 64;

/// Least number of keys that an object with fields counts: a map allocates room for eleven fields at a time.
pub const LEAST_FIELDS: u64 = 9;

/// Returns the size of a value: 64 for each value in it and for each key ([`LEAST_FIELDS`]), plus the bytes of its
/// texts and keys. It is about the memory of the value on a 64-bit machine.
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

/// Charges the size of a value ([`of`]). Stops at the first part that is refused, so that it takes no longer than its charges cover.
pub fn charge(value: &Value, meter: &Meter) -> Result<(), FuelExhausted> {
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

/// Copies a value. Its whole size is charged before any memory is taken: measuring a value costs a small part of copying it.
pub fn copy(value: &Value, meter: &Meter) -> Result<Value, FuelExhausted> {
    charge(value, meter)?;
    Ok(value.clone())
}

/// Returns the size of an object apart from the texts of its keys and its fields.
pub const fn of_map(fields: usize) -> u64 {
    let keys = fields as u64;
    let keys = if keys > 0 && keys < LEAST_FIELDS { LEAST_FIELDS } else { keys };
    VALUE + keys * VALUE
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
            (json!({"a": 1}), 64 + 9 * 64 + 1 + 64),
            (json!({"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6}), 64 + 9 * 64 + 6 * 65),
            (
                Value::from((0..20).map(|at| (at.to_string(), json!(1))).collect::<serde_json::Map<_, _>>()),
                64 + 20 * 128 + 30,
            ),
        ] {
            assert_eq!(of(&value), size, "{value}");
            let meter = Meter::new(size);
            assert_eq!(copy(&value, &meter), Ok(value.clone()));
            assert_eq!(meter.spent(), size);
            assert_eq!(copy(&value, &Meter::new(size - 1)), Err(FuelExhausted::Fuel));
        }
    }
}
