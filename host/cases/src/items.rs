//! Real items, for items without a double. They are found, verified, granted and linked as for a run.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use graph_core::capability::{DispatchPatterns, Manifest};
use graph_core::id::without_version;
use graph_core::item::ItemOperation;
use graph_core::limits::RunLimits;
use graph_core::trust::TrustStore;
use graph_runtime::graph_engine::{Engine, HostResources, HttpDoubles, ModelDoubles};
use graph_runtime::remedy::{Remedy, RemedyWords};
use graph_walker::graph::{Action, Graph};
use graph_walker::hook::{Hook, HookAction};
use graph_walker::host_item::HostItem;
use graph_walker::walker::Graphs;
use serde_json::Value;

use crate::ceiling;
use crate::http::CaseServers;
use crate::models::CaseModels;
use graph_driver::TaskExecutor;
use graph_runtime::error::Kind;
use graph_runtime::error::{Error, Result};
use graph_runtime::host::Host;
use graph_runtime::items::locate::ItemLocator;
use graph_runtime::items::subgraphs::Subgraphs;
use graph_runtime::plan::engine;
use graph_runtime::plan::is_built_in;
use graph_runtime::project::check_folders;
use graph_runtime::project::{self, Project};
use graph_runtime::run::manifest_file::read_manifest;
use graph_runtime::sources::Sources;
use graph_runtime::trust::trusted_keys;
use graph_runtime::{BareGraph, ItemSources};

/// Real items, for items without a double. By default there are none.
#[derive(Debug, Default)]
pub struct Items {
    real: Option<Real>,
    /// True if only graphs are found, and every other item needs a double.
    is_doubles_only: bool,
}

struct Real {
    sources: Sources,
    trust: TrustStore,
    grants: Manifest,
    project: Project,
    host: Host,
    /// Engine, which the first case that needs it creates and all cases share.
    engine: Mutex<Option<Engine>>,
    /// Wording of the remedies in reports.
    words: RemedyWords,
}

impl Items {
    /// Creates items that are found as for a run. `caps` is the manifest with the grants. Each case has its own
    /// permissions to dispatch.
    pub fn real(sources: Sources, caps: Option<&Path>, project: &Project, host: &Host) -> Result<Self> {
        check_folders(&sources, host.home.base())?;
        let trust = trusted_keys::load(&host.home, &sources.trust, &*host.notices)?;
        let grants = match caps {
            Some(path) => read_manifest(path, host)?,
            None => Manifest::deny_all(),
        };
        let engine = Mutex::new(None);
        Ok(Self {
            real: Some(Real {
                sources,
                trust,
                grants,
                project: project.clone(),
                host: host.clone(),
                engine,
                words: |remedy| remedy.advice().unwrap_or_default().to_owned(),
            }),
            is_doubles_only: false,
        })
    }

    /// Sets the wording of remedies in reports; without it, only advice without commands is reported.
    #[must_use]
    pub fn with_words(mut self, words: RemedyWords) -> Self {
        if let Some(real) = &mut self.real {
            real.words = words;
        }
        self
    }

    /// Restricts the items to doubles, for cases of untrusted publishers. Graphs that a graph names are found as for a
    /// run; every other item needs a double, so that no component is executed and no text of the user is read.
    #[must_use]
    pub fn with_doubles_only(self) -> Self {
        Self { is_doubles_only: true, ..self }
    }

    /// Returns the limits of each case: those of the user's manifest, or the defaults.
    pub(crate) fn ceiling(&self) -> RunLimits {
        let nothing = Manifest::deny_all();
        let grants = self.real.as_ref().map_or(&nothing, |real| &real.grants);
        ceiling::of_user(grants.run_limits(), grants.stated_sizes())
    }

    /// Returns the number of cases that run at the same time. Each holds its own results and its own store in memory.
    pub(crate) const fn at_a_time(&self) -> usize {
        if self.is_doubles_only { 2 } else { 8 }
    }

    /// Returns the manifest of a case that permits these dispatches.
    pub(crate) fn manifest(&self, dispatch: DispatchPatterns) -> Manifest {
        match &self.real {
            Some(real) => real.grants.clone().with_dispatch(dispatch),
            None => Manifest::of_dispatch(dispatch),
        }
    }

    /// Returns the graphs that a graph names: those of the case (`own`), and those that are found as for a run.
    pub(crate) fn graphs(
        &self,
        file: &Path,
        items_dir: Option<&Path>,
        graph: &Graph,
        own: Graphs,
        manifest: &Manifest,
        has_double: impl Fn(&str) -> bool,
    ) -> Result<Graphs> {
        let Some(real) = &self.real else { return Ok(own) };
        let locator = real.locator(file, items_dir);
        Ok(Subgraphs::resolve(graph, own, &locator, &real.trust, manifest, has_double)?.graphs)
    }

