//! The run behind a history, and its graphs: every line names them, and they explain which edges fired.

use std::collections::BTreeMap;
use std::sync::Arc;

use graph_core::digest::Digest;
use graph_core::record::{Checkpoint, Record};
use graph_store::{CheckpointPosition, CheckpointStore};
use graph_walker::document::load_snapshot;
use graph_walker::graph::Graph;
use graph_walker::walker::Graphs;

use crate::error::Result;
use crate::run::pins::Pins;
use crate::run::restore;

/// The run behind a history. Values that the store does not have are left out: the history can be read without them.
#[derive(Debug, Default)]
pub(super) struct RunGraphs {
    run: Option<Run>,
    /// The graphs by the digests that checkpoints name.
    graphs: BTreeMap<Digest, KnownGraph>,
    /// The pins of the run, by the digests that checkpoints name.
    pins: BTreeMap<Digest, Option<Arc<Pins>>>,
    /// The graph of each namespace, while it is running.
    namespaces: BTreeMap<String, Digest>,
}

/// The parts of the run's row that never change.
#[derive(Debug)]
struct Run {
    id: String,
    root: String,
    parent: Option<String>,
    graph: Arc<str>,
}

#[derive(Debug)]
struct KnownGraph {
    id: Option<Arc<str>>,
    /// Digest of its stored text, until the text has been read.
    text: Option<Digest>,
    graph: Option<Arc<Graph>>,
}

/// The names in every line: the run, its tree and its graph.
#[derive(Debug)]
pub(super) struct Named {
    /// The id of the run; for a child run, its own id.
    pub(super) run_id: String,
    /// The id of the run at the root of the tree.
    pub(super) root: String,
    /// The id of the run that started this one.
    pub(super) parent: Option<String>,
    /// The id of the graph, if it is known.
    pub(super) graph: Option<Arc<str>>,
}

impl RunGraphs {
    /// Makes the graphs of a run whose graphs are already loaded.
    pub(super) fn given(graph: &Arc<Graph>, inside: &Graphs) -> Self {
        let known = |graph: &Arc<Graph>, id: &str| {
            let known = KnownGraph { id: Some(id.into()), text: None, graph: Some(Arc::clone(graph)) };
            (graph.digest, known)
        };
        let mut graphs: BTreeMap<_, _> = inside.iter().map(|(id, graph)| known(graph, id)).collect();
        graphs.extend([known(graph, &graph.id)]);
        Self { graphs, ..Self::default() }
    }

    /// Returns the names in the lines of a record.
    pub(super) fn named(
        &mut self,
        store: &dyn CheckpointStore,
        run: &str,
        namespace: &str,
        record: &Record,
    ) -> Result<Named> {
        if self.run.is_none() {
            self.run = store.listed_run(run)?.map(|row| Run {
                id: row.run_id,
                root: row.root_id,
                parent: row.parent_id,
                graph: row.graph_id.into(),
            });
        }
        let graph = match record {
            Record::Checkpoint(checkpoint) => Some(self.enter(store, checkpoint)),
            _ => match self.namespaces.get(namespace) {
                Some(graph) => Some(*graph),
                // Reading began after this namespace's checkpoints, so none of them was seen.
                None => match store.checkpoint(run, namespace, CheckpointPosition::Latest)? {
                    Some(newest) => match restore::open_record(&newest, None)? {
                        Record::Checkpoint(checkpoint) => Some(self.enter(store, &checkpoint)),
                        _ => None,
                    },
                    None => None,
                },
            },
        };
        let id = graph.and_then(|graph| self.graphs.get(&graph)?.id.clone());
        let of_row = self.run.as_ref().filter(|_| namespace.is_empty()).map(|run| Arc::clone(&run.graph));
        let id_of_run = self.run.as_ref().map_or(run, |run| &run.id);
        let (run_id, parent) = match namespace.rsplit_once('/') {
            Some((above, _)) => (format!("{id_of_run}/{namespace}"), Some(format!("{id_of_run}/{above}"))),
            None if !namespace.is_empty() => (format!("{id_of_run}/{namespace}"), Some(id_of_run.to_owned())),
            None => (id_of_run.to_owned(), self.run.as_ref().and_then(|run| run.parent.clone())),
        };
        let root = self.run.as_ref().map_or(run, |run| &run.root).to_owned();
        Ok(Named { run_id, root, parent, graph: of_row.or(id) })
    }

    /// Returns the graph of a checkpoint, as it was at that time; `None` if the store does not have it.
    pub(super) fn graph(&mut self, store: &dyn CheckpointStore, digest: &Digest) -> Option<&Arc<Graph>> {
        let known = self.graphs.get_mut(digest)?;
        if let Some(text) = known.text.take() {
            let document = restore::document(store, &text, "the graph").ok();
            let graph = document.and_then(|document| load_snapshot(&document).ok());
            known.graph = graph.filter(|graph| graph.digest == *digest).map(Arc::new);
        }
        known.graph.as_ref()
    }

    /// Forgets a namespace whose run has ended.
    pub(super) fn leave(&mut self, namespace: &str) {
        self.namespaces.remove(namespace);
    }

    fn enter(&mut self, store: &dyn CheckpointStore, checkpoint: &Checkpoint) -> Digest {
        let digest = checkpoint.graph;
        if !self.graphs.contains_key(&digest) {
            let pins = self.pins(store, &checkpoint.pins);
            let known = match (&pins, &self.run) {
                (Some(pins), Some(run)) if checkpoint.namespace.is_empty() => {
                    KnownGraph { id: Some(Arc::clone(&run.graph)), text: Some(pins.graph_text), graph: None }
                }
                (Some(pins), _) => match pins.graphs.iter().find(|(_, pinned)| pinned.graph == digest) {
                    Some((id, pinned)) => {
                        KnownGraph { id: Some(id.as_str().into()), text: Some(pinned.text), graph: None }
                    }
                    None => written(store, &digest),
                },
                (None, _) => written(store, &digest),
            };
            self.graphs.insert(digest, known);
        }
        if self.namespaces.get(&checkpoint.namespace) != Some(&digest) {
            self.namespaces.insert(checkpoint.namespace.clone(), digest);
        }
        digest
    }

    fn pins(&mut self, store: &dyn CheckpointStore, digest: &Digest) -> Option<Arc<Pins>> {
        let read = || Pins::read(&store.snapshot(digest).ok()??).ok().map(Arc::new);
        self.pins.entry(*digest).or_insert_with(read).clone()
    }
}

/// Reads a graph that the run has written itself; without id and graph if the store does not have it.
fn written(store: &dyn CheckpointStore, digest: &Digest) -> KnownGraph {
    let graph = restore::written_graph(store, digest).ok().flatten().map(Arc::new);
    KnownGraph { id: graph.as_ref().map(|graph| graph.id.as_str().into()), text: None, graph }
}
