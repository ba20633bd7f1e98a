//! Tests of the invariants on random graphs with graphs inside of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};

use super::graphs::{Nest, build_nest, nests, nests_that_pause};
use super::simulation::{Simulation, Stored, answers, setup_with, slice_of};
use crate::graph::Graph;
use crate::walker::{Effect, Event, Graphs, Resume, RunTree, Setup, Summary};
use graph_core::capability::Manifest;
use graph_core::digest::Digest;
use graph_core::limits::{HostUse, RunLimits};
use graph_core::policy::Durability;
use graph_core::record::{AcceptedPinChange, ChainError, Status};
use graph_core::time::Timestamp;
use graph_core::trust::SigningKey;

fn begin(nest: &Nest, durability: Durability) -> (Arc<crate::graph::Graph>, Setup) {
    let (graph, graphs) = build_nest(nest, durability);
    let setup = setup_with(&graph, graphs, durability);
    (graph, setup)
}

fn simulate(nest: &Nest, order: u64, durability: Durability, budget: usize) -> (Simulation, Summary) {
    let (graph, setup) = begin(nest, durability);
    let tree = RunTree::new(Arc::clone(&graph), setup);
    let mut simulation = Simulation::with(graph, tree, Stored::default(), nest.outer.salt, order, durability);
    simulation.budget = budget;
    let summary = simulation.run(Event::Started);
    (simulation, summary)
}

/// Resumes from stored records, with other pins than before; `accepted`: the change is accepted.
fn go_on_with(
    stored: &Stored,
    nest: &Nest,
    (pins, accepted): (&[u8], bool),
    order: u64,
    budget: usize,
) -> Option<Simulation> {
    let (graph, mut setup) = begin(nest, Durability::Sync);
    setup.pins = Digest::of_bytes(pins);
    if accepted {
        setup.accepted.push(AcceptedPinChange {
            after: setup.pins,
            at: Timestamp(1),
            before: stored.pins()?,
            by: SigningKey::from_seed(&[7; 32]).id(),
            changes: vec!["the engine".to_owned()],
            graph: graph.digest,
        });
    }
    let tree = stored.restore(&graph, setup)?;
    let found = tree.summary();
    if found.status.is_end() || matches!(found.status, Status::Failed | Status::Limit) {
        return None;
    }
    let resume =
        if found.status == Status::Interrupted { answers(&found.interrupts) } else { Resume::default() };
    let mut simulation =
        Simulation::with(graph, tree, stored.clone(), nest.outer.salt, order, Durability::Sync);
    simulation.budget = budget;
    simulation.run(Event::Resumed(resume));
    Some(simulation)
}

/// Removes the fields in which runs with the same outcome may differ, also after repeated work.
fn outcome(mut summary: Summary) -> Summary {
    if let Some(checkpoint) = &mut summary.checkpoint {
        checkpoint.digest = graph_core::digest::Digest::from_bytes([0; 32]);
        checkpoint.sequence = 0;
    }
    // A crash may repeat a dispatch that was not yet persisted, and its use counts in a failed superstep.
    if !summary.status.is_end() {
        (summary.fuel, summary.host) = (0, HostUse::default());
        summary.executions.clear();
        summary.warnings.clear();
    }
    summary
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// 1. In whatever order tasks of the tree finish, each run has the same checkpoints, byte for byte.
    #[test]
    fn order_of_completion_does_not_matter(nest in nests(), one: u64, other: u64) {
        let (first, end) = simulate(&nest, one, Durability::Sync, usize::MAX);
        let (second, same_end) = simulate(&nest, other, Durability::Sync, usize::MAX);
        let bodies = |simulation: &Simulation| {
            let stored = simulation.stored.checkpoints.iter();
            let mut bodies: Vec<_> = stored.map(|signed| (signed.namespace.clone(), signed.sequence, signed.body.to_string())).collect();
            bodies.sort();
            bodies
        };
        prop_assert_eq!(bodies(&first), bodies(&second));
        prop_assert_eq!(end, same_end);
    }

    /// 3. The same graphs and events give the same effects.
    #[test]
    fn the_same_events_give_the_same_effects(nest in nests(), order: u64) {
        let (simulation, _) = simulate(&nest, order, Durability::Sync, usize::MAX);
        let (graph, setup) = begin(&nest, Durability::Sync);
        let slice = slice_of(&graph);
        let mut tree = RunTree::new(graph, setup);
        tree.set_slice(slice);
        let mut effects = Vec::new();
        for event in simulation.events {
            effects.extend(tree.handle(Timestamp(1), event).unwrap().iter().map(|effect| format!("{effect:?}")));
        }
        prop_assert_eq!(effects, simulation.effects);
    }

    /// 4. A run that is stopped after any effect and restored from its records, twice, reaches the same outcome, and no
    ///   task of any run of the tree runs again whose writes were kept.
    #[test]
    fn a_crash_anywhere_changes_nothing(nest in nests(), order: u64, at in 0_usize..300, again in 0_usize..150, exit: bool) {
        crash_anywhere(&nest, order, [at, again], if exit { Durability::Exit } else { Durability::Sync })?;
    }

    /// An accepted change is recorded by every run of the tree that continues with it, however often it crashes;
    /// without an acceptance, the chain is broken.
    #[test]
    fn what_was_accepted_is_told_by_all(nest in nests(), order: u64, at in 1_usize..200, again in 0_usize..60) {
        let (crashed, _) = simulate(&nest, order, Durability::Sync, at);
        let Some(one) = go_on_with(&crashed.stored, &nest, (b"one", true), order ^ 1, again) else { return Ok(()) };
        prop_assert_eq!(one.stored.check(), Ok(()));
        if let Some(two) = go_on_with(&one.stored, &nest, (b"two", true), order ^ 2, usize::MAX) {
            prop_assert_eq!(two.stored.check(), Ok(()));
            if two.stored.checkpoints.len() > one.stored.checkpoints.len() {
                prop_assert_eq!(two.stored.pins(), Some(Digest::of_bytes(b"two")));
            }
        }
        if let Some(silent) = go_on_with(&crashed.stored, &nest, (b"one", false), order ^ 1, usize::MAX) {
            let went_on = silent.stored.checkpoints.len() > crashed.stored.checkpoints.len();
            // New namespaces have no earlier checkpoints to differ from.
            let root = |stored: &Stored| stored.checkpoints.iter().filter(|one| one.namespace.is_empty()).count();
            if went_on && root(&silent.stored) > root(&crashed.stored) {
                let broken = matches!(silent.stored.check(), Err(ChainError::Pins { .. }));
                prop_assert!(broken);
            }
        }
    }
}

