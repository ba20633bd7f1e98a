//! Tests of answers to questions whose graph is edited before their superstep commits.

use std::sync::Arc;

use serde_json::{Value, json};

use super::simulation::{Simulation, setup};
use crate::document;
use crate::graph::Graph;
use crate::walker::{Answers, Event, RestoredTree, Resume, RunTree};
use graph_core::digest::Digest;
use graph_core::policy::Durability;
use graph_core::record::AcceptedPinChange;
use graph_core::time::Timestamp;
use graph_core::trust::SigningKey;

fn graph(legal: &str) -> Arc<Graph> {
    let text = format!(
        "tool_type: graph\nconfig:\n  start: [legal, comment]\n  nodes:\n    legal: {{ type: ask, ask: {legal} }}\n    \
         comment: {{ type: ask, ask: {{ question: Any comment? }} }}\n"
    );
    Arc::new(document::load("graph", &text, "g").unwrap().graph)
}

fn drive(simulation: &mut Simulation, event: Event) {
    simulation.handle(event).unwrap();
    while simulation.stopped.is_none() && simulation.step() {}
    simulation.stopped = None;
}

fn answer(answers: &[(&str, Value)]) -> Event {
    let answers = answers.iter().map(|(node, answer)| ((*node).to_owned(), answer.clone()));
    let answers = Answers::ById(answers.collect());
    Event::Resumed(Resume { answers, ..Resume::default() })
}

/// Resumes a run with an edited graph, in which `legal` has its answer and `comment` is open.
fn resumed(before: &str, after: &str, event: Event) -> Simulation {
    let mut simulation = Simulation::new(graph(before), 1, 1, Durability::Sync);
    drive(&mut simulation, Event::Started);
    drive(&mut simulation, answer(&[("legal", json!("yes"))]));
    let graph = graph(after);
    let mut root = simulation.stored.newest("").unwrap();
    let accepted = AcceptedPinChange {
        after: Digest::of_bytes(b"pins"),
        at: Timestamp(1),
        before: root.checkpoint.pins,
        by: SigningKey::from_seed(&[7; 32]).id(),
        changes: vec!["the graph".to_owned()],
        graph: graph.digest,
    };
    root.checkpoint.graph = graph.digest;
    let setup = crate::walker::Setup { accepted: vec![accepted], ..setup(&graph, Durability::Sync) };
    let tree = RunTree::restore(Arc::clone(&graph), setup, RestoredTree::from(root)).unwrap();
    let mut simulation = Simulation::with(graph, tree, simulation.stored, 1, 1, Durability::Sync);
    drive(&mut simulation, event);
    simulation
}

fn open(simulation: &Simulation) -> Vec<String> {
    simulation.walker.summary().interrupts.into_iter().map(|asked| asked.node).collect()
}

const LEGAL: &str = "{ question: Fine?, choices: ['yes', 'no'], timeout: 60s, default: 'no' }";

#[test]
fn an_answer_to_another_form_is_asked_for_again() {
    for after in [
        LEGAL.replace("Fine?", "Fine with all of it?"),
        LEGAL.replace("'no']", "'no', later]"),
        LEGAL.replace("default: 'no'", "default: 'yes'"),
        LEGAL.replace(", timeout: 60s", ""),
        LEGAL.replace("question:", "about: it, question:"),
    ] {
        for event in [Event::Resumed(Resume::default()), answer(&[("comment", json!("none"))])] {
            let asked = resumed(LEGAL, &after, event);
            assert!(open(&asked).contains(&"legal".to_owned()), "{after}");
            assert_eq!(asked.walker.answered_named("legal"), None, "{after}");
        }
    }
}

#[test]
fn an_answer_to_the_same_form_stays() {
    let asked = resumed(LEGAL, LEGAL, Event::Resumed(Resume::default()));
    assert_eq!(open(&asked), ["comment"]);
    let ended = resumed(LEGAL, LEGAL, answer(&[("comment", json!("none"))]));
    assert_eq!(open(&ended), Vec::<String>::new());
    assert_eq!(ended.walker.summary().steps, 1);
}
