//! Canonical JSON text: RFC 8785 (JCS), with 64-bit integers written exactly.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use crate::digest::{Digest, DomainHasher};
use crate::work::rates::{BYTE, VALUE};
use crate::work::{FuelExhausted, Meter};

/// A destination of canonical text: a `String`, or the bytes of a `Vec<u8>`.
pub trait Sink {
    /// Adds text at the end.
    fn push(&mut self, text: &str);

    /// Reserves room for this number of further bytes, if that is useful.
    fn reserve(&mut self, bytes: usize) {
        let _ = bytes;
    }
}

impl Sink for String {
    fn push(&mut self, text: &str) {
        self.push_str(text);
    }

    fn reserve(&mut self, bytes: usize) {
        self.reserve(bytes);
    }
}

impl Sink for Vec<u8> {
    fn push(&mut self, text: &str) {
        self.extend_from_slice(text.as_bytes());
    }

    fn reserve(&mut self, bytes: usize) {
        self.reserve(bytes);
    }
}

/// Returns the canonical text of a value: RFC 8785, in which object keys are sorted by their UTF-16 code units, numbers are written as in
/// ECMAScript and strings are escaped only where necessary. It differs from the standard in one point: a 64-bit integer is written exactly,
/// where RFC 8785 would round it to a double.
pub fn canonical_string(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    text
}

/// Adds the canonical text of a value ([`canonical_string`]) to a sink.
pub fn write_canonical(value: &Value, out: &mut impl Sink) {
    match value {
        Value::Null => out.push("null"),
        Value::Bool(true) => out.push("true"),
        Value::Bool(false) => out.push("false"),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_text(text, out),
        Value::Array(items) => {
            out.push("[");
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(",");
                }
                write_canonical(item, out);
            }
            out.push("]");
        }
        Value::Object(fields) => write_object(fields, out),
    }
}

/// Computes the length of a value's canonical text ([`canonical_string`]) in bytes without writing it. Charges the cost of writing:
/// [`VALUE`] for each value and [`BYTE`] for each byte of the text.
pub fn canonical_length(value: &Value, meter: &Meter) -> Result<usize, FuelExhausted> {
    meter.charge(VALUE)?;
    let own = match value {
        Value::Null | Value::Bool(true) => 4,
        Value::Bool(false) => 5,
        Value::Number(number) => number_length(number),
        Value::String(text) => return text_length(text, meter),
        Value::Array(items) => {
            // Brackets, and a comma between any two.
            let own = 2 + items.len().saturating_sub(1);
            meter.charge_each(own, BYTE)?;
            return items.iter().try_fold(own, |sum, item| Ok(sum + canonical_length(item, meter)?));
        }
        Value::Object(fields) => {
            // Like a list, with a colon in each field.
            let own = 2 + fields.len().saturating_sub(1) + fields.len();
            meter.charge_each(own, BYTE)?;
            return fields.iter().try_fold(own, |sum, (key, field)| {
                Ok(sum + text_length(key, meter)? + canonical_length(field, meter)?)
            });
        }
    };
    meter.charge_each(own, BYTE)?;
    Ok(own)
}

/// Computes the length of a value's canonical text ([`canonical_string`]) in bytes without writing it. Charges nothing.
pub fn canonical_size(value: &Value) -> u64 {
    canonical_length(value, &Meter::new(u64::MAX)).map_or(u64::MAX, |length| length as u64)
}

fn text_length(text: &str, meter: &Meter) -> Result<usize, FuelExhausted> {
    meter.charge_each(text.len() + 2, BYTE)?;
    let escaped = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    // Most text has nothing to escape, and checking that is much faster than adding up.
    if !text.as_bytes().iter().fold(false, |any, byte| any | escaped(byte)) {
        return Ok(text.len() + 2);
    }
    let more = |byte: &u8| match byte {
        b'"' | b'\\' => 1,
        0..0x20 => CONTROL[usize::from(*byte)].len() - 1,
        _ => 0,
    };
    let more: usize = text.as_bytes().iter().map(more).sum();
    meter.charge_each(more, BYTE)?;
    Ok(text.len() + 2 + more)
}

