//! Items that are part of the program, each by its digest.
//!
//! Their sources are in `host/builtin`: graphs are included from there, and `host/builtin/build` writes the components
//! and the digests to `host/runtime/assets`. Built-in items have no grants by default: they need lines in a manifest
//! like every other item.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use flate2::read::GzDecoder;
use graph_core::diagnostic::printable;
use graph_core::digest::Digest;
use graph_core::id::{path_of, version_of};
use graph_core::item::ItemType;
use graph_core::json::{self, TreeLimit};
use graph_core::trust::{TrustStore, VerifiedComponent, VerifyError};
use graph_registry::artifact::{Kind, read_text};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::items::locate::{Space, refused};
use crate::items::precedence::Candidate;

/// A built-in item.
struct BuiltIn {
    id: &'static str,
    content: Content,
}

/// Content of a built-in item.
enum Content {
    Component {
        /// The listed digest, which the component has to have.
        digest: &'static str,
        /// The component, compressed to a quarter of its size.
        compressed: &'static [u8],
        /// The statement of a signed component, without a signature.
        statement: &'static str,
        /// The component's bytes, decompressed at first use.
        bytes: OnceLock<Arc<[u8]>>,
    },
    /// The document of a graph, whose digest is in [`GRAPHS`].
    Graph(&'static str),
}

/// Digests of the graphs, a line each: the digest, and the id.
const GRAPHS: &str = include_str!("../../assets/graphs.sha256");

static ITEMS: [BuiltIn; 4] = [
    BuiltIn {
        id: "rye/agent/agent",
        content: Content::Graph(include_str!("../../../builtin/agent/graphs/agent.yaml")),
    },
    BuiltIn {
        id: "rye/agent/threads/thread_directive",
        content: Content::Graph(include_str!("../../../builtin/agent/graphs/thread_directive.yaml")),
    },
    BuiltIn {
        id: "rye/agent/turn",
        content: Content::Component {
            digest: include_str!("../../assets/agent.sha256"),
            compressed: include_bytes!("../../assets/agent.wasm.gz"),
            statement: include_str!("../../assets/agent.statement.json"),
            bytes: OnceLock::new(),
        },
    },
    BuiltIn {
        id: "rye/bash/bash",
        content: Content::Component {
            digest: include_str!("../../assets/bash.sha256"),
            compressed: include_bytes!("../../assets/bash.wasm.gz"),
            statement: include_str!("../../assets/bash.statement.json"),
            bytes: OnceLock::new(),
        },
    },
];

impl BuiltIn {
    /// Returns the path that messages show. No file has this path: it is never read.
    fn place(&self) -> PathBuf {
        let extension = match self.content {
            Content::Component { .. } => "wasm",
            Content::Graph(_) => "yaml",
        };
        Path::new("(built in)").join(format!("{}.{extension}", self.id))
    }

    /// Finds the item with an id, with or without a version.
    fn find(item: &str) -> Result<&'static Self> {
        let found = ITEMS.iter().find(|built_in| built_in.id == path_of(item));
        found.ok_or_else(|| missing(item, "there is no such item"))
    }
}

fn missing(item: &str, reason: &str) -> Error {
    refused(&VerifyError::BuiltIn { id: printable(item).into_owned(), reason: reason.to_owned() })
}

/// Parses a listed SHA-256 digest.
fn listed(item: &str, hex: Option<&str>) -> Result<Digest> {
    let digest = hex.and_then(|hex| format!("sha256:{}", hex.trim()).parse().ok());
    digest.ok_or_else(|| missing(item, "its listed digest is invalid"))
}

/// Decompresses a component, once.
fn decompressed<'b>(compressed: &[u8], bytes: &'b OnceLock<Arc<[u8]>>) -> Option<&'b Arc<[u8]>> {
    if bytes.get().is_none() {
        let mut all = Vec::new();
        GzDecoder::new(compressed).read_to_end(&mut all).ok()?;
        let _ = bytes.set(all.into());
    }
    bytes.get()
}

/// Returns the items of a type, with their ids.
pub(crate) fn candidates(item_type: ItemType) -> impl Iterator<Item = (&'static str, Candidate)> {
    let items = if item_type == ItemType::Tool { &ITEMS[..] } else { &[] };
    items
        .iter()
        .map(|item| (item.id, Candidate { space: Space::BuiltIn, path: item.place(), is_outside: false }))
}

/// Checks whether a path is that of a built-in item.
pub fn is_place(path: &Path) -> bool {
    id_at(path).is_some()
}

/// Returns the id of the built-in item that has this path.
pub(crate) fn id_at(path: &Path) -> Option<&'static str> {
    ITEMS.iter().find(|item| path == item.place()).map(|item| item.id)
}

