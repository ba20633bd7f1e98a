//! Keys of a mapping, in the order in which they were set first.

use std::time::Duration;

use serde_json::Value;

use graph_core::diagnostic::Span;
use graph_core::limits::{ModelFigure, ModelLimits};
use graph_core::yaml::{Key, Mapping, MappingEntry, Node, Yaml};

/// The keys of a mapping. A key that is set again keeps its place.
#[derive(Clone, Debug, Default)]
pub(super) struct MappingFields(Mapping);

impl MappingFields {
    /// Returns the keys of a mapping; none if the node is not one.
    pub(super) fn from_node(node: Option<&Node>) -> Self {
        Self(node.and_then(Node::as_mapping).cloned().unwrap_or_default())
    }

    pub(super) fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.set_node(key, Node::from_json(&value.into()));
    }

    pub(super) fn set_node(&mut self, key: &str, value: Node) {
        match self.0.entries.iter_mut().find(|entry| entry.key.name == key) {
            Some(entry) => entry.value = value,
            None => {
                self.0
                    .entries
                    .push(MappingEntry { key: Key { name: key.to_owned(), span: Span::NONE }, value });
            }
        }
    }

    /// Sets a key in the mapping under a key, which is added if it is missing.
    pub(super) fn set_inside(&mut self, key: &str, inner: &str, value: Node) {
        let inside = match self.get(key) {
            Some(Node { value: Yaml::Mapping(mapping), .. }) => mapping.clone(),
            _ => Mapping::default(),
        };
        let mut inside = Self(inside);
        inside.set_node(inner, value);
        self.set_node(key, inside.into_node());
    }

    /// Adds values to the list under a key, which is added if it is missing.
    pub(super) fn extend(&mut self, key: &str, values: impl IntoIterator<Item = Node>) {
        let mut items = self.get(key).and_then(Node::as_list).unwrap_or_default().to_vec();
        items.extend(values);
        self.set_node(key, list(items));
    }

    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        self.0.get(key)
    }

    pub(super) fn into_node(self) -> Node {
        Node { value: Yaml::Mapping(self.0), span: Span::NONE }
    }
}

pub(super) fn list(items: Vec<Node>) -> Node {
    Node { value: Yaml::List(items), span: Span::NONE }
}

pub(super) fn text(said: &str) -> Node {
    Node::from_json(&Value::from(said))
}

/// Converts names to text nodes.
pub(super) fn names<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Vec<Node> {
    names.into_iter().map(|name| text(&name.into())).collect()
}

/// Writes a duration as in documents, in the largest exact unit; fractions of a millisecond are dropped.
pub(super) fn duration(span: Duration) -> String {
    let millis = span.as_millis();
    let units = [("h", 3_600_000), ("m", 60_000), ("s", 1_000)];
    match units.into_iter().find(|(_, unit)| millis >= *unit && millis.is_multiple_of(*unit)) {
        Some((name, unit)) => format!("{}{name}", millis / unit),
        None => format!("{millis}ms"),
    }
}

/// Writes limits of language models; `None` if no figure is limited.
pub(super) fn model_limits(limits: ModelLimits) -> Option<Node> {
    let mut fields = MappingFields::default();
    for figure in ModelFigure::ALL {
        if let Some(most) = limits.of(figure) {
            // A number cannot hold all digits of the largest costs.
            let written = serde_json::from_str::<Value>(&figure.written(most));
            fields.set(figure.key(), written.unwrap_or_else(|_| Value::from(most)));
        }
    }
    (!limits.is_nothing()).then(|| fields.into_node())
}
