//! Values of the types that have JSON.

/// A value of a [`WitType`](super::WitType). Fields, cases and flags have their names.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names are those of the component model")]
pub enum WitValue {
    Bool(bool),
    S8(i8),
    U8(u8),
    S16(i16),
    U16(u16),
    S32(i32),
    U32(u32),
    S64(i64),
    U64(u64),
    F32(f32),
    F64(f64),
    Char(char),
    String(String),
    List(Vec<WitValue>),
    FixedLengthList(Vec<WitValue>),
    Tuple(Vec<WitValue>),
    Record(Vec<(String, WitValue)>),
    Variant(String, Option<Box<WitValue>>),
    Enum(String),
    /// The set flags, in the order of the type.
    Flags(Vec<String>),
    Option(Option<Box<WitValue>>),
    Result(Result<Option<Box<WitValue>>, Option<Box<WitValue>>>),
}
