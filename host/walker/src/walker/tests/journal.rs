//! Tests that a task's journal is in the checkpoint that commits it, whatever happened before.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::graphs::{build, sketches};
use super::simulation::{Simulation, setup};
use crate::walker::{Event, Resume};
use graph_core::limits::{Budget, HostUse, ModelUse};
use graph_core::policy::Durability;
use graph_core::record::{AttemptJournal, JournalEntry, Record, Status};

/// Returns the journals of all committed tasks, by task.
fn committed(simulation: &Simulation) -> BTreeMap<String, Vec<AttemptJournal>> {
    let mut journals = BTreeMap::new();
    for signed in &simulation.stored.checkpoints {
        let opened =
            signed.open(&graph_core::trust::SigningKey::from_seed(&[7; 32]).verifying_key()).unwrap();
        let Record::Checkpoint(checkpoint) = opened else { panic!("a checkpoint") };
        for task in checkpoint.tasks {
            assert!(task.journal.is_sorted_by_key(|attempt| attempt.dispatch));
            assert!(task.journal.iter().all(|attempt| attempt.dispatch <= task.dispatches));
            journals.insert(task.task, task.journal);
        }
    }
    journals
}

/// Returns the reported journals of a task, for each attempt that has one.
fn reported(events: &[Event], of: &str) -> Vec<(u32, Vec<JournalEntry>)> {
    let reports = events.iter().filter_map(|event| match event {
        Event::TaskDone { task, attempt, report } if **task == *of => {
            Some((*attempt, report.journal.clone()))
        }
        _ => None,
    });
    reports.filter(|(_, entries)| !entries.is_empty()).collect()
}

fn check(simulation: &Simulation, events: &[Event]) -> Result<usize, TestCaseError> {
    let mut attempts = 0;
    for (task, journal) in committed(simulation) {
        let kept: Vec<_> = journal.into_iter().map(|kept| (kept.attempt, kept.entries)).collect();
        attempts += kept.len();
        prop_assert_eq!(kept, reported(events, &task), "task {}", task);
    }
    Ok(attempts)
}

/// Returns the use of the host in the newest checkpoint, and the sum over the tasks of all checkpoints.
fn used(simulation: &Simulation) -> (HostUse, HostUse) {
    let (mut total, mut tasks) = (HostUse::default(), HostUse::default());
    for signed in &simulation.stored.checkpoints {
        let opened =
            signed.open(&graph_core::trust::SigningKey::from_seed(&[7; 32]).verifying_key()).unwrap();
        let Record::Checkpoint(checkpoint) = opened else { panic!("a checkpoint") };
        total = checkpoint.host;
        for task in &checkpoint.tasks {
            let journal = task.journal.iter().map(|attempt| JournalEntry::used_by(&attempt.entries));
            // The host's own work and the stored bytes are not in the journal.
            let HostUse { fuel, stored, .. } = task.host;
            let own = HostUse { fuel, stored, ..HostUse::NOTHING };
            assert_eq!(journal.fold(own, HostUse::plus), task.host, "task {}", task.task);
            tasks = tasks.plus(task.host);
        }
    }
    (total, tasks)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// In whatever order tasks finish, they stay within the run's budgets of the host, and checkpoints count their use.
    #[test]
    fn a_run_uses_no_more_of_the_host_than_it_may(sketch in sketches(), order: u64) {
        let graph = Arc::new(build(&sketch, Durability::Sync));
        let may = setup(&graph, Durability::Sync).manifest.run_limits().host();
        let mut run = Simulation::new(Arc::clone(&graph), sketch.salt, order, Durability::Sync);
        run.run(Event::Started);
        let (total, tasks) = used(&run);
        // The host also works between tasks, and stores boundaries.
        let between = total.less(tasks);
        prop_assert_eq!((between.calls, between.bytes, between.model), (0, 0, ModelUse::NOTHING));
        prop_assert_eq!(total, tasks.plus(between));
        let summary = run.walker.summary();
        let may = HostUse { fuel: setup(&graph, Durability::Sync).manifest.run_limits().fuel, ..may };
        prop_assert_eq!(summary.host.min(may), summary.host, "of {:?}", may);
        prop_assert_eq!(summary.host.max(total), summary.host);
        let spent = summary.fuel.saturating_add(summary.host.fuel);
        prop_assert!(spent <= may.fuel, "{} of {}", spent, may.fuel);
        match summary.error.and_then(|error| error.budget) {
            None => {}
            Some(Budget::Calls) => prop_assert_eq!(may.calls, 6),
            Some(Budget::Bytes) => prop_assert_eq!(may.bytes, 40),
            Some(Budget::ModelCalls) => prop_assert_eq!(may.model.calls, 3),
            Some(Budget::ModelInputTokens) => prop_assert_eq!(may.model.input, 200),
            Some(budget) => prop_assert_eq!((budget, may.fuel), (Budget::Fuel, 150_000)),
        }
    }

    /// Every attempt is in a journal: those that failed or asked, and those before a stop that another process resumes from.
    #[test]
    fn journals_of_all_attempts_are_committed(sketch in sketches(), order: u64, exit: bool) {
        let durability = if exit { Durability::Exit } else { Durability::Sync };
        let graph = Arc::new(build(&sketch, durability));
        let mut first = Simulation::new(Arc::clone(&graph), sketch.salt, order, durability);
        first.run(Event::Started);
        check(&first, &first.events)?;
        if first.walker.summary().status == Status::Failed {
            let Some(tree) = first.stored.restore(&graph, setup(&graph, durability)) else { return Ok(()) };
            // With another salt the doubles answer differently, so that a task that failed may succeed.
            let mut second =
                Simulation::with(graph, tree, first.stored.clone(), sketch.salt ^ 1, order, durability);
            if second.handle(Event::Resumed(Resume::default())).is_ok() {
                while second.stopped.is_none() && second.step() {}
                let events: Vec<Event> = first.events.iter().chain(&second.events).cloned().collect();
                check(&second, &events)?;
            }
        }
    }
}
