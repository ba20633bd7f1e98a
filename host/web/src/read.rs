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
    from_value(what, value(what, text)?)
}

/// Reads a document with known fields, of which one, `tag`, names the variant of an enum. For the walker of a page, this is
/// less code than serde's own internal tags.
pub(crate) fn tagged<T: DeserializeOwned>(what: &str, tag: &str, document: Value) -> Result<T, Problem> {
    let mut document = document;
    let name = document.as_object_mut().and_then(|fields| fields.remove(tag));
    let Some(Value::String(name)) = name else {
        let message = format!("the {what} cannot be read: missing field `{tag}`");
        return Err(Problem::new("invalid_json", message));
    };
    from_value(what, Value::Object([(name, document)].into_iter().collect()))
}

fn from_value<T: DeserializeOwned>(what: &str, document: Value) -> Result<T, Problem> {
    serde_json::from_value(document)
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
