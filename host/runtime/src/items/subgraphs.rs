//! The graphs that nodes of a graph dispatch, found before a run starts, with the state of their signatures.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use graph_core::capability::Manifest;
use graph_core::item::{ItemOperation, ItemType};
use graph_core::trust::TrustStore;
use graph_core::work::size;
use graph_walker::graph::Graph;
use graph_walker::host_item::HostItem;
use graph_walker::walker::{Graphs, cycles, named};

use crate::error::{Error, Kind, Result};
use crate::items::graph_file::GraphFile;
use crate::items::locate::{ItemFile, ItemLocator, LocatedItem};
use graph_core::diagnostic::{block, printable};

/// Limit of the documents of all graphs that a graph may start, as [`size::of`] measures them. Each document has limits
/// of its own, and all of them are in memory at one time.
const MOST: u64 = 256 << 20;

/// The graphs that a graph may start, by item id without a version.
#[derive(Debug, Default)]
pub struct Subgraphs {
    /// The graphs, for the walker.
    pub graphs: Graphs,
    /// Files of the graphs that were found as items.
    pub files: BTreeMap<String, GraphFile>,
    /// Unusable graphs that a template might name.
    pub warnings: Vec<String>,
    /// Size of their documents together.
    size: u64,
}

impl Subgraphs {
    /// Finds the graphs that a graph names by written-out ids, and those that they name in turn; if an id is a
    /// template, all graphs among the items that the manifest lets a node dispatch. `graphs` are known already; ids for
    /// which `skipped` is true are not looked for. A named graph that cannot be used is an error: nothing has run.
    pub fn resolve(
        graph: &Graph,
        graphs: Graphs,
        locator: &ItemLocator,
        trust: &TrustStore,
        manifest: &Manifest,
        skipped: impl Fn(&str) -> bool,
    ) -> Result<Self> {
        let permitted = |id: &str| manifest.dispatch().permits(ItemOperation::Execute, ItemType::Tool, id);
        let mut found = Self { graphs, ..Self::default() };
        let mut seen: BTreeSet<String> = BTreeSet::new();
        let mut templates = has_templates(graph);
        let mut waiting: Vec<String> = named(graph).into_iter().map(str::to_owned).collect();
        loop {
            while let Some(id) = waiting.pop() {
                if skipped(&id) || !permitted(&id) || !seen.insert(id.clone()) {
                    continue;
                }
                let child = match found.graphs.get(&id) {
                    Some(known) => Arc::clone(known),
                    None => match locator.find(&id) {
                        Ok(LocatedItem::Graph { file }) => {
                            found.add(&id, GraphFile::read(file, locator, trust)?)?
                        }
                        // The plan checks components and missing items.
                        Ok(LocatedItem::Component { .. }) | Err(_) => continue,
                    },
                };
                waiting.extend(named(&child).into_iter().map(str::to_owned));
                templates = templates || has_templates(&child);
            }
            if !std::mem::take(&mut templates) {
                return Ok(found);
            }
            for (id, file) in locator.graphs() {
                if skipped(&id) || !permitted(&id) || found.graphs.contains_key(&id) {
                    continue;
                }
                let shown = file.shown();
                match GraphFile::read(file, locator, trust) {
                    Ok(file) => {
                        found.add(&id, file)?;
                        waiting.push(id);
                    }
                    Err(error) => found.warnings.push(format!(
                        "`{id}` ({shown}) cannot be used, should a template name it: {}",
                        block(error.message(), "  ")
                    )),
                }
            }
        }
    }

    fn add(&mut self, id: &str, file: GraphFile) -> Result<Arc<Graph>> {
        let graph = Arc::clone(&file.graph);
        self.size = self.size.saturating_add(size::of(&graph.document));
        if self.size > MOST {
            let message = format!(
                "the graphs that this graph may start take up more than {} MiB together: {} were read, the last one is `{}`",
                MOST >> 20,
                self.graphs.len() + 1,
                printable(id)
            );
            return Err(Error::new(Kind::Limit, "limit", message)
                .help("name fewer graphs, or permit fewer of them in the manifest"));
        }
        self.graphs.insert(id.to_owned(), Arc::clone(&graph));
        self.files.insert(id.to_owned(), file);
        Ok(graph)
    }
}

/// Checks whether any node's item id is a template, known only at its dispatch, or a graph that is written during the
/// run and may name any other.
fn has_templates(graph: &Graph) -> bool {
    graph.nodes.iter().filter_map(|node| node.action.as_ref()).any(|action| HostItem::Run.may_be(action))
}

/// Makes a warning for each cycle of graphs that name each other.
pub fn recursion_warnings(graph: &Graph, graphs: &Graphs) -> Vec<String> {
    let chain = |ids: &Vec<String>| {
        ids.iter().map(|id| format!("`{}`", printable(id))).collect::<Vec<_>>().join(" → ")
    };
    cycles(graph, graphs)
        .iter()
        .map(|ids| {
            format!(
                "graphs that lead back to themselves: {}; unless a condition ends this, the depth limit of child \
                 runs does (a manifest's `run: {{ depth: N }}`)",
                chain(ids)
            )
        })
        .collect()
}

impl ItemLocator {
    /// Returns the graphs in all folders, by id; of several items with one id, the one that [`ItemLocator::find`] chooses.
    pub fn graphs(&self) -> BTreeMap<String, ItemFile> {
        let is_text = |path: &Path| path.extension().is_some_and(|end| end == "yaml" || end == "yml");
        let tools = self.list(ItemType::Tool).into_iter();
        tools
            .filter(|file| is_text(&file.path) && is_graph(file))
            .map(|file| (file.id.clone(), file))
            .collect()
    }
}

/// Checks whether a file declares itself a graph: there are other items in YAML.
fn is_graph(file: &ItemFile) -> bool {
    let Ok(text) = file.graph_text() else { return false };
    let problems = graph_core::diagnostic::Problems::new();
    let root = graph_core::yaml::parse(&text, &problems);
    let kind =
        root.as_ref().and_then(graph_core::yaml::Node::as_mapping).and_then(|root| root.get("tool_type"));
    kind.and_then(graph_core::yaml::Node::as_text) == Some("graph")
}
