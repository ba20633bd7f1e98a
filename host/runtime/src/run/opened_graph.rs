//! The first stage of a start: a graph is opened, with everything that is needed to plan it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use graph_core::trust::TrustStore;
use graph_walker::builder::BuiltGraph;
use graph_walker::walker::Graphs;
use serde_json::{Map, Value};

use crate::error::{Kind, Result};
use crate::host::Host;
use crate::items::graph_file::{GraphFile, locate};
use crate::items::locate::{ItemLocator, Space};
use crate::items::outer_hooks::OuterHooks;
use crate::items::subgraphs::Subgraphs;
use crate::plan::Plan;
use crate::plan::admission::Components;
use crate::plan::engine::{components, engine};
use crate::plan::manifest_authority::AcceptedManifest;
use crate::project;
use crate::project::Project;
use crate::project::paths::absolute;
use crate::run::manifest_file::read_manifest;
use crate::run::pins::{Pins, kept_text};
use crate::run::planned::PlannedRun;
use crate::run::run_inputs::RunInputs;
use crate::sources::Sources;
use crate::trust::trusted_keys;

/// A graph with everything that is needed to plan it.
#[derive(Debug)]
pub struct OpenedGraph {
    /// The graph's file, with its signature and warnings.
    pub file: GraphFile,
    /// The graphs that its nodes dispatch.
    pub subgraphs: Subgraphs,
    /// Means to find, verify and link the items that it dispatches.
    pub components: Components,
    /// The hooks of the project and of the user.
    pub hooks: OuterHooks,
    /// The project that keeps the run.
    pub project: Project,
    /// The pins so far; a plan adds components and grants.
    pub pins: Pins,
}

/// A graph, and the means to find the items that it names.
struct GraphToOpen {
    file: GraphFile,
    /// Path of its file; empty for a graph that a program has built.
    graph_file: PathBuf,
    locator: ItemLocator,
    trust: TrustStore,
    project: Option<PathBuf>,
}

impl OpenedGraph {
    /// Plans the graph as it is, without the inputs of a run.
    pub async fn plan(&self) -> Plan {
        Plan::make(&self.file.graph, &self.subgraphs.graphs, &self.hooks.hooks, &self.components).await
    }

    /// Reads the inputs of a run of the graph.
    pub fn read_inputs(&self, given: Map<String, Value>) -> Result<RunInputs> {
        RunInputs::read(&self.file.graph, given)
    }

    /// Plans a run of the graph with these inputs, which may narrow its manifest.
    pub async fn planned(self, inputs: RunInputs) -> PlannedRun {
        PlannedRun::new(self, inputs).await
    }

    /// Reads the graph, the manifest and the trust store.
    pub(crate) fn open(
        graph: &str,
        caps: Option<&Path>,
        sources: &Sources,
        keeper: &Project,
        host: &Host,
    ) -> Result<Self> {
        project::check_folders(sources, host.home.base())?;
        let trust = trusted_keys::load(&host.home, &sources.trust, &*host.notices)?;
        let here = sources.project.clone().or_else(|| project::nearest(keeper.folder()));
        let locator = ItemLocator::new(&sources.items, here.as_deref(), &host.home, keeper);
        let located = locate(graph, &locator)?;
        let path = located.path.clone();
        let is_built_in = located.space == Space::BuiltIn;
        let around = if is_built_in { path.clone() } else { absolute(&path) };
        // A graph of the program or of the user's space, such as a pulled one, belongs to no project: the project
        // around the current folder is used.
        let own = if is_built_in || around.starts_with(absolute(host.home.root())) {
            here
        } else {
            around.parent().and_then(project::nearest)
        };
        let project = sources.project.clone().or(own);
        let locator = ItemLocator::new(&sources.items, project.as_deref(), &host.home, keeper);
        let file = GraphFile::open(graph, &locator, &trust).or_else(|error| {
            // The item may be in the project around the current folder, if the graph's own is another. An item that was
            // found and refused stays refused.
            if error.kind() != Kind::NotFound || Path::new(graph) == path {
                Err(error)
            } else {
                GraphFile::read(located, &locator, &trust)
            }
        })?;
        Self::with_manifest(
            GraphToOpen { file, graph_file: around, locator, trust, project },
            caps,
            sources,
            keeper,
            host,
        )
    }

    /// Reads manifest and trust for a graph that the program has built. Such a graph has no file and no signature: the
    /// run stores the graph itself, and a resume reads no files of it.
    pub(crate) fn from_built(
        built: &BuiltGraph,
        caps: Option<&Path>,
        sources: &Sources,
        keeper: &Project,
        host: &Host,
    ) -> Result<Self> {
        project::check_folders(sources, host.home.base())?;
        let trust = trusted_keys::load(&host.home, &sources.trust, &*host.notices)?;
        let project = sources.project.clone().or_else(|| project::nearest(keeper.folder()));
        let locator = ItemLocator::new(&sources.items, project.as_deref(), &host.home, keeper);
        let file = GraphFile::of_built(built);
        Self::with_manifest(
            GraphToOpen { file, graph_file: PathBuf::new(), locator, trust, project },
            caps,
            sources,
            keeper,
            host,
        )
    }

    /// Adds the manifest, the hooks, the graphs inside and the means to admit components.
    fn with_manifest(
        to_open: GraphToOpen,
        caps: Option<&Path>,
        sources: &Sources,
        keeper: &Project,
        host: &Host,
    ) -> Result<Self> {
        let GraphToOpen { file, graph_file, locator, trust, project } = to_open;
        let manifest = match caps {
            Some(path) => AcceptedManifest::given(read_manifest(path, host)?),
            None => AcceptedManifest::nothing(),
        };
        let hooks = OuterHooks::read(project.as_deref(), &host.home, &*host.notices)?;
        let engine = engine(host)?;
        let mut pins = Pins {
            graph_file,
            caps_file: caps.map(absolute),
            trust_files: sources.trust.iter().map(|path| absolute(path)).collect(),
            item_folders: sources.items.iter().map(|path| absolute(path)).collect(),
            project: project.as_deref().map(absolute),
            allow_unsigned: sources.allow_unsigned,
            graph_text: kept_text(&file.graph.document).0,
            manifest_text: kept_text(&manifest.to_json()).0,
            manifest: manifest.digest(),
            hooks_text: hooks.document.as_ref().map(|document| kept_text(document).0),
            ..Pins::of_nothing(engine.digest())
        };
        let subgraphs =
            Subgraphs::resolve(&file.graph, Graphs::new(), &locator, &trust, &manifest, |_| false)?;
        pins.of_graphs(&subgraphs.graphs);
        pins.of_signed_graphs(Some(&file.standing), &subgraphs.files);
        let mut components = components(engine, locator, trust, manifest, sources.allow_unsigned);
        components.functions = Arc::clone(&host.functions);
        Ok(Self { file, subgraphs, components, hooks, project: keeper.clone(), pins })
    }
}
