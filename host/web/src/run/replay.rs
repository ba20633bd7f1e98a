//! A replay of a stored run: steps out, results in.

use std::sync::Arc;

use graph_core::json;
use graph_core::policy::Durability;
use graph_core::record::{Record, SignedRecord};
use graph_walker::replay::{
    CheckpointSource, RecordedAttempt, RecordedRun, ReplayMachine, ReplayOptions, Step, StoredCheckpoint,
};
use graph_walker::walker::{Lookup, RunTree, TaskSpec};
use serde_json::json;

use super::dispatches::Dispatches;
use super::document::{ParsedSetup, ReportDocument};
use super::effects;
use super::stored::StoredRun;
use crate::trust::Component;
use crate::{Problem, VERSION, read};

/// The replay of a stored run with its child runs, behind JSON.
#[derive(Debug)]
pub struct Replay {
    machine: ReplayMachine,
    run: String,
    stored: StoredRun,
    /// The setup of the run, without what its checkpoints define.
    setup: String,
    /// The attempt or the lookup of the last step.
    asked: Option<Asked>,
    /// The task of the last step that had one.
    dispatches: Dispatches,
}

/// Step of a replay that its host has not answered.
#[derive(Debug)]
enum Asked {
    Attempt(Box<RecordedAttempt>),
    Lookup(Box<Lookup>),
}

/// Checkpoints of a stored run in memory, in the order of their namespaces and numbers.
#[derive(Debug)]
struct Checkpoints(Vec<Arc<StoredCheckpoint>>);

impl CheckpointSource for Checkpoints {
    fn read(&self, namespace: &str, sequence: u64) -> Option<Arc<StoredCheckpoint>> {
        let order = |stored: &Arc<StoredCheckpoint>| {
            let checkpoint = &stored.checkpoint;
            checkpoint.namespace.as_str().cmp(namespace).then(checkpoint.sequence.cmp(&sequence))
        };
        let found = self.0.binary_search_by(order).ok()?;
        self.0.get(found).cloned()
    }
}

impl Replay {
    /// Opens a stored run, which is verified as a whole. Checkpoints define the inputs, the seed and the pins of the setup; its
    /// `durability` is that of the run.
    pub fn open(setup: &str, stored: &str) -> Result<Self, Problem> {
        let ParsedSetup { setup: parsed, stored_by, .. } = ParsedSetup::read(setup)?;
        let stored = StoredRun::read(stored, stored_by)?;
        let run = parsed.identity.run;
        stored.verify(&run)?;
        let recorded = stored.recorded(&run, parsed.durability)?;
        let machine = ReplayMachine::new(Arc::new(recorded), ReplayOptions::default());
        let (setup, dispatches) = (setup.to_owned(), Dispatches::default());
        Ok(Self { machine, run, stored, setup, asked: None, dispatches })
    }

    /// Continues up to the next step of the host, as JSON.
    pub fn next_step(&mut self) -> Result<String, Problem> {
        if self.asked.is_some() {
            return Err(Problem::new("illegal_event", "the last step of the replay has not been answered"));
        }
        loop {
            let written = match self.machine.next_step() {
                Step::Prepare { checkpoint } => json!({ "step": "prepare", "checkpoint": checkpoint }),
                Step::Begin { checkpoint, is_start } => {
                    let tree = self.tree(checkpoint, is_start)?;
                    self.machine.begin(tree);
                    continue;
                }
                Step::Execute { spec, attempt } => {
                    let mut written = effects::spec(&spec);
                    written["step"] = json!("execute");
                    written["entries"] = json!(attempt.entries());
                    self.ask(*spec, Asked::Attempt(attempt));
                    written
                }
                Step::LookUp(lookup) => {
                    let mut written = effects::spec(&lookup.spec);
                    written["step"] = json!("look_up");
                    self.ask(TaskSpec::clone(&lookup.spec), Asked::Lookup(lookup));
                    written
                }
                Step::Superstep(replayed) => {
                    let mut written = json!({ "step": "superstep", "superstep": replayed });
                    written["superstep"]["recorded_result"] = json!(replayed.recorded_result);
                    written["superstep"]["replayed_result"] = json!(replayed.replayed_result);
                    written
                }
                Step::Finished => json!({ "step": "finished" }),
            };
            // Canonical, as in records: a page forwards params unchanged.
            return Ok(json::canonical_string(&written));
        }
    }

