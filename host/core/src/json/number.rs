//! Comparison of numbers by their exact values, and of values that contain numbers.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use crate::work::rates::{BYTE, LOOKUP};
use crate::work::{FuelExhausted, Meter};

/// Compares two numbers by value: `3` equals `3.0`, and integers of 64 bits are never rounded to a double.
pub fn compare_numbers(a: &Number, b: &Number) -> Ordering {
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(a), None) => compare_with_float(a, float(b)),
        (None, Some(b)) => compare_with_float(b, float(a)).reverse(),
        // Both are finite, so that they are ordered; `+ 0.0` makes -0 equal to 0.
        (None, None) => (float(a) + 0.0).total_cmp(&(float(b) + 0.0)),
    }
}

/// The reason why two numbers have no sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SumError {
    /// Both are integers, and their sum is larger than 64 bits hold.
    #[error("the sum does not fit 64 bits")]
    TooLarge,
    /// One is a float, and their sum is larger than a double holds.
    #[error("the sum is not a finite number")]
    NotFinite,
}

/// Adds two numbers: integers exactly, others as doubles.
pub fn add_numbers(a: &Number, b: &Number) -> Result<Number, SumError> {
    if let (Some(a), Some(b)) = (integer(a), integer(b)) {
        // Both fit 65 bits, so their sum fits 128.
        return Number::from_i128(a + b).ok_or(SumError::TooLarge);
    }
    Number::from_f64(float(a) + float(b)).ok_or(SumError::NotFinite)
}

