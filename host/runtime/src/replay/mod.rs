//! Executes a run again, and compares. The walker receives the recorded times, seed and answers, so it makes the same
//! decisions, and components are answered from the journal. Nothing is written. The [`ReplayMachine`] decides what is next; this
//! drives it: it reads the store, prepares components and executes attempts.

mod recorded;

use std::path::PathBuf;
use std::sync::Arc;

use graph_core::capability::Manifest;
use graph_core::policy::Durability;
use graph_core::record::{Checkpoint, CheckpointSelector};
use graph_core::trust::VerifyingKey;
use graph_driver::TaskExecutor as _;
use graph_store::{CheckpointStore, RunRow};
use graph_walker::graph::Graph;
use graph_walker::hook::Hook;
use graph_walker::parameters;
use graph_walker::replay::{ReplayMachine, ReplayOptions, Step, StoredCheckpoint};
use graph_walker::walker::{Graphs, RunTree, Setup};

use crate::error::{Error, Kind, Result};
use crate::executor::{ComponentExecutor, ExecutorParts, knowledge_of};
use crate::functions::Functions;
use crate::host::Host;
use crate::items::locate::moment_of_superstep;
use crate::journal::Tape;
use crate::plan::Plan;
use crate::plan::engine::{components, engine};
use crate::plan::manifest_authority::{Permitted, Purpose};
use crate::project::Project;
use crate::run::snapshot::{PinnedBy, RunSnapshot};
use crate::run::{context, drift, restore, resume};
use crate::sources::Sources;
use crate::trust::trusted_keys;

use recorded::StoredCheckpoints;

pub use graph_walker::replay::{Difference, LiveDifference, Replay, ReplayedSuperstep};

/// Source of the answers in a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The journal. Everything has to be the same.
    Journal,
    /// The world, at most as often as in the run; differences are reported. Calls with effects are answered from the
    /// journal: requests of other methods than GET, HEAD and OPTIONS, writes, calls of other items.
    Live,
    /// Like `Live`, but calls with effects are performed again.
    Send,
}

impl Mode {
    /// Checks whether the world answers.
    pub fn is_live(self) -> bool {
        self != Self::Journal
    }

    fn purpose(self) -> Purpose {
        match self {
            Self::Journal => Purpose::Replay,
            Self::Live => Purpose::Ask,
            Self::Send => Purpose::Send,
        }
    }
}

/// Sources of a replay that replace those of the run's start.
#[derive(Clone, Debug, Default)]
pub struct ReplaySources {
    /// The manifest. It permits a run of another host to call the world.
    pub caps: Option<PathBuf>,
    /// Sources of items and trust for a run of another host. A run of this host has those of its start.
    pub sources: Sources,
}

/// Reasons for which a replay failed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum ReplayError {
    /// A checkpoint of the replay differs from the recorded one.
    #[error("{}", difference.message(run, *others))]
    Differs {
        run: String,
        difference: Box<Difference>,
        /// Number of further differences.
        others: usize,
    },
    /// Something that the run is pinned to is missing or has changed.
    #[error("run {run} is replayed with something else than it ran with:{}", listed(changes))]
    Changed {
        run: String,
        /// One line for each item, grant or document that has changed.
        changes: Vec<String>,
    },
}

fn listed(changes: &[String]) -> String {
    changes.iter().fold(String::new(), |text, change| text + "\n- " + change)
}

#[cfg(feature = "unstable")]
impl From<ReplayError> for Error {
    fn from(error: ReplayError) -> Self {
        let message = error.to_string();
        match error {
            ReplayError::Differs { .. } => Self::integrity(message).help(
                "either the component reads something that no journal keeps, or something was changed since",
            ),
            ReplayError::Changed { changes, .. } => Self::integrity(message)
                .details(serde_json::json!({ "changes": changes }))
                .help("put back what it ran with"),
        }
    }
}

/// Executes a run again. `tell` receives each superstep when it is done.
pub async fn replay(
    store: Arc<dyn CheckpointStore>,
    row: &RunRow,
    key: VerifyingKey,
    (mode, given): (Mode, &ReplaySources),
    project: &Project,
    host: &Host,
    tell: &mut (dyn FnMut(&ReplayedSuperstep) + Send),
) -> Result<Replay> {
    let checkpoints = Arc::new(StoredCheckpoints::new(&store, &row.run_id));
    let recorded = recorded::read(&*store, row, Arc::clone(&checkpoints), &key)?;
    let options = ReplayOptions { live: mode.is_live() };
    let mut machine = ReplayMachine::new(Arc::new(recorded), options);
    let mut prepared = None;
    loop {
        let step = machine.next_step();
        // The machine continues without a checkpoint that cannot be read.
        checkpoints.check()?;
        match (step, &prepared) {
            (Step::Prepare { checkpoint }, _) => {
                let stored = checkpoints.checkpoint("", checkpoint)?;
                let context = ReplayContext::set(&*store, row, &stored, (mode, given), project, host).await?;
                machine.changed(&context.changes);
                prepared = Some(context);
            }
            (Step::Begin { checkpoint, is_start }, Some(context)) => {
                let stored = checkpoints.checkpoint("", checkpoint)?;
                machine.begin(context.tree(&*store, &stored.checkpoint, is_start, key)?);
            }
            (Step::Execute { spec, attempt }, Some(context)) => {
                context.tape.load(attempt.entries().to_vec());
                let report = context.executor.execute(*spec).await;
                let difference = context.tape.difference().map(|difference| difference.to_string());
                machine.executed(*attempt, report, difference);
            }
            (Step::LookUp(lookup), Some(context)) => {
                let performer = context.executor.performer(&lookup.spec).await;
                machine.looked_up(&lookup, performer);
            }
            (Step::Superstep(replayed), _) => tell(&replayed),
            (Step::Finished, _) => return Ok(machine.finish()),
            (Step::Begin { .. } | Step::Execute { .. } | Step::LookUp(_), None) => {
                return Err(Error::new(Kind::Internal, "internal", "a replay begins without its components"));
            }
        }
    }
}

