//! Executes a run again, and compares. The walker receives the recorded times, seed and answers, so it makes the same
//! decisions, and components are answered from the journal. Nothing is written.

mod compare;
mod recorded;
mod walk;

use std::path::PathBuf;
use std::sync::Arc;

use graph_core::capability::Manifest;
use graph_core::policy::Durability;
use graph_core::record::{Checkpoint, CheckpointSelector, Source};
use graph_core::trust::VerifyingKey;
use graph_store::{CheckpointStore, RunRow};
use graph_walker::graph::Graph;
use graph_walker::hook::Hook;
use graph_walker::parameters;
use graph_walker::walker::{Event, Graphs, Resume, RunTree, Setup};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::executor::{ComponentExecutor, ExecutorParts, knowledge_of};
use crate::functions::Functions;
use crate::host::Host;
use crate::items::locate::judged;
use crate::items::sources::Sources;
use crate::journal::Tape;
use crate::plan::Plan;
use crate::plan::engine::{components, engine};
use crate::plan::manifest_authority::{Permitted, Purpose};
use crate::project::Project;
use crate::run::snapshot::{PinnedBy, RunSnapshot};
use crate::run::{context, drift, restore, resume};
use crate::trust::trusted_keys;

pub use compare::Difference;
use recorded::Recorded;
pub use walk::LiveDifference;
use walk::Walk;

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
pub struct Given {
    /// The manifest. It permits a run of another host to call the world.
    pub caps: Option<PathBuf>,
    /// Sources of items and trust for a run of another host. A run of this host has those of its start.
    pub sources: Sources,
}

/// A superstep that was executed again.
#[derive(Clone, Debug, Serialize)]
pub struct Replayed {
    /// Namespace; empty for the run itself.
    pub namespace: String,
    /// Number of the checkpoint that it produced.
    pub checkpoint: u64,
    /// Number of the superstep.
    pub step: u64,
    /// Source of the checkpoint: a superstep, or another one.
    pub made_by: String,
    /// Its nodes, in task order.
    pub nodes: Vec<String>,
    /// The fuel of its tasks.
    pub fuel: u64,
    /// `true` if the checkpoints are equal.
    pub equal: bool,
    /// `true` if the record digest was compared in addition to the result digest.
    pub record: bool,
}

/// The result of a replay.
#[derive(Debug, Default, Serialize)]
pub struct Replay {
    /// Supersteps, in the order in which they were run again; those of child runs precede the one around them.
    pub supersteps: Vec<Replayed>,
    /// Number of attempts that were run.
    pub attempts: u64,
    /// Number of tasks for which a cached result was used.
    pub cached: u64,
    /// Number of entries of journals.
    pub entries: u64,
    /// The fuel of all attempts.
    pub fuel: u64,
    /// Pinned items, grants and documents that are missing or have changed, a line each.
    pub changes: Vec<String>,
    /// Differences between the replay and the record.
    pub differences: Vec<Difference>,
    /// Answers of the world that differ from the recorded ones.
    pub world: Vec<LiveDifference>,
}

impl Replay {
    /// Checks that there are no differences and no changes. Differences of the world do not count.
    pub fn is_equal(&self) -> bool {
        self.differences.is_empty() && self.changes.is_empty()
    }
}

/// Reasons for which a replay failed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum ReplayError {
    /// A checkpoint of the replay differs from the recorded one.
    #[error("the replay of run {run} differs at {difference}{}", more(*others))]
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

fn more(others: usize) -> String {
    match others {
        0 => String::new(),
        1 => ", and in one more place".to_owned(),
        others => format!(", and in {others} more places"),
    }
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
    (mode, given): (Mode, &Given),
    project: &Project,
    host: &Host,
    tell: &mut (dyn FnMut(&Replayed) + Send),
) -> Result<Replay> {
    let recorded = Recorded::read(&store, row, &key)?;
    let mut replay = Replay::default();
    let line = recorded.line("");
    let mut at = 0;
    while at < line.len() {
        let pins = line[at].pins;
        let scene = ReplayContext::set(&*store, row, &recorded, at, (mode, given), project, host).await?;
        for change in &scene.changes {
            if !replay.changes.contains(change) {
                replay.changes.push(change.clone());
            }
        }
        // All supersteps with the same pins are run with one set of components.
        while at < line.len() && line[at].pins == pins {
            at = segment(&*store, &recorded, &scene, at, key, &mut replay, tell).await?;
            recorded.check()?;
        }
    }
    Ok(replay)
}

