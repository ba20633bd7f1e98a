//! The item that is built into the program: what it needs, which items replace it, and what cannot be done with it.

use serde_json::json;

use crate::place::{Compiled, Place, kit};

const BASH: &str = "rye/bash/bash";
const GRAPH: &str = r#"version: "1"
tool_type: graph
executor_id: graph-host
category: tests
description: a test
config_schema: { properties: { status: { type: integer, default: 0 } } }
config:
  start: a
  nodes:
    a:
      action: { item_id: rye/bash/bash, params: { command: "echo $((6 * 7)); ls; date +%Z; exit ${inputs.status}" } }
      assign: { lines: "${result.lines}" }
"#;
const CAPS: &str = "dispatch: ['execute.tool.rye.bash.bash']\nitems:\n  rye/bash/bash: { filesystem: [{ path: data, as: /data }], clocks: true, random: true }\n";

static COMPILED: Compiled = Compiled::new();

fn place() -> Place {
    let place = Place::new();
    COMPILED.give(&place, |first| assert_eq!(first.run(&["inspect", BASH]).code, 0));
    std::fs::create_dir(place.path("data")).unwrap();
    place.write("data/one.txt", "1\n");
    place.write("g.yaml", GRAPH);
    place.write("caps.yaml", CAPS);
    place
}

/// Puts a component at the item's path in a folder of tools.
fn put(place: &Place, space: &str) -> String {
    std::fs::create_dir_all(place.path(&format!("{space}/tools/rye/bash"))).unwrap();
    let file = format!("{space}/tools/rye/bash/bash.wasm");
    std::fs::copy(kit("testkit"), place.path(&file)).unwrap();
    file
}

fn plan(place: &Place) -> (serde_json::Value, i32) {
    place.json(&["run", "g.yaml", "--caps", "caps.yaml", "--plan"])
}

#[test]
fn a_script_runs_on_the_granted_folder_and_replays() {
    let place = place();
    let (run, code) = place.json(&["run", "g.yaml", "--caps", "caps.yaml", "--run-id", "r"]);
    assert_eq!((code, &run["state"]["lines"]), (0, &json!(["42", "one.txt", "UTC"])), "{run}");
    let (replay, code) = place.json(&["replay", "r"]);
    assert_eq!((code, &replay["equal"]), (0, &json!(true)), "{replay}");
    let failed = place.run(&["run", "g.yaml", "--caps", "caps.yaml", "--input", "status=3"]);
    assert_eq!(failed.code, 5, "{}", failed.stderr);
    assert!(failed.stderr.contains("the script ended with status 3"), "{}", failed.stderr);
}

#[test]
fn it_needs_its_lines_in_a_manifest() {
    let place = place();
    let refused = place.run(&["run", "g.yaml"]);
    assert_eq!(refused.code, 4, "{}", refused.stderr);
    place.write("caps.yaml", "dispatch: ['execute.tool.rye.bash.bash']\n");
    let refused = place.run(&["run", "g.yaml", "--caps", "caps.yaml"]);
    assert_eq!(refused.code, 4, "{}", refused.stderr);
    for line in ["clocks: true", "random: true", "filesystem: ["] {
        assert!(refused.stderr.contains(line), "{}", refused.stderr);
    }
    let suggested = place.run(&["caps", "suggest", "g.yaml"]);
    assert!(suggested.stdout.contains("execute.tool.rye.bash.bash"), "{}", suggested.stdout);
    assert!(suggested.stdout.contains("\"rye/bash/bash\":"), "{}", suggested.stdout);
}

#[test]
fn it_is_shown_as_built_in() {
    let place = place();
    let shown = place.run(&["inspect", BASH]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    for text in ["built into graph-host", "trust     built in", "wasi:filesystem/types"] {
        assert!(shown.stdout.contains(text), "{}", shown.stdout);
    }
    let (inspected, _) = place.json(&["inspect", BASH]);
    assert_eq!((&inspected["space"], &inspected["trusted"]), (&json!("built_in"), &json!(true)));
    let (plan, code) = plan(&place);
    assert_eq!(code, 0, "{plan}");
    assert_eq!(
        (&plan["items"][0]["space"], &plan["items"][0]["signer"]),
        (&json!("built_in"), &json!(null)),
        "{plan}"
    );
    let shown = place.run(&["run", "g.yaml", "--caps", "caps.yaml", "--plan"]);
    assert!(shown.shown().contains("built in"), "{}", shown.shown());
}

#[test]
fn an_unsigned_item_does_not_replace_it_and_a_signed_one_does_so_with_a_warning() {
    let place = place();
    let file = put(&place, ".ai");
    let (unsigned, code) = plan(&place);
    assert_eq!((code, &unsigned["items"][0]["space"]), (0, &json!("built_in")), "{unsigned}");
    assert_eq!(unsigned["items"][0]["passed_over"][0]["space"], json!("project"), "{unsigned}");
    assert_eq!(place.run(&["keys", "generate", "me"]).code, 0);
    assert_eq!(place.run(&["trust", "add", "me", "--key", "me", "--items", "rye/*"]).code, 0);
    assert_eq!(place.run(&["sign", &file, "--key", "me", "--version", "1.0.0"]).code, 0);
    let signed = place.run(&["run", "g.yaml", "--caps", "caps.yaml"]);
    assert!(signed.stderr.contains("replaces the one that is built into graph-host"), "{}", signed.stderr);
    let (signed, _) = plan(&place);
    assert_eq!(signed["items"][0]["space"], json!("project"), "{signed}");
    assert_eq!(signed["items"][0]["hides"][0]["space"], json!("built_in"), "{signed}");
}

#[test]
fn a_rule_that_requires_signatures_refuses_it() {
    let place = place();
    assert_eq!(place.run(&["keys", "generate", "me"]).code, 0);
    assert_eq!(place.run(&["trust", "add", "me", "--key", "me", "--items", "rye/*"]).code, 0);
    let store = place.read("home/trust.yaml");
    place.write(
        "home/trust.yaml",
        &format!("{store}require:\n  - {{ items: [\"rye/*\"], threshold: 1, keys: [me] }}\n"),
    );
    let refused = place.run(&["run", "g.yaml", "--caps", "caps.yaml"]);
    assert_eq!(refused.code, 8, "{}", refused.stderr);
    assert!(refused.stderr.contains("is not signed"), "{}", refused.stderr);
}

#[test]
fn it_is_neither_published_nor_put_into_a_page() {
    let place = place();
    let published = place.run(&["publish", BASH, "oci://localhost:1/x:1"]);
    assert!(
        published.stderr.contains("is built into graph-host and is not published"),
        "{}",
        published.stderr
    );
    let bundled = place.run(&["bundle", "g.yaml", "--caps", "caps.yaml", "-o", "site"]);
    assert_eq!(bundled.code, 4, "{}", bundled.stderr);
    assert!(bundled.stderr.contains("it is built into graph-host"), "{}", bundled.stderr);
    assert!(!place.path("site").exists());
}
