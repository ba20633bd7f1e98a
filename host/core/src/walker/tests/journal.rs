//! What the world answered to a task is in the checkpoint that commits it, whatever happened on the way.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::graphs::{build, sketches};
use super::simulation::{Simulation, setup};
use crate::graph::Durability;
use crate::record::{AttemptJournal, JournalEntry, Record, Status};
use crate::walker::{Event, Resume};

/// The journals of all committed tasks, by task.
fn committed(simulation: &Simulation) -> BTreeMap<String, Vec<AttemptJournal>> {
    let mut journals = BTreeMap::new();
    for signed in &simulation.stored.checkpoints {
        let opened = signed.open(&crate::trust::SigningKey::from_seed(&[7; 32]).verifying_key()).unwrap();
        let Record::Checkpoint(checkpoint) = opened else { panic!("a checkpoint") };
        for task in checkpoint.tasks {
            assert!(task.journal.is_sorted_by_key(|attempt| attempt.dispatch));
            assert!(task.journal.iter().all(|attempt| attempt.dispatch <= task.dispatches));
            journals.insert(task.task, task.journal);
        }
    }
    journals
}

/// What was reported of a task, attempt by attempt, where it asked anything.
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Every attempt is there: those that failed or asked, and those of before a stop that another process goes on from.
    #[test]
    fn journals_of_all_attempts_are_committed(sketch in sketches(), order: u64, exit: bool) {
        let durability = if exit { Durability::Exit } else { Durability::Sync };
        let graph = Arc::new(build(&sketch, durability));
        let mut first = Simulation::new(Arc::clone(&graph), sketch.salt, order, durability);
        first.run(Event::Started);
        check(&first, &first.events)?;
        if first.walker.summary().status == Status::Failed {
            let Some(tree) = first.stored.restore(&graph, setup(&graph, durability)) else { return Ok(()) };
            // Another salt answers otherwise, so that what failed may go on.
            let mut second =
                Simulation::with(graph, tree, first.stored.clone(), sketch.salt ^ 1, order, durability);
            if second.tell(Event::Resumed(Resume::default())).is_ok() {
                while second.stopped.is_none() && second.step() {}
                let events: Vec<Event> = first.events.iter().chain(&second.events).cloned().collect();
                check(&second, &events)?;
            }
        }
    }
}
