//! Tests of hook results in the history, wherever a run is interrupted.

use std::sync::Arc;

use serde_json::json;

use super::simulation::{Stored, answers, setup};
use crate::document;
use crate::graph::Graph;
use crate::walker::{Effect, Event, Resume, RunTree, Setup, TaskReport, TaskSpec, TimerId};
use graph_core::capability::{DispatchPatterns, Manifest};
use graph_core::limits::RunLimits;
use graph_core::node::{Category, Failure, Outcome};
use graph_core::policy::Durability;
use graph_core::record::{HookSummary, JournalEntry, Record, Status};
use graph_core::time::Timestamp;

fn graph(text: &str) -> Arc<Graph> {
    Arc::new(document::load("hooks.yaml", text, "t/hooks").unwrap().graph)
}

/// Returns a setup that permits dispatches of items of `t` only.
fn only_t(graph: &Graph, durability: Durability) -> Setup {
    let mut setup = setup(graph, durability);
    setup.manifest = Arc::new(Manifest::of_dispatch(DispatchPatterns::parse(["execute.tool.t.*"]).unwrap()));
    setup
}

/// Handles an event and performs the effects in order until none is left. Returns `false` if a record for which `stop`
/// holds ended it, as if the process were killed.
fn drive(
    walker: &mut RunTree,
    stored: &mut Stored,
    first: Event,
    answer: impl FnMut(&TaskSpec) -> Result<Outcome, Failure>,
    stop: impl FnMut(&Record) -> bool,
) -> bool {
    let of_hook = TaskReport::new(Ok(Outcome::Result(json!(null))), 100);
    drive_with(walker, stored, first, (answer, &of_hook), stop)
}

/// Does the same as [`drive`] with a given report of every hook.
fn drive_with(
    walker: &mut RunTree,
    stored: &mut Stored,
    first: Event,
    (mut answer, of_hook): (impl FnMut(&TaskSpec) -> Result<Outcome, Failure>, &TaskReport),
    mut stop: impl FnMut(&Record) -> bool,
) -> bool {
    let mut waiting = vec![first];
    while let Some(event) = waiting.pop() {
        for effect in walker.handle(Timestamp(1), event).unwrap() {
            match effect {
                Effect::RunTask(spec) => {
                    let (task, attempt) = (spec.activation.task.as_str().into(), spec.activation.attempt);
                    let report = TaskReport::new(answer(&spec), 1);
                    waiting.insert(0, Event::TaskDone { task, attempt, report });
                }
                Effect::RunHook(spec) => {
                    let report = of_hook.clone();
                    let hook = spec.call.activation.task.as_str().into();
                    waiting.insert(0, Event::HookDone { hook, report });
                }
                Effect::SetTimer { timer: timer @ TimerId::Retry { .. }, .. } => {
                    waiting.insert(0, Event::TimerFired(timer));
                }
                Effect::Persist(persist) => {
                    let stops = stop(&persist.record);
                    waiting.insert(0, Event::Persisted(persist.id));
                    stored.commit(*persist);
                    if stops {
                        return false;
                    }
                }
                _ => {}
            }
        }
    }
    true
}

/// Returns the results of hooks in the history of a run.
fn history(stored: &Stored) -> Vec<Vec<HookSummary>> {
    stored.line("").iter().map(|(_, checkpoint)| checkpoint.hooked.clone()).collect()
}

fn calls(history: &[Vec<HookSummary>]) -> Vec<&str> {
    history.iter().flatten().map(|hook| hook.call.as_str()).collect()
}

