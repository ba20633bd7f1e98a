//! Random values of random types: to JSON and back without loss, as the schema says, and with `wasm-wave` as a second opinion.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fmt::Write as _;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use graph_core::json::{MAX_DEPTH, TreeLimit, canonical_string, parse_strict};
use graph_core::schema::InputSchema;
use graph_core::work::Meter;
use serde_json::{Value as Json, json};
use wasm_wave::value::{Type as WaveType, Value as WaveValue};
use wasm_wave::wasm::{WasmType as _, WasmTypeKind, WasmValue as _};
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, Type, Val};

use super::list::{Signature, describe};
use super::read::arguments;
use super::schema::Room;
use super::write::answer;

/// A type, as it is generated.
#[derive(Clone, Debug)]
enum Shape {
    Simple(WasmTypeKind, &'static str),
    List(Box<Shape>),
    Record(Vec<Shape>),
    Tuple(Vec<Shape>),
    Variant(Vec<Option<Shape>>),
    Enum(usize),
    Option(Box<Shape>),
    Result(Option<Box<Shape>>, Option<Box<Shape>>),
    Flags(usize),
}

const SIMPLE: [(WasmTypeKind, &str); 13] = [
    (WasmTypeKind::Bool, "bool"),
    (WasmTypeKind::S8, "s8"),
    (WasmTypeKind::U8, "u8"),
    (WasmTypeKind::S16, "s16"),
    (WasmTypeKind::U16, "u16"),
    (WasmTypeKind::S32, "s32"),
    (WasmTypeKind::U32, "u32"),
    (WasmTypeKind::S64, "s64"),
    (WasmTypeKind::U64, "u64"),
    (WasmTypeKind::F32, "f32"),
    (WasmTypeKind::F64, "f64"),
    (WasmTypeKind::Char, "char"),
    (WasmTypeKind::String, "string"),
];

fn below(rng: &mut ChaCha20Rng, end: usize) -> usize {
    usize::try_from(rng.next_u64() % end as u64).unwrap()
}

fn name(at: usize) -> String {
    format!("name-{}", char::from(b'a' + u8::try_from(at).unwrap()))
}

fn shape(rng: &mut ChaCha20Rng, depth: usize) -> Shape {
    let choice = if depth == 0 { 0 } else { below(rng, 12) };
    let count = 1 + below(rng, 4);
    let inner = |rng: &mut ChaCha20Rng| shape(rng, depth - usize::from(depth > 0));
    match choice {
        0..=3 => {
            let (kind, text) = SIMPLE[below(rng, SIMPLE.len())];
            Shape::Simple(kind, text)
        }
        4 => Shape::List(Box::new(inner(rng))),
        5 => Shape::Record((0..count).map(|_| inner(rng)).collect()),
        6 => Shape::Tuple((0..count).map(|_| inner(rng)).collect()),
        7 => Shape::Variant((0..count).map(|_| (below(rng, 3) > 0).then(|| inner(rng))).collect()),
        8 => Shape::Enum(count),
        9 | 10 => Shape::Option(Box::new(inner(rng))),
        11 if below(rng, 2) == 0 => Shape::Flags(count),
        _ => {
            let side = |rng: &mut ChaCha20Rng| (below(rng, 3) > 0).then(|| Box::new(inner(rng)));
            Shape::Result(side(rng), side(rng))
        }
    }
}

/// Writes the definition of a type, and gives what refers to it.
fn define(shape: &Shape, text: &mut String, count: &mut usize) -> String {
    let written = match shape {
        Shape::Simple(_, simple) => return (*simple).to_owned(),
        Shape::List(inner) => format!("(list {})", define(inner, text, count)),
        Shape::Record(fields) => {
            let fields: Vec<_> = fields
                .iter()
                .enumerate()
                .map(|(at, field)| format!("(field \"{}\" {})", name(at), define(field, text, count)))
                .collect();
            format!("(record {})", fields.join(" "))
        }
        Shape::Tuple(types) => {
            let types: Vec<_> = types.iter().map(|ty| define(ty, text, count)).collect();
            format!("(tuple {})", types.join(" "))
        }
        Shape::Variant(cases) => {
            let cases: Vec<_> = cases
                .iter()
                .enumerate()
                .map(|(at, case)| {
                    let payload = case.as_ref().map(|ty| define(ty, text, count)).unwrap_or_default();
                    format!("(case \"{}\" {payload})", name(at))
                })
                .collect();
            format!("(variant {})", cases.join(" "))
        }
        Shape::Enum(cases) => {
            format!(
                "(enum {})",
                (0..*cases).map(|at| format!("\"{}\"", name(at))).collect::<Vec<_>>().join(" ")
            )
        }
        Shape::Flags(flags) => {
            format!(
                "(flags {})",
                (0..*flags).map(|at| format!("\"{}\"", name(at))).collect::<Vec<_>>().join(" ")
            )
        }
        Shape::Option(inner) => format!("(option {})", define(inner, text, count)),
        Shape::Result(ok, err) => {
            let ok = ok.as_ref().map(|ty| define(ty, text, count)).unwrap_or_default();
            let err =
                err.as_ref().map(|ty| format!("(error {})", define(ty, text, count))).unwrap_or_default();
            format!("(result {ok} {err})")
        }
    };
    let at = *count;
    *count += 1;
    writeln!(text, "(type $t{at} {written}) (import \"type-{at}\" (type $n{at} (eq $t{at})))").unwrap();
    format!("$n{at}")
}

fn wave_type(shape: &Shape) -> WaveType {
    match shape {
        Shape::Simple(kind, _) => WaveType::simple(*kind).unwrap(),
        Shape::List(inner) => WaveType::list(wave_type(inner)),
        Shape::Record(fields) => {
            WaveType::record(fields.iter().enumerate().map(|(at, field)| (name(at), wave_type(field))))
                .unwrap()
        }
        Shape::Tuple(types) => WaveType::tuple(types.iter().map(wave_type).collect::<Vec<_>>()).unwrap(),
        Shape::Variant(cases) => WaveType::variant(
            cases.iter().enumerate().map(|(at, case)| (name(at), case.as_ref().map(wave_type))),
        )
        .unwrap(),
        Shape::Enum(cases) => WaveType::enum_ty((0..*cases).map(name)).unwrap(),
        Shape::Flags(flags) => WaveType::flags((0..*flags).map(name)).unwrap(),
        Shape::Option(inner) => WaveType::option(wave_type(inner)),
        Shape::Result(ok, err) => {
            WaveType::result(ok.as_deref().map(wave_type), err.as_deref().map(wave_type))
        }
    }
}

/// A random value.
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "any bits will do")]
fn value(rng: &mut ChaCha20Rng, shape: &Shape) -> Val {
    let mut inner = |shape: &Shape| value(rng, shape);
    match shape {
        Shape::List(element) => {
            let count = below(rng, 4);
            Val::List((0..count).map(|_| value(rng, element)).collect())
        }
        Shape::Record(fields) => {
            Val::Record(fields.iter().enumerate().map(|(at, field)| (name(at), inner(field))).collect())
        }
        Shape::Tuple(types) => Val::Tuple(types.iter().map(inner).collect()),
        Shape::Variant(cases) => {
            let at = below(rng, cases.len());
            Val::Variant(name(at), cases[at].as_ref().map(|case| Box::new(value(rng, case))))
        }
        Shape::Enum(cases) => Val::Enum(name(below(rng, *cases))),
        Shape::Flags(flags) => Val::Flags((0..*flags).filter(|_| below(rng, 2) == 0).map(name).collect()),
        Shape::Option(inner) => Val::Option((below(rng, 3) > 0).then(|| Box::new(value(rng, inner)))),
        Shape::Result(ok, err) => {
            let is_ok = below(rng, 2) == 0;
            let side = if is_ok { ok } else { err };
            let side = side.as_ref().map(|side| Box::new(value(rng, side)));
            Val::Result(if is_ok { Ok(side) } else { Err(side) })
        }
        Shape::Simple(kind, _) => {
            let edge = below(rng, 4) == 0;
            let bits = if edge {
                [0, 1, u64::MAX, 1 << 53, (1 << 53) + 1, i64::MAX as u64, 1 << 63][below(rng, 7)]
            } else {
                rng.next_u64()
            };
            match kind {
                WasmTypeKind::Bool => Val::Bool(bits & 1 == 1),
                WasmTypeKind::S8 => Val::S8(bits as i8),
                WasmTypeKind::U8 => Val::U8(bits as u8),
                WasmTypeKind::S16 => Val::S16(bits as i16),
                WasmTypeKind::U16 => Val::U16(bits as u16),
                WasmTypeKind::S32 => Val::S32(bits as i32),
                WasmTypeKind::U32 => Val::U32(bits as u32),
                WasmTypeKind::S64 => Val::S64(bits as i64),
                WasmTypeKind::U64 => Val::U64(bits),
                WasmTypeKind::F32 if edge => Val::Float32(
                    [0.0, -0.0, 0.1, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE, f32::MAX]
                        [below(rng, 8)],
                ),
                WasmTypeKind::F64 if edge => Val::Float64(
                    [0.0, -0.0, 0.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324, f64::MAX]
                        [below(rng, 8)],
                ),
                WasmTypeKind::F32 => {
                    let value = f32::from_bits(bits as u32);
                    Val::Float32(if value.is_nan() { f32::NAN } else { value })
                }
                WasmTypeKind::F64 => {
                    let value = f64::from_bits(bits);
                    Val::Float64(if value.is_nan() { f64::NAN } else { value })
                }
                WasmTypeKind::Char => {
                    Val::Char(char::from_u32(bits as u32 % 0x11_0000).unwrap_or('\u{fffd}'))
                }
                _ => {
                    let letters = ["", "a", "\"", "\\", "\n", "ä", "\u{0}", "😀", "null", "NaN"];
                    Val::String((0..below(rng, 5)).map(|_| letters[below(rng, letters.len())]).collect())
                }
            }
        }
    }
}