/// Executes the supersteps from one checkpoint up to the next event from outside or change of pins, and returns the
/// index of the first checkpoint after them.
async fn segment(
    store: &dyn CheckpointStore,
    recorded: &Recorded,
    stage: &ReplayContext,
    start: usize,
    key: VerifyingKey,
    replay: &mut Replay,
    tell: &mut (dyn FnMut(&Replayed) + Send),
) -> Result<usize> {
    let line = recorded.line("");
    let first = line[start];
    let follows = |next: &recorded::Mark| next.is_superstep && next.pins == first.pins;
    let mut end = start;
    while line.get(end + 1).is_some_and(follows) {
        end += 1;
    }
    let mut begins = first.is_start;
    // A superstep that was resumed with accepted changes follows from the checkpoint before them.
    let before = first.is_superstep.then(|| start.checked_sub(1)).flatten();
    let mut at = before.unwrap_or(start);
    if !begins && before.is_none() {
        let first = recorded.checkpoint("", first.sequence)?;
        replay.supersteps.push(taken(&first));
        if let Some(last) = replay.supersteps.last() {
            tell(last);
        }
    }
    while begins || at < end {
        let sequence = line[at].sequence;
        let setup = stage.setup(store, &recorded.checkpoint("", sequence)?.checkpoint)?;
        let (tree, event) = if begins {
            (RunTree::new(Arc::clone(&stage.graph), setup), Event::Started)
        } else {
            let place = CheckpointSelector::Sequence(sequence);
            let restored = restore::restore_at(store, &recorded.row.run_id, key, &place)?;
            let tree = context::walker(&stage.graph, setup, Some(restored.into()))?;
            (tree, Event::Resumed(Resume::default()))
        };
        let reached = if begins { None } else { Some(sequence) };
        let mut walk = Walk::new(recorded, stage, tree, reached, line[end].sequence);
        // After a difference, the next superstep starts again from its recorded checkpoint.
        let reached = walk.go(event, replay, tell).await;
        let next =
            reached.and_then(|sequence| line.binary_search_by_key(&sequence, |mark| mark.sequence).ok());
        at = match next {
            Some(next) if next > at => next,
            // A superstep that differs is not executed again: a live replay would repeat its calls of the world.
            _ => at + 1,
        };
        begins = false;
    }
    Ok(end + 1)
}

/// Describes a checkpoint that no superstep made: the replay starts again from it.
fn taken(stored: &recorded::Stored) -> Replayed {
    let checkpoint = &stored.checkpoint;
    let made_by = if checkpoint.source == Source::Superstep {
        "first that is kept"
    } else {
        checkpoint.source.as_str()
    };
    Replayed {
        namespace: String::new(),
        checkpoint: checkpoint.sequence,
        step: checkpoint.step,
        made_by: made_by.to_owned(),
        nodes: Vec::new(),
        fuel: 0,
        equal: true,
        record: false,
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
    mode: Mode,
    changes: Vec<String>,
}

impl ReplayContext {
    async fn set(
        store: &dyn CheckpointStore,
        row: &RunRow,
        recorded: &Recorded,
        at: usize,
        (mode, given): (Mode, &Given),
        project: &Project,
        host: &Host,
    ) -> Result<Self> {
        let stored = recorded.checkpoint("", recorded.line("")[at].sequence)?;
        let checkpoint = &stored.checkpoint;
        let mut row = row.clone();
        (row.graph, row.pins) = (checkpoint.graph, checkpoint.pins);
        let mut kept = RunSnapshot::read(store, &row, PinnedBy::Record, &host.home)?;
        kept.take_sources(&row.run_id, &given.sources, project)?;
        let Permitted { manifest, opens } = kept.permit(mode.purpose(), given.caps.as_deref(), host)?;
        let mut changes = Vec::new();
        if let Some(path) = given.caps.as_deref().filter(|_| manifest.digest() != kept.pins.manifest) {
            changes.push(drift::changed_manifest(path, kept.manifest.of_record(), &manifest));
        }
        let hooks = kept.hooks(store)?.hooks;
        let places = kept.places(&host.home, project);
        let recorded_at = kept.judged_at(Some(checkpoint.at));
        let RunSnapshot { graph, graphs, pins: kept, .. } = kept;
        let trust = trusted_keys::load(&host.home, &kept.trust_files, &*host.notices)?;
        let engine = engine(host)?.opening(opens);
        let mut pins = kept.clone();
        pins.engine = engine.digest();
        let inputs = restore::inputs(store, &checkpoint.inputs)?;
        let manifest = manifest.narrowed(|manifest| parameters::allowed(&graph, &inputs, manifest));
        let mut components = components(engine, places, trust, manifest, kept.allow_unsigned);
        components.recorded = recorded_at;
        components.functions = Arc::new(Functions::recorded(&kept.unsandboxed));
        let judged = judged(components.recorded);
        components.kept_texts = Arc::new(resume::kept_texts(store, &kept)?);
        let (graph, graphs) = (Arc::new(graph), Arc::new(graphs));
        let manifest = Arc::clone(&components.manifest);
        let plan = Plan::make(&graph, &graphs, &hooks, &components).await;
        pins.of_plan(&plan);
        if let Some(error) = resume::refuse_revoked_items(&row.run_id, &kept, &plan)
            .or_else(|| resume::not_as_required(&row.run_id, &graph.id, &kept, &components.trust, judged))
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
        Ok(Self { row, graph, graphs, hooks, manifest, executor, tape, mode, changes })
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