/// Returns the component of an item, checked against the listed digest and the requirements of the trust store.
pub fn verify(item: &str, trust: &TrustStore) -> Result<VerifiedComponent> {
    let Content::Component { digest, compressed, statement, bytes } = &BuiltIn::find(item)?.content else {
        return Err(missing(item, "it is a graph"));
    };
    let listed = listed(item, Some(digest))?;
    let bytes = decompressed(compressed, bytes)
        .ok_or_else(|| missing(item, "its component cannot be decompressed"))?;
    VerifiedComponent::built_in(Arc::clone(bytes), statement, &listed, trust, item)
        .map_err(|error| refused(&error))
}

/// Returns the params schema of a built-in component, from its statement.
pub(crate) fn params_schema(item: &str) -> Option<Value> {
    let Content::Component { statement, .. } = BuiltIn::find(item).ok()?.content else { return None };
    let statement: Value = json::read(statement, TreeLimit::DOCUMENT).ok()?;
    statement.pointer("/predicate/description/params").cloned()
}

/// Returns the document of a graph, checked against the listed digest and the requested version.
pub fn graph(item: &str) -> Result<&'static str> {
    let built_in = BuiltIn::find(item)?;
    let Content::Graph(text) = built_in.content else { return Err(missing(item, "it is a component")) };
    let of_graph = |line: &&'static str| line.split_whitespace().nth(1) == Some(built_in.id);
    let listed = listed(item, GRAPHS.lines().find(of_graph).and_then(|line| line.split_whitespace().next()))?;
    let digest = Digest::of_bytes(text.as_bytes());
    if digest != listed {
        return Err(missing(item, &format!("its digest is {digest}, not {listed}")));
    }
    if let Some(wanted) = version_of(item) {
        let version = read_text(Kind::Graph, built_in.id, "yaml", text)?.version.unwrap_or_default();
        if version != wanted {
            return Err(missing(item, &format!("the version that is built in is {version}")));
        }
    }
    Ok(text)
}

/// Makes the refusal to publish a built-in item.
pub(crate) fn not_published(id: &str) -> Error {
    Error::usage(format!("`{}` is built into graph-host and is not published", printable(id)))
        .help("every graph-host of this version has it")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use graph_core::trust::ComponentStanding;

    #[test]
    fn every_item_has_the_digest_that_is_listed_and_a_statement_about_itself() {
        for item in &ITEMS {
            assert_eq!(id_at(&item.place()), Some(item.id));
            match &item.content {
                Content::Component { compressed, bytes, .. } => {
                    let verified = verify(item.id, &TrustStore::default()).unwrap();
                    assert_eq!(verified.standing(), &ComponentStanding::BuiltIn);
                    let digest = Digest::of_bytes(decompressed(compressed, bytes).unwrap());
                    assert_eq!((verified.id(), verified.digest()), (item.id, &digest));
                    assert!(graph(item.id).unwrap_err().message().contains("it is a component"));
                }
                Content::Graph(text) => {
                    assert_eq!(graph(item.id).unwrap(), *text);
                    let loaded = graph_walker::document::load("built in", text, item.id).unwrap();
                    assert!(loaded.warnings.is_empty(), "{}: {:?}", item.id, loaded.warnings);
                    let error = verify(item.id, &TrustStore::default()).unwrap_err();
                    assert!(error.message().contains("it is a graph"), "{}", error.message());
                }
            }
        }
        assert_eq!(id_at(Path::new("rye/agent/agent.yaml")), None);
    }

    #[test]
    fn what_the_graphs_dispatch_is_built_in() {
        for item in &ITEMS {
            let Content::Graph(text) = item.content else { continue };
            let loaded = graph_walker::document::load("built in", text, item.id).unwrap();
            let actions = loaded.graph.nodes.iter().filter_map(|node| node.action.as_ref());
            for id in actions.filter_map(|action| action.item_id.literal()?.as_str()) {
                assert!(BuiltIn::find(id).is_ok(), "{} dispatches {id}", item.id);
            }
        }
    }

    #[test]
    fn another_version_is_refused() {
        for item in ["rye/bash/bash", "rye/agent/agent"] {
            let (known, other) = (format!("{item}@1.0.0"), format!("{item}@99.0.0"));
            let error = if item == "rye/bash/bash" {
                verify(&other, &TrustStore::default()).unwrap_err()
            } else {
                assert!(graph(&known).is_ok());
                graph(&other).unwrap_err()
            };
            assert!(error.message().contains("the version that is built in is"), "{}", error.message());
        }
    }
}
