//! The tree of a document.

use serde_json::{Map, Number, Value};

use super::position;
use crate::diagnostic::Span;

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The value, with aliases and tags resolved.
    pub value: Yaml,
    /// Where it stands; the place of the alias for a value that came through one.
    pub span: Span,
}

/// A value of YAML's core schema, whose numbers fit JSON.
#[derive(Clone, Debug, PartialEq)]
pub enum Yaml {
    /// `null`, `~` or nothing at all.
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

/// A text as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The text without quotes and escapes.
    pub value: String,
    /// How it was written.
    pub style: TextStyle,
}

/// How a text was written, which decides how its characters are placed in the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextStyle {
    /// Without quotes: only texts that are no other type.
    Plain,
    /// In single quotes, where `''` is the one escape.
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
    pub entries: Vec<Entry>,
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key and its place, which messages about unknown keys point to.
    pub key: Key,
    /// The value, with aliases and tags resolved.
    pub value: Node,
}

/// A key and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The text of the key, unquoted.
    pub name: String,
    /// The position of the key in the document.
    pub span: Span,
}

impl Mapping {
    /// The entry of that key. Takes time with the number of entries.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key.name == key)
    }

    /// The value of that key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// How many entries it has.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries, in document order.
    pub fn iter(&self) -> std::slice::Iter<'_, Entry> {
        self.entries.iter()
    }
}

impl<'m> IntoIterator for &'m Mapping {
    type Item = &'m Entry;
    type IntoIter = std::slice::Iter<'m, Entry>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Node {
    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            Yaml::Text(text) => Some(&text.value),
            _ => None,
        }
    }

    /// The list, if it is one.
    pub fn as_list(&self) -> Option<&[Node]> {
        match &self.value {
            Yaml::List(items) => Some(items),
            _ => None,
        }
    }

    /// The mapping, if it is one.
    pub fn as_mapping(&self) -> Option<&Mapping> {
        match &self.value {
            Yaml::Mapping(mapping) => Some(mapping),
            _ => None,
        }
    }

    /// The boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match &self.value {
            Yaml::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The integer, if it is one and not negative.
    pub fn as_u64(&self) -> Option<u64> {
        match &self.value {
            Yaml::Number(number) => number.as_u64(),
            _ => None,
        }
    }

    /// Whether it is nothing at all.
    pub fn is_null(&self) -> bool {
        matches!(self.value, Yaml::Null)
    }

    /// What it is, for a message: `a text`, `a list`, …
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

    /// The value as JSON.
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

    /// A tree without places from JSON: for a document that is read back from a record.
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
                    .map(|(name, value)| Entry {
                        key: Key { name: name.clone(), span: Span::NONE },
                        value: Self::from_json(value),
                    })
                    .collect(),
            }),
        };
        Self { value, span: Span::NONE }
    }

    /// The part that a path of keys and list indices leads to, or the last part on the way that there is.
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

    /// The place of the bytes `offset..offset + length` of a text within the document, or the place of the whole node
    /// where the text is written so that they cannot be distinguished. `document` is the text that was parsed.
    pub fn span_inside(&self, document: &str, offset: usize, length: usize) -> Span {
        match &self.value {
            Yaml::Text(text) if self.span.is_known() => {
                position::inside(document, self.span, text, offset, length).unwrap_or(self.span)
            }
            _ => self.span,
        }
    }
}
