//! Parsing of texts.

use graph_core::capability::Manifest;
use graph_core::digest::Digest;
use graph_core::json;
use graph_walker::document;
use graph_walker::graph::Graph;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Problem;

/// Parses JSON strictly: duplicate keys, numbers that would be rounded, and nesting beyond a limit are errors. `what` names the text in
/// messages.
pub(crate) fn value(what: &str, text: &str) -> Result<Value, Problem> {
    json::parse_envelope(text, json::TreeLimit::RECORD)
        .map_err(|error| Problem::new("invalid_json", format!("the {what} cannot be read: {error}")))
}

/// Parses a document with known fields.
pub(crate) fn document<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, Problem> {
    serde_json::from_value(value(what, text)?)
        .map_err(|error| Problem::new("invalid_json", format!("the {what} cannot be read: {error}")))
}

pub(crate) fn digest(what: &str, text: &str) -> Result<Digest, Problem> {
    text.parse().map_err(|_| {
        Problem::new(
            "invalid_json",
            format!("the {what} is not a digest: expected `sha256:` and 64 hexadecimal digits"),
        )
    })
}

/// Text of a graph in a setup.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GraphText {
    pub(crate) name: String,
    pub(crate) id: String,
    pub(crate) text: String,
}

impl GraphText {
    pub(crate) fn load(&self) -> Result<Graph, Problem> {
        graph(&self.name, &self.id, &self.text)
    }
}

pub(crate) fn graph(name: &str, id: &str, text: &str) -> Result<Graph, Problem> {
    Ok(document::load(name, text, id)?.graph)
}

/// Text of a manifest in a setup.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ManifestText {
    pub(crate) name: String,
    pub(crate) folder: String,
    pub(crate) text: String,
}

impl ManifestText {
    pub(crate) fn load(&self) -> Result<Manifest, Problem> {
        manifest(&self.name, &self.folder, &self.text)
    }
}

pub(crate) fn manifest(name: &str, folder: &str, text: &str) -> Result<Manifest, Problem> {
    Ok(Manifest::parse(text, name, folder)?.0)
}
