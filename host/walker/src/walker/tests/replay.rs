//! Tests of the replay on runs of the simulation, whose tasks are answered again, with and without a single fault.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::graphs::{Nest, Sketch, build, build_nest, double, nests, sketches};
use super::simulation::{Simulation, Stored, setup_with};
use crate::graph::Graph;
use crate::replay::{
    CheckpointSource, Difference, RecordedAttempt, RecordedRun, Replay, ReplayMachine, ReplayOptions, Step,
    StoredCheckpoint,
};
use crate::walker::{Event, Graphs, RunTree, TaskReport, TaskSpec};
use graph_core::digest::Digest;
use graph_core::node::Outcome;
use graph_core::policy::Durability;
use graph_core::record::{Checkpoint, JournalEntry, Record};
use graph_core::trust::SigningKey;

/// Checkpoints by namespace and number.
type Checkpoints = BTreeMap<(String, u64), StoredCheckpoint>;

#[derive(Debug)]
struct Held(BTreeMap<(String, u64), Arc<StoredCheckpoint>>);

impl CheckpointSource for Held {
    fn read(&self, namespace: &str, sequence: u64) -> Option<Arc<StoredCheckpoint>> {
        self.0.get(&(namespace.to_owned(), sequence)).cloned()
    }
}

/// A recorded run, and what its replay needs.
struct Recording {
    graphs: Arc<Graphs>,
    simulation: Simulation,
    salt: u64,
    durability: Durability,
    checkpoints: Checkpoints,
    options: ReplayOptions,
}

impl Recording {
    fn new(graph: Arc<Graph>, graphs: Arc<Graphs>, salt: u64, order: u64, durability: Durability) -> Self {
        let tree = RunTree::new(Arc::clone(&graph), setup_with(&graph, Arc::clone(&graphs), durability));
        let mut simulation = Simulation::with(graph, tree, Stored::default(), salt, order, durability);
        simulation.run(Event::Started);
        let key = SigningKey::from_seed(&[7; 32]).verifying_key();
        let opened = simulation.stored.checkpoints.iter().map(|signed| {
            let Record::Checkpoint(checkpoint) = signed.open(&key).unwrap() else { panic!("a checkpoint") };
            let stored = StoredCheckpoint {
                checkpoint: *checkpoint,
                digest: signed.digest,
                values: signed.values.clone(),
            };
            ((signed.namespace.clone(), signed.sequence), stored)
        });
        let checkpoints = opened.collect();
        Self { graphs, simulation, salt, durability, checkpoints, options: ReplayOptions::default() }
    }

    fn of_sketch(sketch: &Sketch, order: u64, durability: Durability) -> Self {
        let graph = Arc::new(build(sketch, durability));
        Self::new(graph, Arc::default(), sketch.salt, order, durability)
    }

    fn of_nest(nest: &Nest, order: u64, durability: Durability) -> Self {
        let (graph, graphs) = build_nest(nest, durability);
        Self::new(graph, graphs, nest.outer.salt, order, durability)
    }

    /// A run of three nodes, one after the other, with a salt for which `accepts` accepts the run.
    fn of_three(accepts: impl Fn(&Self) -> bool) -> Self {
        let node = |next: &str| {
            json!({
                "action": { "item_id": "t/double", "params": { "seen": "${state.sum}" } },
                "assign": { "sum": "${result.n}" },
                "next": next,
            })
        };
        let document = json!({
            "tool_type": "graph",
            "config": {
                "start": "a",
                "channels": { "sum": { "reducer": "sum" } },
                "nodes": { "a": node("b"), "b": node("c"), "c": node("done"), "done": { "type": "return" } },
            },
        });
        let text = document.to_string();
        let graph = Arc::new(crate::document::load("three.yaml", &text, "t/three").unwrap().graph);
        let recording = |salt| Self::new(Arc::clone(&graph), Arc::default(), salt, salt, Durability::Sync);
        (0..10_000).map(recording).find(accepts).unwrap()
    }

    /// A run of three nodes whose tasks all succeed at once; the second one calls nothing.
    fn of_three_results() -> Self {
        Self::of_three(|run| {
            let task = |number| run.checkpoint(number).map(|stored| &stored.checkpoint.tasks[0]);
            let is_done = |number| {
                task(number).is_some_and(|task| {
                    task.attempts == 1 && task.answers.is_empty() && task.failure.is_none()
                })
            };
            (1..=3).all(is_done) && task(2).is_some_and(|task| task.journal.is_empty())
        })
    }

