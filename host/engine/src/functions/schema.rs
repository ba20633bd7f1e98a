//! JSON Schemas of WIT types.

use serde_json::{Map, Value, json};
use wasmtime::component::Type;

use super::{ERR, INFINITY, NEGATIVE_INFINITY, NEGATIVE_ZERO, NOT_A_NUMBER, OK, SOME, can_be_null};

/// How many types the schemas of one function may have. A type can name another one many times, and so be much larger written out than
/// in the component.
const MOST_TYPES: usize = 4096;
/// How deep types may nest.
const DEEPEST: usize = 32;
/// How many bytes the names of a component's functions and the schemas of them may have together, written out: an envelope, which has them
/// all, is no larger. A type is written out, with its names, for each use of it.
const MOST_BYTES: usize = 3 << 20;
/// What each type counts for, apart from the names in it.
const TYPE_BYTES: usize = 24;
/// What each name counts for, apart from its letters: its quotes and a comma.
const NAME_BYTES: usize = 3;

/// Why a type has no schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TooLarge {
    #[error("is or holds {0}, for which there is no JSON")]
    NoJson(&'static str),
    #[error("nests deeper than {DEEPEST} types")]
    Depth,
    #[error("has more than {MOST_TYPES} types, written out")]
    Types,
    #[error("takes too much, written out: {0}")]
    Room(#[from] NoRoom),
}

/// What a component's functions are called, and take and give, is too large to be written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the names and types of its functions have more than {MOST_BYTES} bytes together, where each type is written out for each use"
)]
pub struct NoRoom;

/// The bytes that names and schemas of functions may still have. What is written is counted before it is written.
pub(super) struct Room {
    left: usize,
}

impl Room {
    pub(super) fn of_one_component() -> Self {
        Self { left: MOST_BYTES }
    }

    pub(super) fn take(&mut self, bytes: usize) -> Result<(), NoRoom> {
        self.left = self.left.checked_sub(bytes).ok_or(NoRoom)?;
        Ok(())
    }

    /// Takes the room of a name for each time that it is written.
    pub(super) fn name(&mut self, name: &str, times: usize) -> Result<(), NoRoom> {
        self.take(name.len().saturating_add(NAME_BYTES).saturating_mul(times))
    }
}

/// Writes the schemas of one function.
pub(super) struct Schemas<'r> {
    room: &'r mut Room,
    left: usize,
    depth: usize,
}

impl<'r> Schemas<'r> {
    pub(super) fn new(room: &'r mut Room) -> Self {
        Self { room, left: MOST_TYPES, depth: 0 }
    }

    /// Takes the room of a parameter's name, which a schema has twice: among the properties, and among those that are required.
    pub(super) fn param(&mut self, name: &str) -> Result<(), TooLarge> {
        Ok(self.room.name(name, 2)?)
    }

    /// The names of cases or flags.
    fn names<'n>(&mut self, names: impl Iterator<Item = &'n str>) -> Result<Vec<&'n str>, NoRoom> {
        names.map(|name| self.room.name(name, 1).map(|()| name)).collect()
    }

    /// The schema of a type.
    pub(super) fn of(&mut self, ty: &Type) -> Result<Value, TooLarge> {
        self.left = self.left.checked_sub(1).ok_or(TooLarge::Types)?;
        if self.depth == DEEPEST {
            return Err(TooLarge::Depth);
        }
        self.room.take(TYPE_BYTES)?;
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
                    self.room.name(field.name, 2)?;
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
                let cases = variant.cases().map(|case| -> Result<Value, TooLarge> {
                    self.room.take(TYPE_BYTES)?;
                    self.room.name(case.name, if case.ty.is_some() { 2 } else { 1 })?;
                    match case.ty {
                        Some(ty) => Ok(member(case.name, self.of(&ty)?)),
                        None => Ok(json!({ "const": case.name })),
                    }
                });
                json!({ "oneOf": cases.collect::<Result<Vec<_>, TooLarge>>()? })
            }
            Type::Enum(cases) => json!({ "enum": self.names(cases.names())? }),
            Type::Flags(flags) => {
                json!({ "type": "array", "items": { "enum": self.names(flags.names())? }, "uniqueItems": true })
            }
            Type::Option(option) => {
                let ty = option.ty();
                let inner = self.of(&ty)?;
                let there = if can_be_null(&ty) { member(SOME, inner) } else { inner };
                json!({ "anyOf": [{ "type": "null" }, there] })
            }
            Type::Result(result) => {
                let mut either = |key: &str, ty: Option<Type>| -> Result<Value, TooLarge> {
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