fn number_length(number: &Number) -> usize {
    let digits = |number: u64| number.checked_ilog10().map_or(1, |log| log as usize + 1);
    if let Some(number) = number.as_u64() {
        digits(number)
    } else if let Some(number) = number.as_i64() {
        1 + digits(number.unsigned_abs())
    } else {
        let float = number.as_f64().unwrap_or_default();
        ryu_js::Buffer::new().format_finite(float).len()
    }
}

/// Returns the digest of a value's canonical text under a domain, such as `graph-host/inputs/v1`. A long text is never stored: it is
/// written once to find its length, which is digested first, and once more into the digest.
pub fn digest(domain: &str, value: &Value) -> Digest {
    let mut start = Start::default();
    write_canonical(value, &mut start);
    let hasher = DomainHasher::new(domain);
    if start.length == start.bytes.len() {
        return hasher.field(&start.bytes).finish();
    }
    start.bytes.clear();
    let (bytes, length) = (start.bytes, start.length as u64);
    let field = hasher.field_in_pieces(length, |update| {
        let mut pieces = Pieces { bytes, update };
        write_canonical(value, &mut pieces);
        (pieces.update)(&pieces.bytes);
    });
    field.finish()
}

/// Stores a text while it is short, and counts its bytes.
#[derive(Default)]
struct Start {
    bytes: Vec<u8>,
    length: usize,
}

impl Start {
    /// Length of the longest stored text, in bytes.
    const LONGEST: usize = 64 << 10;
}

impl Sink for Start {
    fn push(&mut self, text: &str) {
        self.length += text.len();
        // Once a piece does not fit, nothing more is stored: `length` then exceeds the stored bytes.
        if self.length <= Self::LONGEST {
            self.bytes.extend_from_slice(text.as_bytes());
        }
    }
}

/// Passes a text on in pieces of about [`Start::LONGEST`] bytes.
struct Pieces<'u> {
    bytes: Vec<u8>,
    update: &'u mut dyn FnMut(&[u8]),
}

impl Sink for Pieces<'_> {
    fn push(&mut self, text: &str) {
        if self.bytes.len() + text.len() > Start::LONGEST {
            (self.update)(&self.bytes);
            self.bytes.clear();
        }
        if text.len() > Start::LONGEST {
            (self.update)(text.as_bytes());
        } else {
            self.bytes.extend_from_slice(text.as_bytes());
        }
    }
}

fn write_object(fields: &Map<String, Value>, out: &mut impl Sink) {
    // Most maps are sorted already: `serde_json` sorts by UTF-8, which differs from this order only around U+FFFF. Only the others need a
    // list of references.
    let sorted = fields.keys().zip(fields.keys().skip(1)).all(|(a, b)| compare_keys(a, b) == Ordering::Less);
    out.push("{");
    if sorted {
        write_fields(fields.iter(), out);
    } else {
        let mut entries: Vec<(&String, &Value)> = fields.iter().collect();
        entries.sort_unstable_by(|(a, _), (b, _)| compare_keys(a, b));
        write_fields(entries.into_iter(), out);
    }
    out.push("}");
}

fn write_fields<'a>(fields: impl Iterator<Item = (&'a String, &'a Value)>, out: &mut impl Sink) {
    for (at, (key, value)) in fields.enumerate() {
        if at > 0 {
            out.push(",");
        }
        write_text(key, out);
        out.push(":");
        write_canonical(value, out);
    }
}

/// Compares by UTF-16 code units without encoding. UTF-8 sorts like code points, and the two orders differ only where a character beyond
/// U+FFFF (lead byte F0 to F4; in UTF-16 a surrogate, D800 to DFFF) meets one from U+E000 to U+FFFF (lead byte EE or EF).
fn compare_keys(a: &str, b: &str) -> Ordering {
    let Some((x, y)) = a.bytes().zip(b.bytes()).find(|(x, y)| x != y) else {
        return a.len().cmp(&b.len());
    };
    match (x, y) {
        (0xF0.., 0xEE | 0xEF) => Ordering::Less,
        (0xEE | 0xEF, 0xF0..) => Ordering::Greater,
        _ => x.cmp(&y),
    }
}

