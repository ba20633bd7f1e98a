//! The types that have JSON.

use serde::{Deserialize, Serialize};

/// A type of the component model whose values have JSON. It is written out: a type that is used twice is there twice, so that the
/// size of the types of a component has to be bounded where they are read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the names are those of the component model")]
pub enum WitType {
    Bool,
    S8,
    U8,
    S16,
    U16,
    S32,
    U32,
    S64,
    U64,
    F32,
    F64,
    Char,
    String,
    List(Box<WitType>),
    /// The type of its elements and how many there are.
    FixedLengthList(Box<WitType>, u32),
    Tuple(Vec<WitType>),
    /// Its fields, in their order.
    Record(Vec<(String, WitType)>),
    /// Its cases, with the types of their values.
    Variant(Vec<(String, Option<WitType>)>),
    Enum(Vec<String>),
    Flags(Vec<String>),
    Option(Box<WitType>),
    /// The types of its result and of its error.
    Result(Option<Box<WitType>>, Option<Box<WitType>>),
}