    fn checkpoint(&self, sequence: u64) -> Option<&StoredCheckpoint> {
        self.checkpoints.get(&(String::new(), sequence))
    }

    /// Changes a recorded checkpoint of the run itself, which gets the digest of its new text.
    fn edit(&mut self, sequence: u64, edit: impl FnOnce(&mut Checkpoint)) {
        let stored = self.checkpoints.get_mut(&(String::new(), sequence)).unwrap();
        edit(&mut stored.checkpoint);
        let record = Record::Checkpoint(Box::new(stored.checkpoint.clone()));
        stored.digest = record.encode().unwrap().1;
    }

    fn recorded(&self) -> RecordedRun {
        let held = self.checkpoints.iter().map(|(place, stored)| (place.clone(), Arc::new(stored.clone())));
        let mut recorded = RecordedRun::new("r", self.durability, Arc::new(Held(held.collect())));
        for stored in self.checkpoints.values() {
            recorded.add_checkpoint(&stored.checkpoint);
        }
        for (_, record) in &self.simulation.stored.pending {
            recorded.add_pending(record.clone());
        }
        recorded
    }

    fn machine(&self) -> ReplayMachine {
        ReplayMachine::new(Arc::new(self.recorded()), self.options)
    }

    /// Builds the run at one of its checkpoints.
    fn tree(&self, checkpoint: u64, is_start: bool) -> RunTree {
        let graph = &self.simulation.graph;
        let setup = setup_with(graph, Arc::clone(&self.graphs), Durability::Sync);
        if is_start {
            return RunTree::new(Arc::clone(graph), setup);
        }
        let line = self.simulation.stored.line("");
        let at = line.iter().position(|(_, one)| one.sequence == checkpoint).unwrap();
        RunTree::restore(Arc::clone(graph), setup, self.simulation.stored.restored(at).into()).unwrap()
    }

    /// Replays the run. `perform` answers attempts.
    fn replay_with(&self, mut perform: impl FnMut(&TaskSpec, &RecordedAttempt) -> TaskReport) -> Replay {
        let mut machine = self.machine();
        for _ in 0..100_000 {
            match machine.next_step() {
                Step::Prepare { .. } | Step::Superstep(_) => {}
                Step::Begin { checkpoint, is_start } => machine.begin(self.tree(checkpoint, is_start)),
                Step::Execute { spec, attempt } => {
                    let report = perform(&spec, &attempt);
                    let differs = report.journal != attempt.entries() && !self.options.live;
                    machine.executed(*attempt, report, differs.then(|| "other calls".to_owned()));
                }
                Step::LookUp(lookup) => machine.looked_up(&lookup, Some(Digest::of_bytes(b"double"))),
                Step::Finished => return machine.finish(),
            }
        }
        panic!("the replay has no end");
    }

    fn replay(&self) -> Replay {
        self.replay_with(|spec, _| double(self.salt, spec))
    }

    /// Replays the run; one node has other reports.
    fn replay_changed(&self, node: &str, change: impl Fn(&mut TaskReport)) -> Replay {
        self.replay_with(|spec, _| {
            let mut report = double(self.salt, spec);
            if spec.path == node {
                change(&mut report);
            }
            report
        })
    }
}

/// Returns the only difference of a replay. A superstep that did not commit may be executed once more, from its recorded
/// checkpoint: it has the same difference twice then.
fn only(replay: &Replay) -> &Difference {
    let (first, others) = replay.differences.split_first().unwrap();
    assert!(others.len() <= 1 && others.iter().all(|other| other == first), "{:?}", replay.differences);
    first
}

/// Returns the numbers of the checkpoints that were made again and are equal.
fn equal(replay: &Replay) -> Vec<u64> {
    replay.supersteps.iter().filter(|one| one.equal).map(|one| one.checkpoint).collect()
}

