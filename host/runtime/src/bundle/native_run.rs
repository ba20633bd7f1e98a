//! The pins of a native run of the bundled graph, so that a run of the page can be continued natively.

use std::path::Path;
use std::sync::Arc;

use graph_core::capability::Manifest;
use graph_core::digest::Digest;
use graph_store::Snapshot;

use crate::error::Result;
use crate::plan::Plan;
use crate::project::{BaseFolder, text_file};
use crate::run::context::Definition;
use crate::run::manifest_file::{manifest_folder, parse_manifest};
use crate::run::opened_graph::OpenedGraph;
use crate::run::start::kept_texts;

/// Reads a manifest: its text, the folder that its paths are relative to, and the parsed manifest.
pub(super) fn manifest_text(path: &Path, base: &BaseFolder) -> Result<(String, String, Manifest)> {
    let text = text_file::read_named_as("the manifest", path)?;
    let (manifest, _) = parse_manifest(path, base, &text)?;
    Ok((text, manifest_folder(path)?, manifest))
}

/// The digest of the pins of a native run of a graph, and the texts that the run keeps: a run that a page makes with
/// them can be replayed and resumed natively.
pub(super) fn pinned(opened: &OpenedGraph, plan: &Plan) -> Result<(Digest, Vec<Snapshot>)> {
    let mut pins = opened.pins.clone();
    pins.of_plan(plan);
    let (digest, text) = pins.text()?;
    let definition = Definition {
        graph: Arc::clone(&opened.file.graph),
        graphs: Arc::new(opened.subgraphs.graphs.clone()),
        hooks: Arc::clone(&opened.hooks.hooks),
        manifest: opened.components.manifest.shared(),
        manifest_digest: pins.manifest,
        pins: digest,
    };
    Ok((digest, kept_texts(&definition, opened.hooks.document.as_ref(), plan, (digest, text))))
}
