//! The types of functions, read from a component within limits.

use graph_core::wit_value::WitType;
use wasmtime::component::Type;

/// Largest number of types of one function after expansion. A type can refer to another one many times, and so be much larger after
/// expansion than in the component.
const MOST_TYPES: usize = 4096;
/// Largest nesting of types.
const DEEPEST: usize = 32;
/// Largest number of bytes of the names of a component's functions and of their schemas together, after expansion: an envelope, which
/// contains them all, has the same limit. A type is expanded, with its names, for each use of it.
const MOST_BYTES: usize = 3 << 20;
/// Number of bytes that each type counts for, without its names.
const TYPE_BYTES: usize = 24;
/// Number of bytes that each name counts for in addition to its letters: its quotes and a comma.
const NAME_BYTES: usize = 3;

/// The reason why a type is not expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TypeError {
    #[error("is or holds {0}, for which there is no JSON")]
    NoJson(&'static str),
    #[error("nests deeper than {DEEPEST} types")]
    Depth,
    #[error("has more than {MOST_TYPES} types, written out")]
    Types,
    #[error("takes too much, written out: {0}")]
    Room(#[from] FunctionsTooLarge),
}

/// The names and types of a component's functions are too large to be expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the names and types of its functions have more than {MOST_BYTES} bytes together, where each type is written out for each use"
)]
pub struct FunctionsTooLarge;

/// The bytes that are left for names and schemas of functions, counted before they are written.
pub(super) struct TypeRoom {
    left: usize,
}

impl TypeRoom {
    pub(super) fn of_one_component() -> Self {
        Self { left: MOST_BYTES }
    }

    pub(super) fn take(&mut self, bytes: usize) -> Result<(), FunctionsTooLarge> {
        self.left = self.left.checked_sub(bytes).ok_or(FunctionsTooLarge)?;
        Ok(())
    }

    /// Subtracts a name, `times` times.
    pub(super) fn name(&mut self, name: &str, times: usize) -> Result<(), FunctionsTooLarge> {
        self.take(name.len().saturating_add(NAME_BYTES).saturating_mul(times))
    }
}

/// Expands the types of one function.
pub(super) struct Types<'r> {
    room: &'r mut TypeRoom,
    left: usize,
    depth: usize,
}

impl<'r> Types<'r> {
    pub(super) fn new(room: &'r mut TypeRoom) -> Self {
        Self { room, left: MOST_TYPES, depth: 0 }
    }

    /// Subtracts a parameter's name, which a schema has twice: among the properties, and among the required ones.
    pub(super) fn param(&mut self, name: &str) -> Result<(), TypeError> {
        Ok(self.room.name(name, 2)?)
    }

    /// Returns the names of cases or flags.
    fn names<'n>(&mut self, names: impl Iterator<Item = &'n str>) -> Result<Vec<String>, FunctionsTooLarge> {
        names.map(|name| self.room.name(name, 1).map(|()| name.to_owned())).collect()
    }

    /// Expands a type.
    pub(super) fn of(&mut self, ty: &Type) -> Result<WitType, TypeError> {
        self.left = self.left.checked_sub(1).ok_or(TypeError::Types)?;
        if self.depth == DEEPEST {
            return Err(TypeError::Depth);
        }
        self.room.take(TYPE_BYTES)?;
        self.depth += 1;
        let written = self.written(ty);
        self.depth -= 1;
        written
    }

    fn boxed(&mut self, ty: Option<Type>) -> Result<Option<Box<WitType>>, TypeError> {
        ty.map(|ty| self.of(&ty).map(Box::new)).transpose()
    }

    fn written(&mut self, ty: &Type) -> Result<WitType, TypeError> {
        Ok(match ty {
            Type::Bool => WitType::Bool,
            Type::S8 => WitType::S8,
            Type::U8 => WitType::U8,
            Type::S16 => WitType::S16,
            Type::U16 => WitType::U16,
            Type::S32 => WitType::S32,
            Type::U32 => WitType::U32,
            Type::S64 => WitType::S64,
            Type::U64 => WitType::U64,
            Type::Float32 => WitType::F32,
            Type::Float64 => WitType::F64,
            Type::Char => WitType::Char,
            Type::String => WitType::String,
            Type::List(list) => WitType::List(Box::new(self.of(&list.ty())?)),
            Type::FixedLengthList(list) => {
                WitType::FixedLengthList(Box::new(self.of(&list.ty())?), list.len())
            }
            Type::Tuple(tuple) => {
                WitType::Tuple(tuple.types().map(|ty| self.of(&ty)).collect::<Result<_, _>>()?)
            }
            Type::Record(record) => {
                let fields = record.fields().map(|field| -> Result<_, TypeError> {
                    self.room.name(field.name, 2)?;
                    Ok((field.name.to_owned(), self.of(&field.ty)?))
                });
                WitType::Record(fields.collect::<Result<_, _>>()?)
            }
            Type::Variant(variant) => {
                let cases = variant.cases().map(|case| -> Result<_, TypeError> {
                    self.room.take(TYPE_BYTES)?;
                    self.room.name(case.name, if case.ty.is_some() { 2 } else { 1 })?;
                    Ok((case.name.to_owned(), case.ty.map(|ty| self.of(&ty)).transpose()?))
                });
                WitType::Variant(cases.collect::<Result<_, _>>()?)
            }
            Type::Enum(cases) => WitType::Enum(self.names(cases.names())?),
            Type::Flags(flags) => WitType::Flags(self.names(flags.names())?),
            Type::Option(option) => WitType::Option(Box::new(self.of(&option.ty())?)),
            Type::Result(result) => WitType::Result(self.boxed(result.ok())?, self.boxed(result.err())?),
            Type::Own(_) | Type::Borrow(_) => return Err(TypeError::NoJson("a resource")),
            Type::Map(_) => return Err(TypeError::NoJson("a map")),
            Type::Future(_) => return Err(TypeError::NoJson("a future")),
            Type::Stream(_) => return Err(TypeError::NoJson("a stream")),
            Type::ErrorContext => return Err(TypeError::NoJson("an error context")),
        })
    }
}
