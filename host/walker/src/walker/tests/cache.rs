//! Tests that a run has the same results with the cache of results and without it.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use super::graphs::{Sketch, build, sketches};
use super::simulation::Simulation;
use crate::walker::Event;
use graph_core::policy::Durability;
use graph_core::record::{Checkpoint, CumulativeState, Record};

/// Generates random graphs without retries: a cached result does not charge the use of failed attempts.
fn without_retries() -> impl Strategy<Value = Sketch> {
    sketches().prop_map(Sketch::without_retries)
}

/// Runs a graph whose doubles answer by their input alone. Returns the checkpoints and the number of cache hits.
fn run(sketch: &Sketch, order: u64, cached: bool) -> (Vec<Checkpoint>, usize) {
    let graph = Arc::new(build(sketch, Durability::Sync));
    let mut simulation = Simulation::new(graph, sketch.salt, order, Durability::Sync);
    simulation.is_pure = true;
    simulation.looks_up = cached;
    simulation.run(Event::Started);
    let checkpoints = simulation.stored.checkpoints.iter().map(|signed| match signed.decode().unwrap() {
        Record::Checkpoint(checkpoint) => *checkpoint,
        other => panic!("{other:?}"),
    });
    (checkpoints.collect(), simulation.hits)
}

proptest! {
    /// Every result digest is the same, fuel included, and so is the charge of every task.
    #[test]
    fn what_is_computed_does_not_depend_on_the_cache(sketch in without_retries(), one: u64, other: u64) {
        let (with, hits) = run(&sketch, one, true);
        let (without, none) = run(&sketch, other, false);
        prop_assert_eq!(none, 0);
        let results = |line: &[Checkpoint]| {
            let fuel = |checkpoint: &Checkpoint| checkpoint.tasks.iter().map(|task| task.fuel).collect::<Vec<_>>();
            line.iter().map(|checkpoint| (checkpoint.result, fuel(checkpoint))).collect::<Vec<_>>()
        };
        prop_assert_eq!(results(&with), results(&without));
        // Every avoided dispatch is recorded, and no other is missing. (Tasks of a superstep that never commits are in no checkpoint.)
        let told = |line: &[Checkpoint]| line.iter().flat_map(|one| &one.tasks).filter(|task| task.cached.is_some()).count();
        prop_assert!(told(&with) <= hits);
        let standing = |line: &[Checkpoint]| {
            let mut standing = CumulativeState::default();
            for checkpoint in line {
                standing.follow(checkpoint);
            }
            standing
        };
        let counted = standing(&with).cached.values().sum::<u64>();
        prop_assert_eq!(counted, told(&with) as u64);
        let dispatched = |line: &[Checkpoint]| standing(line).executions.values().sum::<u64>();
        prop_assert_eq!(dispatched(&with) + counted, dispatched(&without));
    }
}

/// Some of the random graphs use cached results, so that the tests with them test the cache.
#[test]
fn random_graphs_have_hits() {
    let mut runner = TestRunner::deterministic();
    let found = (0..200).filter(|number| {
        let sketch = without_retries().new_tree(&mut runner).unwrap().current();
        run(&sketch, *number, true).1 > 0
    });
    let found = found.count();
    assert!(found >= 10, "{found}");
}