/// Fuel of hooks about a stop does not reduce the reservation of a task that runs again after a crash at that moment.
#[test]
fn hooks_that_a_crash_cut_short_change_no_share() {
    let graph = graph(
        "{tool_type: graph, config: {start: [ask, fail], nodes: {ask: {action: {item_id: t/ask}}, fail: {action: \
         {item_id: t/fail}}}, hooks: [{id: one, event: interrupt, action: {item_id: t/hook}}, {id: two, event: \
         interrupt, action: {item_id: t/hook}}]}}",
    );
    let setup = || {
        let mut setup = setup(&graph, Durability::Sync);
        let run = RunLimits { fuel: 1_000_000, ..setup.manifest.run_limits() };
        setup.manifest = Arc::new(Manifest::clone(&setup.manifest).with_run_limits(run));
        setup
    };
    // Returns the fuel limits of the failing task's attempts, until `stop` hook records have been stored.
    let walk = |mut walker: RunTree, stored: &mut Stored, first: Event, stop: usize| {
        let (mut shares, mut hooks) = (Vec::new(), 0);
        let answer = |spec: &TaskSpec| {
            if spec.item_id == "t/ask" {
                return Ok(Outcome::Interrupt(json!("?")));
            }
            shares.push(spec.limits.fuel);
            Err(Failure::new(Category::Permanent, "broken"))
        };
        drive(&mut walker, stored, first, answer, |record| {
            hooks += usize::from(matches!(record, Record::Hook(_)));
            hooks == stop
        });
        shares
    };
    for stop in [1, 2] {
        let mut stored = Stored::default();
        let before = walk(RunTree::new(Arc::clone(&graph), setup()), &mut stored, Event::Started, stop);
        let restored = stored.restore(&graph, setup()).unwrap();
        assert_eq!(restored.summary().status, Status::Running);
        let after = walk(restored, &mut stored, Event::Resumed(Resume::default()), usize::MAX);
        assert_eq!(before, after, "after {stop} hooks");
        // Half of the budget, less the host's own work so far.
        assert!(matches!(before[..], [480_000..500_000]), "{before:?}");
        // Once the run has stopped, all use counts.
        let restored = stored.restore(&graph, setup()).unwrap();
        let summary = restored.summary();
        assert_eq!((summary.status, summary.fuel), (Status::Failed, 202));
        let answers = answers(&summary.interrupts);
        let left = (1_000_000 - summary.fuel - summary.host.fuel) / 2;
        let share = walk(restored, &mut stored, Event::Resumed(answers), usize::MAX);
        assert!(share[..] < [left][..] && share[..] > [left - 20_000][..], "{share:?} of {left}");
    }
}

/// Results of hooks without a dispatch are part of the history, whichever process makes the next checkpoint.
#[test]
fn results_of_hooks_outlast_a_suspension() {
    let graph = graph(
        "{tool_type: graph, config: {start: a, max_steps: 1, nodes: {a: {next: b}, b: {action: {item_id: t/ask}, next: c}, \
         c: {}}, hooks: [{id: more, event: limit, action: {continue: true, additional_steps: 5}}, {id: denied, event: \
         after_step, action: {item_id: u/denied}}, {id: called, event: after_step, action: {item_id: t/hook}}]}}",
    );
    let hooked = |durability: Durability, again: bool| {
        let setup = || only_t(&graph, durability);
        let (mut walker, mut stored) = (RunTree::new(Arc::clone(&graph), setup()), Stored::default());
        let mut next = Event::Started;
        loop {
            let answer = |spec: &TaskSpec| match spec.activation.answers.first() {
                None => Ok(Outcome::Interrupt(json!("?"))),
                Some(_) => Ok(Outcome::Result(json!(1))),
            };
            drive(&mut walker, &mut stored, next, answer, |_| false);
            let summary = walker.summary();
            if summary.status != Status::Interrupted {
                break;
            }
            if again {
                walker = stored.restore(&graph, setup()).unwrap();
            }
            next = Event::Resumed(answers(&summary.interrupts));
        }
        assert_eq!(walker.summary().status, Status::Completed);
        history(&stored)
    };
    for durability in [Durability::Sync, Durability::Async, Durability::Exit] {
        let (one, two) = (hooked(durability, false), hooked(durability, true));
        assert_eq!(calls(&one).len(), 5, "{durability:?}: {:?}", calls(&one));
        assert_eq!(one, two, "{durability:?}");
    }
}

