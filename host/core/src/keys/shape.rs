//! The types of values of keys.

use super::table::KeyTable;

/// The type of a key's value, as far as it does not depend on the rest of the document.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// A value of any type.
    Any,
    /// Anything; its texts are templates, at any depth.
    Template,
    /// A text with a template, such as `${state.items}`. Its value must have the type listed next to it.
    TemplateText,
    /// A text. The word names its meaning: "a node", "an item id".
    Text(&'static str),
    /// `true` or `false`.
    Bool,
    /// `false` only.
    False,
    /// `null` only.
    Null,
    /// An integer within bounds.
    Integer(u64, u64),
    /// A number within bounds.
    Number(f64, f64),
    /// A number, integer or not, of either sign.
    AnyNumber,
    /// A duration such as `10ms`, `5s`, `1m30s`, or a number of seconds.
    Duration,
    /// A size in bytes such as `64KiB`, or a number of bytes.
    Size,
    /// A moment, as RFC 3339 writes it.
    Time,
    /// One of a few words.
    Words(&'static [&'static str]),
    /// A JSON Schema (draft 2020-12, without references to other documents).
    JsonSchema,
    /// A list whose elements all have this shape.
    List(&'static Shape),
    /// A mapping whose keys the author chooses. The word names their meaning.
    Map(&'static str, &'static Shape),
    /// A mapping with the keys of a table.
    Table(&'static KeyTable),
    /// One of several shapes.
    Either(&'static [Shape]),
}

/// Returns the names of choices, for [`Shape::Words`] of a type with `CHOICES`.
pub const fn names_of<T, const N: usize>(choices: &[(&'static str, T)]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut at = 0;
    while at < N {
        names[at] = choices[at].0;
        at += 1;
    }
    names
}

/// Returns the values of a table's `type` key; empty if it has none.
pub fn names_of_kinds(table: &KeyTable) -> &'static [&'static str] {
    match table.find("type").map(|row| row.shape) {
        Some(Shape::Words(kinds)) => kinds,
        _ => &[],
    }
}

impl Shape {
    /// Returns the shape in words, for people: "integer, at least 1".
    pub fn words(&self) -> String {
        match self {
            Self::Any => "any value".to_owned(),
            Self::Template => "any value with templates".to_owned(),
            Self::TemplateText => "a template".to_owned(),
            Self::Text("") => "text".to_owned(),
            Self::Text(what) => (*what).to_owned(),
            Self::Bool => "`true` or `false`".to_owned(),
            Self::False => "`false`".to_owned(),
            Self::Null => "`null`".to_owned(),
            Self::Integer(0, u64::MAX) => "integer".to_owned(),
            Self::Integer(least, u64::MAX) => format!("integer, at least {least}"),
            Self::Integer(least, most) if least == most => format!("`{least}`"),
            Self::Integer(least, most) => format!("integer from {least} to {most}"),
            Self::Number(least, most) => format!("number from {least} to {most}"),
            Self::AnyNumber => "number".to_owned(),
            Self::Duration => "duration".to_owned(),
            Self::Size => "size".to_owned(),
            Self::Time => "time (RFC 3339)".to_owned(),
            Self::Words(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
            Self::JsonSchema => "JSON Schema".to_owned(),
            Self::List(item) => format!("list of: {}", item.words()),
            Self::Map(names, value) => format!("mapping from {names} to: {}", value.words()),
            Self::Table(table) if table.keys.is_empty() => table.title.to_owned(),
            Self::Table(table) => format!("[{}](#{})", table.title, super::markdown::anchor(table)),
            Self::Either(shapes) => shapes.iter().map(Self::words).collect::<Vec<_>>().join("; or "),
        }
    }

    /// Checks whether one of the fixed values of the shape is this word.
    pub fn has_word(&self, word: &str) -> bool {
        match self {
            Self::Words(words) => words.contains(&word),
            Self::List(shape) | Self::Map(_, shape) => shape.has_word(word),
            Self::Either(shapes) => shapes.iter().any(|shape| shape.has_word(word)),
            _ => false,
        }
    }

    /// Adds the tables that a value of this shape may have, without nested ones.
    pub(super) fn tables(&self, found: &mut Vec<&'static KeyTable>) {
        match self {
            Self::List(shape) | Self::Map(_, shape) => shape.tables(found),
            Self::Either(shapes) => shapes.iter().for_each(|shape| shape.tables(found)),
            Self::Table(table) => found.push(table),
            _ => {}
        }
    }
}
