//! Random values of random types: converted to JSON and back without loss and checked against the schema; and refusals with their messages.
#![allow(clippy::unwrap_used, clippy::panic)]

use serde_json::{Value as Json, json};

use super::{FunctionSignature, WitType, WitValue, charged, of_params};
use crate::json::{MAX_DEPTH, TreeLimit, canonical_string, parse_strict};
use crate::schema::InputSchema;
use crate::work::{Meter, rates};

/// Pseudo-random numbers, the same in every run (`SplitMix64`).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }
}

const SIMPLE: [WitType; 13] = [
    WitType::Bool,
    WitType::S8,
    WitType::U8,
    WitType::S16,
    WitType::U16,
    WitType::S32,
    WitType::U32,
    WitType::S64,
    WitType::U64,
    WitType::F32,
    WitType::F64,
    WitType::Char,
    WitType::String,
];

fn name(at: usize) -> String {
    format!("name-{}", char::from(b'a' + u8::try_from(at).unwrap()))
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(name).collect()
}

fn random_type(random: &mut Random, depth: usize) -> WitType {
    let choice = if depth == 0 { 0 } else { random.below(13) };
    let count = 1 + random.below(4);
    let inner = |random: &mut Random| random_type(random, depth - usize::from(depth > 0));
    match choice {
        0..=3 => SIMPLE[random.below(SIMPLE.len())].clone(),
        4 => WitType::List(Box::new(inner(random))),
        5 => WitType::Record((0..count).map(|at| (name(at), inner(random))).collect()),
        6 => WitType::Tuple((0..count).map(|_| inner(random)).collect()),
        7 => {
            WitType::Variant((0..count).map(|at| (name(at), (at % 3 != 2).then(|| inner(random)))).collect())
        }
        8 => WitType::Enum(names(count)),
        9 | 10 => WitType::Option(Box::new(inner(random))),
        11 if random.below(2) == 0 => WitType::Flags(names(count)),
        12 => WitType::FixedLengthList(Box::new(inner(random)), u32::try_from(count).unwrap()),
        _ => match count {
            1 => WitType::Result(None, None),
            2 => WitType::Result(Some(Box::new(inner(random))), None),
            3 => WitType::Result(None, Some(Box::new(inner(random)))),
            _ => WitType::Result(Some(Box::new(inner(random))), Some(Box::new(inner(random)))),
        },
    }
}

/// Generates a random value.
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "any bits will do")]
fn random_value(random: &mut Random, ty: &WitType) -> WitValue {
    let is_edge = random.below(4) == 0;
    let edges = [0, 1, u64::MAX, 1 << 53, (1 << 53) + 1, i64::MAX as u64, 1 << 63];
    let bits = if is_edge { edges[random.below(edges.len())] } else { random.next() };
    let doubles = [0.0, -0.0, 0.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324, f64::MAX];
    let singles = [0.0, -0.0, 0.1, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE, f32::MAX];
    match ty {
        WitType::Bool => WitValue::Bool(bits & 1 == 1),
        WitType::S8 => WitValue::S8(bits as i8),
        WitType::U8 => WitValue::U8(bits as u8),
        WitType::S16 => WitValue::S16(bits as i16),
        WitType::U16 => WitValue::U16(bits as u16),
        WitType::S32 => WitValue::S32(bits as i32),
        WitType::U32 => WitValue::U32(bits as u32),
        WitType::S64 => WitValue::S64(bits as i64),
        WitType::U64 => WitValue::U64(bits),
        WitType::F32 if is_edge => WitValue::F32(singles[random.below(8)]),
        WitType::F64 if is_edge => WitValue::F64(doubles[random.below(8)]),
        WitType::F32 => WitValue::F32(f32::from_bits(bits as u32)),
        WitType::F64 => WitValue::F64(f64::from_bits(bits)),
        WitType::Char => WitValue::Char(char::from_u32(bits as u32 % 0x11_0000).unwrap_or('\u{fffd}')),
        WitType::String => {
            let letters = ["", "a", "\"", "\\", "\n", "ä", "\u{0}", "😀", "null", "NaN", "\u{feff}"];
            WitValue::String((0..random.below(5)).map(|_| letters[random.below(letters.len())]).collect())
        }
        WitType::List(element) => {
            WitValue::List((0..random.below(4)).map(|_| random_value(random, element)).collect())
        }
        WitType::FixedLengthList(element, count) => {
            WitValue::FixedLengthList((0..*count).map(|_| random_value(random, element)).collect())
        }
        WitType::Tuple(types) => WitValue::Tuple(types.iter().map(|ty| random_value(random, ty)).collect()),
        WitType::Record(fields) => WitValue::Record(
            fields.iter().map(|(name, ty)| (name.clone(), random_value(random, ty))).collect(),
        ),
        WitType::Variant(cases) => {
            let (name, ty) = &cases[random.below(cases.len())];
            WitValue::Variant(name.clone(), ty.as_ref().map(|ty| Box::new(random_value(random, ty))))
        }
        WitType::Enum(cases) => WitValue::Enum(cases[random.below(cases.len())].clone()),
        WitType::Flags(flags) => {
            WitValue::Flags(flags.iter().filter(|_| random.below(2) == 0).cloned().collect())
        }
        WitType::Option(ty) => {
            WitValue::Option((random.below(3) > 0).then(|| Box::new(random_value(random, ty))))
        }
        WitType::Result(ok, err) => {
            let mut side =
                |ty: &Option<Box<WitType>>| ty.as_ref().map(|ty| Box::new(random_value(random, ty)));
            WitValue::Result(if bits & 1 == 0 { Ok(side(ok)) } else { Err(side(err)) })
        }
    }
}