fn result(value: Value) -> impl Fn(&mut TaskReport) {
    move |report| report.result = Ok(Outcome::Result(value.clone()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// In whatever order the tasks of a run ended, its replay makes the same checkpoints.
    #[test]
    fn a_run_replays_equal(sketch in sketches(), order: u64, exit: bool) {
        let durability = if exit { Durability::Exit } else { Durability::Sync };
        let recording = Recording::of_sketch(&sketch, order, durability);
        let replay = recording.replay();
        prop_assert_eq!(&replay.differences, &[]);
        prop_assert_eq!(replay.supersteps.len(), recording.checkpoints.len());
        prop_assert!(replay.supersteps.iter().all(|one| one.equal));
    }

    /// The same for a tree of child runs.
    #[test]
    fn a_tree_of_runs_replays_equal(nest in nests(), order: u64) {
        let recording = Recording::of_nest(&nest, order, Durability::Sync);
        let replay = recording.replay();
        prop_assert_eq!(&replay.differences, &[]);
        prop_assert!(replay.supersteps.iter().all(|one| one.equal));
    }

    /// More fuel of any task is found in the superstep of the task, and all other supersteps are compared.
    #[test]
    fn other_fuel_is_found_where_it_was_used(sketch in sketches(), order: u64, at: prop::sample::Index) {
        let mut recording = Recording::of_sketch(&sketch, order, Durability::Sync);
        let places = recording.checkpoints.values().flat_map(|stored| {
            let of = stored.checkpoint.sequence;
            stored.checkpoint.tasks.iter().enumerate().map(move |(task, _)| (of, task))
        });
        let places: Vec<_> = places.collect();
        prop_assume!(!places.is_empty());
        let (sequence, place) = *at.get(&places);
        recording.edit(sequence, |checkpoint| checkpoint.tasks[place].fuel += 1);
        let task = recording.checkpoint(sequence).unwrap().checkpoint.tasks[place].task.clone();
        let replay = recording.replay();
        let found = only(&replay);
        prop_assert_eq!((found.checkpoint, found.task.as_deref()), (Some(sequence), Some(&*task)));
        prop_assert_eq!(&*found.key, "fuel");
        let others: Vec<_> =
            recording.checkpoints.values().map(|one| one.checkpoint.sequence).filter(|one| *one != sequence).collect();
        let mut compared = equal(&replay);
        compared.dedup();
        prop_assert_eq!(compared, others);
    }
}

#[test]
fn another_result_is_found_in_the_channel_that_its_task_writes() {
    let recording = Recording::of_three_results();
    let replay = recording.replay_changed("b", result(json!({ "n": 1000, "seen": null })));
    let found = only(&replay);
    assert_eq!((found.step, found.checkpoint), (2, Some(2)));
    assert_eq!((found.node.as_deref(), &*found.key), (Some("b"), "state.sum"));
    assert!(found.task.is_some());
    // The superstep after it starts again from the record, so its task sees the recorded sum.
    assert_eq!(equal(&replay), [0, 1, 3, 4]);
}

#[test]
fn two_faults_of_two_supersteps_are_two_differences() {
    let recording = Recording::of_three_results();
    let replay = recording.replay_with(|spec, _| {
        let mut report = double(recording.salt, spec);
        if spec.path != "b" {
            result(json!({ "n": 1000 }))(&mut report);
        }
        report
    });
    let found: Vec<_> = replay.differences.iter().map(|one| (one.step, one.node.as_deref())).collect();
    assert_eq!(found, [(1, Some("a")), (3, Some("c"))]);
}

#[test]
fn an_attempt_that_makes_other_calls_is_found_by_its_journal() {
    let recording = Recording::of_three_results();
    let replay = recording.replay_changed("c", |report| {
        report.journal.push(JournalEntry {
            function: "f".to_owned(),
            interface: "i".to_owned(),
            ok: true,
            request: json!("more").into(),
            result: json!(null).into(),
        });
    });
    let found = only(&replay);
    assert_eq!((found.step, found.node.as_deref(), &*found.key), (3, Some("c"), "journal"));
    assert_eq!((&*found.recorded, &*found.replayed), ("what its journal holds", "other calls"));
}

#[test]
fn a_failure_in_the_place_of_a_result_leaves_the_superstep_without_its_commit() {
    let recording = Recording::of_three_results();
    let replay = recording.replay_changed("b", |report| {
        let failure = graph_core::node::Failure::new(graph_core::node::Category::Permanent, "broken");
        report.result = Err(failure);
    });
    let found = only(&replay);
    assert_eq!((found.step, found.node.as_deref(), &*found.key), (2, Some("b"), "outcome"));
    assert_eq!(found.recorded, "committed");
    assert!(found.replayed.contains("broken"), "{}", found.replayed);
}

#[test]
fn a_missing_checkpoint_is_named_by_the_next_one() {
    let mut recording = Recording::of_three_results();
    recording.checkpoints.remove(&(String::new(), 2)).unwrap();
    let replay = recording.replay();
    let found = replay.differences.first().unwrap();
    assert_eq!((found.step, found.checkpoint, &*found.key), (2, Some(3), "sequence"));
    assert_eq!((&*found.recorded, &*found.replayed), ("3", "2"));
}

#[test]
fn a_missing_answer_leaves_its_question_open() {
    let mut recording = Recording::of_three(|run| {
        let answered = |stored: &StoredCheckpoint| stored.checkpoint.tasks[0].answers.len() == 1;
        run.checkpoint(2).is_some_and(answered)
    });
    assert_eq!(recording.replay().differences, []);
    recording.edit(2, |checkpoint| checkpoint.tasks[0].answers.clear());
    let replay = recording.replay();
    let found = only(&replay);
    assert_eq!((found.step, &*found.key), (2, "outcome"));
    assert_eq!(found.replayed, "b asks, and no answer is recorded");
}

#[test]
fn answers_of_the_world_are_listed_and_are_no_differences() {
    let mut recording = Recording::of_three_results();
    recording.options.live = true;
    let entry = |result: Value| JournalEntry {
        function: "f".to_owned(),
        interface: "i".to_owned(),
        ok: true,
        request: json!(0).into(),
        result: result.into(),
    };
    assert_eq!(recording.checkpoint(2).unwrap().checkpoint.tasks[0].journal, []);
    let replay = recording.replay_changed("b", |report| report.journal = vec![entry(json!("new"))]);
    assert_eq!(replay.differences, []);
    let [world] = &*replay.world else { panic!("{:?}", replay.world) };
    assert_eq!((world.step, &*world.node, world.entry), (2, "b", 0));
    assert_eq!((&world.recorded, world.now.as_deref()), (&None, Some("\"new\"")));
}

#[test]
fn a_run_whose_pins_changed_is_prepared_again_where_they_changed() {
    let mut recording = Recording::of_three_results();
    for sequence in 2..=4 {
        recording.edit(sequence, |checkpoint| checkpoint.pins = Digest::of_bytes(b"others"));
    }
    let mut machine = recording.machine();
    let (mut prepared, mut begun) = (Vec::new(), Vec::new());
    loop {
        match machine.next_step() {
            Step::Prepare { checkpoint } => prepared.push(checkpoint),
            Step::Begin { checkpoint, is_start } => {
                begun.push((checkpoint, is_start));
                machine.begin(recording.tree(checkpoint, is_start));
            }
            Step::Execute { spec, attempt } => {
                machine.executed(*attempt, double(recording.salt, &spec), None);
            }
            Step::LookUp(lookup) => machine.looked_up(&lookup, None),
            Step::Superstep(_) => {}
            Step::Finished => break,
        }
    }
    assert_eq!((prepared, begun), (vec![0, 2], vec![(0, true), (1, false)]));
    let replay = machine.finish();
    assert_eq!((replay.differences.len(), equal(&replay)), (0, vec![0, 1, 2, 3, 4]));
}

#[test]
fn a_run_that_is_not_built_is_asked_for_again() {
    let recording = Recording::of_three_results();
    let mut machine = recording.machine();
    assert!(matches!(machine.next_step(), Step::Prepare { checkpoint: 0 }));
    // A run that was not asked for is ignored.
    machine.begin(recording.tree(0, true));
    for _ in 0..3 {
        assert!(matches!(machine.next_step(), Step::Begin { checkpoint: 0, is_start: true }));
    }
}

#[test]
fn an_attempt_without_a_report_leaves_the_superstep_without_its_commit() {
    let recording = Recording::of_three_results();
    let mut machine = recording.machine();
    loop {
        match machine.next_step() {
            Step::Begin { checkpoint, is_start } => machine.begin(recording.tree(checkpoint, is_start)),
            Step::Finished => break,
            _ => {}
        }
    }
    let replay = machine.finish();
    let steps: Vec<_> = replay.differences.iter().map(|one| (one.step, &*one.key)).collect();
    assert_eq!(steps, [(1, "outcome"), (2, "outcome"), (3, "outcome")]);
}

#[test]
fn a_run_without_checkpoints_is_finished_at_once() {
    let recorded = RecordedRun::new("r", Durability::Sync, Arc::new(Held(BTreeMap::new())));
    let mut machine = ReplayMachine::new(Arc::new(recorded), ReplayOptions::default());
    assert!(matches!(machine.next_step(), Step::Finished));
    assert!(machine.finish().is_equal());
}