/// If a process is killed after any record, hook results about a failure are in the history once, also those without a dispatch.
#[test]
fn results_of_error_hooks_outlast_a_crash() {
    let graph = graph(
        "{tool_type: graph, config: {start: [a, b], nodes: {a: {action: {item_id: t/fail}, next: c}, b: {action: {item_id: \
         t/good}}, c: {}}, hooks: [{id: denied, event: error, action: {item_id: u/denied}}, {id: again, event: error, \
         condition: {path: attempt, op: lt, value: 2}, action: {retry: true}}, {id: on, event: error, \
         action: {continue: true}}, {id: step, event: after_step, action: {item_id: u/denied}}]}}",
    );
    let hooked = |durability: Durability, kill: usize| {
        let setup = || only_t(&graph, durability);
        let (mut walker, mut stored) = (RunTree::new(Arc::clone(&graph), setup()), Stored::default());
        let (mut next, mut records) = (Event::Started, 0);
        let answer = |spec: &TaskSpec| match spec.item_id.as_str() {
            "t/fail" => Err(Failure::new(Category::Permanent, "broken")),
            _ => Ok(Outcome::Result(json!(1))),
        };
        while !drive(&mut walker, &mut stored, next, answer, |_| {
            records += 1;
            records == kill
        }) {
            match stored.restore(&graph, setup()) {
                Some(restored) if restored.summary().status != Status::Running => {
                    walker = restored;
                    break;
                }
                Some(restored) => (walker, next) = (restored, Event::Resumed(Resume::default())),
                None => (walker, next) = (RunTree::new(Arc::clone(&graph), setup()), Event::Started),
            }
        }
        assert_eq!(walker.summary().status, Status::CompletedWithErrors, "killed after {kill} records");
        (history(&stored), records)
    };
    for durability in [Durability::Sync, Durability::Async, Durability::Exit] {
        let (expected, records) = hooked(durability, usize::MAX);
        assert_eq!(calls(&expected).len(), 7, "{durability:?}: {:?}", calls(&expected));
        for kill in 1..=records {
            assert_eq!(
                hooked(durability, kill).0,
                expected,
                "{durability:?}, killed after {kill} of {records}"
            );
        }
    }
}

/// A replay has no journal of a hook, but its use from the history.
#[test]
fn what_a_hook_has_used_of_the_host_is_in_the_history() {
    let action = |item: &str| format!("action: {{item_id: {item}}}");
    for event in ["after_step", "graph_started", "error"] {
        let graph = graph(&format!(
            "{{tool_type: graph, config: {{start: a, hooks: [{{id: h, event: {event}, {}}}, {{id: on, event: error, action: {{continue: \
             true}}}}], nodes: {{a: {{{}, next: b}}, b: {{{}}}}}}}}}",
            action("t/hook"),
            action("t/fails"),
            action("t/echo"),
        ));
        let run = |of_hook: &TaskReport| {
            let mut stored = Stored::default();
            let mut tree = RunTree::new(Arc::clone(&graph), only_t(&graph, Durability::Sync));
            let answer = |spec: &TaskSpec| match &*spec.item_id {
                "t/fails" => Err(Failure::new(Category::Permanent, "broken")),
                _ => Ok(Outcome::Result(json!(1))),
            };
            assert!(drive_with(&mut tree, &mut stored, Event::Started, (answer, of_hook), |_| false));
            let host = tree.summary().host;
            (history(&stored), host)
        };
        let entry = JournalEntry {
            function: "read".to_owned(),
            interface: "wasi:filesystem/types".to_owned(),
            ok: true,
            request: json!({ "path": "/in" }).into(),
            result: json!("text").into(),
        };
        let lived = TaskReport {
            journal: vec![entry],
            work: 7,
            ..TaskReport::new(Ok(Outcome::Result(json!(null))), 100)
        };
        let (told, host) = run(&lived);
        let used = told.iter().flatten().find(|hook| hook.hook == "h").unwrap().host;
        assert_eq!((used.calls, used.fuel), (1, 7), "{event}");
        assert!(used.bytes > 0 && host.bytes >= used.bytes, "{event}: {host:?}");
        let replayed = TaskReport { journal: Vec::new(), work: 0, host: Some(used), ..lived };
        assert_eq!(run(&replayed), (told, host), "{event}");
    }
}