/// Restores a run from stored records, or starts it if there are none; the error is its outcome if it cannot be
/// resumed. A failure is a stop: a resume counts attempts from 1 again, which other tests check. So is a limit.
fn taken_up(stored: &Stored, graph: &Arc<Graph>, setup: &Setup) -> Result<(RunTree, Event), Box<Summary>> {
    let Some(tree) = stored.restore(graph, setup.clone()) else {
        return Ok((RunTree::new(Arc::clone(graph), setup.clone()), Event::Started));
    };
    let found = tree.summary();
    if found.status.is_end() || matches!(found.status, Status::Failed | Status::Limit) {
        return Err(Box::new(found));
    }
    let resume = match found.status {
        Status::Interrupted => answers(&found.interrupts),
        _ => Resume::default(),
    };
    Ok((tree, Event::Resumed(resume)))
}

/// Returns the outcome of a run that crashes after a number of effects, is resumed, crashes again, and so on.
fn crashed(graph: &Arc<Graph>, setup: &Setup, salt: u64, order: u64, at: &[usize]) -> Summary {
    let (mut stored, mut kept) = (Stored::default(), BTreeSet::new());
    let budgets = at.iter().copied().chain([usize::MAX]);
    for (budget, order) in budgets.zip((0..).map(|time: u64| order ^ time.wrapping_mul(0xABCD))) {
        let (tree, first) = match taken_up(&stored, graph, setup) {
            Ok(taken_up) => taken_up,
            Err(end) => return *end,
        };
        let mut simulation = Simulation::with(Arc::clone(graph), tree, stored, salt, order, setup.durability);
        (simulation.budget, simulation.kept) = (budget, kept);
        let end = simulation.run(first);
        if budget == usize::MAX {
            return end;
        }
        (stored, kept) = (simulation.stored, simulation.kept);
    }
    unreachable!("the last time is not cut short")
}

/// Returns the outcome of a run that crashes between two records of a stop, is resumed, crashes in the same way, and so
/// on; `at` chooses the places. Also returns the number of crashes after a resume.
fn cut_where_it_stops(
    graph: &Arc<Graph>,
    setup: &Setup,
    salt: u64,
    order: u64,
    at: &[usize],
) -> (Summary, usize) {
    let (mut stored, mut kept, mut resumed) = (Stored::default(), BTreeSet::new(), 0);
    let mut at = at.iter();
    loop {
        // The first walk is without a crash, to find the stop.
        let walk = |budget: usize| {
            let (tree, first) = taken_up(&stored, graph, setup)?;
            let mut simulation =
                Simulation::with(Arc::clone(graph), tree, stored.clone(), salt, order, setup.durability);
            (simulation.budget, simulation.kept) = (budget, kept.clone());
            let end = simulation.run(first);
            Ok::<_, Box<Summary>>((simulation, end))
        };
        let (undisturbed, end) = match walk(usize::MAX) {
            Ok(walked) => walked,
            Err(end) => return (*end, resumed),
        };
        let (Some(at), false) = (at.next(), undisturbed.middles.is_empty()) else { return (end, resumed) };
        let budget = undisturbed.middles[at % undisturbed.middles.len()];
        let Ok((cut, _)) = walk(budget) else { return (end, resumed) };
        resumed += usize::from(cut.events.iter().any(|event| matches!(event, Event::Resumed(_))));
        (stored, kept) = (cut.stored, cut.kept);
    }
}

