//! The kinds of documents that people write: how a file is recognised, its schema, and its keys.

use std::path::Path;

use clap::ValueEnum;
use graph_core::diagnostic::Problems;
use graph_core::keys::{self, KeyTable, Shape};
use graph_core::yaml;
use serde_json::Value;

/// A kind of document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DocumentKind {
    /// A graph, `graph.yaml`
    Graph,
    /// A capability manifest, `caps.yaml`
    Manifest,
    /// A case, `*.case.yaml`
    Case,
    /// Hooks of a project or a user, `hooks.yaml`
    Hooks,
    /// A trust store, `trust.yaml`
    Trust,
}

impl DocumentKind {
    /// All kinds, for help and for matching names.
    pub const ALL: [Self; 5] = [Self::Graph, Self::Manifest, Self::Case, Self::Hooks, Self::Trust];

    /// The word in arguments and in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Graph => "graph",
            Self::Manifest => "manifest",
            Self::Case => "case",
            Self::Hooks => "hooks",
            Self::Trust => "trust",
        }
    }

    /// The shape of the documents of this kind.
    pub fn shape(self) -> &'static Shape {
        match self {
            Self::Graph => &keys::graph::DOCUMENT,
            Self::Manifest => &keys::manifest::DOCUMENT,
            Self::Case => &graph_cases::keys::DOCUMENT,
            Self::Hooks => &keys::hooks::DOCUMENT,
            Self::Trust => &keys::trust::DOCUMENT,
        }
    }

    /// The JSON Schema, as text.
    pub fn schema_text(self) -> String {
        format!("{:#}\n", self.schema())
    }

    /// The JSON Schema of documents of this kind.
    pub fn schema(self) -> Value {
        keys::json_schema(self.as_str(), self.shape())
    }

    /// The name of the file that `schema --write` and `new` make of the schema.
    pub fn schema_file(self) -> String {
        format!("{}.schema.json", self.as_str())
    }

    /// The kind of a document by its name and its keys. Unknown documents are treated as graphs: the reader of graphs
    /// then reports what is wrong.
    pub fn detect(path: &Path, text: &str) -> Self {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.ends_with(graph_cases::SUFFIX) {
            return Self::Case;
        }
        let root = yaml::parse(text, &Problems::new());
        let has = |key: &str| root.as_ref().and_then(|root| root.as_mapping()?.get(key)).is_some();
        let is_list = root.as_ref().is_some_and(|root| root.as_list().is_some());
        if has("tool_type") || has("config") {
            Self::Graph
        } else if has("script") {
            Self::Case
        } else if has("hooks") || is_list {
            Self::Hooks
        } else if has("keys") || has("require") {
            Self::Trust
        } else if ["dispatch", "items", "limits", "models", "run"].into_iter().any(has) {
            Self::Manifest
        } else {
            match name.as_str() {
                "hooks.yaml" | "hooks.yml" => Self::Hooks,
                "trust.yaml" | "trust.yml" => Self::Trust,
                "caps.yaml" | "caps.yml" => Self::Manifest,
                _ => Self::Graph,
            }
        }
    }
}

/// Every table of keys, each once, in the order of the kinds.
pub fn key_tables() -> Vec<&'static KeyTable> {
    let mut tables: Vec<&'static KeyTable> = Vec::new();
    for table in DocumentKind::ALL.into_iter().flat_map(|kind| keys::reachable(kind.shape())) {
        if tables.iter().all(|known| known.name != table.name) {
            tables.push(table);
        }
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tables_name_one_table() {
        // Two tables of one name would be one definition in a schema.
        let mut seen: Vec<&KeyTable> = Vec::new();
        for table in DocumentKind::ALL.into_iter().flat_map(|kind| keys::reachable(kind.shape())) {
            let same = seen.iter().find(|known| known.name == table.name);
            assert!(same.is_none_or(|known| std::ptr::eq(*known, table)), "{}", table.name);
            seen.push(table);
        }
    }

    #[test]
    fn kinds_are_recognised() {
        let kind = |name: &str, text: &str| DocumentKind::detect(Path::new(name), text);
        assert_eq!(kind("x.yaml", "tool_type: graph\nconfig: {}\n"), DocumentKind::Graph);
        assert_eq!(kind("x.yaml", "items: {}\nscript: []\n"), DocumentKind::Case);
        assert_eq!(kind("a/x.case.yaml", "["), DocumentKind::Case);
        assert_eq!(kind("x.yaml", "dispatch: []\n"), DocumentKind::Manifest);
        assert_eq!(kind("x.yaml", "- event: error\n"), DocumentKind::Hooks);
        assert_eq!(kind("x.yaml", "version: 1\nkeys: []\n"), DocumentKind::Trust);
        assert_eq!(kind("trust.yaml", ""), DocumentKind::Trust);
        assert_eq!(kind("x.yaml", "nodes: {}\n"), DocumentKind::Graph);
    }
}
