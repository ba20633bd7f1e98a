//! Tests of forks and edits of random runs.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use serde_json::{Map, Value, json};

use super::graphs::{Sketch, build, sketches, sketches_to_fork, sketches_to_travel};
use super::simulation::{Simulation, has_little, setup};
use crate::graph::Graph;
use crate::walker::{Earlier, Edit, Event, HandleError, Identity, Resume, RunTree, Setup, Summary, Update};
use graph_core::policy::Durability;
use graph_core::record::{ErrorCode, Record, Source, Status};
use graph_core::time::Timestamp;

/// Generates graphs to travel whose runs have large budgets, since use stays counted, however far back a run goes.
fn sketches_with_enough() -> impl Strategy<Value = Sketch> {
    sketches_to_travel()
        .prop_filter("its runs have little", |sketch| !has_little(&build(sketch, Durability::Sync)))
}

fn original(sketch: &Sketch, order: u64, durability: Durability) -> (Simulation, Summary) {
    let graph = Arc::new(build(sketch, durability));
    let mut simulation = Simulation::new(graph, sketch.salt, order, durability);
    let summary = simulation.run(Event::Started);
    (simulation, summary)
}

/// Continues until the run stops for good; pauses without a question are released.
fn finish(simulation: &mut Simulation, first: Event) -> Summary {
    let paused = simulation.run(first);
    if paused.status == Status::Interrupted && paused.interrupts.is_empty() {
        simulation.stopped = None;
        return simulation.run(Event::Resumed(Resume::default()));
    }
    paused
}

/// Removes the record digest, in which runs with the same outcome but other ids differ.
fn outcome(mut summary: Summary) -> Summary {
    if let Some(checkpoint) = &mut summary.checkpoint {
        checkpoint.digest = graph_core::digest::Digest::from_bytes([0; 32]);
    }
    summary
}

fn fork_setup(graph: &Graph, durability: Durability) -> Setup {
    let identity = Identity { run: "f".into(), root: "f".into(), parent: None, namespace: String::new() };
    Setup { identity, ..setup(graph, durability) }
}

fn source(simulation: &Simulation, at: usize) -> Source {
    match simulation.stored.checkpoints[at].decode().unwrap() {
        Record::Checkpoint(checkpoint) => checkpoint.source,
        other => panic!("{other:?}"),
    }
}

/// Returns the positions of checkpoints that are not the run's end and have no hooks: a run that goes back to one with
/// hooks does not ask those again, and so uses less.
fn before_the_end(simulation: &Simulation) -> Vec<usize> {
    (0..simulation.stored.checkpoints.len())
        .filter(|at| {
            let checkpoint = simulation.stored.restored(*at).checkpoint;
            checkpoint.end.is_none() && checkpoint.hooks.is_empty()
        })
        .collect()
}

/// Returns `true` if the run's end is stored, even if its hooks have not been asked.
fn is_ended(simulation: &Simulation) -> bool {
    let newest = simulation.stored.checkpoints.len() - 1;
    simulation.stored.restored(newest).checkpoint.end.is_some()
}

fn back_to(simulation: &Simulation, at: usize, edit: Edit) -> Event {
    let restored = simulation.stored.restored(at);
    let inputs = Arc::new(json!({}));
    Event::Updated(Box::new(Update { edit, back_to: Some(Earlier { restored, inputs }) }))
}

