//! The types that can be represented in JSON.

use serde::{Deserialize, Serialize};

/// A type of the component model whose values can be represented in JSON. It is expanded: a type that is used twice occurs twice, so that
/// the size of a component's types has to be limited by their reader.
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
    /// The type of its elements, and their number.
    FixedLengthList(Box<WitType>, u32),
    Tuple(Vec<WitType>),
    /// The fields, in their order.
    Record(Vec<(String, WitType)>),
    /// The cases, with the types of their values.
    Variant(Vec<(String, Option<WitType>)>),
    Enum(Vec<String>),
    Flags(Vec<String>),
    Option(Box<WitType>),
    /// The types of its result and of its error.
    Result(Option<Box<WitType>>, Option<Box<WitType>>),
}
