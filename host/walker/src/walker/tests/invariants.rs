//! Tests of the walker's five invariants.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::graphs::{Sketch, build, sketches};
use super::simulation::{Simulation, setup, slice_of};
use crate::walker::{Effect, Event, HandleError, PersistId, Resume, RunTree, Summary, TaskReport, TimerId};
use graph_core::limits::HostUse;
use graph_core::node::{Category, Failure, Outcome};
use graph_core::policy::Durability;
use graph_core::record::{ErrorCode, Status};
use graph_core::time::Timestamp;

fn run(sketch: &Sketch, order: u64, durability: Durability) -> (Simulation, Summary) {
    let graph = Arc::new(build(sketch, durability));
    let mut simulation = Simulation::new(graph, sketch.salt, order, durability);
    let summary = simulation.run(Event::Started);
    (simulation, summary)
}

/// Removes the record digest and the sequence number, in which runs with the same outcome may differ.
fn outcome(mut summary: Summary) -> Summary {
    if let Some(checkpoint) = &mut summary.checkpoint {
        checkpoint.digest = graph_core::digest::Digest::from_bytes([0; 32]);
        checkpoint.sequence = 0;
    }
    summary
}

proptest! {
    /// 1. In whatever order tasks finish, the checkpoints are the same, byte for byte.
    #[test]
    fn order_of_completion_does_not_matter(sketch in sketches(), one: u64, other: u64) {
        let (first, end) = run(&sketch, one, Durability::Sync);
        let (second, same_end) = run(&sketch, other, Durability::Sync);
        let bodies = |simulation: &Simulation| {
            simulation.stored.checkpoints.iter().map(|signed| signed.body.to_string()).collect::<Vec<_>>()
        };
        prop_assert_eq!(bodies(&first), bodies(&second));
        prop_assert_eq!(end, same_end);
    }

    /// 2. The outcome does not depend on the time at which records are persisted. (The simulation asserts that no task
    ///   runs before its predecessor's checkpoint is acknowledged.)
    #[test]
    fn durability_does_not_change_the_outcome(sketch in sketches(), order: u64) {
        let (_, sync) = run(&sketch, order, Durability::Sync);
        let (simulation, exit) = run(&sketch, order, Durability::Exit);
        prop_assert_eq!(outcome(sync), outcome(exit.clone()));
        if let Some(restored) = simulation.stored.restore(&simulation.graph, setup(&simulation.graph, Durability::Exit)) {
            prop_assert_eq!(restored.summary(), exit);
        }
    }

    /// Events of components are in the history once, as soon as the run has stopped.
    #[test]
    fn what_was_emitted_is_told_once(sketch in sketches(), order: u64) {
        let (simulation, _) = run(&sketch, order, Durability::Sync);
        let mut emitted: Vec<String> = simulation.events.iter().flat_map(|event| match event {
            Event::TaskDone { task, attempt, report } => {
                report.events.iter().map(|event| format!("{task} {attempt} {}", event.payload)).collect()
            }
            _ => Vec::new(),
        }).collect();
        let mut told = simulation.stored.told;
        emitted.sort();
        told.sort();
        prop_assert_eq!(emitted, told);
    }

    /// 3. The same graph and events give the same effects.
    #[test]
    fn the_same_events_give_the_same_effects(sketch in sketches(), order: u64) {
        let (simulation, _) = run(&sketch, order, Durability::Sync);
        let mut walker = RunTree::new(Arc::clone(&simulation.graph), setup(&simulation.graph, Durability::Sync));
        walker.set_slice(slice_of(&simulation.graph));
        let mut effects = Vec::new();
        for event in simulation.events {
            let now = walker.handle(Timestamp(1), event).unwrap();
            effects.extend(now.iter().map(|effect| format!("{effect:?}")));
        }
        prop_assert_eq!(effects, simulation.effects);
    }

    /// 4. A run that stops after any effect and is restored from its records reaches the same outcome, and no task runs
    ///   again whose writes were kept (the simulation asserts that).
    #[test]
    fn a_crash_anywhere_changes_nothing(sketch in sketches(), order: u64, at in 0_usize..120, durability in 0..2_u8) {
        let durability = if durability == 0 { Durability::Sync } else { Durability::Exit };
        let (_, undisturbed) = run(&sketch, order, durability);
        let graph = Arc::new(build(&sketch, durability));
        let mut crashed = Simulation::new(Arc::clone(&graph), sketch.salt, order, durability);
        crashed.budget = at;
        crashed.run(Event::Started);
        let mut before = None;
        let (walker, first) = match crashed.stored.restore(&graph, setup(&graph, durability)) {
            None => (RunTree::new(Arc::clone(&graph), setup(&graph, durability)), Event::Started),
            Some(walker) => {
                let found = walker.summary();
                // A failure is a stop: a resume counts attempts from 1 again, which other tests check. So is a used-up budget.
                let used_up = found.error.as_ref().is_some_and(|error| error.budget.is_some());
                if found.status.is_end() || found.status == Status::Failed || used_up {
                    prop_assert_eq!(outcome(found), outcome(undisturbed));
                    return Ok(());
                }
                before = Some(found.status);
                let resume = match found.status {
                    Status::Interrupted => super::simulation::answers(&found.interrupts),
                    _ => Resume::default(),
                };
                (walker, Event::Resumed(resume))
            }
        };
        // A run at its limit stays at it.
        let mut resumed = Simulation::with(graph, walker, crashed.stored.clone(), sketch.salt, order, durability);
        if before == Some(Status::Limit) {
            // A limit that is reached again after a resume is another one.
            crashed.kept_hooks.retain(|call| !call.contains("_exceeded/"));
        }
        resumed.kept.clone_from(&crashed.kept);
        resumed.kept_hooks.clone_from(&crashed.kept_hooks);
        if let Err(refused) = resumed.handle(first.clone()) {
            let limit = matches!(refused, HandleError::Refused { code: ErrorCode::Limit, .. });
            prop_assert!(limit && before == Some(Status::Limit), "{before:?}: {refused}");
            prop_assert_eq!(undisturbed.status, Status::Limit);
            return Ok(());
        }
        let graph = Arc::clone(&resumed.graph);
        let walker = match first {
            Event::Started => RunTree::new(Arc::clone(&graph), setup(&graph, durability)),
            _ => crashed.stored.restore(&graph, setup(&graph, durability)).unwrap(),
        };
        let kept = (crashed.kept, crashed.kept_hooks);
        let mut resumed = Simulation::with(graph, walker, crashed.stored, sketch.salt, order ^ 0xABCD, durability);
        (resumed.kept, resumed.kept_hooks) = kept;
        let end = resumed.run(first);
        let comparable = |mut summary: Summary| {
            // A crash may repeat a dispatch that was not yet persisted, and its fuel counts in a failed superstep.
            if !summary.status.is_end() {
                summary.fuel = 0;
                summary.host = HostUse::NOTHING;
                summary.executions.clear();
                summary.warnings.clear();
            }
            outcome(summary)
        };
        prop_assert_eq!(comparable(end), comparable(undisturbed));
    }

    /// 5. An event that is not possible is an error value, and changes nothing.
    #[test]
    fn illegal_events_are_refused(sketch in sketches(), order: u64, at in 0_usize..40, strange in 0..7_u8) {
        let graph = Arc::new(build(&sketch, Durability::Sync));
        let mut simulation = Simulation::new(graph, sketch.salt, order, Durability::Sync);
        simulation.budget = at;
        simulation.run(Event::Started);
        let report = TaskReport::new(Ok(Outcome::Result(json!(1))), 1);
        let event = match strange {
            0 => Event::Started,
            1 => Event::TaskDone { task: "99.99".into(), attempt: 1, report },
            2 => Event::TaskDone { task: "1.0".into(), attempt: 77, report },
            3 => Event::Persisted(PersistId(u64::MAX)),
            4 => Event::HookDone { hook: "0/none/1:0".into(), report },
            5 => Event::TimerFired(TimerId::Retry { task: "1.0".into(), attempt: 77 }),
            _ => Event::PersistFailed { id: PersistId(u64::MAX), message: String::new() },
        };
        // Work that is pending anyway is done first.
        let continues = |effects: &[Effect]| effects.iter().any(|effect| matches!(effect, Effect::Continue));
        while continues(&simulation.walker.handle(Timestamp(2), Event::Continued).unwrap()) {}
        let before = simulation.walker.summary();
        if let Ok(effects) = simulation.walker.handle(Timestamp(2), event) {
            prop_assert!(effects.is_empty(), "{effects:?}");
        }
        prop_assert_eq!(simulation.walker.summary(), before);
    }
}