/// The same value as one of `wasm-wave`.
fn wave(value: &Val, ty: &WaveType) -> WaveValue {
    let boxed = |inner: &Option<Box<Val>>, ty: Option<WaveType>| {
        inner.as_deref().map(|inner| wave(inner, &ty.unwrap()))
    };
    match value {
        Val::Bool(value) => WaveValue::make_bool(*value),
        Val::S8(value) => WaveValue::make_s8(*value),
        Val::U8(value) => WaveValue::make_u8(*value),
        Val::S16(value) => WaveValue::make_s16(*value),
        Val::U16(value) => WaveValue::make_u16(*value),
        Val::S32(value) => WaveValue::make_s32(*value),
        Val::U32(value) => WaveValue::make_u32(*value),
        Val::S64(value) => WaveValue::make_s64(*value),
        Val::U64(value) => WaveValue::make_u64(*value),
        Val::Float32(value) => WaveValue::make_f32(*value),
        Val::Float64(value) => WaveValue::make_f64(*value),
        Val::Char(value) => WaveValue::make_char(*value),
        Val::String(text) => WaveValue::make_string(text.as_str().into()),
        Val::List(values) => {
            let element = ty.list_element_type().unwrap();
            WaveValue::make_list(ty, values.iter().map(|value| wave(value, &element))).unwrap()
        }
        Val::Record(fields) => {
            let types: Vec<_> = ty.record_fields().map(|(_, ty)| ty).collect();
            let fields: Vec<_> = fields
                .iter()
                .zip(&types)
                .map(|((name, value), ty)| (name.as_str(), wave(value, ty)))
                .collect();
            WaveValue::make_record(ty, fields).unwrap()
        }
        Val::Tuple(values) => {
            let types: Vec<_> = ty.tuple_element_types().collect();
            WaveValue::make_tuple(ty, values.iter().zip(&types).map(|(value, ty)| wave(value, ty))).unwrap()
        }
        Val::Variant(case, payload) => {
            let payload_type = ty.variant_cases().find(|(name, _)| name == case).unwrap().1;
            WaveValue::make_variant(ty, case, boxed(payload, payload_type)).unwrap()
        }
        Val::Enum(case) => WaveValue::make_enum(ty, case).unwrap(),
        Val::Option(inner) => WaveValue::make_option(ty, boxed(inner, ty.option_some_type())).unwrap(),
        Val::Result(result) => {
            let (ok, err) = ty.result_types().unwrap();
            let result = match result {
                Ok(inner) => Ok(boxed(inner, ok)),
                Err(inner) => Err(boxed(inner, err)),
            };
            WaveValue::make_result(ty, result).unwrap()
        }
        Val::Flags(names) => WaveValue::make_flags(ty, names.iter().map(String::as_str)).unwrap(),
        other => panic!("{other:?} is not generated"),
    }
}

