//! Random values of random types: converted to JSON and back without loss, checked against the schema, and compared with `wasm-wave`.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fmt::Write as _;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use graph_core::json::{MAX_DEPTH, TreeLimit, canonical_string, parse_strict};
use graph_core::schema::InputSchema;
use graph_core::wit_value::FunctionSignature;
use graph_core::work::Meter;
use serde_json::{Value as Json, json};
use wasm_wave::value::{Type as WaveType, Value as WaveValue};
use wasm_wave::wasm::{WasmType as _, WasmTypeKind, WasmValue as _};
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, Val};

use super::list::{describe, signature};
use super::types::TypeRoom;
use super::values::{from_wasmtime, to_wasmtime};

/// A generated type.
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

/// Writes the definition of a type, and returns the reference to it.
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

/// Generates a random value.
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

/// Converts a value to one of `wasm-wave`.
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

/// Creates a function type `func(v: T)`, where `T` is the shape.
fn taking(engine: &wasmtime::Engine, shape: &Shape) -> (FunctionSignature, Json) {
    let mut text = String::new();
    let reference = define(shape, &mut text, &mut 0);
    let text = format!("(component {text} (import \"f\" (func (param \"v\" {reference}))))");
    let component = Component::new(engine, wat::parse_str(&text).unwrap()).unwrap();
    let ty = component.component_type();
    let item = ty.get_import(engine, "f").unwrap().ty;
    let ComponentItem::ComponentFunc(function) = item else { panic!("no function") };
    let mut room = TypeRoom::of_one_component();
    let signature = signature(&function, &mut room).unwrap();
    (signature, describe(&function, "f", &mut room).unwrap().params)
}

/// Creates a function that returns the parameter of another one.
fn giving(taking: &FunctionSignature) -> FunctionSignature {
    FunctionSignature { params: Vec::new(), result: Some(taking.params[0].1.clone()) }
}

/// Returns the JSON of a value that is nested in another one, so that a result at its top remains one.
fn written(value: Val, signature: &FunctionSignature) -> Json {
    let is_ok = matches!(value, Val::Result(Ok(_)));
    let value = from_wasmtime(value).unwrap();
    let json = giving(signature).answer(Some(value), u64::MAX, &Meter::of_one_step()).unwrap().unwrap();
    if is_ok { json!({ "ok": json }) } else { json }
}

#[test]
fn random_values_are_kept() {
    let engine = wasmtime::Engine::default();
    let mut rng = ChaCha20Rng::from_seed([5; 32]);
    let mut count = 0;
    for _ in 0..500 {
        let shape = shape(&mut rng, 4);
        let (signature, schema) = taking(&engine, &shape);
        let wave_type = wave_type(&shape);
        let schema = InputSchema::compile(&schema, &Meter::of_one_step()).unwrap();
        for _ in 0..20 {
            // At the top of a result an error becomes a failure: another value is generated.
            let value = std::iter::repeat_with(|| value(&mut rng, &shape))
                .find(|value| !matches!(value, Val::Result(Err(_))))
                .unwrap();
            let json = json!({ "v": written(value.clone(), &signature) });
            let text = canonical_string(&json);
            let read = parse_strict(&text, MAX_DEPTH, TreeLimit::VALUE).unwrap();
            let checked = schema.validate_and_fill(read.clone(), &Meter::of_one_step());
            assert!(checked.is_ok(), "{text} is not what the schema says");
            let again = signature
                .arguments(&read, &Meter::of_one_step())
                .unwrap_or_else(|error| panic!("{text}: {error}"));
            let again: Vec<_> = again.into_iter().map(to_wasmtime).collect();
            let spelled = wasm_wave::to_string(&wave(&value, &wave_type)).unwrap();
            assert_eq!(wasm_wave::to_string(&wave(&again[0], &wave_type)).unwrap(), spelled, "{text}");
            let parsed: WaveValue = wasm_wave::from_str(&wave_type, &spelled).unwrap();
            assert_eq!(wasm_wave::to_string(&parsed).unwrap(), spelled);
            count += 1;
        }
    }
    assert_eq!(count, 10_000);
}

/// Size of one value of wasmtime, by which `host/web/page/src/functions.ts` counts the values that a component passes.
#[test]
fn a_value_takes_up_what_pages_count_for_it() {
    assert_eq!(size_of::<Val>(), 40);
}