/// The fourth invariant under `exit`, where all records are stored as the run stops, perhaps only in part: with any
/// part the run reaches the same outcome, also if child runs pause again and again.
#[test]
fn a_crash_amid_a_stop_changes_nothing() {
    let cut_short = cut_random_nests_where_they_stop(ProptestConfig::with_cases(64));
    assert!(cut_short >= 30, "only {cut_short} resumed runs were cut short as they stopped");
}

/// Cases that failed once: a task that had used up a budget had an older record, of a question, and after the crash its
/// run continued from that instead of reporting the limit again.
#[test]
fn a_crash_amid_a_stop_repeats_a_limit() {
    for seed in [7, 14, 28, 34] {
        cut_random_nests_where_they_stop(with_seed(64, seed));
    }
}

/// Cases that failed once after a crash anywhere: the same fault, and a cache hit of a task that failed afterwards,
/// which was counted until the run was restored.
#[test]
fn a_crash_anywhere_repeats_a_limit() {
    let cases = (nests(), any::<u64>(), 0_usize..300, 0_usize..150, any::<bool>());
    TestRunner::new(with_seed(48, 25))
        .run(&cases, |(nest, order, at, again, exit)| {
            crash_anywhere(&nest, order, [at, again], if exit { Durability::Exit } else { Durability::Sync })
        })
        .unwrap();
}

fn with_seed(cases: u32, seed: u64) -> ProptestConfig {
    ProptestConfig {
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    }
}

/// Crashes random runs as they stop, and returns the number of crashes after a resume.
fn cut_random_nests_where_they_stop(mut config: ProptestConfig) -> usize {
    (config.failure_persistence, config.max_shrink_time) = (None, 10_000);
    let cut_short = std::cell::Cell::new(0);
    let cases = (nests_that_pause(), any::<u64>(), prop::collection::vec(any::<usize>(), 1..4));
    TestRunner::new(config)
        .run(&cases, |(nest, order, at)| {
            let (_, undisturbed) = simulate(&nest, order, Durability::Exit, usize::MAX);
            let (graph, setup) = begin(&nest, Durability::Exit);
            let (end, resumed) = cut_where_it_stops(&graph, &setup, nest.outer.salt, order, &at);
            cut_short.set(cut_short.get() + resumed);
            prop_assert_eq!(outcome(end), outcome(undisturbed));
            Ok(())
        })
        .unwrap();
    cut_short.get()
}

/// Checks the fourth invariant for one run that crashes twice.
fn crash_anywhere(
    nest: &Nest,
    order: u64,
    at: [usize; 2],
    durability: Durability,
) -> Result<(), TestCaseError> {
    let (_, undisturbed) = simulate(nest, order, durability, usize::MAX);
    let (graph, setup) = begin(nest, durability);
    let end = crashed(&graph, &setup, nest.outer.salt, order, &at);
    prop_assert_eq!(outcome(end), outcome(undisturbed));
    Ok(())
}

fn load(id: &str, config: &str) -> (String, Arc<Graph>) {
    let text = format!("{{tool_type: graph, config: {config}}}");
    (id.to_owned(), Arc::new(crate::document::load("inner.yaml", &text, id).unwrap().graph))
}

/// A child run's share of supersteps does not depend on which of its siblings had settled before a crash: the first
/// takes one superstep of the two that each has, and leaves none to the others.
#[test]
fn shares_outlive_a_crash() {
    let inner = load(
        "t/inner",
        "{start: a, nodes: {a: {next: [{to: a, when: {path: inputs.long, op: eq, value: true}}, {to: []}]}}}",
    );
    let outer = load(
        "t/outer",
        "{start: each, max_total_steps: 7, channels: {seen: {reducer: append}}, nodes: {each: {type: foreach, \
         over: [false, true, true], as: long, parallel: true, collect: seen, on_item_error: keep_null, \
         action: {item_id: t/inner, params: {long: '${long}'}}}}}",
    );
    let graphs = Arc::new(Graphs::from([inner]));
    let setup = setup_with(&outer.1, graphs, Durability::Sync);
    let undisturbed = crashed(&outer.1, &setup, 0, 0, &[]);
    assert_eq!(undisturbed.state["seen"].as_array().map(Vec::len), Some(3));
    for at in 0..30 {
        let end = crashed(&outer.1, &setup, 0, 0, &[at]);
        assert_eq!(outcome(end), outcome(undisturbed.clone()), "cut short after {at} effects");
    }
}

