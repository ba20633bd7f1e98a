//! Tests that the work of a tree of very many child runs is linear in their number. It is counted, not timed.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::{Value, json};

use super::simulation::setup_with;
use crate::graph::Graph;
use crate::walker::machine::Walker;
use crate::walker::tree::visits;
use crate::walker::{Effect, Event, Graphs, Notice, RunTree, TaskReport};
use graph_core::limits::RunLimits;
use graph_core::node::Outcome;
use graph_core::policy::Durability;
use graph_core::record::Status;
use graph_core::time::Timestamp;

/// Counts of the work for a tree of child runs.
struct Work {
    children: u64,
    /// Visits to child runs, effects and records other than those that an event is for.
    looks: u64,
    events: u64,
    effects: u64,
    /// Fuel charged, the host's work included.
    charged: u64,
    status: Status,
}

impl Work {
    fn each(&self) -> [u64; 3] {
        [self.looks, self.events, self.effects].map(|count| count * 100 / self.children)
    }
}

fn graph(id: &str, config: &str) -> Arc<Graph> {
    let text = format!("{{tool_type: graph, config: {{max_total_steps: 1000000, {config}}}}}");
    Arc::new(crate::document::load("g.yaml", &text, id).unwrap().graph)
}

fn each(item: &str, count: usize, dispatched: &str) -> String {
    let items: Vec<usize> = (0..count).collect();
    format!(
        "start: a, nodes: {{a: {{type: foreach, parallel: true, over: {}, as: x, action: {{item_id: {dispatched}, params: {{{item}}}}}}}}}",
        json!(items)
    )
}

/// Builds a graph that runs `count` graphs in parallel, each of which runs nine, each of which runs ten that dispatch one task each.
fn tree_of(count: usize, durability: Durability) -> RunTree {
    let graphs = Graphs::from([
        ("t/first".to_owned(), graph("t/first", &each("", 9, "t/second"))),
        ("t/second".to_owned(), graph("t/second", &each("", 10, "t/third"))),
        ("t/third".to_owned(), graph("t/third", "start: a, nodes: {a: {action: {item_id: t/double}}}")),
    ]);
    let root = graph("t/root", &each("", count, "t/first"));
    let mut setup = setup_with(&root, Arc::new(graphs), durability);
    let limits = RunLimits { steps: 1_000_000, ..RunLimits::DEFAULT };
    setup.manifest = Arc::new((*setup.manifest).clone().with_run_limits(limits));
    RunTree::new(root, setup)
}

/// Runs a tree to its end. Once `stop_at` children have started, requests a stop, and a kill after the next event;
/// tasks then do not end any more.
fn walk(count: usize, durability: Durability, stop_at: Option<u64>) -> Work {
    let mut tree = tree_of(count, durability);
    let (mut waiting, mut running) = (VecDeque::from([Event::Started]), VecDeque::new());
    let mut work = Work { children: 0, looks: 0, events: 0, effects: 0, charged: 0, status: Status::Running };
    let mut pressed = 0;
    visits::COUNT.set(0);
    loop {
        if stop_at.is_some_and(|stop_at| work.children >= stop_at) && pressed < 2 {
            if pressed == 0 {
                // Counts from here on.
                (work.events, work.effects) = (0, 0);
                visits::COUNT.set(0);
            }
            let press = if pressed == 0 { Event::CancelRequested } else { Event::KillRequested };
            waiting.push_front(press);
            pressed += 1;
        }
        let event = match waiting.pop_front() {
            Some(event) => event,
            None if pressed > 0 => panic!("the run does not stop"),
            None => running.pop_front().expect("the run waits for nothing"),
        };
        work.events += 1;
        for effect in tree.handle(Timestamp(1), event).unwrap() {
            work.effects += 1;
            match effect {
                Effect::Persist(persist) => waiting.push_back(Event::Persisted(persist.id)),
                Effect::RunTask(spec) => {
                    let report = TaskReport::new(Ok(Outcome::Result(Value::Null)), 1);
                    let task = spec.activation.task.as_str().into();
                    running.push_back(Event::TaskDone { task, attempt: spec.activation.attempt, report });
                }
                Effect::Emit(Notice::ChildStarted { .. }) => work.children += 1,
                Effect::Continue => waiting.push_back(Event::Continued),
                Effect::Suspend(status) | Effect::Finish(status) => {
                    work.looks = visits::COUNT.get();
                    work.status = status;
                    let summary = tree.summary();
                    work.charged = summary.fuel + summary.host.fuel;
                    return work;
                }
                _ => {}
            }
        }
    }
}

