//! Metered comparison of values.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use crate::json::compare_numbers;
use crate::work::{FuelExhausted, Meter, rates};

/// Number of bytes that are charged and compared at a time: an early difference costs little, whatever the length.
const PIECE: usize = 256;

/// Checks whether two values are equal, numbers by their values.
pub(super) fn same(a: &Value, b: &Value, meter: &Meter) -> Result<bool, FuelExhausted> {
    meter.charge(rates::VALUE)?;
    match (a, b) {
        (Value::String(a), Value::String(b)) => {
            Ok(a.len() == b.len() && compare_texts(a, b, meter)? == Ordering::Equal)
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (a, b) in a.iter().zip(b) {
                if !same(a, b, meter)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Object(a), Value::Object(b)) if a.len() == b.len() => {
            for (key, a) in a {
                meter.charge(rates::LOOKUP.saturating_add(key.len() as u64))?;
                match b.get(key) {
                    Some(b) if same(a, b, meter)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        (Value::Number(a), Value::Number(b)) => Ok(compare_numbers(a, b) == Ordering::Equal),
        (Value::Null, Value::Null) => Ok(true),
        (Value::Bool(a), Value::Bool(b)) => Ok(a == b),
        _ => Ok(false),
    }
}

/// Checks whether all items are different. Sorting avoids the comparison of each with each.
pub(super) fn unique(items: &[Value], meter: &Meter) -> Result<bool, FuelExhausted> {
    if items.len() < 2 {
        return Ok(true);
    }
    meter.charge_each(items.len(), rates::VALUE)?;
    let mut sorted: Vec<&Value> = items.iter().collect();
    let mut merged: Vec<&Value> = Vec::with_capacity(items.len());
    let mut width = 1;
    // A custom merge sort: a comparison can fail, and equal items end it.
    while width < sorted.len() {
        merged.clear();
        for run in sorted.chunks(width * 2) {
            let (left, right) = run.split_at(width.min(run.len()));
            let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
            while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
                let next = match compare(a, b, meter)? {
                    Ordering::Equal => return Ok(false),
                    Ordering::Less => left.next(),
                    Ordering::Greater => right.next(),
                };
                merged.extend(next);
            }
            merged.extend(left.chain(right));
        }
        std::mem::swap(&mut sorted, &mut merged);
        width *= 2;
    }
    Ok(true)
}

/// Defines a total order that agrees with [`same`].
fn compare(a: &Value, b: &Value, meter: &Meter) -> Result<Ordering, FuelExhausted> {
    meter.charge(rates::SORT_STEP)?;
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => Ok(compare_numbers(a, b)),
        (Value::String(a), Value::String(b)) => compare_texts(a, b, meter),
        (Value::Bool(a), Value::Bool(b)) => Ok(a.cmp(b)),
        (Value::Array(a), Value::Array(b)) => {
            meter.charge(rates::VALUE)?;
            let mut order = a.len().cmp(&b.len());
            for (a, b) in a.iter().zip(b) {
                if order != Ordering::Equal {
                    break;
                }
                order = compare(a, b, meter)?;
            }
            Ok(order)
        }
        (Value::Object(a), Value::Object(b)) => {
            meter.charge(rates::VALUE)?;
            let mut order = a.len().cmp(&b.len());
            // A map of `serde_json` is sorted by key.
            for ((key, a), (other, b)) in a.iter().zip(b) {
                if order != Ordering::Equal {
                    break;
                }
                meter.charge(rates::LOOKUP)?;
                order = match compare_texts(key, other, meter)? {
                    Ordering::Equal => compare(a, b, meter)?,
                    order => order,
                };
            }
            Ok(order)
        }
        (a, b) => Ok(kind(a).cmp(&kind(b))),
    }
}

fn kind(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

/// Compares two texts byte by byte, charged up to the first piece in which they differ.
pub(super) fn compare_texts(a: &str, b: &str, meter: &Meter) -> Result<Ordering, FuelExhausted> {
    for (a, b) in a.as_bytes().chunks(PIECE).zip(b.as_bytes().chunks(PIECE)) {
        meter.charge_each(a.len().min(b.len()), rates::BYTE)?;
        let shared = a.len().min(b.len());
        match a[..shared].cmp(&b[..shared]) {
            Ordering::Equal => {}
            order => return Ok(order),
        }
    }
    Ok(a.len().cmp(&b.len()))
}

/// Checks whether a number is an integer multiple of another, both taken as the decimal numbers in their text: 0.0075 is a multiple of
/// 0.0001, though the doubles nearest to them are not. Only 0 is a multiple of 0.
pub(super) fn is_multiple(number: &Number, of: &Number) -> bool {
    let ((digits, exponent), (divisor, other)) = (decimal(number), decimal(of));
    if digits == 0 || divisor == 0 {
        return digits == 0;
    }
    let (digits, divisor) = (u128::from(digits), u128::from(divisor));
    let difference = exponent - other;
    if difference >= 0 {
        // digits · 10^difference modulo divisor: all factors are below 2^64, so that no product overflows.
        let (mut rest, mut power, mut left) = (digits % divisor, 10 % divisor, difference);
        while left > 0 {
            if left % 2 == 1 {
                rest = rest * power % divisor;
            }
            power = power * power % divisor;
            left /= 2;
        }
        return rest == 0;
    }
    // Digits do not end in zeros, so that a power of ten above them divides nothing.
    let power = difference.checked_neg().and_then(|left| u32::try_from(left).ok());
    let whole =
        power.and_then(|power| 10_u128.checked_pow(power)).and_then(|power| power.checked_mul(divisor));
    whole.is_some_and(|whole| digits % whole == 0)
}

/// Returns the shortest decimal digits of a number without its sign, which do not end in a zero, and their power of ten.
fn decimal(number: &Number) -> (u64, i32) {
    let (mut digits, mut exponent) = match (number.as_u64(), number.as_i64()) {
        (Some(integer), _) => (integer, 0),
        (None, Some(integer)) => (integer.unsigned_abs(), 0),
        // No more than 17 digits: such a number is below 2^64.
        (None, None) => scientific(&format!("{:e}", number.as_f64().unwrap_or(0.0).abs())).unwrap_or((0, 0)),
    };
    while digits != 0 && digits % 10 == 0 {
        digits /= 10;
        exponent += 1;
    }
    (digits, exponent)
}

/// Reads a text such as `1.25e-3` as 125 and -5.
fn scientific(text: &str) -> Option<(u64, i32)> {
    let (mantissa, exponent) = text.split_once('e')?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: u64 = format!("{whole}{fraction}").parse().ok()?;
    let exponent: i32 = exponent.parse().ok()?;
    Some((digits, exponent - i32::try_from(fraction.len()).ok()?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    #[test]
    fn multiples_are_those_of_decimal_numbers() {
        let multiple =
            |number: Value, of: Value| is_multiple(number.as_number().unwrap(), of.as_number().unwrap());
        for (number, of, expected) in [
            (json!(0.0075), json!(0.0001), true),
            (json!(0.00751), json!(0.0001), false),
            (json!(1e308), json!(0.123_456_789), false),
            (json!(1e308), json!(1e-308), true),
            (json!(12_391_239_123_u64), json!(1e-8), true),
            (json!(u64::MAX), json!(5), true),
            (json!(u64::MAX), json!(2), false),
            (json!(i64::MIN), json!(-2), true),
            (json!(4.5), json!(1.5), true),
            (json!(35), json!(1.5), false),
            (json!(0), json!(3), true),
            (json!(1e-308), json!(1e308), false),
            (json!(9_007_199_254_740_993_u64), json!(2), false),
        ] {
            assert_eq!(multiple(number.clone(), of.clone()), expected, "{number} of {of}");
        }
    }

    #[test]
    fn items_are_told_apart_by_their_values() {
        for (items, expected) in [
            (json!([1, 1.0]), false),
            (json!([1, true, "1", null, [1], {"a": 1}, [], {}, false, 0]), true),
            (json!([{"a": 1, "b": 2}, {"b": 2.0, "a": 1}]), false),
            (json!([[1, [2]], [1, [2, 3]], [1, [3]], [1, [2]]]), false),
            (json!([u64::MAX, 18_446_744_073_709_551_616.0]), true),
            (json!([9_223_372_036_854_775_808_u64, 9_223_372_036_854_775_808.0]), false),
            (json!(["a", "b", "ab", "", "ba", "a\u{0}"]), true),
            (json!([3, 2, 1, 5, 4, 3]), false),
        ] {
            let meter = Meter::of_one_step();
            assert_eq!(unique(items.as_array().unwrap(), &meter), Ok(expected), "{items}");
        }
    }
}
