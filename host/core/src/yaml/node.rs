//! The tree of a document.

use serde_json::{Map, Number, Value};

use super::position;
use crate::diagnostic::Span;

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The value, with aliases and tags resolved.
    pub value: Yaml,
    /// The place; for a value of an alias, the place of the alias.
    pub span: Span,
}

/// A value of YAML's core schema, whose numbers fit JSON.
#[derive(Clone, Debug, PartialEq)]
pub enum Yaml {
    /// `null`, `~` or an empty value.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A 64-bit integer, exact, or a finite float.
    Number(Number),
    /// A text, with the way it was written.
    Text(Text),
    /// A block or flow list.
    List(Vec<Node>),
    /// A block or flow mapping, whose keys are texts without repetitions.
    Mapping(Mapping),
}

/// A text and its style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The text without quotes and escapes.
    pub value: String,
    /// The style of the text.
    pub style: TextStyle,
}

/// The style of a text, which determines the places of its characters in the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextStyle {
    /// Without quotes: only texts that do not read as another type.
    Plain,
    /// In single quotes, where `''` is the only escape.
    SingleQuoted,
    /// In double quotes, with escapes.
    DoubleQuoted,
    /// A block after `|` or `>`.
    Block,
}

/// A mapping in document order, without duplicate keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mapping {
    /// The entries, in document order.
    pub entries: Vec<MappingEntry>,
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct MappingEntry {
    /// The key and its place, to which messages about unknown keys refer.
    pub key: Key,
    /// The value, with aliases and tags resolved.
    pub value: Node,
}

/// A key and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The text of the key, unquoted.
    pub name: String,
    /// The position of the key in the document.
    pub span: Span,
}

impl Mapping {
    /// Returns the entry with a key, in time linear in the number of entries.
    pub fn entry(&self, key: &str) -> Option<&MappingEntry> {
        self.entries.iter().find(|entry| entry.key.name == key)
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Checks whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the entries, in document order.
    pub fn iter(&self) -> std::slice::Iter<'_, MappingEntry> {
        self.entries.iter()
    }
}

impl<'m> IntoIterator for &'m Mapping {
    type Item = &'m MappingEntry;
    type IntoIter = std::slice::Iter<'m, MappingEntry>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Node {
    /// Returns the text, if the value is one.
    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            Yaml::Text(text) => Some(&text.value),
            _ => None,
        }
    }

    /// Returns the list, if the value is one.
    pub fn as_list(&self) -> Option<&[Node]> {
        match &self.value {
            Yaml::List(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the mapping, if the value is one.
    pub fn as_mapping(&self) -> Option<&Mapping> {
        match &self.value {
            Yaml::Mapping(mapping) => Some(mapping),
            _ => None,
        }
    }

    /// Returns the boolean, if the value is one.
    pub fn as_bool(&self) -> Option<bool> {
        match &self.value {
            Yaml::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns the integer, if the value is one and not negative.
    pub fn as_u64(&self) -> Option<u64> {
        match &self.value {
            Yaml::Number(number) => number.as_u64(),
            _ => None,
        }
    }

    /// Checks whether the value is null or empty.
    pub fn is_null(&self) -> bool {
        matches!(self.value, Yaml::Null)
    }

    /// Returns the kind of the value for a message: `a text`, `a list`, …
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Yaml::Null => "nothing",
            Yaml::Bool(_) => "a boolean",
            Yaml::Number(_) => "a number",
            Yaml::Text(_) => "a text",
            Yaml::List(_) => "a list",
            Yaml::Mapping(_) => "a mapping",
        }
    }

    /// Returns the value as JSON.
    pub fn to_json(&self) -> Value {
        match &self.value {
            Yaml::Null => Value::Null,
            Yaml::Bool(value) => Value::Bool(*value),
            Yaml::Number(number) => Value::Number(number.clone()),
            Yaml::Text(text) => Value::String(text.value.clone()),
            Yaml::List(items) => Value::Array(items.iter().map(Self::to_json).collect()),
            Yaml::Mapping(mapping) => Value::Object(
                mapping
                    .iter()
                    .map(|entry| (entry.key.name.clone(), entry.value.to_json()))
                    .collect::<Map<_, _>>(),
            ),
        }
    }

    /// Creates a tree without places from JSON: for a document that is read back from a record.
    pub fn from_json(value: &Value) -> Self {
        let value = match value {
            Value::Null => Yaml::Null,
            Value::Bool(value) => Yaml::Bool(*value),
            Value::Number(number) => Yaml::Number(number.clone()),
            Value::String(text) => Yaml::Text(Text { value: text.clone(), style: TextStyle::DoubleQuoted }),
            Value::Array(items) => Yaml::List(items.iter().map(Self::from_json).collect()),
            Value::Object(entries) => Yaml::Mapping(Mapping {
                entries: entries
                    .iter()
                    .map(|(name, value)| MappingEntry {
                        key: Key { name: name.clone(), span: Span::NONE },
                        value: Self::from_json(value),
                    })
                    .collect(),
            }),
        };
        Self { value, span: Span::NONE }
    }

    /// Returns the part at a path of keys and list indices, or the last existing part of the path.
    pub fn descend<K: AsRef<str>>(&self, path: impl IntoIterator<Item = K>) -> &Self {
        let mut node = self;
        for key in path {
            let key = key.as_ref();
            let next = match &node.value {
                Yaml::Mapping(mapping) => mapping.get(key),
                Yaml::List(items) => key.parse::<usize>().ok().and_then(|at| items.get(at)),
                _ => None,
            };
            match next {
                Some(next) => node = next,
                None => break,
            }
        }
        node
    }

    /// Returns the place of the bytes `offset..offset + length` of a text within the document, or the place of the whole node if the text's
    /// style does not permit distinguishing them. `document` is the parsed text.
    pub fn span_inside(&self, document: &str, offset: usize, length: usize) -> Span {
        match &self.value {
            Yaml::Text(text) if self.span.is_known() => {
                position::inside(document, self.span, text, offset, length).unwrap_or(self.span)
            }
            _ => self.span,
        }
    }
}
