//! Pins of a run: a change is refused with a description of it, and recorded once it is accepted.

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