/// A function type `func(v: T)`, where `T` is the shape.
fn taking(engine: &wasmtime::Engine, shape: &Shape) -> (Signature, Json) {
    let mut text = String::new();
    let reference = define(shape, &mut text, &mut 0);
    let text = format!("(component {text} (import \"f\" (func (param \"v\" {reference}))))");
    let component = Component::new(engine, wat::parse_str(&text).unwrap()).unwrap();
    let ty = component.component_type();
    let item = ty.get_import(engine, "f").unwrap().ty;
    let ComponentItem::ComponentFunc(function) = item else { panic!("no function") };
    let mut room = Room::of_one_component();
    let signature = Signature::of(&function, &mut room).unwrap();
    (signature, describe(&function, "f", &mut room).unwrap().params)
}

/// JSON of a value that is inside of another one, so that a result at its top stays one.
fn written(value: Val, ty: &Type) -> Json {
    let (_, json) = match (&value, ty) {
        (Val::Result(Ok(inner)), _) => {
            let (classification, json) =
                answer(Some(value.clone()), Some(ty), u64::MAX, &Meter::of_one_step());
            assert!(inner.is_some() || json.as_ref().is_ok_and(Json::is_null));
            (classification, json.map(|json| json!({ "ok": json })))
        }
        _ => answer(Some(value), Some(ty), u64::MAX, &Meter::of_one_step()),
    };
    json.unwrap()
}

