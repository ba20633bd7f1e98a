//! The pins of a run: the digests of the texts and components that it was started with, and their origins.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use graph_core::digest::{Digest, DomainHasher};
use graph_core::format;
use graph_core::json::{self, TreeLimit};
use graph_core::trust::{ComponentStanding, KeyId, TextStanding};
use graph_walker::graph::Graph;
use graph_walker::walker::Graphs;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::items::graph_file::GraphFile;
use crate::items::locate::ItemLocator;
use crate::items::text_items::{self, Text};
use crate::plan::{Plan, PlannedNode};
use crate::project::Project;
use crate::project::user_home::Home;

/// Prefix of the names of hooks among the grants. No node's name begins with it.
pub(crate) const HOOK: &str = "hook:";

fn grant_name(node: &PlannedNode) -> String {
    if node.hook.is_some() { format!("{HOOK}{}", node.name) } else { node.name.clone() }
}

/// Pins of a run. Their digest is in every checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pins {
    /// Path of the graph's file when the run was started.
    pub graph_file: PathBuf,
    /// Path of the manifest's file, if there was one.
    pub caps_file: Option<PathBuf>,
    /// Trust files that were named.
    pub trust_files: Vec<PathBuf>,
    /// Folders of items that were named.
    pub item_folders: Vec<PathBuf>,
    /// Project that items were taken from.
    pub project: Option<PathBuf>,
    /// Admits components without a signature.
    pub allow_unsigned: bool,
    /// Digest of the stored text of the graph. The graph's own digest leaves out keys that are for people only.
    pub graph_text: Digest,
    /// Digest of the stored text of the manifest.
    pub manifest_text: Digest,
    /// Digest of the manifest's meaning.
    pub manifest: Digest,
    /// Digest of the stored text of the project's and the user's hooks, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hooks_text: Option<Digest>,
    /// Compatibility digest of the engine.
    pub engine: Digest,
    /// Graphs of child runs, by item id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub graphs: BTreeMap<String, PinnedGraph>,
    /// Digests of components, by item id.
    pub components: BTreeMap<String, Digest>,
    /// Digests of the knowledge and directives that the graph names, without signature line, by keys such as `knowledge acme/x.md`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub texts: BTreeMap<String, Digest>,
    /// Keys whose signatures were accepted: by component id, by text as above, and for graphs by `graph` and `graph ID`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub signers: BTreeMap<String, Vec<KeyId>>,
    /// Digests of the effective grants, by node.
    pub grants: BTreeMap<String, Digest>,
    /// Items that were functions of the program that ran the graph, outside of any sandbox.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unsandboxed: BTreeSet<String>,
}

/// The graph of a child run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedGraph {
    /// Digest of the stored text.
    pub text: Digest,
    /// Digest of the graph, as checkpoints of its runs name it.
    pub graph: Digest,
}

impl Pins {
    /// Makes the pins of a run that uses nothing but an engine.
    pub(crate) fn of_nothing(engine: Digest) -> Self {
        let nothing = Digest::of_bytes(b"");
        Self {
            graph_file: PathBuf::new(),
            caps_file: None,
            trust_files: Vec::new(),
            item_folders: Vec::new(),
            project: None,
            allow_unsigned: false,
            graph_text: nothing,
            manifest_text: nothing,
            manifest: nothing,
            engine,
            graphs: BTreeMap::new(),
            components: BTreeMap::new(),
            texts: BTreeMap::new(),
            hooks_text: None,
            signers: BTreeMap::new(),
            grants: BTreeMap::new(),
            unsandboxed: BTreeSet::new(),
        }
    }

