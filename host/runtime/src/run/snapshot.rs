//! What a run was started with, from the store.

use std::sync::Arc;

use graph_core::capability::Manifest;
use graph_core::document::load_snapshot;
use graph_core::graph::Graph;
use graph_core::walker::Graphs;
use graph_store::{CheckpointStore, RunRow};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::items::outer_hooks::OuterHooks;
use crate::run::pins::{Pins, kept_text};
use crate::run::restore;

/// What a run was started with, from the store.
pub(crate) struct RunSnapshot {
    pub(crate) graph: Graph,
    pub(crate) graphs: Graphs,
    pub(crate) manifest: Manifest,
    pub(crate) pins: Pins,
}

impl RunSnapshot {
    pub(crate) fn read(store: &dyn CheckpointStore, row: &RunRow) -> Result<Self> {
        let unreadable = |what: &str, error: &dyn std::fmt::Display| {
            Error::integrity(format!("{what} that run {} keeps cannot be read: {error}", row.run_id))
        };
        let pins = Pins::read(&restore::snapshot(store, &row.pins, "what it is pinned to")?)?;
        if pins.text()?.0 != row.pins {
            return Err(unreadable("what it is pinned to", &"it was changed in the store"));
        }
        let document: Value = restore::document(store, &pins.graph_text, "the graph")?;
        let graph = load_snapshot(&document).map_err(|error| unreadable("the graph", &error))?;
        if graph.digest != row.graph {
            return Err(unreadable("the graph", &"it was changed in the store"));
        }
        let mut graphs = Graphs::new();
        for (id, pinned) in &pins.graphs {
            let what = format!("the graph `{id}`");
            let document: Value = restore::document(store, &pinned.text, &what)?;
            let graph = load_snapshot(&document).map_err(|error| unreadable(&what, &error))?;
            if graph.digest != pinned.graph || kept_text(&document).0 != pinned.text {
                return Err(unreadable(&what, &"it was changed in the store"));
            }
            graphs.insert(id.clone(), Arc::new(graph));
        }
        let manifest: Manifest = restore::document(store, &pins.manifest_text, "the manifest")?;
        if manifest.digest() != pins.manifest {
            return Err(unreadable("the manifest", &"it was changed in the store"));
        }
        Ok(Self { graph, graphs, manifest, pins })
    }

    /// The project's and the user's hooks that the run was started with. The present files apply to new runs only.
    pub(crate) fn hooks(&self, store: &dyn CheckpointStore) -> Result<OuterHooks> {
        match &self.pins.hooks_text {
            Some(digest) => OuterHooks::of_snapshot(&restore::snapshot(store, digest, "the hooks")?),
            None => Ok(OuterHooks::default()),
        }
    }
}
