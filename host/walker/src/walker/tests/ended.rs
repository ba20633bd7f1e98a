//! Tests of runs that have ended and go on with changes that were accepted.

use std::sync::Arc;

use serde_json::{Map, json};

use super::simulation::{Simulation, Stored, setup};
use crate::graph::Graph;
use crate::walker::{Event, HandleError, Resume, RunTree, Setup};
use graph_core::digest::Digest;
use graph_core::policy::Durability;
use graph_core::record::{AcceptedPinChange, ErrorCode, Status};
use graph_core::time::Timestamp;
use graph_core::trust::SigningKey;

fn graph(config: &str) -> Arc<Graph> {
    let text = format!("{{tool_type: graph, config: {{{config}}}}}");
    Arc::new(crate::document::load("g.yaml", &text, "t/g").unwrap().graph)
}

/// Runs a graph without components until it stops.
fn run(graph: &Arc<Graph>, durability: Durability) -> Simulation {
    let mut simulation = Simulation::new(Arc::clone(graph), 0, 0, durability);
    simulation.handle(Event::Started).unwrap();
    until_stopped(&mut simulation);
    simulation
}

fn until_stopped(simulation: &mut Simulation) -> Status {
    while simulation.step() {}
    simulation.stopped.take().unwrap()
}

/// Makes the setup of a resume for which another graph was accepted.
fn accepted_for(stored: &Stored, graph: &Graph, durability: Durability) -> Setup {
    let pins = Digest::of_bytes(b"other pins");
    let accepted = AcceptedPinChange {
        after: pins,
        at: Timestamp(1),
        before: stored.pins().unwrap(),
        by: SigningKey::from_seed(&[7; 32]).id(),
        changes: vec!["the graph".to_owned()],
        graph: graph.digest,
    };
    Setup { pins, accepted: vec![accepted], ..setup(graph, durability) }
}

/// Restores an ended run with a changed graph that was accepted.
fn restored(stored: &Stored, graph: &Arc<Graph>, durability: Durability) -> RunTree {
    let mut newest = stored.newest("").unwrap();
    newest.checkpoint.graph = graph.digest;
    let setup = accepted_for(stored, graph, durability);
    RunTree::restore(Arc::clone(graph), setup, newest.into()).unwrap()
}

fn turn() -> Event {
    Event::Resumed(Resume { inputs: Some(Map::from_iter([("n".to_owned(), json!(1))])), ..Resume::default() })
}

const COUNTS: &str = "start: a, channels: {kept: {reducer: REDUCER}}, nodes: {a: {assign: {kept: VALUE}}}";

fn counting(reducer: &str, value: &str) -> Arc<Graph> {
    graph(&COUNTS.replace("REDUCER", reducer).replace("VALUE", value))
}

#[test]
fn another_turn_is_pinned_to_what_was_accepted_for_it() {
    for durability in [Durability::Sync, Durability::Async, Durability::Exit] {
        let ended = run(&counting("last_value", "text"), durability);
        let changed = counting("last_value", "other");
        let tree = restored(&ended.stored, &changed, durability);
        let mut simulation = Simulation::with(changed, tree, ended.stored, 0, 0, durability);
        simulation.handle(turn()).unwrap();
        assert_eq!(until_stopped(&mut simulation), Status::Completed);
        simulation.stored.check().unwrap();
        let line = simulation.stored.line("");
        assert_eq!(line.iter().map(|(_, one)| one.accepted.len()).sum::<usize>(), 1, "{durability:?}");
    }
}

#[test]
fn another_turn_does_not_begin_with_a_value_that_a_changed_channel_cannot_hold() {
    let ended = run(&counting("last_value", "text"), Durability::Sync);
    let changed = counting("sum", "1");
    let mut tree = restored(&ended.stored, &changed, Durability::Sync);
    let refusal = tree.handle(Timestamp(1), turn()).unwrap_err();
    let HandleError::Refused { code: ErrorCode::Integrity, message } = refusal else { panic!("{refusal:?}") };
    // What cannot be done in the same call is not advised.
    assert!(message.contains("`kept`") && !message.contains("--update"), "{message}");
    assert_eq!(tree.summary().status, Status::Completed);
}

#[test]
fn changes_accepted_for_an_end_whose_hooks_are_open_are_kept() {
    let text = |note: &str| {
        graph(&format!(
            "start: a, nodes: {{a: {{assign: {{note: {note}}}}}}}, hooks: [{{id: end, event: graph_completed, action: {{item_id: t/hook}}}}]"
        ))
    };
    // Kills the run while the hook of its end is under way.
    let killed = |mut simulation: Simulation, first: Event| {
        simulation.handle(first).unwrap();
        while !simulation.effects.iter().any(|effect| effect.starts_with("RunHook")) {
            assert!(simulation.step());
        }
        simulation.handle(Event::KillRequested).unwrap();
        assert_eq!(until_stopped(&mut simulation), Status::Killed);
        simulation.stored
    };
    let stored = killed(Simulation::new(text("one"), 0, 0, Durability::Sync), Event::Started);
    let changed = text("two");
    let resumed = |tree: RunTree, stored: Stored| {
        Simulation::with(Arc::clone(&changed), tree, stored, 0, 0, Durability::Sync)
    };
    let tree = restored(&stored, &changed, Durability::Sync);
    let stored = killed(resumed(tree, stored), Event::Resumed(Resume::default()));
    assert_eq!(stored.pins(), Some(Digest::of_bytes(b"other pins")));
    // The change was accepted before: it is in the status under the end.
    let setup = Setup { pins: Digest::of_bytes(b"other pins"), ..setup(&changed, Durability::Sync) };
    let mut newest = stored.newest("").unwrap();
    newest.checkpoint.graph = changed.digest;
    let tree = RunTree::restore(Arc::clone(&changed), setup, newest.into()).unwrap();
    let mut simulation = resumed(tree, stored);
    simulation.handle(Event::Resumed(Resume::default())).unwrap();
    assert_eq!(until_stopped(&mut simulation), Status::Completed);
    simulation.handle(turn()).unwrap();
    assert_eq!(until_stopped(&mut simulation), Status::Completed);
    simulation.stored.check().unwrap();
}