/// A graph that its run has written is restored from the stored document: a run that crashes anywhere reaches the same outcome.
#[test]
fn written_graphs_outlive_a_crash() {
    let inner = "{tool_type: graph, config: {start: a, nodes: {a: {interrupt: before, next: b}, \
                 b: {type: return, output: '$${inputs.n}'}}}}";
    let (_, outer) = load(
        "t/outer",
        &format!(
            "{{start: each, channels: {{seen: {{reducer: append}}}}, nodes: {{each: {{type: foreach, over: [1, 2], as: n, parallel: true, \
             collect: seen, action: {{item_id: graph/run, params: {{limits: {{steps: 5}}, inputs: {{n: '${{n}}', inner: \"{inner}\"}}, \
             graph: {{tool_type: graph, config: {{start: w, nodes: {{w: {{action: {{item_id: graph/run, params: \
             {{graph: '$${{inputs.inner}}', inputs: {{n: '$${{inputs.n}}'}}}}}}, assign: {{got: '$${{result}}'}}, next: d}}, \
             d: {{type: return, output: '$${{state.got}}'}}}}}}}}}}}}}}}}}}"
        ),
    );
    for durability in [Durability::Sync, Durability::Exit] {
        let mut setup = setup_with(&outer, Arc::default(), durability);
        setup.manifest = Arc::new(Manifest::clone(&setup.manifest).with_run_limits(RunLimits::DEFAULT));
        let undisturbed = crashed(&outer, &setup, 0, 0, &[]);
        assert_eq!(
            (undisturbed.status, &undisturbed.state["seen"]),
            (Status::Completed, &serde_json::json!([1, 2]))
        );
        for at in 0..60 {
            let end = crashed(&outer, &setup, 0, 0, &[at, at / 2]);
            assert_eq!(
                outcome(end),
                outcome(undisturbed.clone()),
                "{durability:?}: cut short after {at} effects"
            );
        }
    }
}

/// A resume does not release a pause in a child run that has not been shown yet.
#[test]
fn a_crash_passes_no_pause() {
    let inner = load("t/inner", "{start: a, nodes: {a: {interrupt: before, action: {item_id: t/double}}}}");
    let outer = load("t/outer", "{start: a, nodes: {a: {action: {item_id: t/inner}}}}");
    let graphs = Arc::new(Graphs::from([inner]));
    let setup = setup_with(&outer.1, graphs, Durability::Sync);
    let mut recovered = 0;
    for at in 1..20 {
        let tree = RunTree::new(Arc::clone(&outer.1), setup.clone());
        let mut cut = Simulation::with(Arc::clone(&outer.1), tree, Stored::default(), 0, 0, Durability::Sync);
        cut.budget = at;
        cut.handle(Event::Started).unwrap();
        while cut.budget > 0 && cut.stopped.is_none() && cut.step() {}
        let Some(tree) = cut.stored.restore(&outer.1, setup.clone()) else { continue };
        if tree.summary().status != Status::Running {
            continue;
        }
        recovered += 1;
        let mut resumed = Simulation::with(Arc::clone(&outer.1), tree, cut.stored, 0, 0, Durability::Sync);
        resumed.handle(Event::Resumed(Resume::default())).unwrap();
        while resumed.stopped.is_none() && resumed.step() {}
        let summary = resumed.walker.summary();
        let asked: Vec<_> = summary.interrupts.iter().map(|asked| asked.node.as_str()).collect();
        assert_eq!(
            (summary.status, asked),
            (Status::Interrupted, vec!["a/a"]),
            "cut short after {at} effects"
        );
    }
    assert!(recovered > 2);
}

/// If a child run cannot start, its superstep may stop at once: the results of other tasks are stored first.
#[test]
fn a_stop_is_stored_behind_what_led_to_it() {
    let needs = "{start: a, nodes: {a: {}}}, config_schema: {type: object, required: [x]}";
    let inner = load("t/inner", needs);
    let outer = load("t/outer", "{start: [a, b], nodes: {a: {action: {item_id: t/inner}}, b: {}}}");
    let setup = setup_with(&outer.1, Arc::new(Graphs::from([inner])), Durability::Sync);
    let mut tree = RunTree::new(outer.1, setup);
    let mut waiting = vec![Event::Started];
    let mut records = Vec::new();
    while let Some(event) = waiting.pop() {
        for effect in tree.handle(Timestamp(1), event).unwrap() {
            if let Effect::Persist(persist) = effect {
                waiting.push(Event::Persisted(persist.id));
                records.push(persist.record.kind().as_str());
            }
        }
    }
    assert_eq!(tree.summary().status, Status::Failed);
    assert_eq!(records, ["checkpoint", "task", "status"]);
}
