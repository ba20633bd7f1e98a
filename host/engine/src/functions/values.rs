//! Converts wasmtime's values from and to those of `graph_core::wit_value`.

use graph_core::wit_value::WitValue;
use wasmtime::component::Val;

/// Converts a value for a component.
pub(super) fn to_wasmtime(value: WitValue) -> Val {
    let boxed = |value: Option<Box<WitValue>>| value.map(|value| Box::new(to_wasmtime(*value)));
    let all = |values: Vec<WitValue>| values.into_iter().map(to_wasmtime).collect();
    match value {
        WitValue::Bool(value) => Val::Bool(value),
        WitValue::S8(value) => Val::S8(value),
        WitValue::U8(value) => Val::U8(value),
        WitValue::S16(value) => Val::S16(value),
        WitValue::U16(value) => Val::U16(value),
        WitValue::S32(value) => Val::S32(value),
        WitValue::U32(value) => Val::U32(value),
        WitValue::S64(value) => Val::S64(value),
        WitValue::U64(value) => Val::U64(value),
        WitValue::F32(value) => Val::Float32(value),
        WitValue::F64(value) => Val::Float64(value),
        WitValue::Char(value) => Val::Char(value),
        WitValue::String(text) => Val::String(text),
        WitValue::List(values) => Val::List(all(values)),
        WitValue::FixedLengthList(values) => Val::FixedLengthList(all(values)),
        WitValue::Tuple(values) => Val::Tuple(all(values)),
        WitValue::Record(fields) => {
            Val::Record(fields.into_iter().map(|(name, value)| (name, to_wasmtime(value))).collect())
        }
        WitValue::Variant(case, payload) => Val::Variant(case, boxed(payload)),
        WitValue::Enum(case) => Val::Enum(case),
        WitValue::Flags(names) => Val::Flags(names),
        WitValue::Option(value) => Val::Option(boxed(value)),
        WitValue::Result(Ok(value)) => Val::Result(Ok(boxed(value))),
        WitValue::Result(Err(value)) => Val::Result(Err(boxed(value))),
    }
}

/// Converts a value from a component; `None` for a type without JSON, which no callable function returns.
pub(super) fn from_wasmtime(value: Val) -> Option<WitValue> {
    let boxed = |value: Option<Box<Val>>| {
        value.map(|value| from_wasmtime(*value).map(Box::new)).map_or(Some(None), |value| value.map(Some))
    };
    let all = |values: Vec<Val>| values.into_iter().map(from_wasmtime).collect::<Option<_>>();
    Some(match value {
        Val::Bool(value) => WitValue::Bool(value),
        Val::S8(value) => WitValue::S8(value),
        Val::U8(value) => WitValue::U8(value),
        Val::S16(value) => WitValue::S16(value),
        Val::U16(value) => WitValue::U16(value),
        Val::S32(value) => WitValue::S32(value),
        Val::U32(value) => WitValue::U32(value),
        Val::S64(value) => WitValue::S64(value),
        Val::U64(value) => WitValue::U64(value),
        Val::Float32(value) => WitValue::F32(value),
        Val::Float64(value) => WitValue::F64(value),
        Val::Char(value) => WitValue::Char(value),
        Val::String(text) => WitValue::String(text),
        Val::List(values) => WitValue::List(all(values)?),
        Val::FixedLengthList(values) => WitValue::FixedLengthList(all(values)?),
        Val::Tuple(values) => WitValue::Tuple(all(values)?),
        Val::Record(fields) => {
            let fields = fields.into_iter().map(|(name, value)| Some((name, from_wasmtime(value)?)));
            WitValue::Record(fields.collect::<Option<_>>()?)
        }
        Val::Variant(case, payload) => WitValue::Variant(case, boxed(payload)?),
        Val::Enum(case) => WitValue::Enum(case),
        Val::Flags(names) => WitValue::Flags(names),
        Val::Option(value) => WitValue::Option(boxed(value)?),
        Val::Result(Ok(value)) => WitValue::Result(Ok(boxed(value)?)),
        Val::Result(Err(value)) => WitValue::Result(Err(boxed(value)?)),
        Val::Map(_) | Val::Resource(_) | Val::Future(_) | Val::Stream(_) | Val::ErrorContext(_) => {
            return None;
        }
    })
}