/// Components and documents of a section of a run.
struct ReplayContext {
    row: RunRow,
    graph: Arc<Graph>,
    graphs: Arc<Graphs>,
    hooks: Arc<Vec<Hook>>,
    manifest: Arc<Manifest>,
    executor: Arc<ComponentExecutor>,
    tape: Arc<Tape>,
    changes: Vec<String>,
}

impl ReplayContext {
    async fn set(
        store: &dyn CheckpointStore,
        row: &RunRow,
        stored: &StoredCheckpoint,
        (mode, given): (Mode, &ReplaySources),
        project: &Project,
        host: &Host,
    ) -> Result<Self> {
        let checkpoint = &stored.checkpoint;
        let mut row = row.clone();
        (row.graph, row.pins) = (checkpoint.graph, checkpoint.pins);
        let mut kept = RunSnapshot::read(store, &row, PinnedBy::Record, &host.home)?;
        kept.take_sources(&row.run_id, &given.sources, project)?;
        let Permitted { manifest, opens } = kept.permit(mode.purpose(), given.caps.as_deref(), host)?;
        let mut changes = Vec::new();
        if let Some(path) = given.caps.as_deref().filter(|_| manifest.digest() != kept.pins.manifest) {
            changes.push(drift::changed_manifest(
                path,
                host.home.base(),
                kept.manifest.of_record(),
                &manifest,
            ));
        }
        let hooks = kept.hooks(store)?.hooks;
        let locator = kept.locator(&host.home, project);
        let recorded_at = kept.judged_at(Some(checkpoint.at));
        let RunSnapshot { graph, graphs, pins: kept, .. } = kept;
        let trust = trusted_keys::load(&host.home, &kept.trust_files, &*host.notices)?;
        let engine = engine(host)?.opening(opens);
        let mut pins = kept.clone();
        pins.engine = engine.digest();
        let inputs = restore::inputs(store, &checkpoint.inputs)?;
        let manifest = manifest.narrowed(|manifest| parameters::allowed(&graph, &inputs, manifest));
        let mut components = components(engine, locator, trust, manifest, kept.allow_unsigned);
        components.recorded = recorded_at;
        components.functions = Arc::new(Functions::recorded(&kept.unsandboxed));
        let moment = moment_of_superstep(components.recorded);
        components.kept_texts = Arc::new(resume::kept_texts(store, &kept)?);
        let (graph, graphs) = (Arc::new(graph), Arc::new(graphs));
        let manifest = components.manifest.shared();
        let plan = Plan::make(&graph, &graphs, &hooks, &components).await;
        pins.of_plan(&plan);
        if let Some(error) = resume::refuse_revoked_items(&row.run_id, &kept, &plan)
            .or_else(|| resume::not_as_required(&row.run_id, &graph.id, &kept, &components.trust, moment))
        {
            return Err(error);
        }
        // Texts are answered from the journal, so changes of their files do not matter.
        (pins.texts, pins.signers) = (kept.texts.clone(), kept.signers.clone());
        changes.extend(drift::of_pins(&kept, &pins, &plan.users(), changes.is_empty()));
        let tape = Arc::new(match mode {
            Mode::Journal => Tape::new(),
            Mode::Live => Tape::live(false),
            Mode::Send => Tape::live(true),
        });
        let parts = ExecutorParts {
            tape: Some(Arc::clone(&tape)),
            knowledge: mode.is_live().then(|| knowledge_of(project, &host.home)),
            ..ExecutorParts::bare(Arc::clone(&host.notices))
        };
        let executor = Arc::new(ComponentExecutor::new(components, plan, parts));
        Ok(Self { row, graph, graphs, hooks, manifest, executor, tape, changes })
    }

    /// Starts the run, or restores it at one of its checkpoints.
    fn tree(
        &self,
        store: &dyn CheckpointStore,
        checkpoint: &Checkpoint,
        is_start: bool,
        key: VerifyingKey,
    ) -> Result<RunTree> {
        let setup = self.setup(store, checkpoint)?;
        if is_start {
            return Ok(RunTree::new(Arc::clone(&self.graph), setup));
        }
        let place = CheckpointSelector::Sequence(checkpoint.sequence);
        let restored = restore::restore_at(store, &self.row.run_id, key, &place)?;
        context::walker(&self.graph, setup, Some(restored.into()))
    }

    /// Makes the setup that the walker had in the run.
    fn setup(&self, store: &dyn CheckpointStore, checkpoint: &Checkpoint) -> Result<Setup> {
        let inputs = restore::inputs(store, &checkpoint.inputs)?;
        let mut row = self.row.clone();
        (row.inputs, row.seed) = (checkpoint.inputs, checkpoint.seed);
        // Every boundary becomes a checkpoint, so that the recorded ones can be compared.
        row.durability = Durability::Sync;
        let hooks = Arc::clone(&self.hooks);
        Ok(Setup { hooks, ..resume::setup(&row, &self.manifest, &self.graphs, inputs) })
    }
}
