//! The last stage of a start: a planned run is created in the store, and prepared to be driven.

use std::path::Path;
use std::sync::Arc;

use graph_core::digest::{Digest, DomainHasher};
use graph_core::policy::Durability;
use graph_core::trust::SigningKey;
use graph_driver::{SystemClock, WriteMode};
use graph_store::{CheckpointStore, Snapshot};
use serde_json::{Map, Value};

use crate::clock::now;
use crate::error::Result;
use crate::executor::{ComponentExecutor, ExecutorParts, knowledge_of};
use crate::host::Host;
use crate::items::built_in;
use crate::plan::Plan;
use crate::plan::admission::Components;
use crate::project::Project;
use crate::project::paths::absolute;
use crate::run::context::{Definition, Environment, NewRunSettings, PreparedRun, RunParent, RunServices};
use crate::run::opened_graph::OpenedGraph;
use crate::run::pins::kept_text;
use crate::run::planned::PlannedRun;
use crate::run::run_id;
use crate::run::state_item::StateItem;
use crate::trust::log::TrustLog;

/// Options of a new run. By default, the run has a fresh id, no parent, and the settings of its graph.
#[derive(Clone, Debug, Default)]
pub struct StartOptions {
    /// The inputs. Without them, the run has those that it was planned with.
    pub inputs: Option<Map<String, Value>>,
    /// Id of the run.
    pub run_id: Option<String>,
    /// The run that starts it: its id or a prefix of it.
    pub parent: Option<String>,
    /// Seed of random numbers: a digest, or any text.
    pub seed: Option<String>,
    /// Replaces the graph's `max_steps`.
    pub max_steps: Option<u64>,
    /// Replaces the graph's `durability`.
    pub durability: Option<Durability>,
    /// Writes the run's state item at every step, as always for a graph in Rye's dialect.
    pub state_item: bool,
    /// Dispatches every task, also those of nodes with a `cache`, and stores no results for later tasks.
    pub no_cache: bool,
}

/// Creates a planned run in the store, and takes it. The plan and its inputs [were checked](PlannedRun::checked); `parent` is the
/// run that the options name.
pub(crate) fn start(
    planned: PlannedRun,
    options: StartOptions,
    parent: Option<RunParent>,
    store: Arc<dyn CheckpointStore>,
    host: &Host,
) -> Result<PreparedRun> {
    let PlannedRun { opened, plan, inputs, .. } = planned;
    let OpenedGraph { file, subgraphs, mut components, hooks, project, mut pins } = opened;
    let log = TrustLog::in_home(&host.home);
    let inside = subgraphs.files.iter().map(|(id, file)| (id.as_str(), file));
    let graphs: Vec<_> = inside.chain([(file.graph.id.as_str(), &file)]).collect();
    log.accept_plan(&plan, &graphs)?;
    components.log = Some(log);
    let graph = file.graph;
    let key = host.home.identity()?;
    pins.of_plan(&plan);
    let (pins_digest, pins_text) = pins.text()?;
    let run = match options.run_id {
        Some(run) => run,
        None => run_id::fresh(now())?,
    };
    let definition = Definition {
        graph,
        graphs: Arc::new(subgraphs.graphs),
        hooks: Arc::clone(&hooks.hooks),
        manifest: components.manifest.shared(),
        manifest_digest: pins.manifest,
        pins: pins_digest,
    };
    let texts = kept_texts(&definition, hooks.document.as_ref(), &plan, (pins_digest, pins_text));
    let settings = NewRunSettings {
        run,
        graph_path: Some(relative(&pins.graph_file, &project))
            .filter(|path| !path.is_empty() && !built_in::is_place(&pins.graph_file)),
        inputs: Arc::new(inputs.into_value()),
        initial_state: Map::new(),
        seed: options.seed.as_deref().map(seed),
        durability: options.durability,
        max_steps: options.max_steps,
        max_concurrency: None,
        parent,
        pid: Some(std::process::id()),
        texts,
    };
    let state_item = (options.state_item || definition.graph.dialect.writes_state_item())
        .then(|| StateItem::new(&project, key.clone(), host));
    let services = component_services(components, plan, store, key, &project, host);
    let environment = Environment { services, state_item };
    let mut prepared = environment.start(&definition, settings)?.prepare(&environment)?;
    if options.no_cache {
        prepared.driver.ignore_cache();
    }
    Ok(prepared)
}

/// Returns the texts that a run keeps of its start.
pub(crate) fn kept_texts(
    definition: &Definition,
    hooks: Option<&Value>,
    plan: &Plan,
    pins: (Digest, String),
) -> Vec<Snapshot> {
    let text = |(digest, text): (Digest, String)| Snapshot { digest, text: text.into() };
    let documents = [kept_text(&definition.graph.document), kept_text(&definition.manifest.to_json())];
    let inside = definition.graphs.values().map(|graph| kept_text(&graph.document));
    let texts = plan.texts.values().filter_map(|text| text.as_ref().ok());
    let texts = texts.map(|text| Snapshot { digest: text.digest, text: text.content.as_str().into() });
    let documents = documents.into_iter().chain([pins]).chain(inside).chain(hooks.map(kept_text));
    documents.map(text).chain(texts).collect()
}

/// Makes the services of a run with real components.
pub(crate) fn component_services(
    components: Components,
    plan: Plan,
    store: Arc<dyn CheckpointStore>,
    key: SigningKey,
    project: &Project,
    host: &Host,
) -> RunServices {
    let parts = ExecutorParts {
        keeps_texts: Some(Arc::clone(&store)),
        knowledge: Some(knowledge_of(project, &host.home)),
        ..ExecutorParts::bare(Arc::clone(&host.notices))
    };
    let executor = ComponentExecutor::new(components, plan, parts);
    RunServices {
        store,
        executor: Arc::new(executor),
        clock: Arc::new(SystemClock),
        key,
        writing: WriteMode::Thread,
    }
}

/// Makes a seed from text: a digest is used unchanged, other text is digested.
fn seed(text: &str) -> Digest {
    text.parse()
        .unwrap_or_else(|_| DomainHasher::new("graph-host/seed-text/v1").field(text.as_bytes()).finish())
}

/// Returns the path as a project stores it: relative to the project if the file is in its folder.
fn relative(path: &Path, project: &Project) -> String {
    path.strip_prefix(absolute(project.folder())).unwrap_or(path).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_digest_or_any_text() {
        let digest = Digest::of_bytes(b"x");
        assert_eq!(seed(&digest.to_string()), digest);
        assert_eq!(seed("seven"), seed("seven"));
        assert_ne!(seed("seven"), seed("eight"));
    }
}