/// Asserts that the counts for each child run grow by at most a fifth.
fn is_linear(few: &Work, many: &Work) {
    assert!(many.children > few.children * 3);
    for (few, many) in few.each().into_iter().zip(many.each()) {
        assert!(many <= few + few / 5 + 20, "{few} and {many} hundredths for each child run");
    }
}

#[test]
fn each_of_many_child_runs_takes_the_same_work() {
    for durability in [Durability::Sync, Durability::Async, Durability::Exit] {
        let [few, more, many] = [4, 16, 64].map(|count| walk(count, durability, None));
        assert_eq!([few.children, more.children, many.children], [400, 1_600, 6_400]);
        assert!([&few, &more, &many].iter().all(|work| work.status == Status::Completed));
        is_linear(&few, &more);
        is_linear(&few, &many);
        // The work is charged, the same for each child run.
        let charged = [&few, &many].map(|work| work.charged / work.children);
        assert!(charged[0] > 1_000 && charged[1] <= charged[0] + charged[0] / 5, "{charged:?}");
    }
}

#[test]
fn two_requests_to_stop_take_the_same_work_for_each_open_child_run() {
    for durability in [Durability::Sync, Durability::Async, Durability::Exit] {
        let [few, many] = [(4, 300), (64, 6_000)].map(|(count, open)| walk(count, durability, Some(open)));
        assert!([&few, &many].iter().all(|work| work.status == Status::Killed), "{:?}", many.status);
        is_linear(&few, &many);
    }
}

/// Records of child runs that a boundary has replaced are not stored before the run stops, however many there were.
#[test]
fn records_that_are_dropped_do_not_count_as_waiting() {
    let items: Vec<usize> = (0..60).collect();
    let root = graph(
        "t/root",
        &format!(
            "start: a, max_steps: 1000, channels: {{n: {{reducer: sum}}}}, nodes: {{a: {{type: foreach, parallel: true, over: {}, \
             as: x, action: {{item_id: t/small}}, assign: {{n: 1}}, next: [{{to: a, when: {{path: state.n, op: lt, value: 40}}}}, {{to: []}}]}}}}",
            json!(items)
        ),
    );
    let small = graph("t/small", "start: a, nodes: {a: {}}");
    let mut setup =
        setup_with(&root, Arc::new(Graphs::from([("t/small".to_owned(), small)])), Durability::Exit);
    let limits = RunLimits { steps: 1_000_000, ..RunLimits::DEFAULT };
    setup.manifest = Arc::new((*setup.manifest).clone().with_run_limits(limits));
    let mut tree = RunTree::new(root, setup);
    let mut waiting = VecDeque::from([Event::Started]);
    let mut stored_at = None;
    let mut status = None;
    while let Some(event) = waiting.pop_front() {
        for effect in tree.handle(Timestamp(1), event).unwrap() {
            match effect {
                Effect::Persist(persist) => {
                    stored_at.get_or_insert(tree.summary().steps);
                    waiting.push_back(Event::Persisted(persist.id));
                }
                Effect::Continue => waiting.push_back(Event::Continued),
                Effect::Suspend(stopped) | Effect::Finish(stopped) => status = Some(stopped),
                _ => {}
            }
        }
    }
    assert_eq!((status, stored_at), (Some(Status::Completed), Some(40)), "{:?}", tree.summary().error);
}

#[test]
fn a_waiting_child_run_counts_its_nodes() {
    let memory = |nodes: usize| {
        let names: Vec<String> = (0..nodes).map(|at| format!("n{at}: {{}}")).collect();
        let graph = graph("t/g", &format!("start: n0, nodes: {{{}}}", names.join(", ")));
        let setup = setup_with(&graph, Arc::default(), Durability::Sync);
        Walker::new(graph, setup).memory()
    };
    // The walker counts the visits of each node.
    assert!(memory(1_000) - memory(1) >= 999 * 25, "{} {}", memory(1_000), memory(1));
}