    /// Returns the executor of items without a double, or `None` if all items have one. `file` is the file of the
    /// graph, or of the case that has the graph: the project is the nearest one above it. `items_dir` is the folder in
    /// which items are searched for first.
    pub(crate) async fn executor(
        &self,
        (file, items_dir): (&Path, Option<&Path>),
        subject: &BareGraph,
        (servers, models): (&Arc<CaseServers>, &Arc<CaseModels>),
        has_double: impl Fn(&str) -> bool,
    ) -> Result<Option<Arc<dyn TaskExecutor>>> {
        let BareGraph { graph, graphs, hooks, manifest, .. } = subject;
        let literal = |action: &Action| match action.item_id.literal() {
            // A search without an id searches all items.
            Some(Value::Null) if action.operation == ItemOperation::Search => Some(String::new()),
            literal => literal.and_then(Value::as_str).map(str::to_owned),
        };
        let is_needed = |action: &Action| match literal(action) {
            // The dispatch of an item without permission is denied, whether the item exists or not.
            Some(id) => {
                !has_double(&id)
                    && !graphs.contains_key(&*without_version(id.as_str()))
                    && manifest.dispatch().permits(action.operation, action.item_type, &id)
            }
            None => true,
        };
        let is_needed = |action: &Action| {
            !is_built_in(action) && HostItem::of_action(action).is_none() && is_needed(action)
        };
        let writes = std::iter::once(graph)
            .chain(graphs.values())
            .flat_map(|graph| &graph.nodes)
            .filter_map(|node| node.action.as_ref())
            .any(|action| HostItem::of_action(action) == Some(HostItem::Run));
        let needed: Vec<_> = std::iter::once(graph)
            .chain(graphs.values())
            .flat_map(|graph| &graph.nodes)
            .filter_map(|node| {
                let action = node.action.as_ref().filter(|action| is_needed(action))?;
                Some((format!("node `{}`", node.name), action))
            })
            .chain(
                of_hooks(std::iter::once(graph).chain(graphs.values()), hooks)
                    .filter(|(_, action)| is_needed(action)),
            )
            .collect();
        let Some(real) = self.real.as_ref().filter(|_| !self.is_doubles_only) else {
            let missing = needed.iter().find_map(|(node, action)| Some((node, literal(action)?)));
            return missing.map_or(Ok(None), |(user, id)| {
                let why = if self.is_doubles_only {
                    "and published cases run with doubles only"
                } else {
                    "and is no item that can be found"
                };
                let message = format!("{user} uses `{id}`, which has no double in the case {why}");
                Err(Error::not_found(message))
            });
        };
        // A node can write a graph during the run, which can name any item.
        if needed.is_empty() && !writes {
            return Ok(None);
        }
        let sources = ItemSources {
            engine: real.engine()?,
            locator: real.locator(file, items_dir),
            trust: real.trust.clone(),
            allow_unsigned: real.sources.allow_unsigned,
            notices: Arc::clone(&real.host.notices),
            http: Some(Arc::clone(servers) as Arc<dyn HttpDoubles>),
            model: Some(Arc::clone(models) as Arc<dyn ModelDoubles>),
        };
        let executor = sources.executor(subject, is_needed).await;
        executor.map(Some).map_err(|refused| explained(&refused, real.words))
    }
}

impl Real {
    fn locator(&self, file: &Path, items_dir: Option<&Path>) -> ItemLocator {
        let project = self.sources.project.clone().or_else(|| nearest_project(file));
        let first = items_dir.map(Path::to_path_buf).into_iter();
        let folders: Vec<_> = first.chain(self.sources.items.iter().cloned()).collect();
        ItemLocator::new(&folders, project.as_deref(), &self.host.home, &self.project)
    }

    fn engine(&self) -> Result<Engine> {
        let mut engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(engine) = &*engine {
            return Ok(engine.clone());
        }
        // Doubles answer for language models, so that keys are not required.
        let made = engine::engine(&self.host)?.opening(HostResources::WITHOUT_KEYS);
        *engine = Some(made.clone());
        Ok(made)
    }
}

impl fmt::Debug for Real {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Real").field("sources", &self.sources).finish_non_exhaustive()
    }
}

/// Returns the actions of hooks, each with the name of its hook.
fn of_hooks<'a>(
    graphs: impl Iterator<Item = &'a Arc<Graph>>,
    outer: &'a [Hook],
) -> impl Iterator<Item = (String, &'a Action)> {
    graphs.flat_map(|graph| &graph.hooks).chain(outer).filter_map(|hook| match &hook.action {
        HookAction::Item(action) => Some((format!("hook `{}`", hook.name), action)),
        HookAction::Control(_) | HookAction::Nothing => None,
    })
}

fn nearest_project(file: &Path) -> Option<PathBuf> {
    std::path::absolute(file).ok()?.parent().and_then(project::nearest)
}

/// Returns the refusal with advice for a case.
fn explained(refused: &Error, words: RemedyWords) -> Error {
    let advice = words(&match refused.kind() {
        Kind::Denied => Remedy::GrantInCases,
        Kind::NotFound => Remedy::FindOrDouble,
        Kind::Integrity => Remedy::TrustOrDouble,
        _ => "give it a double under `items`, or correct the node".into(),
    });
    let message =
        format!("{}\nwhat has no double in the case is used as in a run; {advice}", refused.worded(words));
    Error::new(refused.kind(), refused.code(), message)
}
