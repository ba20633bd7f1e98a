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
use crate::run::start::{RunContext, kept_texts, manifest_folder, parse_manifest};

/// Reads a manifest: its text, the folder that its paths are relative to, and the parsed manifest.
pub(super) fn manifest_text(path: &Path, base: &BaseFolder) -> Result<(String, String, Manifest)> {
    let text = text_file::read_named_as("the manifest", path)?;
    let (manifest, _) = parse_manifest(path, base, &text)?;
    Ok((text, manifest_folder(path)?, manifest))
}

/// The digest of the pins of a native run of a graph, and the texts that the run keeps: a run that a page makes with
/// them can be replayed and resumed natively.
pub(super) fn pinned(scene: &RunContext, plan: &Plan) -> Result<(Digest, Vec<Snapshot>)> {
    let mut pins = scene.pins.clone();
    pins.of_plan(plan);
    let (digest, text) = pins.text()?;
    let definition = Definition {
        graph: Arc::clone(&scene.file.graph),
        graphs: Arc::new(scene.subgraphs.graphs.clone()),
        hooks: Arc::clone(&scene.hooks.hooks),
        manifest: Arc::clone(&scene.components.manifest),
        manifest_digest: pins.manifest,
        pins: digest,
    };
    Ok((digest, kept_texts(&definition, scene.hooks.document.as_ref(), plan, (digest, text))))
}