/// Attempts are counted from 1 after a resume, even if that resume crashes at once.
#[test]
fn attempts_count_anew_after_a_resume_that_crashed() {
    let text = "{tool_type: graph, config: {start: a, nodes: {a: {action: {item_id: t/double}, retry: {max_attempts: 2}}}}}";
    let graph = Arc::new(crate::document::load("retry.yaml", text, "t/retry").unwrap().graph);
    let fail = |simulation: &mut Simulation, first: Event| {
        let mut waiting = vec![first];
        let mut attempts = Vec::new();
        while let Some(event) = waiting.pop() {
            for effect in simulation.walker.handle(Timestamp(1), event).unwrap() {
                match effect {
                    Effect::RunTask(spec) => {
                        attempts.push(spec.activation.attempt);
                        let result = Err(Failure::new(Category::Transient, "down"));
                        let report = TaskReport::new(result, 1);
                        let (task, attempt) = (spec.activation.task.as_str().into(), spec.activation.attempt);
                        waiting.push(Event::TaskDone { task, attempt, report });
                    }
                    Effect::SetTimer { timer: timer @ TimerId::Retry { .. }, .. } => {
                        waiting.push(Event::TimerFired(timer));
                    }
                    Effect::Persist(persist) => {
                        waiting.push(Event::Persisted(persist.id));
                        simulation.stored.commit(*persist);
                    }
                    _ => {}
                }
            }
        }
        attempts
    };
    let mut simulation = Simulation::new(Arc::clone(&graph), 0, 0, Durability::Sync);
    assert_eq!(fail(&mut simulation, Event::Started), [1, 2]);
    assert_eq!(simulation.walker.summary().status, Status::Failed);

    // The resume goes as far as its first record.
    let mut resumed = simulation.stored.restore(&graph, setup(&graph, Durability::Sync)).unwrap();
    for effect in resumed.handle(Timestamp(2), Event::Resumed(Resume::default())).unwrap() {
        if let Effect::Persist(persist) = effect {
            simulation.stored.commit(*persist);
            break;
        }
    }
    simulation.walker = simulation.stored.restore(&graph, setup(&graph, Durability::Sync)).unwrap();
    assert_eq!(simulation.walker.summary().status, Status::Running);
    assert_eq!(fail(&mut simulation, Event::Resumed(Resume::default())), [1, 2]);
}