fn write_number(number: &Number, out: &mut impl Sink) {
    if let Some(float) = number.as_f64().filter(|_| number.is_f64()) {
        // A `Number` is finite by construction.
        out.push(ryu_js::Buffer::new().format_finite(float));
    } else if let Some(number) = number.as_u64() {
        out.push(itoa::Buffer::new().format(number));
    } else if let Some(number) = number.as_i64() {
        out.push(itoa::Buffer::new().format(number));
    }
}

/// Length of the shortest text for which room is reserved, in bytes.
const LONG: usize = 16 << 10;

fn write_text(text: &str, out: &mut impl Sink) {
    if text.len() >= LONG {
        // Room for the quotes, some escapes and the following text as well: growing by so little would double the capacity.
        out.reserve(text.len() + text.len() / 16);
    }
    out.push("\"");
    let mut clean = 0;
    for (at, byte) in text.bytes().enumerate() {
        // Everything to escape is ASCII, so `at` is a character boundary.
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            0..0x20 => CONTROL[usize::from(byte)],
            _ => continue,
        };
        out.push(&text[clean..at]);
        out.push(escape);
        clean = at + 1;
    }
    out.push(&text[clean..]);
    out.push("\"");
}

const CONTROL: [&str; 32] = [
    "\\u0000", "\\u0001", "\\u0002", "\\u0003", "\\u0004", "\\u0005", "\\u0006", "\\u0007", "\\b", "\\t",
    "\\n", "\\u000b", "\\f", "\\r", "\\u000e", "\\u000f", "\\u0010", "\\u0011", "\\u0012", "\\u0013",
    "\\u0014", "\\u0015", "\\u0016", "\\u0017", "\\u0018", "\\u0019", "\\u001a", "\\u001b", "\\u001c",
    "\\u001d", "\\u001e", "\\u001f",
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::json::any_json;
    use crate::json::{TreeLimit, parse_strict};

    #[test]
    fn a_long_text_is_digested_without_being_held() {
        let of_text = |text: &str| DomainHasher::new("test").field(text.as_bytes()).finish();
        for length in
            [0, 1, Start::LONGEST - 3, Start::LONGEST - 2, Start::LONGEST - 1, Start::LONGEST + 7, 1 << 20]
        {
            for value in [json!("x".repeat(length)), json!(["a\nb", "\"".repeat(length), { "k": 1 }, length])]
            {
                assert_eq!(digest("test", &value), of_text(&canonical_string(&value)), "{length}");
            }
        }
        let many = json!((0..100_000).collect::<Vec<_>>());
        assert_eq!(digest("test", &many), of_text(&canonical_string(&many)));
        // The stored text does not grow with the value.
        for length in [1 << 20, 8 << 20] {
            let mut start = Start::default();
            write_canonical(&json!(["x".repeat(length), 1]), &mut start);
            assert_eq!((start.length, start.bytes.len()), (length + 6, 2));
            let mut passed = 0;
            let mut update = |piece: &[u8]| passed += piece.len();
            let mut pieces = Pieces { bytes: Vec::new(), update: &mut update };
            write_canonical(&json!(["x".repeat(length), 1]), &mut pieces);
            let largest = pieces.bytes.capacity();
            (pieces.update)(&pieces.bytes);
            assert!(largest <= 2 * Start::LONGEST, "{largest}");
            assert_eq!(passed, length + 6);
        }
    }

    /// RFC 8785, appendix B: IEEE-754 bits and the text.
    #[test]
    fn numbers_are_written_as_rfc_8785_shows() {
        for (bits, text) in [
            (0x0000_0000_0000_0000, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0x41b3_de43_5555_5556, "333333333.3333334"),
            (0x41b3_de43_5555_5557, "333333333.33333343"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ] {
            assert_eq!(canonical_string(&json!(f64::from_bits(bits))), text, "{bits:#x}");
        }
    }

    #[test]
    fn keys_are_sorted_and_text_escaped_as_rfc_8785_shows() {
        // Sections 3.2.2 and 3.2.3.
        let value = parse_strict(
            r#"{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
                "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}"#,
            8,
            TreeLimit::VALUE,
        )
        .unwrap();
        assert_eq!(
            canonical_string(&value),
            "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
             \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}"
        );
        let value =
            json!({"\u{20ac}": 1, "\r": 2, "\u{fb33}": 3, "1": 4, "\u{1f600}": 5, "\u{80}": 6, "\u{f6}": 7});
        assert_eq!(
            canonical_string(&value),
            "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"\u{f6}\":7,\"\u{20ac}\":1,\"\u{1f600}\":5,\"\u{fb33}\":3}"
        );
    }

    #[test]
    fn integers_of_64_bits_are_exact() {
        let value = json!([i64::MIN, i64::MAX, u64::MAX, 9_007_199_254_740_993_u64, 0, 7, 10, -1]);
        assert_eq!(
            canonical_string(&value),
            "[-9223372036854775808,9223372036854775807,18446744073709551615,9007199254740993,0,7,10,-1]"
        );
    }

    #[test]
    fn the_digest_depends_on_the_domain_alone_beside_the_value() {
        let value = json!({"a": 1});
        assert_eq!(digest("x", &value), digest("x", &json!({"a": 1.0})));
        assert_ne!(digest("x", &value), digest("y", &value));
        assert_ne!(digest("x", &value), digest("x", &json!({"a": 2})));
    }

    #[test]
    fn the_length_is_known_before_the_text_is_written() {
        let texts = ["", "a", "é", "\"\\", "\u{1}\n\u{7f}\u{1f}", "\u{1f600}"];
        let numbers =
            [json!(0), json!(9), json!(10), json!(-1), json!(i64::MIN), json!(u64::MAX), json!(-0.0)];
        for value in texts.map(Value::from).into_iter().chain(numbers) {
            let meter = Meter::of_one_step();
            let text = canonical_string(&value);
            assert_eq!(canonical_length(&value, &meter), Ok(text.len()), "{text}");
            assert_eq!(meter.spent(), VALUE + text.len() as u64);
        }
        let many = json!(vec![0; 1_000]);
        let meter = Meter::new(10_000);
        assert_eq!(canonical_length(&many, &meter), Err(FuelExhausted::Fuel));
    }

    proptest! {
        #[test]
        fn the_length_is_that_of_the_text(value in any_json()) {
            let meter = Meter::of_one_step();
            prop_assert_eq!(canonical_length(&value, &meter), Ok(canonical_string(&value).len()));
            prop_assert_eq!(canonical_size(&value), canonical_string(&value).len() as u64);
        }

        #[test]
        fn canonical_text_reads_back_to_itself(value in any_json()) {
            let text = canonical_string(&value);
            let again = parse_strict(&text, 64, TreeLimit::VALUE).unwrap();
            prop_assert_eq!(canonical_string(&again), text.clone());
            let mut bytes = Vec::new();
            write_canonical(&value, &mut bytes);
            prop_assert_eq!(bytes, text.into_bytes());
        }

        #[test]
        fn doubles_read_back_bit_for_bit(float in proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL) {
            // From 2^53 to 10^21 the text of a double is an integer, which is read as one if it fits.
            let float = if (9e15..1e21).contains(&float.abs()) { float / 1e10 } else { float };
            let again = parse_strict(&canonical_string(&json!(float)), 1, TreeLimit::VALUE).unwrap();
            prop_assert_eq!(again.as_f64().unwrap().to_bits(), float.to_bits());
        }

        #[test]
        fn key_order_is_that_of_utf_16(a in any::<String>(), b in any::<String>()) {
            prop_assert_eq!(compare_keys(&a, &b), a.encode_utf16().cmp(b.encode_utf16()));
        }

        #[test]
        fn key_order_is_that_of_utf_16_around_the_surrogates(
            a in "[\u{d7f0}-\u{d7ff}\u{e000}-\u{e00f}\u{fff0}-\u{ffff}\u{10000}-\u{10010}]{0,3}",
            b in "[\u{d7f0}-\u{d7ff}\u{e000}-\u{e00f}\u{fff0}-\u{ffff}\u{10000}-\u{10010}]{0,3}",
        ) {
            prop_assert_eq!(compare_keys(&a, &b), a.encode_utf16().cmp(b.encode_utf16()));
        }

        #[test]
        fn strings_are_escaped_as_serde_json_does(text in any::<String>()) {
            prop_assert_eq!(canonical_string(&json!(text)), serde_json::to_string(&text).unwrap());
        }
    }
}