proptest! {
    /// A fork from any checkpoint has the same results as the original when it is resumed, digest for digest.
    #[test]
    fn a_fork_comes_to_the_same(sketch in sketches_to_fork(), order: u64, at: prop::sample::Index, durability in 0..2_u8) {
        let durability = if durability == 0 { Durability::Sync } else { Durability::Exit };
        let (first, end) = original(&sketch, order, durability);
        let places = before_the_end(&first);
        prop_assume!(!places.is_empty());
        let place = *at.get(&places);
        let of = first.stored.restored(place);
        let (result, sequence) = (of.checkpoint.result, of.checkpoint.sequence);
        let visited = first.stored.visited(place);
        let setup = fork_setup(&first.graph, durability);
        let walker = RunTree::fork(Arc::clone(&first.graph), setup, of, &visited).unwrap();
        let mut fork = Simulation::with(
            Arc::clone(&first.graph), walker, super::simulation::Stored::default(), sketch.salt, order ^ 0x55, durability,
        );
        let forked = finish(&mut fork, Event::Forked(None));
        let beginning = fork.stored.restored(0);
        prop_assert_eq!(beginning.checkpoint.result, result);
        prop_assert_eq!(beginning.checkpoint.sequence, sequence);
        prop_assert!(beginning.checkpoint.parent.is_none() && beginning.checkpoint.tasks.is_empty());
        prop_assert_eq!(fork.stored.visited(0), visited);
        let all = fork.stored.visited(fork.stored.checkpoints.len() - 1);
        prop_assert_eq!(all, first.stored.visited(first.stored.checkpoints.len() - 1));
        let of_fork = Source::Fork { run: "r".into(), of: graph_core::record::CheckpointPlace {
            digest: first.stored.checkpoints.iter().find(|signed| signed.sequence == sequence).unwrap().digest, sequence,
        } };
        prop_assert_eq!(source(&fork, 0), of_fork);
        prop_assert_eq!(outcome(forked), outcome(end));
        // The fork's records can be restored like those of any other run.
        let restored = fork.stored.restore(&fork.graph, fork_setup(&fork.graph, durability)).unwrap();
        prop_assert_eq!(restored.summary(), fork.walker.summary());
    }

    /// A run that is taken back to any checkpoint and continues reaches the same state, at the end of the same history.
    #[test]
    fn going_back_and_on_comes_to_the_same(sketch in sketches_with_enough(), order: u64, stop in 1_usize..80, at: prop::sample::Index) {
        let graph = Arc::new(build(&sketch, Durability::Sync));
        let (first, end) = original(&sketch, order, Durability::Sync);
        let mut cut = Simulation::new(Arc::clone(&graph), sketch.salt, order, Durability::Sync);
        cut.budget = stop;
        cut.run(Event::Started);
        let Some(walker) = cut.stored.restore(&graph, setup(&graph, Durability::Sync)) else { return Ok(()) };
        prop_assume!(!is_ended(&cut));
        let places = before_the_end(&cut);
        prop_assume!(!places.is_empty());
        let place = *at.get(&places);
        let back = back_to(&cut, place, Edit::default());
        let mut on = Simulation::with(Arc::clone(&graph), walker, cut.stored.clone(), sketch.salt, order, Durability::Sync);
        let came = finish(&mut on, back);
        let went_back = matches!(source(&on, cut.stored.checkpoints.len()), Source::Update { restored: Some(_), .. });
        prop_assert!(went_back);
        // The chain is intact, and its beginning is unchanged.
        let newest = on.stored.restored(on.stored.checkpoints.len() - 1);
        prop_assert_eq!(&on.stored.checkpoints[..cut.stored.checkpoints.len()], &cut.stored.checkpoints[..]);
        prop_assert_eq!(came.visited_digest, newest.checkpoint.visited_digest);
        prop_assert_eq!(on.stored.visited(on.stored.checkpoints.len() - 1), first.stored.visited(first.stored.checkpoints.len() - 1));
        prop_assert_eq!((came.status, came.steps), (end.status, end.steps));
        prop_assert_eq!((came.state, came.visited_digest, came.next, came.output), (end.state, end.visited_digest, end.next, end.output));
        let restored = on.stored.restore(&graph, setup(&graph, Durability::Sync)).unwrap();
        prop_assert_eq!(restored.summary(), on.walker.summary());
    }

    /// An edit that is refused changes nothing, and one that is accepted is stored as it is in memory.
    #[test]
    fn an_edit_is_taken_or_changes_nothing(sketch in sketches_to_travel(), order: u64, stop in 1_usize..80, node in 0..8_u8, value in 0..4_u8) {
        let graph = Arc::new(build(&sketch, Durability::Sync));
        let mut cut = Simulation::new(Arc::clone(&graph), sketch.salt, order, Durability::Sync);
        cut.budget = stop;
        cut.run(Event::Started);
        let Some(walker) = cut.stored.restore(&graph, setup(&graph, Durability::Sync)) else { return Ok(()) };
        let before = walker.summary();
        let values = match value {
            0 => json!({"sum": 5, "log": ["x"]}),
            1 => json!({"sum": "no number"}),
            2 => json!({"log": "y", "inputs": 1}),
            _ => json!({}),
        };
        let values = values.as_object().cloned().unwrap();
        let edit = Edit { values, as_node: Some(format!("n{node}")) };
        let mut edited = Simulation::with(Arc::clone(&graph), walker, cut.stored.clone(), sketch.salt, order, Durability::Sync);
        let event = Event::Updated(Box::new(Update { edit: edit.clone(), back_to: None }));
        match edited.handle(event) {
            Err(HandleError::Refused { code, .. }) => {
                let because = match code {
                    ErrorCode::Finished => is_ended(&cut) && !before.status.is_end(),
                    ErrorCode::NotFound => graph.find(&format!("n{node}")).is_none(),
                    ErrorCode::InvalidUpdate => value == 1 || value == 2,
                    ErrorCode::NoEdgeMatched => true,
                    _ => false,
                };
                prop_assert!(because, "{code}");
                prop_assert_eq!(edited.walker.summary(), before);
                prop_assert_eq!(edited.stored.checkpoints.len(), cut.stored.checkpoints.len());
            }
            Err(illegal) => prop_assert!(false, "{illegal}"),
            Ok(()) => {
                prop_assert!(value == 0 || value == 3);
                if value == 0 {
                    let length = |summary: &Summary| summary.state["log"].as_array().unwrap().len();
                    prop_assert_eq!(length(&edited.walker.summary()), length(&before) + 1);
                }
                prop_assert_eq!(edited.stored.checkpoints.len(), cut.stored.checkpoints.len() + 1);
                let restored = edited.stored.restore(&graph, setup(&graph, Durability::Sync)).unwrap().summary();
                let now = edited.walker.summary();
                prop_assert_eq!((restored.state, restored.next, restored.interrupts), (now.state, now.next, now.interrupts));
                prop_assert_eq!(restored.fuel, before.fuel);
            }
        }
    }
}

