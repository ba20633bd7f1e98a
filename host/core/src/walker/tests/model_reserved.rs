//! What an attempt may use of language models goes on record before it asks one, and counts if the attempt has no result.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::json;

use super::simulation::{Stored, setup};
use crate::graph::{Durability, Graph};
use crate::limits::ModelUse;
use crate::node::Outcome;
use crate::record::journal::{MODEL, USED};
use crate::record::{Checkpoint, JournalEntry, Record};
use crate::time::Timestamp;
use crate::trust::SigningKey;
use crate::walker::{Effect, Event, Resume, RunTree, TaskReport, TaskSpec};

const LOST: ModelUse = ModelUse { calls: 1, input: 40, output: 10, cost: 7 };
const USED_LATER: ModelUse = ModelUse { calls: 1, input: 4, output: 3, cost: 2 };

fn graph() -> Arc<Graph> {
    let text = "{tool_type: graph, config: {start: a, nodes: {a: {action: {item_id: t/double}}}}}";
    Arc::new(crate::document::load("g.yaml", text, "t/g").unwrap().graph)
}

/// What a walker asks for after an event, its records apart, which are stored at once.
#[derive(Default)]
struct Asked {
    tasks: Vec<TaskSpec>,
    recorded: Vec<(Arc<str>, u32)>,
}

fn handle(tree: &mut RunTree, stored: &mut Stored, event: Event) -> Asked {
    let (mut waiting, mut asked) = (VecDeque::from([event]), Asked::default());
    while let Some(event) = waiting.pop_front() {
        for effect in tree.handle(Timestamp(1), event).unwrap() {
            match effect {
                Effect::Persist(persist) => {
                    waiting.push_back(Event::Persisted(persist.id));
                    stored.commit(*persist);
                }
                Effect::Continue => waiting.push_back(Event::Continued),
                Effect::RunTask(spec) => asked.tasks.push(*spec),
                Effect::ModelRecorded { task, attempt } => asked.recorded.push((task, attempt)),
                _ => {}
            }
        }
    }
    asked
}

fn reserve(tree: &mut RunTree, stored: &mut Stored, spec: &TaskSpec, model: ModelUse) -> usize {
    let (task, attempt) = (Arc::from(spec.activation.task.as_str()), spec.activation.attempt);
    handle(tree, stored, Event::ModelReserved { task, attempt, model }).recorded.len()
}

fn done(spec: &TaskSpec, used: ModelUse, lost: ModelUse) -> Event {
    let mut report = TaskReport::new(Ok(Outcome::Result(json!(1))), 1);
    report.lost = lost;
    report.journal.push(JournalEntry {
        function: MODEL.1.to_owned(),
        interface: MODEL.0.to_owned(),
        ok: true,
        request: json!({}).into(),
        result: json!({ USED: used }).into(),
    });
    Event::TaskDone { task: spec.activation.task.as_str().into(), attempt: spec.activation.attempt, report }
}

fn newest(stored: &Stored) -> Checkpoint {
    let key = SigningKey::from_seed(&[7; 32]).verifying_key();
    match stored.checkpoints.last().unwrap().open(&key).unwrap() {
        Record::Checkpoint(checkpoint) => *checkpoint,
        _ => panic!("a checkpoint"),
    }
}

#[test]
fn what_a_crash_leaves_unknown_counts_and_is_left_out_of_no_replay() {
    let graph = graph();
    let mut stored = Stored::default();
    let mut tree = RunTree::new(Arc::clone(&graph), setup(&graph, Durability::Sync));
    let spec = handle(&mut tree, &mut stored, Event::Started).tasks.remove(0);
    let most = spec.limits.model;
    assert_eq!(reserve(&mut tree, &mut stored, &spec, LOST), 1, "the attempt may ask");

    // The host crashes. The attempt that follows has less left, and what was lost is in the checkpoint.
    let mut restored = stored.restore(&graph, setup(&graph, Durability::Sync)).unwrap();
    let asked = handle(&mut restored, &mut stored, Event::Resumed(Resume::default()));
    let again = &asked.tasks[0];
    assert_eq!(again.activation.attempt, 1);
    assert_eq!(again.limits.model, most.less(LOST), "it has less left");
    handle(&mut restored, &mut stored, done(again, USED_LATER, ModelUse::NOTHING));
    let checkpoint = newest(&stored);
    assert_eq!((checkpoint.tasks[0].lost, checkpoint.host.model), (LOST, LOST.plus(USED_LATER)));

    // A replay is told of it with the task's own report, and comes to the same.
    let mut replay = RunTree::new(Arc::clone(&graph), setup(&graph, Durability::Sync));
    let mut replayed = Stored::default();
    let spec = handle(&mut replay, &mut replayed, Event::Started).tasks.remove(0);
    handle(&mut replay, &mut replayed, done(&spec, USED_LATER, LOST));
    let again = newest(&replayed);
    assert_eq!((again.tasks[0].lost, again.host.model), (checkpoint.tasks[0].lost, checkpoint.host.model));
    assert_eq!(
        (again.result, again.tasks[0].dispatches),
        (checkpoint.result, checkpoint.tasks[0].dispatches)
    );
}

#[test]
fn what_an_attempt_has_used_counts_instead_of_what_it_might_have() {
    let graph = graph();
    let mut stored = Stored::default();
    let mut tree = RunTree::new(Arc::clone(&graph), setup(&graph, Durability::Sync));
    let spec = handle(&mut tree, &mut stored, Event::Started).tasks.remove(0);
    reserve(&mut tree, &mut stored, &spec, LOST);
    handle(&mut tree, &mut stored, done(&spec, USED_LATER, ModelUse::NOTHING));
    let checkpoint = newest(&stored);
    assert_eq!((checkpoint.tasks[0].lost, checkpoint.host.model), (ModelUse::NOTHING, USED_LATER));
}

#[test]
fn an_attempt_that_is_killed_counts_what_it_might_have_used() {
    let graph = graph();
    let mut stored = Stored::default();
    let mut tree = RunTree::new(Arc::clone(&graph), setup(&graph, Durability::Sync));
    let spec = handle(&mut tree, &mut stored, Event::Started).tasks.remove(0);
    reserve(&mut tree, &mut stored, &spec, LOST);
    handle(&mut tree, &mut stored, Event::KillRequested);
    assert_eq!(tree.summary().host.model, LOST);
    assert_eq!(reserve(&mut tree, &mut stored, &spec, LOST), 0, "it may not ask any more");
    let mut restored = stored.restore(&graph, setup(&graph, Durability::Sync)).unwrap();
    assert_eq!(restored.summary().host.model, LOST);
    let asked = handle(&mut restored, &mut stored, Event::Resumed(Resume::default()));
    handle(&mut restored, &mut stored, done(&asked.tasks[0], USED_LATER, ModelUse::NOTHING));
    assert_eq!(newest(&stored).host.model, LOST.plus(USED_LATER));
}

#[test]
fn an_attempt_of_a_run_that_stores_nothing_meanwhile_does_not_wait() {
    let graph = graph();
    let mut stored = Stored::default();
    let mut tree = RunTree::new(Arc::clone(&graph), setup(&graph, Durability::Exit));
    let spec = handle(&mut tree, &mut stored, Event::Started).tasks.remove(0);
    let before = stored.checkpoints.len();
    assert_eq!((reserve(&mut tree, &mut stored, &spec, LOST), stored.checkpoints.len()), (1, before));
}
