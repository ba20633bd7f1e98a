//! A minimal driver: every task returns its params, and every record counts as stored at once.

use std::collections::VecDeque;
use std::sync::Arc;

use graph_core::capability::{DispatchPatterns, Manifest};
use graph_core::digest::Digest;
use graph_core::node::Outcome;
use graph_core::record::Status;
use graph_core::time::Timestamp;
use graph_walker::document;
use graph_walker::graph::Graph;
use graph_walker::walker::{Effect, Event, Identity, Persist, RunTree, Setup, TaskReport};
use serde_json::{Map, json};

/// Time stands still, so no timer ever fires.
const NOW: Timestamp = Timestamp(1_000);

/// Loads a graph of this crate.
///
/// # Panics
///
/// If the document is invalid.
pub fn load(text: &str) -> Arc<Graph> {
    match document::load("graph.yaml", text, "t/graph") {
        Ok(loaded) => Arc::new(loaded.graph),
        Err(problems) => panic!("{}", problems.to_lines().join("\n")),
    }
}

fn setup(graph: &Graph) -> Setup {
    let inputs = Arc::new(json!({
        "items": (0..1_000).map(|at| json!({ "id": at, "text": "an item" })).collect::<Vec<_>>(),
        "name": "Ada",
        "limits": { "low": 3, "high": 2_000 },
    }));
    Setup {
        identity: Identity { run: "r".into(), root: "r".into(), parent: None, namespace: String::new() },
        seed: Setup::default_seed(graph, &inputs),
        inputs,
        initial_state: Map::new(),
        manifest: Arc::new(Manifest::of_dispatch(
            DispatchPatterns::parse(["*"]).expect("the pattern is a constant"),
        )),
        graphs: Arc::default(),
        hooks: Arc::default(),
        pins: Digest::of_bytes(b"pins"),
        accepted: Vec::new(),
        durability: graph.durability,
        max_steps: None,
        max_concurrency: None,
    }
}

/// Walks a graph to its end, passes each record that a store would get to `kept`, and returns the fuel of all tasks.
///
/// # Panics
///
/// If the run does not complete after exactly `steps` supersteps: the count would be of another amount of work.
pub fn walk(graph: &Arc<Graph>, steps: u64, mut kept: impl FnMut(Persist)) -> u64 {
    let mut walker = RunTree::new(Arc::clone(graph), setup(graph));
    let mut events = VecDeque::from([Event::Started]);
    let mut end = None;
    while let Some(event) = events.pop_front() {
        for effect in walker.handle(NOW, event).expect("every event has its place") {
            match effect {
                Effect::RunTask(task) => events.push_back(Event::TaskDone {
                    task: task.activation.task.as_str().into(),
                    attempt: task.activation.attempt,
                    report: TaskReport::new(Ok(Outcome::Result(task.params)), 1),
                }),
                Effect::Persist(persist) => {
                    events.push_back(Event::Persisted(persist.id));
                    kept(*persist);
                }
                Effect::Continue => events.push_back(Event::Continued),
                Effect::Suspend(status) | Effect::Finish(status) => end = Some(status),
                _ => {}
            }
        }
    }
    let summary = walker.summary();
    assert_eq!((end, summary.steps), (Some(Status::Completed), steps), "{:?}", summary.error);
    summary.fuel
}