#[test]
fn random_values_are_kept() {
    let engine = wasmtime::Engine::default();
    let mut rng = ChaCha20Rng::from_seed([5; 32]);
    let mut count = 0;
    for _ in 0..500 {
        let shape = shape(&mut rng, 4);
        let (signature, schema) = taking(&engine, &shape);
        let ty = &signature.params[0].1;
        let wave_type = wave_type(&shape);
        let schema = InputSchema::compile(&schema, &Meter::of_one_step()).unwrap();
        for _ in 0..20 {
            // At the top of a result an error becomes a failure: another value is drawn.
            let value = std::iter::repeat_with(|| value(&mut rng, &shape))
                .find(|value| !matches!(value, Val::Result(Err(_))))
                .unwrap();
            let json = json!({ "v": written(value.clone(), ty) });
            let text = canonical_string(&json);
            let read = parse_strict(&text, MAX_DEPTH, TreeLimit::VALUE).unwrap();
            let checked = schema.validate_and_fill(read.clone(), &Meter::of_one_step());
            assert!(checked.is_ok(), "{text} is not what the schema says");
            let again = arguments(&signature, &read, &Meter::of_one_step())
                .unwrap_or_else(|error| panic!("{text}: {error}"));
            let spelled = wasm_wave::to_string(&wave(&value, &wave_type)).unwrap();
            assert_eq!(wasm_wave::to_string(&wave(&again[0], &wave_type)).unwrap(), spelled, "{text}");
            let parsed: WaveValue = wasm_wave::from_str(&wave_type, &spelled).unwrap();
            assert_eq!(wasm_wave::to_string(&parsed).unwrap(), spelled);
            count += 1;
        }
    }
    assert_eq!(count, 10_000);
}

/// What a parameter of the type `wit` makes of JSON: the value in the notation of `wasm-wave`, or why it is refused.
fn reads(shape: &Shape, json: &Json) -> Result<String, String> {
    let engine = wasmtime::Engine::default();
    let (signature, _) = taking(&engine, shape);
    let values = arguments(&signature, &json!({ "v": json }), &Meter::of_one_step())
        .map_err(|error| error.to_string())?;
    Ok(wasm_wave::to_string(&wave(&values[0], &wave_type(shape))).unwrap())
}

fn simple(text: &str) -> Shape {
    let (kind, text) = SIMPLE.iter().find(|(_, known)| *known == text).unwrap();
    Shape::Simple(*kind, text)
}