/// Creates a function with a parameter and a result of a type. The result is inside of a list, so that a `result` type is also a value
/// there.
fn of(ty: &WitType) -> FunctionSignature {
    let result = WitType::List(Box::new(ty.clone()));
    FunctionSignature { params: vec![("v".to_owned(), ty.clone())], result: Some(result) }
}

#[test]
fn random_values_are_kept() {
    let mut random = Random(7);
    for _ in 0..500 {
        let ty = random_type(&mut random, 4);
        let signature = of(&ty);
        let read: FunctionSignature = serde_json::from_value(json!(signature)).unwrap();
        assert_eq!(read, signature);
        let schema = InputSchema::compile(&of_params(&signature), &Meter::of_one_step()).unwrap();
        for _ in 0..20 {
            let value = random_value(&mut random, &ty);
            let given = Some(WitValue::List(vec![value.clone()]));
            let answer = signature.answer(given, u64::MAX, &Meter::of_one_step()).unwrap().unwrap();
            let text = canonical_string(&json!({ "v": answer[0] }));
            let read = parse_strict(&text, MAX_DEPTH, TreeLimit::VALUE).unwrap();
            let checked = schema.validate_and_fill(read.clone(), &Meter::of_one_step());
            assert!(checked.is_ok(), "{text} is not what the schema says");
            let again = signature.arguments(&read, &Meter::of_one_step());
            let again = again.unwrap_or_else(|failure| panic!("{text}: {failure}"));
            // The texts are compared, since a NaN is not equal to itself.
            assert_eq!(format!("{:?}", again[0]), format!("{value:?}"), "{text}");
        }
    }
}

/// Reads JSON as a parameter of a type; returns the value or the message of the refusal.
fn reads(ty: &WitType, json: &Json) -> Result<String, String> {
    let values = of(ty).arguments(&json!({ "v": json }), &Meter::of_one_step());
    let said = |message: &str| message.replace("its params are not what it takes: ", "");
    values.map(|values| format!("{:?}", values[0])).map_err(|failure| said(&failure.message))
}

fn record(field: WitType) -> WitType {
    WitType::Record(vec![(name(0), field)])
}

fn variant(case: Option<WitType>) -> WitType {
    WitType::Variant(vec![(name(0), case)])
}

