//! The documents and pins that a run was started with, from the store.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use graph_core::capability::Manifest;
use graph_core::digest::Digest;
use graph_core::trust::{SigningKey, VerifyingKey};
use graph_store::{CheckpointStore, RunRow};
use graph_walker::document::load_snapshot;
use graph_walker::graph::Graph;
use graph_walker::walker::Graphs;
use serde_json::Value;

use crate::error::{EmbeddedPlace, Error, Result};
use crate::host::Host;
use crate::items::built_in;
use crate::items::locate::ItemLocator;
use crate::items::outer_hooks::OuterHooks;
use crate::plan::manifest_authority::{AcceptedManifest, KeptManifest, Origin, Permitted, Purpose};
use crate::project;
use crate::project::Project;
use crate::project::paths::absolute;
use crate::project::user_home::Home;
use crate::remedy::Remedy;
use crate::run::manifest_file::read_manifest;
use crate::run::pins::{Pins, kept_text};
use crate::run::restore;
use crate::run::start_note::RunStart;
use crate::sources::Sources;

/// Proof of a run's pins.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::large_enum_variant, reason = "a key is copied, as everywhere")]
pub(crate) enum PinnedBy {
    /// A verified record.
    Record,
    /// Only the row, which has to have a note that this key has signed.
    Row(VerifyingKey),
}

impl PinnedBy {
    /// Returns the proof for a run that was restored with this key, or that has nothing to restore.
    pub(crate) fn of<T>(restored: Option<&T>, key: &SigningKey) -> Self {
        if restored.is_some() { Self::Record } else { Self::Row(key.verifying_key()) }
    }
}

/// Documents and pins that a run was started with, from the store.
pub(crate) struct RunSnapshot {
    pub(crate) graph: Graph,
    pub(crate) graphs: Graphs,
    pub(crate) manifest: KeptManifest,
    /// The pins in effect: for a run of another host, without those that name sources of items and trust.
    pub(crate) pins: Pins,
    /// The pins in the record of the run.
    pub(crate) recorded: Pins,
    pub(crate) origin: Origin,
}

impl RunSnapshot {
    pub(crate) fn read(
        store: &dyn CheckpointStore,
        row: &RunRow,
        pinned_by: PinnedBy,
        home: &Home,
    ) -> Result<Self> {
        if let PinnedBy::Row(key) = pinned_by {
            RunStart::of(row).check(store, &key)?;
        }
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
        let origin = Origin::of(row, home)?;
        let manifest = KeptManifest::new(manifest, row, origin);
        let counting = match origin {
            Origin::Own => pins.clone(),
            Origin::Stranger => of_a_stranger(pins.clone()),
        };
        Ok(Self { graph, graphs, manifest, pins: counting, recorded: pins, origin })
    }

    /// Reads the project's and the user's hooks that the run was started with. The present files apply to new runs only.
    pub(crate) fn hooks(&self, store: &dyn CheckpointStore) -> Result<OuterHooks> {
        let Some(digest) = &self.pins.hooks_text else { return Ok(OuterHooks::default()) };
        let text = restore::snapshot(store, digest, "the hooks")?;
        if Digest::of_bytes(text.as_bytes()) != *digest {
            return Err(Error::integrity(
                "the hooks that the run keeps cannot be read: they were changed in the store",
            ));
        }
        OuterHooks::of_snapshot(&text)
    }

    /// Takes the sources of items and trust from this command, for a run of another host. A run of this host is bound
    /// to those of its start.
    pub(crate) fn take_sources(&mut self, run: &str, given: &Sources, keeper: &Project) -> Result<()> {
        if self.origin == Origin::Own {
            if given.trust.is_empty() && given.items.is_empty() && !given.allow_unsigned {
                return Ok(());
            }
            let message = format!("run {run} takes its items from where it was started");
            let end = EmbeddedPlace::Message(message.len());
            return Err(Error::usage(message)
                .embed(end, ": ", Remedy::SourcesOfOtherHosts)
                .help(Remedy::LeaveSourcesOut { run: run.to_owned() }));
        }
        project::check_folders(given, keeper.base())?;
        let absolute_of = |paths: &[PathBuf]| paths.iter().map(|path| absolute(path)).collect();
        self.pins.trust_files = absolute_of(&given.trust);
        self.pins.item_folders = absolute_of(&given.items);
        self.pins.allow_unsigned = given.allow_unsigned;
        self.pins.project = project::nearest(keeper.folder()).as_deref().map(absolute);
        Ok(())
    }

    /// Returns the accepted manifest: the one in the file `caps`, if the user gives one, or else the run's own, if this
    /// host has started it.
    pub(crate) fn permit(&self, purpose: Purpose, caps: Option<&Path>, host: &Host) -> Result<Permitted> {
        let given = caps.map(|caps| read_manifest(caps, host)).transpose()?;
        self.manifest.permit(purpose, given.map(AcceptedManifest::given))
    }

    /// Returns the places of items. Items that another host has started a run with have no precedence here.
    pub(crate) fn locator(&self, home: &Home, keeper: &Project) -> ItemLocator {
        match self.origin {
            Origin::Own => self.pins.locator(home, keeper),
            Origin::Stranger => {
                ItemLocator::new(&self.pins.item_folders, self.pins.project.as_deref(), home, keeper)
            }
        }
    }

    /// Returns the time at which signatures are judged, for a record at this time; `None` for a run of another host,
    /// whose times must not revive signatures that are no longer valid.
    pub(crate) fn judged_at<T>(&self, recorded: Option<T>) -> Option<T> {
        recorded.filter(|_| self.origin == Origin::Own)
    }
}

/// Returns the pins of a run of another host, without files, folders, keys and exceptions of that host.
fn of_a_stranger(pins: Pins) -> Pins {
    let graph_file = Some(pins.graph_file).filter(|file| built_in::is_place(file)).unwrap_or_default();
    Pins {
        graph_file,
        caps_file: None,
        trust_files: Vec::new(),
        item_folders: Vec::new(),
        project: None,
        allow_unsigned: false,
        signers: BTreeMap::new(),
        ..pins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strangers_run_names_no_files_no_trust_and_no_exceptions() {
        let nothing = Pins::of_nothing(Digest::of_bytes(b"engine"));
        let pins = Pins {
            graph_file: "/home/them/g.yaml".into(),
            caps_file: Some("/home/them/caps.yaml".into()),
            trust_files: vec!["/home/them/trust.yaml".into()],
            item_folders: vec!["/home/them/items".into()],
            project: Some("/home/them".into()),
            allow_unsigned: true,
            signers: BTreeMap::from([("graph".to_owned(), Vec::new())]),
            ..nothing.clone()
        };
        assert_eq!(of_a_stranger(pins), nothing);
    }
}
