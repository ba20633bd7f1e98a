//! Pins of a run: a change is refused with a description of it, and recorded once it is accepted.

use graph_core::digest::{Digest, DomainHasher};
use graph_core::record::Status;
use graph_core::trust::SigningKey;
use graph_runtime::run::pins::Pins;
use graph_store::{CheckpointStore, NewRun, RunRow, Snapshot, SqliteOptions, SqliteStore};
use serde_json::{Value, json};

use crate::place::{Place, Ran};

const ASKING: &str = r#"start: ask
nodes:
  ask: { action: { item_id: t/ask, params: { op: interrupt, payload: "Publish?" } }, assign: { answer: "${result}" }, next: tell }
  tell: { action: { item_id: t/kit, params: { op: echo, value: "${state.answer}" } }, assign: { told: "${result}" } }
output: "${state.told}"
"#;

const RUN: [&str; 7] = ["run", "asking.yaml", "--caps", "caps.yaml", "--quiet", "--run-id", "r"];

fn ok(ran: &Ran) {
    assert_eq!(ran.code, 0, "{}", ran.shown());
}

/// Domain of the signature of a run's start note.
const BEGUN: &str = "graph-host/run-start/v1";

/// Makes a suspended run of two components that one key has signed.
fn asking() -> Place {
    let place = Place::with_compiled_testkit();
    std::fs::copy(place.path(".ai/tools/t/kit.wasm"), place.path(".ai/tools/t/ask.wasm")).unwrap();
    for key in ["one", "two"] {
        ok(&place.run(&["keys", "generate", key]));
        ok(&place.run(&["trust", "add", key, "--key", key, "--items", "t/*"]));
    }
    sign(&place, "kit", "one", "1.0.0");
    sign(&place, "ask", "one", "1.0.0");
    place.graph("asking.yaml", ASKING);
    assert_eq!(place.run(&RUN).code, 6);
    place
}

fn sign(place: &Place, item: &str, key: &str, version: &str) {
    let file = format!(".ai/tools/t/{item}.wasm");
    ok(&place.run(&["sign", &file, "--key", key, "--version", version]));
}

/// Checks that the run is refused with these texts among its changes; then that it continues, and keeps a record of the acceptance.
fn refused_then_accepted(place: &Place, told: &[&str]) {
    let (refused, code) = place.json(&["resume", "r", "--answer", "yes"]);
    assert_eq!((code, &refused["error"]["code"]), (8, &json!("integrity")), "{refused}");
    let changes = refused["error"]["changes"].as_array().unwrap_or_else(|| panic!("{refused}"));
    let changes: Vec<_> = changes.iter().filter_map(Value::as_str).collect();
    for text in told {
        assert!(changes.iter().any(|change| change.contains(text)), "{text}: {changes:?}");
    }
    // A refusal leaves nothing behind.
    assert_eq!(place.json(&["runs", "show", "r"]).0["accepted"], json!([]));
    let (went_on, code) = place.json(&["resume", "r", "--answer", "yes", "--accept-changes"]);
    assert_eq!((code, &went_on["status"]), (0, &json!("completed")), "{went_on}");
    for command in ["show", "history"] {
        let (shown, _) = place.json(&["runs", command, "r"]);
        let accepted = &shown["accepted"][0];
        assert_eq!(accepted["changes"], json!(changes), "{shown}");
        let key = accepted["key_id"].as_str().unwrap();
        let told = place.run(&["runs", command, "r"]).stdout;
        assert!(told.contains(&format!("by key {}", &key[..12])), "{told}");
        assert!(told.contains(changes[0].lines().next().unwrap()), "{told}");
    }
    let (verified, code) = place.json(&["runs", "verify", "r"]);
    assert_eq!((code, &verified["accepted"]), (0, &json!(1)), "{verified}");
}

#[test]
fn a_changed_graph_is_told_by_its_lines() {
    let place = asking();
    place.graph(
        "asking.yaml",
        &ASKING.replace("op: echo, value: \"${state.answer}\"", "op: echo, value: changed"),
    );
    refused_then_accepted(
        &place,
        &[
            "- config.nodes.tell.action.params.value: \"${state.answer}\"",
            "+ config.nodes.tell.action.params.value: \"changed\"  (line 10)",
        ],
    );
}

#[test]
fn a_changed_manifest_is_told_by_its_lines() {
    let place = asking();
    place.write("caps.yaml", "dispatch: ['execute.tool.t.*']\nlimits:\n  fuel: 7000000\n");
    refused_then_accepted(&place, &["limits changed", "+ limits.fuel: 7000000  (line 3)"]);
}

