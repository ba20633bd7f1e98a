//! JSON Schemas of WIT types.

use serde_json::{Map, Value, json};
use wasmtime::component::Type;

use super::{ERR, INFINITY, NEGATIVE_INFINITY, NEGATIVE_ZERO, NOT_A_NUMBER, OK, SOME, can_be_null};

/// How many types the schemas of one function may have. A type can name another one many times, and so be much larger written out than
/// in the component.
const MOST_TYPES: usize = 4096;
/// How deep types may nest.
const DEEPEST: usize = 32;

/// Why a type has no schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TooLarge {
    #[error("is or holds {0}, for which there is no JSON")]
    NoJson(&'static str),
    #[error("nests deeper than {DEEPEST} types")]
    Depth,
    #[error("has more than {MOST_TYPES} types, written out")]
    Types,
}

/// Writes the schemas of one function.
pub(super) struct Schemas {
    left: usize,
    depth: usize,
}

impl Schemas {
    pub(super) fn new() -> Self {
        Self { left: MOST_TYPES, depth: 0 }
    }

    /// The schema of a type.
    pub(super) fn of(&mut self, ty: &Type) -> Result<Value, TooLarge> {
        self.left = self.left.checked_sub(1).ok_or(TooLarge::Types)?;
        if self.depth == DEEPEST {
            return Err(TooLarge::Depth);
        }
        self.depth += 1;
        let schema = self.written(ty);
        self.depth -= 1;
        schema
    }

    fn written(&mut self, ty: &Type) -> Result<Value, TooLarge> {
        Ok(match ty {
            Type::Bool => json!({ "type": "boolean" }),
            Type::S8 => integer(i8::MIN.into(), i8::MAX.into()),
            Type::U8 => integer(0, u8::MAX.into()),
            Type::S16 => integer(i16::MIN.into(), i16::MAX.into()),
            Type::U16 => integer(0, u16::MAX.into()),
            Type::S32 => integer(i32::MIN.into(), i32::MAX.into()),
            Type::U32 => integer(0, u32::MAX.into()),
            Type::S64 => integer(i64::MIN, i64::MAX),
            Type::U64 => json!({ "type": "integer", "minimum": 0, "maximum": u64::MAX }),
            Type::Float32 | Type::Float64 => {
                let others = [NOT_A_NUMBER, INFINITY, NEGATIVE_INFINITY, NEGATIVE_ZERO];
                json!({ "anyOf": [{ "type": "number" }, { "enum": others }] })
            }
            Type::Char => json!({ "type": "string", "minLength": 1, "maxLength": 1 }),
            Type::String => json!({ "type": "string" }),
            Type::List(list) => json!({ "type": "array", "items": self.of(&list.ty())? }),
            Type::FixedLengthList(list) => {
                let items = self.of(&list.ty())?;
                json!({ "type": "array", "items": items, "minItems": list.len(), "maxItems": list.len() })
            }
            Type::Tuple(tuple) => {
                let types = tuple.types().map(|ty| self.of(&ty)).collect::<Result<Vec<_>, _>>()?;
                let count = types.len();
                json!({ "type": "array", "prefixItems": types, "items": false, "minItems": count, "maxItems": count })
            }
            Type::Record(record) => {
                let mut properties = Map::new();
                let mut required = Vec::new();
                for field in record.fields() {
                    properties.insert(field.name.to_owned(), self.of(&field.ty)?);
                    if !matches!(field.ty, Type::Option(_)) {
                        required.push(field.name);
                    }
                }
                json!({
                    "type": "object", "properties": properties, "required": required, "additionalProperties": false,
                })
            }
            Type::Variant(variant) => {
                let cases = variant.cases().map(|case| match case.ty {
                    Some(ty) => Ok(member(case.name, self.of(&ty)?)),
                    None => Ok(json!({ "const": case.name })),
                });
                json!({ "oneOf": cases.collect::<Result<Vec<_>, _>>()? })
            }
            Type::Enum(cases) => json!({ "enum": cases.names().collect::<Vec<_>>() }),
            Type::Flags(flags) => {
                json!({ "type": "array", "items": { "enum": flags.names().collect::<Vec<_>>() }, "uniqueItems": true })
            }
            Type::Option(option) => {
                let ty = option.ty();
                let inner = self.of(&ty)?;
                let there = if can_be_null(&ty) { member(SOME, inner) } else { inner };
                json!({ "anyOf": [{ "type": "null" }, there] })
            }
            Type::Result(result) => {
                let mut either = |key: &str, ty: Option<Type>| {
                    let inner = ty.map_or(Ok(json!({ "type": "null" })), |ty| self.of(&ty))?;
                    Ok(member(key, inner))
                };
                json!({ "oneOf": [either(OK, result.ok())?, either(ERR, result.err())?] })
            }
            Type::Own(_) | Type::Borrow(_) => return Err(TooLarge::NoJson("a resource")),
            Type::Map(_) => return Err(TooLarge::NoJson("a map")),
            Type::Future(_) => return Err(TooLarge::NoJson("a future")),
            Type::Stream(_) => return Err(TooLarge::NoJson("a stream")),
            Type::ErrorContext => return Err(TooLarge::NoJson("an error context")),
        })
    }
}

fn integer(least: i64, most: i64) -> Value {
    json!({ "type": "integer", "minimum": least, "maximum": most })
}

/// The schema of an object with one key.
fn member(key: &str, schema: Value) -> Value {
    let properties = Map::from_iter([(key.to_owned(), schema)]);
    json!({
        "type": "object", "properties": properties, "required": [key], "additionalProperties": false,
    })
}