/// Rounds a number to `digits` digits after the point, of its shortest decimal text: halves are rounded away from zero, so that `2.675` with
/// two digits is `2.68`. A whole number below 2^53 becomes an integer.
pub fn round_number(number: &Number, digits: usize) -> Number {
    /// Doubles below it have all whole numbers.
    const WHOLE: f64 = 9_007_199_254_740_992.0;
    if integer(number).is_some() {
        return number.clone();
    }
    let value = float(number);
    let text = format!("{}", value.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let rounded = if fraction.len() <= digits {
        value
    } else {
        let mut kept: Vec<u8> = whole.bytes().chain(fraction.bytes().take(digits)).collect();
        if fraction.as_bytes()[digits] >= b'5' {
            let nines = kept.iter().rev().take_while(|digit| **digit == b'9').count();
            let length = kept.len();
            kept[length - nines..].fill(b'0');
            match kept.len().checked_sub(nines + 1) {
                Some(at) => kept[at] += 1,
                None => kept.insert(0, b'1'),
            }
        }
        kept.insert(kept.len() - digits, b'.');
        let decimal: f64 =
            std::str::from_utf8(&kept).ok().and_then(|text| text.parse().ok()).unwrap_or(value);
        decimal.copysign(value)
    };
    if rounded.fract() == 0.0 && rounded.abs() < WHOLE {
        #[allow(clippy::cast_possible_truncation, reason = "it is a whole number below 2^53")]
        return Number::from(rounded as i64);
    }
    Number::from_f64(rounded).unwrap_or_else(|| number.clone())
}

/// Checks whether two values are equal, numbers by value at any depth; a boolean is never a number. Charges [`LOOKUP`] for each compared
/// pair of values and [`BYTE`] for each compared byte of text. Texts and lists of different lengths are not compared.
pub fn equal_metered(a: &Value, b: &Value, meter: &Meter) -> Result<bool, FuelExhausted> {
    meter.charge(LOOKUP)?;
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => Ok(compare_numbers(a, b) == Ordering::Equal),
        (Value::String(a), Value::String(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            meter.charge_each(a.len(), BYTE)?;
            Ok(a == b)
        }
        (Value::Array(a), Value::Array(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (a, b) in a.iter().zip(b) {
                if !equal_metered(a, b, meter)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Object(a), Value::Object(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (key, a) in a {
                meter.charge(LOOKUP)?;
                meter.charge_each(key.len(), BYTE)?;
                let Some(b) = b.get(key) else { return Ok(false) };
                if !equal_metered(a, b, meter)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Null, Value::Null) => Ok(true),
        (Value::Bool(a), Value::Bool(b)) => Ok(a == b),
        _ => Ok(false),
    }
}

fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or(0.0)
}

fn compare_with_float(integer: i128, float: f64) -> Ordering {
    // Beyond ±2^65 only the float decides; up to there its integer part is exact in 128 bits.
    const BOUND: f64 = 36_893_488_147_419_103_232.0;
    if float >= BOUND {
        return Ordering::Less;
    }
    if float <= -BOUND {
        return Ordering::Greater;
    }
    #[allow(clippy::cast_possible_truncation)]
    let whole = float.trunc() as i128;
    integer.cmp(&whole).then_with(|| {
        if float.fract() > 0.0 {
            Ordering::Less
        } else if float.fract() < 0.0 {
            Ordering::Greater
        } else {
            Ordering::Equal
        }
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::json::any_json;

    /// Like [`equal_metered`], without charges.
    fn equal(a: &Value, b: &Value) -> bool {
        match (a, b) {
            (Value::Number(a), Value::Number(b)) => compare_numbers(a, b) == Ordering::Equal,
            (Value::Array(a), Value::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
            }
            (Value::Object(a), Value::Object(b)) => {
                a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
            }
            (a, b) => a == b,
        }
    }

    fn compare(a: &Value, b: &Value) -> Ordering {
        match (a, b) {
            (Value::Number(a), Value::Number(b)) => compare_numbers(a, b),
            _ => panic!("not numbers"),
        }
    }

    #[test]
    fn big_integers_are_not_rounded() {
        let big = 9_007_199_254_740_993_i64;
        assert_eq!(compare(&json!(big), &json!(big - 1)), Ordering::Greater);
        // The double nearest to 2^53 + 1 is 2^53.
        assert_eq!(compare(&json!(big), &json!(9_007_199_254_740_992.0)), Ordering::Greater);
        assert_eq!(compare(&json!(u64::MAX), &json!(18_446_744_073_709_551_616.0)), Ordering::Less);
        assert_eq!(compare(&json!(i64::MIN), &json!(-9_223_372_036_854_775_808.0)), Ordering::Equal);
        assert_eq!(compare(&json!(u64::MAX), &json!(-1)), Ordering::Greater);
        assert_eq!(compare(&json!(1), &json!(f64::MAX)), Ordering::Less);
        assert_eq!(compare(&json!(1), &json!(f64::MIN)), Ordering::Greater);
        assert_eq!(compare(&json!(-1), &json!(-1.5)), Ordering::Greater);
        assert_eq!(compare(&json!(-2), &json!(-1.5)), Ordering::Less);
        assert_eq!(compare(&json!(0.0), &json!(-0.0)), Ordering::Equal);
    }

    #[test]
    fn equality_is_by_value_at_any_depth() {
        assert!(equal(&json!({"a": [3, {"b": 1.0}]}), &json!({"a": [3.0, {"b": 1}]})));
        assert!(!equal(&json!({"a": 1}), &json!({"a": 1, "b": null})));
        assert!(!equal(&json!({"a": 1}), &json!({"b": 1})));
        assert!(!equal(&json!([1, 2]), &json!([2, 1])));
        for (a, b) in [
            (json!(true), json!(1)),
            (json!(false), json!(0)),
            (json!("1"), json!(1)),
            (json!(null), json!(0)),
        ] {
            assert!(!equal(&a, &b), "{a} {b}");
        }
    }

    #[test]
    fn a_comparison_costs_what_it_looks_at() {
        for (a, b, same, fuel) in [
            (json!(1), json!(1.0), true, 32),
            (json!("abc"), json!("abd"), false, 32 + 3),
            (json!("abc"), json!("ab"), false, 32),
            (json!([1, 2, 3]), json!([1, 3, 3]), false, 3 * 32),
            (json!([1, 2]), json!([1]), false, 32),
            (json!({"key": "x"}), json!({"key": "x"}), true, 32 + 32 + 3 + 32 + 1),
        ] {
            let meter = Meter::of_one_step();
            assert_eq!(equal_metered(&a, &b, &meter), Ok(same), "{a} {b}");
            assert_eq!(meter.spent(), fuel, "{a} {b}");
        }
        let long = json!("x".repeat(1_000));
        assert_eq!(equal_metered(&long, &long.clone(), &Meter::new(1_000)), Err(FuelExhausted::Fuel));
    }

    fn number() -> impl Strategy<Value = Value> {
        prop_oneof![
            any::<i64>().prop_map(|n| json!(n)),
            any::<u64>().prop_map(|n| json!(n)),
            (-10_i64..10).prop_map(|n| json!(n)),
            (-40_i32..40).prop_map(|n| json!(f64::from(n) / 4.0)),
            proptest::num::f64::NORMAL.prop_map(|n| json!(n)),
            (0_u64..64).prop_map(|n| json!(2_f64.powi(i32::try_from(n).unwrap()))),
        ]
    }

    #[test]
    fn halves_are_rounded_away_from_zero() {
        for (number, digits, rounded) in [
            (json!(2.5), 0, json!(3)),
            (json!(-2.5), 0, json!(-3)),
            (json!(2.675), 2, json!(2.68)),
            (json!(1.005), 2, json!(1.01)),
            (json!(-0.4), 0, json!(0)),
            (json!(9.99), 1, json!(10)),
            (json!(0.96), 1, json!(1)),
            (json!(0.05), 1, json!(0.1)),
            (json!(0.04), 1, json!(0)),
            (json!(1e-20), 15, json!(0)),
            (json!(1e300), 3, json!(1e300)),
            (json!(18_446_744_073_709_551_615_u64), 2, json!(18_446_744_073_709_551_615_u64)),
            (json!(1.25), 5, json!(1.25)),
            (json!(4_503_599_627_370_497.5), 0, json!(4_503_599_627_370_498_i64)),
        ] {
            let Value::Number(given) = &number else { panic!("{number}") };
            assert_eq!(Value::Number(round_number(given, digits)), rounded, "{number} to {digits}");
        }
    }

    proptest! {
        #[test]
        fn rounding_moves_a_number_by_half_a_place_at_most(value in -1e6..1e6_f64, digits in 0_usize..6) {
            let Some(Value::Number(number)) = Some(json!(value)) else { return Ok(()) };
            let rounded = round_number(&number, digits).as_f64().unwrap();
            let place = 10_f64.powi(-i32::try_from(digits).unwrap());
            prop_assert!((rounded - value).abs() <= place / 2.0 + value.abs() * 1e-12);
            prop_assert_eq!(round_number(&Number::from_f64(rounded).unwrap(), digits).as_f64(), Some(rounded));
        }

        #[test]
        fn charging_changes_no_comparison(a in any_json(), b in any_json()) {
            let meter = Meter::of_one_step();
            prop_assert_eq!(equal_metered(&a, &b, &meter), Ok(equal(&a, &b)));
            prop_assert_eq!(equal_metered(&a, &a, &meter), Ok(true));
        }

        #[test]
        fn the_order_is_total(a in number(), b in number(), c in number()) {
            prop_assert_eq!(compare(&a, &a), Ordering::Equal);
            prop_assert_eq!(compare(&a, &b), compare(&b, &a).reverse());
            if compare(&a, &b) != Ordering::Greater && compare(&b, &c) != Ordering::Greater {
                prop_assert_ne!(compare(&a, &c), Ordering::Greater);
            }
        }

        #[test]
        fn small_integers_equal_their_doubles(n in any::<i32>()) {
            prop_assert_eq!(compare(&json!(n), &json!(f64::from(n))), Ordering::Equal);
            prop_assert_eq!(compare(&json!(n), &json!(f64::from(n) + 0.5)), Ordering::Less);
        }
    }
}