#[test]
fn a_changed_component_is_told_with_its_node() {
    let place = asking();
    let other = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples/nodes/.ai/tools/examples/testkit-io.wasm");
    let mut bytes = std::fs::read(place.path(".ai/tools/t/kit.wasm")).unwrap();
    assert_ne!(std::fs::read(other).unwrap(), bytes);
    // A custom section changes the component and not its behaviour.
    bytes.extend([0, 2, 1, b'x']);
    std::fs::write(place.path(".ai/tools/t/kit.wasm"), bytes).unwrap();
    // A component that was changed after its signature is refused, and acceptance does not help.
    for accept in [&["--quiet"], &["--accept-changes"]] {
        let (refused, code) = place.json(&[&["resume", "r", "--answer", "yes"], &accept[..]].concat());
        let message = refused["error"]["message"].as_str().unwrap();
        assert_eq!(code, 8, "{refused}");
        assert!(message.contains("node `tell`: `t/kit` was changed after the key `one`"), "{message}");
    }
    sign(&place, "kit", "one", "1.0.1");
    refused_then_accepted(&place, &["component `t/kit` of node `tell` was "]);
}

#[test]
fn a_component_that_another_key_has_signed_is_a_change() {
    let place = asking();
    sign(&place, "kit", "two", "1.0.0");
    let keys: Vec<_> = ["one", "two"]
        .iter()
        .map(|key| place.json(&["keys", "show", key]).0["id"].as_str().unwrap()[..12].to_owned())
        .collect();
    let told = format!("`t/kit` was signed with key {} and is signed with key {}", keys[0], keys[1]);
    refused_then_accepted(&place, &[&told]);
}

/// A run that was started on a host with another engine, and cut short before anything was stored.
#[test]
fn another_engine_is_a_change() {
    let place = asking();
    let file = place.path(".ai/state/runs.db");
    let store = SqliteStore::open(&file, SqliteOptions::default()).unwrap();
    let row = store.run("r").unwrap().unwrap();
    let mut pins = Pins::read(&store.snapshot(&row.pins).unwrap().unwrap()).unwrap();
    pins.engine = Digest::of_bytes(b"another engine");
    let (digest, text) = pins.text().unwrap();
    let row = RunRow {
        run_id: "e".to_owned(),
        root_id: "e".to_owned(),
        status: Status::Running,
        pins: digest,
        ..row
    };
    let begun = [row.graph, row.inputs, row.pins, row.seed]
        .iter()
        .fold(DomainHasher::new(BEGUN).field(b"e"), |begun, digest| begun.field(digest.as_bytes()))
        .finish();
    let key = SigningKey::from_pem(&place.read("home/identity.pem")).unwrap();
    let note = key.sign_digest(BEGUN, &begun).to_string();
    let snapshots = [(digest, text), (begun, note)];
    let snapshots = snapshots.map(|(digest, text)| Snapshot { digest, text: text.into() }).to_vec();
    store.create_run(&NewRun { row, snapshots }).unwrap();
    drop(store);
    let (refused, code) = place.json(&["resume", "e"]);
    let change = refused["error"]["changes"][0].as_str().unwrap();
    assert_eq!(code, 8, "{refused}");
    assert!(
        change.starts_with("the engine was ") && change.ends_with("results and fuel may differ"),
        "{change}"
    );
    let (asks, code) = place.json(&["resume", "e", "--accept-changes"]);
    assert_eq!((code, &asks["status"]), (6, &json!("interrupted")), "{asks}");
    assert_eq!(place.json(&["resume", "e", "--answer", "yes"]).1, 0);
    assert_eq!(place.run(&["runs", "verify", "e"]).code, 0);
}

#[test]
fn what_was_accepted_counts_until_the_next_checkpoint_too() {
    let place = asking();
    place.graph("asking.yaml", &ASKING.replace("Publish?", "Really?"));
    // Its only question is answered with null.
    let (waits, code) = place.json(&["resume", "r", "--accept-changes", "--answer", "null"]);
    assert_eq!(code, 0, "{waits}");
    let place = asking();
    place.graph(
        "asking.yaml",
        &ASKING.replace("interrupt, payload: \"Publish?\"", "fail, category: permanent, message: no"),
    );
    let (failed, code) = place.json(&["resume", "r", "--accept-changes", "--answer", "x"]);
    assert_eq!((code, &failed["status"]), (5, &json!("failed")), "{failed}");
    // No checkpoint was made since, so nothing has to be accepted again.
    let (failed, code) = place.json(&["resume", "r"]);
    assert_eq!((code, &failed["error"]["code"]), (5, &json!("node_failed")), "{failed}");
    let (verified, _) = place.json(&["runs", "verify", "r"]);
    assert_eq!((&verified["checkpoints"], &verified["accepted"]), (&json!(1), &json!(1)));
    // A second change under the same checkpoint is a second acceptance.
    place.graph("asking.yaml", &ASKING.replace("op: interrupt, payload: \"Publish?\"", "op: echo, value: 7"));
    assert_eq!(place.json(&["resume", "r"]).1, 8);
    let (done, code) = place.json(&["resume", "r", "--accept-changes"]);
    assert_eq!((code, &done["output"]), (0, &json!(7)), "{done}");
    let (history, _) = place.json(&["runs", "history", "r"]);
    let accepted = history["accepted"].as_array().unwrap();
    assert_eq!(accepted.len(), 2, "{history}");
    assert_eq!(accepted[0]["pins_after"], accepted[1]["pins_before"]);
    assert_eq!(place.run(&["runs", "verify", "r"]).code, 0);
}