    fn ask(&mut self, spec: TaskSpec, asked: Asked) {
        self.dispatches = Dispatches::default();
        self.dispatches.insert(spec, false);
        self.asked = Some(asked);
    }

    /// Takes the report of the attempt that was handed out, and the first difference between its calls and its journal.
    pub fn executed(&mut self, report: &str, difference: Option<String>) -> Result<(), Problem> {
        let report: ReportDocument = read::document("report", report)?;
        let report = report.read()?;
        match self.asked.take() {
            Some(Asked::Attempt(attempt)) => {
                self.machine.executed(*attempt, report, difference);
                Ok(())
            }
            other => self.not_asked(other, "no attempt of the replay is under way"),
        }
    }

    /// Takes the component that would perform the task that was looked up, and the engine that would execute it; without a component
    /// that may perform it, the task is executed.
    pub fn looked_up(&mut self, component: Option<&Component>, engine: &str) -> Result<(), Problem> {
        let engine = read::digest("engine", engine)?;
        match self.asked.take() {
            Some(Asked::Lookup(lookup)) => {
                let task = &lookup.spec.activation.task;
                // A component that is refused its grant performs nothing.
                let performer = component.and_then(|of| self.dispatches.performer(task, of, &engine).ok());
                self.machine.looked_up(&lookup, performer);
                Ok(())
            }
            other => self.not_asked(other, "the replay looks nothing up"),
        }
    }

    /// Refuses an answer to another step than the last one, which remains to be answered.
    fn not_asked(&mut self, asked: Option<Asked>, message: &str) -> Result<(), Problem> {
        self.asked = asked;
        Err(Problem::new("illegal_event", message))
    }

    /// Returns the result so far, as JSON.
    pub fn summary(&self) -> String {
        let result = self.machine.result();
        json!({
            "version": VERSION,
            "attempts": result.attempts,
            "cached": result.cached,
            "entries": result.entries,
            "fuel": result.fuel,
            "differences": result.differences,
            "message": result.difference_message(&self.run),
        })
        .to_string()
    }

    /// Returns the grant of a verified component for the task of the last step, as JSON.
    pub fn grant(&self, task: &str, component: &Component) -> Result<String, Problem> {
        self.dispatches.grant(task, component)
    }

    /// Builds the run as it was at one of its checkpoints.
    fn tree(&self, sequence: u64, is_start: bool) -> Result<RunTree, Problem> {
        let mut parsed = ParsedSetup::read(&self.setup)?;
        let (restored, _) = self.stored.at(sequence)?;
        if let Some(inputs) = self.stored.inputs(&restored.checkpoint)? {
            parsed.set_inputs(inputs);
        }
        let ParsedSetup { graph, mut setup, .. } = parsed;
        (setup.seed, setup.pins) = (restored.checkpoint.seed, restored.checkpoint.pins);
        // Every boundary becomes a checkpoint, so that the recorded ones can be compared.
        setup.durability = Durability::Sync;
        if is_start {
            return Ok(RunTree::new(graph, setup));
        }
        RunTree::restore(graph, setup, restored.into()).map_err(Problem::integrity)
    }
}

impl StoredRun {
    /// Builds the index of the records for a replay. The records must have been verified.
    fn recorded(&self, run: &str, durability: Durability) -> Result<RecordedRun, Problem> {
        let mut checkpoints = Vec::new();
        let decoded = |record: &SignedRecord| record.decode().map_err(Problem::integrity);
        for record in self.checkpoints() {
            if let Record::Checkpoint(checkpoint) = decoded(record)? {
                let (digest, values) = (record.digest, record.values.clone());
                checkpoints.push(Arc::new(StoredCheckpoint { checkpoint: *checkpoint, digest, values }));
            }
        }
        let index = checkpoints.clone();
        let mut recorded = RecordedRun::new(run, durability, Arc::new(Checkpoints(checkpoints)));
        for stored in &index {
            recorded.add_checkpoint(&stored.checkpoint);
        }
        for record in self.pending() {
            recorded.add_pending(decoded(record)?);
        }
        for record in self.stops() {
            if let Record::Status(status) = decoded(record)? {
                recorded.add_stop(status);
            }
        }
        Ok(recorded)
    }
}
