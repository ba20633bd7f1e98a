//! Graphs from files or item ids, with the result of their signature check.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use graph_core::diagnostic::{Diagnostics, printable};
use graph_core::digest::Digest;
use graph_core::item::ItemType;
use graph_core::trust::{TextRefusal, TextStanding, TrustStore};
use graph_walker::builder::BuiltGraph;
use graph_walker::graph::Graph;

use crate::clock::now;
use crate::error::{Error, Result};
use crate::items::locate::{
    FindError, ItemFile, ItemLocator, LocatedItem, Space, id_of_graph, moment_of_superstep, names_file,
};
use crate::items::precedence::{self, Precedence};
use crate::items::{built_in, installed};
use crate::project::text_file;
use crate::remedy::{Remedy, WithoutSignature};

/// A graph document that was read and checked.
#[derive(Debug)]
pub struct GraphFile {
    /// Its file; the empty path for a graph that a program has built.
    pub path: PathBuf,
    /// Its space; [`Space::Named`] for a graph that is named by its path.
    pub space: Space,
    /// The other items with its id.
    pub precedence: Precedence,
    /// The graph that was read, with its digest.
    pub graph: Arc<Graph>,
    /// The warnings of its document.
    pub warnings: Diagnostics,
    /// Result of the check of its signature.
    pub standing: TextStanding,
}

impl GraphFile {
    /// Finds and reads a graph: a file, or the id of an item in one of the places. An invalid signature is an error.
    pub fn open(name: &str, locator: &ItemLocator, trust: &TrustStore) -> Result<Self> {
        let file = locate(name, locator)?;
        let text = file.named_graph_text()?;
        Self::of_text(file, &text, locator, trust)
    }

    /// Reads the graph of an item. An invalid signature is an error.
    pub fn read(file: ItemFile, locator: &ItemLocator, trust: &TrustStore) -> Result<Self> {
        let text = file.graph_text()?;
        Self::of_text(file, &text, locator, trust)
    }

    /// Wraps a graph that a program has built: it has no file, and no signature.
    pub(crate) fn of_built(built: &BuiltGraph) -> Self {
        Self {
            path: PathBuf::new(),
            space: Space::Named,
            precedence: Precedence::default(),
            graph: Arc::clone(&built.graph),
            warnings: built.warnings.clone(),
            standing: TextStanding::Unsigned,
        }
    }

    /// Reads the present document.
    pub fn text(&self) -> Result<String> {
        match self.space {
            Space::BuiltIn => built_in::graph(&self.graph.id).map(str::to_owned),
            _ => text_file::read_named_as("the graph", &self.path),
        }
    }

    fn of_text(file: ItemFile, text: &str, locator: &ItemLocator, trust: &TrustStore) -> Result<Self> {
        let (path, id) = (file.path.as_path(), file.id.as_str());
        let standing = file.graph_standing(text, trust, now());
        if let TextStanding::Invalid(refusal) = &standing {
            return Err(wrongly_signed(&file.shown(), refusal));
        }
        if !matches!(standing, TextStanding::Signed { .. }) && installed::is_pulled(path) {
            return Err(installed::without_signature(&file));
        }
        locator.check_lock(path, ItemType::Tool, id, &Digest::of_bytes(text.as_bytes()))?;
        let loaded = graph_walker::document::load(&file.shown(), text, id)?;
        let precedence =
            precedence::of_text(ItemType::Tool, &file, text, &standing, trust, moment_of_superstep(None))?;
        let ItemFile { path, space, .. } = file;
        Ok(Self {
            path,
            space,
            precedence,
            graph: Arc::new(loaded.graph),
            warnings: loaded.warnings,
            standing,
        })
    }
}

/// Finds the file of a graph.
pub fn locate(name: &str, locator: &ItemLocator) -> Result<ItemFile> {
    if name.is_empty() {
        return Err(
            Error::usage("the name of the graph is empty").help("name the graph's file, or an item id")
        );
    }
    if name.starts_with("oci://") {
        return Err(Error::usage(format!(
            "`{}` is in a registry, a file or an item id is needed",
            printable(name)
        ))
        .help(Remedy::PullItem { reference: name.to_owned() }));
    }
    let path = Path::new(name);
    let is_there = || name.contains(std::path::MAIN_SEPARATOR) && path.exists();
    if names_file(name) || is_there() {
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("wasm")) && path.is_file()
        {
            return Err(Error::usage(format!("`{}` is a component, a graph is needed", printable(name)))
                .help(Remedy::InspectNoGraph { file: name.to_owned() }));
        }
        return Ok(ItemFile::named(&id_of_graph(path), path, locator.base()));
    }
    if path.is_dir() {
        return Err(
            Error::usage(format!("`{}` is a folder", printable(name))).help("name the graph's file in it")
        );
    }
    match locator.find(name) {
        // The named version has to be signed: a signature without a version does not cover it.
        Ok(LocatedItem::Graph { file }) => Ok(ItemFile { id: name.to_owned(), ..file }),
        Ok(LocatedItem::Component { file, .. }) => Err(Error::usage(format!(
            "`{}` is a component ({}), a graph is needed",
            printable(name),
            file.shown()
        ))),
        Err(FindError::Malformed(_)) => {
            Err(Error::not_found(format!("there is no file `{}`", printable(name))))
        }
        Err(error) => Err(Error::not_found(error.to_string())
            .help("name the graph's file, or an item id")
            .caused_by(error)),
    }
}

/// Makes the error of a graph whose signature is invalid; `shown` is its file.
pub(crate) fn wrongly_signed(shown: &str, refusal: &TextRefusal) -> Error {
    let remedy = remedy_of_text(refusal, shown, WithoutSignature::GraphRuns);
    Error::integrity(refusal.of_file(shown)).help(remedy).caused_by(refusal.clone())
}

/// Returns the remedy for a text whose signature is invalid; `without` is its use without a signature.
pub(crate) fn remedy_of_text(refusal: &TextRefusal, shown: &str, without: WithoutSignature) -> Remedy {
    match (refusal.wanted(), refusal) {
        (Some(wanted), _) => Remedy::SignText { file: shown.to_owned(), wanted },
        (None, TextRefusal::UnknownKey(_)) => Remedy::TrustSigner { without },
        (None, _) => {
            "fetch it again from where it came; if you changed it yourself, sign it again or take the signature line out".into()
        }
    }
}

/// Makes the JSON document of a signature's state.
pub fn standing_json(standing: &TextStanding) -> serde_json::Value {
    use serde_json::json;
    match standing {
        TextStanding::Unsigned => json!({ "standing": "unsigned" }),
        TextStanding::Signed { key, time, format, .. } => json!({
            "standing": "signed",
            "signer": { "name": key.name, "key_id": key.id },
            "time": time.to_string(),
            "format": format.number(),
        }),
        TextStanding::BuiltIn => json!({ "standing": "built_in" }),
        TextStanding::Legacy { fingerprint } => json!({ "standing": "legacy", "fingerprint": fingerprint }),
        TextStanding::Invalid(refusal) => json!({ "standing": "invalid", "reason": refusal.to_string() }),
    }
}
