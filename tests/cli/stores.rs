//! Runs in the file store, or in memory.

use serde_json::{Value, json};

use crate::place::Place;

const COUNT_AND_ASK: &str = "start: a\nchannels: { log: { reducer: append } }\nnodes:\n  a: { assign: { log: [\"${inputs.who}\"], n: 1 }, next: b }\n  b: { interrupt: before, assign: { log: [\"done\"], n: 2 } }";

const READ_STATE: &str = "start: read\nnodes:\n  read: { action: { primary: load, item_type: knowledge, item_id: \"graphs/flow/${inputs.run}\" }, assign: { status: \"${result.metadata.status}\", by: \"${result.signature.standing}\", found: \"${result.body | from_json}\" } }\noutput: { status: \"${state.status}\", by: \"${state.by}\", log: \"${state.found.log}\", who: \"${state.found.inputs.who}\" }";

fn place() -> Place {
    let place = Place::new();
    place.graph("flow.yaml", COUNT_AND_ASK);
    place.graph("read.yaml", READ_STATE);
    place.write("caps.yaml", "dispatch: ['load.knowledge.graphs.*']\n");
    place
}

#[test]
fn a_run_in_files_goes_on_is_listed_and_is_knowledge() {
    let place = place();
    let run = ["run", "flow.yaml", "--store", "file", "--run-id", "f1", "-i", "who=me"];
    let begun = place.run(&run);
    assert_eq!(begun.code, 6, "{}", begun.stderr);
    let item = place.path(".ai/knowledge/graphs/flow/f1.md");
    let text = std::fs::read_to_string(&item).unwrap();
    assert!(text.starts_with("<!-- graph-host:signed:"), "{text}");
    assert!(text.contains("\nstatus: interrupted\n") && text.contains("\ncurrent_node: \"b\"\n"), "{text}");
    assert!(!place.path(".ai/state/runs.db").exists());
    // An id stays taken.
    assert_eq!(place.run(&run).code, 2);

    // Another graph reads the run's state so far.
    let read = ["run", "read.yaml", "--caps", "caps.yaml", "-i", "run=f1"];
    let (document, code) = place.json(&read);
    assert_eq!(code, 0, "{document}");
    let expected = json!({ "status": "interrupted", "by": "signed", "log": ["me"], "who": "me" });
    assert_eq!(document["output"], expected);

    // Both stores are listed; the run is found in its store, and continues there.
    let (listed, _) = place.json(&["runs", "list"]);
    assert_eq!(listed["runs"].as_array().map(Vec::len), Some(2), "{listed}");
    let resumed = place.run(&["resume", "f1"]);
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    assert!(std::fs::read_to_string(&item).unwrap().contains("\nstatus: completed\n"));
    let verified = place.run(&["runs", "verify", "f1"]);
    assert_eq!(verified.code, 0, "{}", verified.stderr);
    let (shown, _) = place.json(&["runs", "show", "f1"]);
    assert_eq!(shown["state"], json!({ "log": ["me", "done"], "n": 2 }));

    // A changed item is refused: it is only a copy, and the run is as it was.
    std::fs::write(&item, text.replace("interrupted", "completed")).unwrap();
    let refused = place.run(&read);
    assert_eq!(refused.code, 4, "{}", refused.stderr);
    assert!(refused.stderr.contains("was changed after it was signed"), "{}", refused.stderr);
}

/// A checkpoint contains the changes of its superstep; the item contains the whole state.
#[test]
fn the_knowledge_of_a_run_has_what_every_superstep_wrote() {
    let place = Place::new();
    place.graph(
        "steps.yaml",
        "start: a\nnodes:\n  a: { assign: { x: 1 }, next: b }\n  b: { assign: { y: 2 }, next: c }\n  c: { assign: { z: 3 } }",
    );
    let run = place.run(&["run", "steps.yaml", "--store", "file", "--run-id", "s1", "-i", "who=me"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let text = place.read(".ai/knowledge/graphs/steps/s1.md");
    let (_, body) = text.split_once("\n---\n\n").unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body, json!({ "inputs": { "who": "me" }, "x": 1, "y": 2, "z": 3 }));
}

#[test]
fn damaged_files_are_refused_where_they_are_damaged() {
    let place = place();
    let begun = place.run(&["run", "flow.yaml", "--store", "file", "--run-id", "f1", "-i", "who=me"]);
    assert_eq!(begun.code, 6, "{}", begun.stderr);
    let log = place.path(".ai/state/files/runs/0000000001-f1/log");
    let text = std::fs::read_to_string(&log).unwrap();
    // Cut short, the log ends with the earlier record: the superstep is repeated.
    std::fs::write(&log, &text[..text.len() - 10]).unwrap();
    assert_eq!(place.run(&["resume", "f1"]).code, 6);
    std::fs::write(&log, text.replacen("\\\"sequence\\\":1", "\\\"sequence\\\":7", 1)).unwrap();
    for command in [&["resume", "f1"][..], &["runs", "verify", "f1"]] {
        let refused = place.run(command);
        assert_eq!(refused.code, 8, "{}", refused.stderr);
        assert!(refused.stderr.contains("is damaged"), "{}", refused.stderr);
    }
}

#[test]
fn a_run_in_memory_leaves_nothing() {
    let place = place();
    let begun = place.run(&["run", "flow.yaml", "--store", "memory", "-i", "who=me"]);
    assert_eq!(begun.code, 6, "{}", begun.stderr);
    assert!(!place.path(".ai/state").exists() && !place.path(".ai/knowledge").exists());
}