#[test]
fn what_is_no_value_is_refused_with_its_place() {
    let option = |inner| WitType::Option(Box::new(inner));
    for (ty, json, expected) in [
        (WitType::U8, json!(256), Err("`v`: expected an integer from 0 to 255, found 256")),
        (WitType::U8, json!(-1), Err("`v`: expected an integer from 0 to 255, found -1")),
        (WitType::U8, json!(3.0), Ok("U8(3)")),
        (WitType::U8, json!(3.5), Err("`v`: expected an integer from 0 to 255, found 3.5")),
        (WitType::U64, json!(u64::MAX), Ok("U64(18446744073709551615)")),
        (WitType::S64, json!(i64::MIN), Ok("S64(-9223372036854775808)")),
        (
            WitType::S64,
            json!(1e19),
            Err(
                "`v`: expected an integer from -9223372036854775808 to 9223372036854775807, found 10000000000000000000",
            ),
        ),
        (WitType::F32, json!(1e300), Err("`v`: expected a number that 32 bits hold, found 1e+300")),
        (WitType::F64, json!("Infinity"), Ok("F64(inf)")),
        (
            WitType::F64,
            json!("inf"),
            Err(
                "`v`: expected a number, \"NaN\", \"Infinity\", \"-Infinity\" or \"-0\", found the text `inf`",
            ),
        ),
        (WitType::Char, json!("ab"), Err("`v`: expected a text of one character, found the text `ab`")),
        (WitType::Char, json!(""), Err("`v`: expected a text of one character, found the text ``")),
        (WitType::Bool, json!(1), Err("`v`: expected true or false, found 1")),
        (
            WitType::List(Box::new(WitType::U8)),
            json!([1, "2"]),
            Err("`v[1]`: expected an integer from 0 to 255, found the text `2`"),
        ),
        (
            WitType::Tuple(vec![WitType::U8; 2]),
            json!([1]),
            Err("`v`: expected a list of 2 values, found 1 values"),
        ),
        (record(WitType::U8), json!({}), Err("`v`: `name-a` is missing")),
        (record(option(WitType::U8)), json!({}), Ok("Record([(\"name-a\", Option(None))])")),
        (
            record(WitType::U8),
            json!({ "name_a": 1 }),
            Err("`v`: `name_a` is unknown; did you mean `name-a`?"),
        ),
        (WitType::Enum(names(2)), json!("name-c"), Err("`v`: `name-c` is unknown; did you mean `name-a`?")),
        (WitType::Flags(names(2)), json!(["name-a", "name-a"]), Err("`v`: `name-a` is there twice")),
        (
            variant(None),
            json!({ "name-a": 1 }),
            Err("`v`: the case `name-a` has no value: write `\"name-a\"`"),
        ),
        (
            variant(Some(WitType::U8)),
            json!("name-a"),
            Err("`v`: the case `name-a` has a value: write {\"name-a\": ..}"),
        ),
        (
            variant(Some(WitType::U8)),
            json!({ "name-a": "x" }),
            Err("`v.name-a`: expected an integer from 0 to 255, found the text `x`"),
        ),
        (option(option(WitType::U8)), json!({ "some": null }), Ok("Option(Some(Option(None)))")),
        (option(option(WitType::U8)), json!(null), Ok("Option(None)")),
        (option(option(WitType::U8)), json!(1), Err("`v`: expected {\"some\": ..}, found 1")),
        (
            WitType::Result(None, Some(Box::new(WitType::U8))),
            json!({ "ok": 1 }),
            Err("`v.ok`: expected null, found 1"),
        ),
        (
            WitType::Result(None, None),
            json!({ "ok": null, "err": null }),
            Err("`v`: expected {\"ok\": ..} or {\"err\": ..}, found an object"),
        ),
    ] {
        let read = reads(&ty, &json);
        assert_eq!(read.as_deref().map_err(String::as_str), expected, "{json}");
    }
}

#[test]
fn values_are_counted_before_they_are_made() {
    let refused = reads(&WitType::List(Box::new(WitType::U8)), &Json::Array(vec![json!(0); 1 << 20]));
    assert_eq!(refused, Err("`v`: there are more than 1048576 values".to_owned()));
}

#[test]
fn values_that_cost_too_much_are_refused() {
    let signature = of(&WitType::List(Box::new(WitType::U8)));
    let meter = Meter::new(10 * rates::VALUE);
    let failure = signature.arguments(&json!({ "v": vec![1; 10] }), &meter).unwrap_err();
    assert_eq!(failure.category.as_str(), "limit");
    assert!(failure.message.starts_with("its params cannot be made values of its types: "), "{failure}");
    assert_eq!(meter.spent(), 10 * rates::VALUE);
    let failure =
        signature.answer(Some(WitValue::List(vec![WitValue::U8(1); 20])), 1000, &meter).unwrap_err();
    assert!(failure.message.starts_with("what it answered cannot be written as JSON: "), "{failure}");
}

#[test]
fn what_is_far_more_than_the_value_is_charged() {
    let value = json!(["a"]);
    assert_eq!(charged(50_000, &value), 0);
    assert_eq!(charged(50_001 + 8 * crate::work::size::of(&value), &value), 1);
}

#[test]
fn errors_become_failures() {
    let failure = |error: Option<WitValue>, ty: WitType| {
        let result = WitType::Result(None, Some(Box::new(ty)));
        let signature = FunctionSignature { params: Vec::new(), result: Some(result) };
        let value = WitValue::Result(Err(error.map(Box::new)));
        let answer = signature.answer(Some(value), 1 << 20, &Meter::of_one_step()).unwrap();
        let failure = answer.unwrap_err();
        (failure.category.as_str(), failure.message, failure.details)
    };
    assert_eq!(
        failure(Some(WitValue::String("no such file".to_owned())), WitType::String),
        ("permanent", "no such file".to_owned(), None)
    );
    assert_eq!(
        failure(Some(WitValue::U32(7)), WitType::U32),
        ("permanent", "it failed with 7".to_owned(), Some(json!(7)))
    );
    assert_eq!(
        failure(Some(WitValue::Enum("name-a".to_owned())), WitType::Enum(names(1))),
        ("permanent", "it failed with \"name-a\"".to_owned(), Some(json!("name-a")))
    );
    assert_eq!(
        failure(
            Some(WitValue::Enum("rate-limited".to_owned())),
            WitType::Enum(vec!["rate-limited".to_owned()])
        )
        .0,
        "rate-limited"
    );
}

#[test]
fn an_answer_is_bounded() {
    let signature = of(&WitType::U8);
    let answer =
        signature.answer(Some(WitValue::List(vec![WitValue::U8(0); 2000])), 1000, &Meter::of_one_step());
    assert_eq!(answer.unwrap_err().message, "what it answered has more than 1000 bytes");
}
