//! Values of the model. Every number of a random case is a multiple of one half, so that sums are exact and a number
//! has one representation.

use std::collections::BTreeMap;

use serde_json::Value;

/// A JSON value; `Half(3)` is 1.5.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum V {
    Null,
    Bool(bool),
    Half(i64),
    Text(String),
    List(Vec<V>),
    Map(BTreeMap<String, V>),
}

pub(super) fn int(number: i64) -> V {
    V::Half(number * 2)
}

pub(super) fn text(text: &str) -> V {
    V::Text(text.to_owned())
}

pub(super) fn map<const N: usize>(fields: [(&str, V); N]) -> V {
    V::Map(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// Quotes a text for JSON and YAML.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        if matches!(letter, '"' | '\\') {
            out.push('\\');
        }
        out.push(letter);
    }
    out.push('"');
    out
}

impl V {
    /// Returns the approximate size: number of values, plus bytes of text.
    pub(super) fn size(&self) -> usize {
        1 + match self {
            Self::Null | Self::Bool(_) | Self::Half(_) => 0,
            Self::Text(text) => text.len(),
            Self::List(items) => items.iter().map(Self::size).sum(),
            Self::Map(fields) => fields.iter().map(|(key, value)| key.len() + value.size()).sum(),
        }
    }

    /// Returns JSON text without spaces, keys sorted.
    pub(super) fn json(&self) -> String {
        self.written(&|text| text.to_owned())
    }

    /// Returns a template that evaluates to this value: texts in it that look like templates are escaped.
    pub(super) fn template(&self) -> String {
        self.written(&|text| text.replace("${", "$${"))
    }

    fn written(&self, texts: &dyn Fn(&str) -> String) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Half(half) if half % 2 == 0 => (half / 2).to_string(),
            Self::Half(half) => {
                format!("{}{}.5", if *half < 0 { "-" } else { "" }, half.abs() / 2)
            }
            Self::Text(text) => quoted(&texts(text)),
            Self::List(items) => {
                let items: Vec<_> = items.iter().map(|item| item.written(texts)).collect();
                format!("[{}]", items.join(","))
            }
            Self::Map(fields) => {
                let fields: Vec<_> = fields
                    .iter()
                    .map(|(key, value)| format!("{}:{}", quoted(key), value.written(texts)))
                    .collect();
                format!("{{{}}}", fields.join(","))
            }
        }
    }

    pub(super) fn to_json(&self) -> Value {
        serde_json::from_str(&self.json()).unwrap()
    }

    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => {
                let double = number.as_f64().unwrap() * 2.0;
                assert!(double.fract() == 0.0 && double.abs() < 1e15, "{number} is not of a random case");
                #[allow(clippy::cast_possible_truncation)]
                let half = double as i64;
                Self::Half(half)
            }
            Value::String(text) => Self::Text(text.clone()),
            Value::Array(items) => Self::List(items.iter().map(Self::of).collect()),
            Value::Object(fields) => {
                Self::Map(fields.iter().map(|(key, value)| (key.clone(), Self::of(value))).collect())
            }
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(fields) => fields.get(key),
            _ => None,
        }
    }

    /// Returns a list's elements; any other value is one element.
    pub(super) fn elements(self) -> Vec<Self> {
        match self {
            Self::List(items) => items,
            other => vec![other],
        }
    }
}
