//! JSON Schemas of types.

use serde_json::{Map, Value, json};

use super::{
    ERR, FunctionSignature, INFINITY, NEGATIVE_INFINITY, NEGATIVE_ZERO, NOT_A_NUMBER, OK, SOME, WitType,
    can_be_null,
};

/// Returns the schema of a function's params.
pub fn of_params(signature: &FunctionSignature) -> Value {
    of_members(&signature.params)
}

/// Returns the schema of a type.
pub fn of_type(ty: &WitType) -> Value {
    match ty {
        WitType::Bool => json!({ "type": "boolean" }),
        WitType::S8 => integer(i8::MIN.into(), i8::MAX.into()),
        WitType::U8 => integer(0, u8::MAX.into()),
        WitType::S16 => integer(i16::MIN.into(), i16::MAX.into()),
        WitType::U16 => integer(0, u16::MAX.into()),
        WitType::S32 => integer(i32::MIN.into(), i32::MAX.into()),
        WitType::U32 => integer(0, u32::MAX.into()),
        WitType::S64 => integer(i64::MIN, i64::MAX),
        WitType::U64 => json!({ "type": "integer", "minimum": 0, "maximum": u64::MAX }),
        WitType::F32 | WitType::F64 => {
            let others = [NOT_A_NUMBER, INFINITY, NEGATIVE_INFINITY, NEGATIVE_ZERO];
            json!({ "anyOf": [{ "type": "number" }, { "enum": others }] })
        }
        WitType::Char => json!({ "type": "string", "minLength": 1, "maxLength": 1 }),
        WitType::String => json!({ "type": "string" }),
        WitType::List(element) => json!({ "type": "array", "items": of_type(element) }),
        WitType::FixedLengthList(element, count) => {
            json!({ "type": "array", "items": of_type(element), "minItems": count, "maxItems": count })
        }
        WitType::Tuple(types) => {
            let count = types.len();
            let types: Vec<_> = types.iter().map(of_type).collect();
            json!({ "type": "array", "prefixItems": types, "items": false, "minItems": count, "maxItems": count })
        }
        WitType::Record(fields) => of_members(fields),
        WitType::Variant(cases) => {
            let cases = cases.iter().map(|(name, ty)| match ty {
                Some(ty) => member(name, of_type(ty)),
                None => json!({ "const": name }),
            });
            json!({ "oneOf": cases.collect::<Vec<_>>() })
        }
        WitType::Enum(cases) => json!({ "enum": cases }),
        WitType::Flags(flags) => json!({ "type": "array", "items": { "enum": flags }, "uniqueItems": true }),
        WitType::Option(ty) => {
            let inner = of_type(ty);
            let there = if can_be_null(ty) { member(SOME, inner) } else { inner };
            json!({ "anyOf": [{ "type": "null" }, there] })
        }
        WitType::Result(ok, err) => {
            let either = |key: &str, ty: &Option<Box<WitType>>| {
                member(key, ty.as_ref().map_or_else(|| json!({ "type": "null" }), |ty| of_type(ty)))
            };
            json!({ "oneOf": [either(OK, ok), either(ERR, err)] })
        }
    }
}

/// Returns the schema of an object with these members. A member that is an option may be left out.
fn of_members(members: &[(String, WitType)]) -> Value {
    let properties: Map<_, _> = members.iter().map(|(name, ty)| (name.clone(), of_type(ty))).collect();
    let required = members.iter().filter(|(_, ty)| !matches!(ty, WitType::Option(_)));
    let required: Vec<_> = required.map(|(name, _)| name).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn integer(least: i64, most: i64) -> Value {
    json!({ "type": "integer", "minimum": least, "maximum": most })
}

/// Returns the schema of an object with one key.
fn member(key: &str, schema: Value) -> Value {
    let properties = Map::from_iter([(key.to_owned(), schema)]);
    json!({
        "type": "object", "properties": properties, "required": [key], "additionalProperties": false,
    })
}