/// An extension by a hook is no part of the boundary, also if its checkpoint is written later: a fork of the boundary
/// asks the hook again, whatever the durability.
#[test]
fn a_checkpoint_holds_no_extension_that_came_after_it() {
    let text = "{tool_type: graph, config: {start: a, max_steps: 1, nodes: {a: {next: b}, b: {interrupt: before}}, \
                hooks: [{id: more, event: limit, action: {continue: true, additional_steps: 3}}]}}";
    for durability in [Durability::Sync, Durability::Exit] {
        let graph = crate::document::load("more.yaml", text, "t/more").unwrap().graph;
        let graph = Arc::new(Graph { durability, ..graph });
        let mut simulation = Simulation::new(Arc::clone(&graph), 0, 0, durability);
        simulation.handle(Event::Started).unwrap();
        while simulation.stopped.is_none() && simulation.step() {}
        assert_eq!(simulation.stopped, Some(Status::Interrupted));
        let newest = simulation.stored.checkpoints.len() - 1;
        let checkpoint = simulation.stored.restored(newest).checkpoint;
        assert_eq!((checkpoint.step, checkpoint.max_steps), (1, None), "{durability:?}");
        // A resume takes the extension from the record of the stop.
        let mut restored = simulation.stored.restore(&graph, setup(&graph, durability)).unwrap();
        let effects = restored.handle(Timestamp(2), Event::Resumed(Resume::default())).unwrap();
        assert!(!format!("{effects:?}").contains("HookFinished"), "{durability:?}: {effects:?}");
    }
}

#[test]
fn only_a_fork_begins_as_one_and_only_a_suspended_run_is_edited() {
    let sketch =
        &sketches().new_tree(&mut proptest::test_runner::TestRunner::deterministic()).unwrap().current();
    let graph = Arc::new(build(sketch, Durability::Sync));
    let mut walker = RunTree::new(Arc::clone(&graph), setup(&graph, Durability::Sync));
    let edit = Edit { values: Map::from_iter([("sum".to_owned(), Value::from(1))]), as_node: None };
    let update = Event::Updated(Box::new(Update { edit: edit.clone(), back_to: None }));
    let illegal = |result: Result<_, HandleError>| matches!(result, Err(HandleError::Illegal { .. }));
    assert!(illegal(walker.handle(Timestamp(1), update.clone())));
    assert!(illegal(walker.handle(Timestamp(1), Event::Forked(Some(edit)))));
    walker.handle(Timestamp(1), Event::Started).unwrap();
    assert!(illegal(walker.handle(Timestamp(1), update)));
    assert!(illegal(walker.handle(Timestamp(1), Event::Forked(None))));
}