    /// Adds the signers of the graph and of the graphs of its child runs, as far as these were found.
    pub(crate) fn of_signed_graphs<'g>(
        &mut self,
        graph: Option<&TextStanding>,
        inside: impl IntoIterator<Item = (&'g String, &'g GraphFile)>,
    ) {
        let inside = inside.into_iter().map(|(id, file)| (format!("graph {id}"), &file.standing));
        for (item, standing) in graph.map(|standing| ("graph".to_owned(), standing)).into_iter().chain(inside)
        {
            self.signed(item, standing);
        }
    }

    fn signed(&mut self, item: String, standing: &TextStanding) {
        match standing {
            TextStanding::Signed { key, .. } => self.signers.insert(item, vec![key.id]),
            _ => self.signers.remove(&item),
        };
    }

    /// Adds the graphs that nodes may start.
    pub(crate) fn of_graphs(&mut self, graphs: &Graphs) {
        let pinned = |graph: &Graph| PinnedGraph { text: kept_text(&graph.document).0, graph: graph.digest };
        self.graphs = graphs.iter().map(|(id, graph)| (id.clone(), pinned(graph))).collect();
    }

    /// Adds the components, texts, grants and functions of a plan.
    pub(crate) fn of_plan(&mut self, plan: &Plan) {
        let components = plan.items.iter().filter_map(|(id, item)| {
            item.as_ref().ok().map(|admitted| (id.clone(), *admitted.verified.digest()))
        });
        self.components = components.collect();
        for (id, item) in &plan.items {
            match item.as_ref().map(|admitted| admitted.verified.standing()) {
                Ok(standing @ ComponentStanding::Signed { .. }) => {
                    self.signers.insert(id.clone(), standing.keys().map(|key| key.id).collect())
                }
                _ => self.signers.remove(id),
            };
        }
        let texts = plan.texts.values().filter_map(|text| text.as_ref().ok());
        let key = |text: &Text| text_items::key(text.item_type, &text.id, text.format);
        self.texts = texts.clone().map(|text| (key(text), text.digest)).collect();
        // A text that is known only from the run's records keeps the signers of the start.
        for text in texts.filter(|text| text.file.is_some()) {
            self.signed(key(text), &text.standing);
        }
        let grants = plan
            .nodes
            .iter()
            .chain(&plan.hooks)
            .filter_map(|node| node.grant.as_ref().map(|grant| (grant_name(node), grant.digest())));
        self.grants = grants.collect();
        self.unsandboxed = plan.functions();
    }

    /// Returns the places of items for a resume. An item that the run was started with stays admitted unless it has changed.
    pub(crate) fn locator(&self, home: &Home, keeper: &Project) -> ItemLocator {
        let texts =
            self.texts.keys().filter_map(|text| Some(text.split_once(' ')?.1.rsplit_once('.')?.0.to_owned()));
        let ids: Vec<String> =
            texts.chain(self.components.keys().chain(self.graphs.keys()).cloned()).collect();
        ItemLocator::new(&self.item_folders, self.project.as_deref(), home, keeper).begun_with(&ids)
    }

    /// Returns the text of the pins that a run stores, and its digest.
    pub fn text(&self) -> Result<(Digest, String)> {
        let value = serde_json::to_value(self)
            // Only a path can fail to become JSON.
            .map_err(|_| {
                Error::usage("a folder or file of this run has a name that is not text in UTF-8, which a run cannot keep")
                    .help("rename it, or work in another folder")
            })?;
        let text = json::canonical_string(&value);
        Ok((Self::text_digest(&text), text))
    }

    /// Computes the digest of the text of pins.
    pub(crate) fn text_digest(text: &str) -> Digest {
        DomainHasher::new("graph-host/pins/v1").field(text.as_bytes()).finish()
    }

    /// Parses the text of [`Self::text`].
    pub fn read(text: &str) -> Result<Self> {
        json::read(text, TreeLimit::DOCUMENT).map_err(|error| {
            let reason = format::reason(text, format::CURRENT, &error);
            Error::integrity(format!("what the run is pinned to cannot be read: {reason}"))
        })
    }
}

/// Converts a document to the text that a run stores, and the digest of its bytes.
pub(crate) fn kept_text(value: &serde_json::Value) -> (Digest, String) {
    let text = json::canonical_string(value);
    (Digest::of_bytes(text.as_bytes()), text)
}
