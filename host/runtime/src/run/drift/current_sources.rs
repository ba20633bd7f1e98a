//! The present sources of a run, compared with those that the run has stored.

use std::collections::BTreeMap;
use std::path::Path;

use graph_core::capability::Manifest;
use graph_core::trust::{
    Moment, TextKind, TextRefusal, TextStanding, TrustStore, built_in_text, verify_text,
};
use graph_walker::document::{load, load_snapshot};
use graph_walker::graph::Graph;
use graph_walker::walker::Graphs;

use super::documents::of_documents;
use super::of_graphs;
use crate::error::{Error, Result};
use crate::items::built_in;
use crate::items::graph_file::wrongly_signed;
use crate::items::locate::ItemLocator;
use crate::items::subgraphs::Subgraphs;
use crate::plan::manifest_authority::AcceptedManifest;
use crate::project::BaseFolder;
use crate::remedy::Remedy;
use crate::run::manifest_file::manifest_now;
use crate::run::pins::Pins;
use crate::run::snapshot::RunSnapshot;

/// Sources for a resume: the stored ones, or, if changes are accepted, the present ones. Differences are reported either way.
pub(crate) struct CurrentSources<'k> {
    pub(crate) kept: &'k RunSnapshot,
    pub(crate) accept: bool,
    pub(crate) trust: &'k TrustStore,
    pub(crate) base: &'k BaseFolder,
    /// The moment at which signatures are judged.
    pub(crate) moment: Moment,
    /// The differences, a line each.
    pub(crate) changes: Vec<String>,
    /// Remedies of changes, by the number of the change.
    pub(crate) remedies: BTreeMap<usize, Remedy>,
}

impl<'k> CurrentSources<'k> {
    /// Creates sources without differences.
    pub(crate) fn new(
        kept: &'k RunSnapshot,
        accept: bool,
        trust: &'k TrustStore,
        base: &'k BaseFolder,
        moment: Moment,
    ) -> Self {
        Self { kept, accept, trust, base, moment, changes: Vec::new(), remedies: BTreeMap::new() }
    }

    /// Returns the graph. An expired or revoked signature is an error, even if changes are accepted.
    pub(crate) fn graph(&mut self, pins: &mut Pins) -> Result<Graph> {
        let keep = || {
            load_snapshot(&self.kept.graph.document)
                .map_err(|error| Error::integrity(error.to_string()).caused_by(error))
        };
        let path = &self.kept.pins.graph_file;
        let id = &self.kept.graph.id;
        let (text, standing) = if let Some(built_in) = built_in::id_at(path) {
            let Ok(text) = built_in::graph(built_in) else { return keep() };
            (text.to_owned(), built_in_text(built_in, self.trust))
        } else {
            let Ok(text) = crate::project::text_file::read(path) else { return keep() };
            let standing = verify_text(TextKind::Graph, id, &text, self.trust, self.moment);
            (text, standing)
        };
        let shown = self.base.show(path);
        match &standing {
            // A text that was changed after its signature is reported as a change.
            TextStanding::Invalid(TextRefusal::Changed { .. }) if !self.accept => {
                self.changes.push(format!("the graph {shown} was changed after it was signed"));
            }
            TextStanding::Invalid(refusal) => return Err(wrongly_signed(&shown, refusal)),
            _ => pins.of_signed_graphs(Some(&standing), []),
        }
        match load(&shown, &text, &self.kept.graph.id) {
            Ok(loaded) if loaded.graph.is_document_of(&self.kept.graph.digest) => keep(),
            Ok(loaded) => {
                let lines = of_graphs(&self.kept.graph, &loaded.graph, Some(&text));
                self.changes.push(format!("the graph {shown}:{lines}"));
                if self.accept { Ok(loaded.graph) } else { keep() }
            }
            Err(problems) if self.accept => Err(problems.into()),
            Err(problems) => {
                self.changes.push(format!("the graph {shown} cannot be read any more: {problems}"));
                keep()
            }
        }
    }

    /// Returns the graphs of child runs.
    pub(crate) fn graphs(
        &mut self,
        graph: &Graph,
        locator: &ItemLocator,
        manifest: &Manifest,
        pins: &mut Pins,
    ) -> Result<Graphs> {
        let now = match Subgraphs::resolve(graph, Graphs::new(), locator, self.trust, manifest, |_| false) {
            Ok(now) => now,
            Err(error) if self.accept => return Err(error),
            Err(error) => {
                if let Some(remedy) = error.remedy() {
                    self.remedies.insert(self.changes.len(), remedy.clone());
                }
                let message = error.message();
                self.changes.push(format!("the graph of a child run cannot be used any more: {message}"));
                return Ok(self.kept.graphs.clone());
            }
        };
        let mut graphs = self.kept.graphs.clone();
        for (id, graph) in now.graphs {
            let file = now.files.get(&id);
            // A new graph matters only if changes are accepted.
            let is_used = self.kept.graphs.contains_key(&id) || self.accept;
            pins.of_signed_graphs(None, file.filter(|_| is_used).map(|file| (&id, file)));
            match self.kept.graphs.get(&id) {
                Some(before) if graph.is_document_of(&before.digest) => {}
                Some(before) => {
                    let path = file.map(|file| self.base.show(&file.path)).unwrap_or_default();
                    let text = file.and_then(|file| file.text().ok());
                    let lines = of_graphs(before, &graph, text.as_deref());
                    self.changes.push(format!("the graph `{id}` ({path}):{lines}"));
                    if self.accept {
                        graphs.insert(id, graph);
                    }
                }
                None if self.accept => {
                    graphs.insert(id, graph);
                }
                None => {}
            }
        }
        Ok(graphs)
    }

    /// Returns the manifest: `kept` if the user gave a file, else `kept` or the run's present file, depending on `accept`.
    pub(crate) fn manifest(
        &mut self,
        kept: AcceptedManifest,
        given: Option<&Path>,
    ) -> Result<AcceptedManifest> {
        if let Some(path) = given {
            let before = self.kept.manifest.of_record();
            if kept.digest() != before.digest() {
                self.changes.push(changed_manifest(path, self.base, before, &kept));
            }
            return Ok(kept);
        }
        let Some(path) = &self.kept.pins.caps_file else { return Ok(kept) };
        match manifest_now(path, self.base) {
            Ok(None) => Ok(kept),
            Ok(Some(now)) if now.digest() == kept.digest() => Ok(kept),
            Ok(Some(now)) => {
                self.changes.push(changed_manifest(path, self.base, &kept, &now));
                Ok(if self.accept { AcceptedManifest::given(now) } else { kept })
            }
            Err(error) if self.accept => Err(error),
            Err(error) => {
                let shown = self.base.show(path);
                self.changes
                    .push(format!("the manifest {shown} cannot be used any more: {}", error.message()));
                Ok(kept)
            }
        }
    }
}

/// Makes the line about a manifest that has changed.
pub(crate) fn changed_manifest(path: &Path, base: &BaseFolder, before: &Manifest, now: &Manifest) -> String {
    let text = crate::project::text_file::read(path).ok();
    let lines = of_documents(&before.to_json(), &now.to_json(), text.as_deref());
    format!("the manifest {}: {}{lines}", base.show(path), before.differences(now).join("; "))
}