#[test]
fn what_is_no_value_is_refused_with_its_place() {
    let option = |inner| Shape::Option(Box::new(inner));
    for (shape, json, expected) in [
        (simple("u8"), json!(256), Err("`v`: expected an integer from 0 to 255, found 256")),
        (simple("u8"), json!(-1), Err("`v`: expected an integer from 0 to 255, found -1")),
        (simple("u8"), json!(3.0), Ok("3")),
        (simple("u8"), json!(3.5), Err("`v`: expected an integer from 0 to 255, found 3.5")),
        (simple("u64"), json!(u64::MAX), Ok("18446744073709551615")),
        (simple("s64"), json!(i64::MIN), Ok("-9223372036854775808")),
        (
            simple("s64"),
            json!(1e19),
            Err("`v`: expected an integer from -9223372036854775808 to 9223372036854775807, found 1e+19"),
        ),
        (simple("f32"), json!(1e300), Err("`v`: expected a number that 32 bits hold, found 1e+300")),
        (simple("f64"), json!("Infinity"), Ok("inf")),
        (
            simple("f64"),
            json!("inf"),
            Err(
                "`v`: expected a number, \"NaN\", \"Infinity\", \"-Infinity\" or \"-0\", found the text `inf`",
            ),
        ),
        (simple("char"), json!("ab"), Err("`v`: expected a text of one character, found the text `ab`")),
        (simple("char"), json!(""), Err("`v`: expected a text of one character, found the text ``")),
        (simple("bool"), json!(1), Err("`v`: expected true or false, found 1")),
        (
            Shape::List(Box::new(simple("u8"))),
            json!([1, "2"]),
            Err("`v[1]`: expected an integer from 0 to 255, found the text `2`"),
        ),
        (
            Shape::Tuple(vec![simple("u8"); 2]),
            json!([1]),
            Err("`v`: expected a list of 2 values, found 1 values"),
        ),
        (Shape::Record(vec![simple("u8")]), json!({}), Err("`v`: `name-a` is missing")),
        (Shape::Record(vec![option(simple("u8"))]), json!({}), Ok("{:}")),
        (
            Shape::Record(vec![simple("u8")]),
            json!({ "name_a": 1 }),
            Err("`v`: `name_a` is unknown; did you mean `name-a`?"),
        ),
        (Shape::Enum(2), json!("name-c"), Err("`v`: `name-c` is unknown; did you mean `name-a`?")),
        (Shape::Flags(2), json!(["name-a", "name-a"]), Err("`v`: `name-a` is there twice")),
        (
            Shape::Variant(vec![None]),
            json!({ "name-a": 1 }),
            Err("`v`: the case `name-a` has no value: write `\"name-a\"`"),
        ),
        (
            Shape::Variant(vec![Some(simple("u8"))]),
            json!("name-a"),
            Err("`v`: the case `name-a` has a value: write {\"name-a\": ..}"),
        ),
        (
            Shape::Variant(vec![Some(simple("u8"))]),
            json!({ "name-a": "x" }),
            Err("`v.name-a`: expected an integer from 0 to 255, found the text `x`"),
        ),
        (option(option(simple("u8"))), json!({ "some": null }), Ok("some(none)")),
        (option(option(simple("u8"))), json!(null), Ok("none")),
        (option(option(simple("u8"))), json!(1), Err("`v`: expected {\"some\": ..}, found 1")),
        (
            Shape::Result(None, Some(Box::new(simple("u8")))),
            json!({ "ok": 1 }),
            Err("`v.ok`: expected null, found 1"),
        ),
        (
            Shape::Result(None, None),
            json!({ "ok": null, "err": null }),
            Err("`v`: expected {\"ok\": ..} or {\"err\": ..}, found an object"),
        ),
    ] {
        let read = reads(&shape, &json);
        assert_eq!(read.as_deref().map_err(String::as_str), expected, "{json}");
    }
}

#[test]
fn values_are_counted_before_they_are_made() {
    let shape = Shape::List(Box::new(simple("u8")));
    let refused = reads(&shape, &Json::Array(vec![json!(0); 1 << 20]));
    assert_eq!(refused, Err("`v`: there are more than 1048576 values".to_owned()));
}

#[test]
fn errors_become_failures() {
    let failure = |error: Option<Val>, ty: &Shape| {
        let engine = wasmtime::Engine::default();
        let side = Some(Box::new(ty.clone()));
        let (signature, _) = taking(&engine, &Shape::Result(None, side));
        let value = Val::Result(Err(error.map(Box::new)));
        let (_, answer) = answer(Some(value), Some(&signature.params[0].1), 1 << 20, &Meter::of_one_step());
        let failure = answer.unwrap_err();
        (failure.category.as_str(), failure.message, failure.details)
    };
    assert_eq!(
        failure(Some(Val::String("no such file".to_owned())), &simple("string")),
        ("permanent", "no such file".to_owned(), None)
    );
    assert_eq!(
        failure(Some(Val::U32(7)), &simple("u32")),
        ("permanent", "it failed with 7".to_owned(), Some(json!(7)))
    );
    assert_eq!(
        failure(Some(Val::Enum("name-a".to_owned())), &Shape::Enum(1)),
        ("permanent", "it failed with \"name-a\"".to_owned(), Some(json!("name-a")))
    );
}

#[test]
fn an_answer_is_bounded() {
    let engine = wasmtime::Engine::default();
    let (signature, _) = taking(&engine, &Shape::List(Box::new(simple("u8"))));
    let (_, answer) = answer(
        Some(Val::List(vec![Val::U8(0); 2000])),
        Some(&signature.params[0].1),
        1000,
        &Meter::of_one_step(),
    );
    assert!(answer.unwrap_err().message.contains("more than 1000 bytes"));
}
