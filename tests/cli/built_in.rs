//! Built-in items: their requirements, the items that replace them, and the operations that are refused for them.

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

/// Copies a component to the item's path in a folder of tools.
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
fn it_is_not_published() {
    let place = place();
    for item in [BASH, AGENT] {
        let published = place.run(&["publish", item, "oci://localhost:1/x:1"]);
        assert!(
            published.stderr.contains("is built into graph-host and is not published"),
            "{}",
            published.stderr
        );
    }
}

const AGENT: &str = "rye/agent/agent";
const ASKING: &str = r#"version: "1"
tool_type: graph
executor_id: graph-host
category: tests
description: a test
config:
  start: a
  nodes:
    a: { action: { item_id: rye/agent/agent, params: { message: Hello } } }
"#;
const MODELS: &str = "dispatch: [execute.tool.rye.agent.agent, execute.tool.rye.agent.turn]
models: { m: { api: openai-chat, url: 'http://127.0.0.1:1/v1', model: m, addresses: [127.0.0.1] } }
items:
  rye/agent/turn: { model: [m] }
";

fn asking() -> Place {
    let place = Place::new();
    COMPILED.give(&place, |first| assert_eq!(first.run(&["inspect", BASH]).code, 0));
    place.write("g.yaml", ASKING);
    place.write("caps.yaml", MODELS);
    place
}

#[test]
fn a_graph_is_shown_as_built_in() {
    let place = asking();
    let (inspected, code) = place.json(&["inspect", AGENT]);
    assert_eq!(code, 0, "{inspected}");
    assert_eq!(
        (&inspected["kind"], &inspected["space"], &inspected["signature"]["standing"]),
        (&json!("graph"), &json!("built_in"), &json!("built_in"))
    );
    let shown = place.run(&["inspect", AGENT]);
    for text in ["built into graph-host", "trust     built in", "  inputs    {", "\"max_output\": {"] {
        assert!(shown.stdout.contains(text), "{}", shown.stdout);
    }
    assert!(place.run(&["graph", "show", AGENT]).stdout.contains("turn"));
    let (plan, code) = plan(&place);
    assert_eq!(code, 0, "{plan}");
    let spaces: Vec<_> = plan["graphs"].as_array().unwrap().iter().map(|graph| &graph["space"]).collect();
    assert_eq!(spaces, [&json!("built_in")], "{plan}");
    let (items, _) = place.json(&["run", AGENT, "--input", "message=Hello", "--caps", "caps.yaml", "--plan"]);
    assert_eq!(items["items"][0]["id"], json!("rye/agent/turn"), "{items}");
}

#[test]
fn a_graph_needs_its_lines_in_a_manifest() {
    let place = asking();
    place.write("caps.yaml", "dispatch: ['execute.tool.rye.agent.agent']\n");
    assert_eq!(place.run(&["run", "g.yaml"]).code, 4);
    let suggested = place.run(&["caps", "suggest", "g.yaml"]).stdout;
    for line in ["execute.tool.rye.agent.agent", "execute.tool.rye.agent.turn", "\"rye/agent/turn\":"] {
        assert!(suggested.contains(line), "{suggested}");
    }
}

#[test]
fn models_that_params_name_are_suggested_and_looked_for_before_a_run() {
    let place = asking();
    let two = ASKING.replace(
        "params: { message: Hello }",
        "params: { message: Hello, model: small, context: { window: 100, summary: { model: other } } }",
    );
    assert_ne!(two, ASKING);
    place.write("g.yaml", &two);
    let suggested = place.run(&["caps", "suggest", "g.yaml"]).stdout;
    assert!(suggested.contains("    model: [\"other\",\"small\"]\n"), "{suggested}");
    place.write("suggested.yaml", &suggested);
    let validated = place.run(&["validate", "g.yaml", "suggested.yaml", "--caps", "suggested.yaml"]);
    assert_eq!(validated.code, 0, "{}", validated.stdout);
    // The manifest misspells one model, and grants the other to no item.
    let misspelt =
        suggested.replace("  \"small\":", "  \"smal\":").replace("[\"other\",\"small\"]", "[smal]");
    place.write("misspelt.yaml", &misspelt);
    let (plan, _) = place.json(&["run", "g.yaml", "--caps", "misspelt.yaml", "--plan"]);
    let warnings = plan["warnings"].to_string();
    let keyless = misspelt.replace(", secret: { env: MODEL_KEY }", "");
    place.write("keyless.yaml", &keyless);
    let validated = place.run(&["validate", "g.yaml", "--caps", "keyless.yaml"]);
    assert_eq!(validated.code, 0, "the graph may handle that: {}", validated.stderr);
    for text in [
        "the model `small`, which is not among `models` of the manifest: did you mean `smal`?",
        "the model `other`, which the manifest grants to no item",
    ] {
        assert!(warnings.contains(text), "{warnings}");
        assert!(validated.stderr.replace("\n ", "").contains(text), "{}", validated.stderr);
    }
    let unnamed = two.replace("model: small", "model: \"acme/small 4.1\"");
    place.write("g.yaml", &unnamed);
    let suggested = place.run(&["caps", "suggest", "g.yaml"]);
    assert!(suggested.stdout.contains("    model: [\"other\"]\n"), "{}", suggested.stdout);
    let warned = suggested.stderr.replace("\n ", "");
    assert!(warned.contains("`acme/small 4.1`, which cannot be a name under `models`"), "{warned}");
}

#[test]
fn tools_and_directives_that_params_name_are_suggested() {
    let place = asking();
    let named = ASKING.replace(
        "item_id: rye/agent/agent, params: { message: Hello }",
        "item_id: rye/agent/threads/thread_directive, params: { directive_name: acme/count, tools: [{ item: rye/bash/bash }, { item: \"${inputs.other}\" }] }",
    );
    assert_ne!(named, ASKING);
    place.write("g.yaml", &named);
    let suggested = place.run(&["caps", "suggest", "g.yaml"]).stdout;
    for line in ["execute.directive.acme.count", "execute.tool.rye.bash.bash", "\"rye/bash/bash\":"] {
        assert!(suggested.contains(line), "{suggested}");
    }
    assert!(!suggested.contains("inputs.other"), "{suggested}");
}

#[test]
fn a_key_that_is_not_there_is_a_problem_of_a_run_and_not_of_its_files() {
    let place = asking();
    let keyed = MODELS.replace("model: m,", "model: m, secret: { env: NO_SUCH_KEY },");
    assert_ne!(keyed, MODELS);
    place.write("caps.yaml", &keyed);
    let validated = place.run(&["validate", "g.yaml", "caps.yaml", "--caps", "caps.yaml"]);
    assert_eq!(validated.code, 0, "{}", validated.stdout);
    let (plan, code) = plan(&place);
    assert!(code == 4 && plan.to_string().contains("NO_SUCH_KEY"), "{plan}");
}

#[test]
fn a_graph_of_the_project_replaces_it_if_it_is_signed() {
    let place = asking();
    let own = ASKING.replace(
        "{ action: { item_id: rye/agent/agent, params: { message: Hello } } }",
        "{ assign: { own: true } }",
    );
    std::fs::create_dir_all(place.path(".ai/tools/rye/agent")).unwrap();
    place.write(".ai/tools/rye/agent/agent.yaml", &own);
    let (unsigned, _) = plan(&place);
    let agent = |plan: &serde_json::Value| {
        plan["graphs"].as_array().unwrap().iter().find(|graph| graph["id"] == AGENT).cloned().unwrap()
    };
    assert_eq!(agent(&unsigned)["space"], json!("built_in"), "{unsigned}");
    assert_eq!(place.run(&["keys", "generate", "me"]).code, 0);
    assert_eq!(place.run(&["trust", "add", "me", "--key", "me", "--items", "rye/*"]).code, 0);
    assert_eq!(place.run(&["sign", ".ai/tools/rye/agent/agent.yaml", "--key", "me"]).code, 0);
    let (signed, _) = plan(&place);
    assert_eq!(agent(&signed)["space"], json!("project"), "{signed}");
    let shown = place.run(&["run", "g.yaml", "--caps", "caps.yaml", "--plan"]);
    assert!(shown.stderr.contains("replaces the one that is built into graph-host"), "{}", shown.stderr);
    std::fs::remove_file(place.path(".ai/tools/rye/agent/agent.yaml")).unwrap();
    let store = place.read("home/trust.yaml");
    place.write(
        "home/trust.yaml",
        &format!("{store}require:\n  - {{ items: [\"rye/agent/agent\"], threshold: 1, keys: [me] }}\n"),
    );
    let refused = place.run(&["run", "g.yaml", "--caps", "caps.yaml"]);
    assert_eq!(refused.code, 8, "{}", refused.stderr);
    assert!(refused.stderr.contains("is not signed"), "{}", refused.stderr);
}

#[test]
fn a_bundle_takes_what_is_built_in_along() {
    let place = asking();
    let bundled = place.run(&["bundle", "g.yaml", "--caps", "caps.yaml", "-o", "site"]);
    assert_eq!(bundled.code, 0, "{}", bundled.stderr);
    let bundle: serde_json::Value = serde_json::from_str(&place.read("site/bundle.json")).unwrap();
    let graphs: Vec<_> = bundle["graphs"].as_array().unwrap().iter().map(|graph| &graph["id"]).collect();
    assert_eq!(graphs, [AGENT]);
    let component = &bundle["components"][0];
    assert_eq!(component["item"], json!("rye/agent/turn"));
    let (envelope, trust) = (component["envelope"].as_str().unwrap(), bundle["trust"].as_str().unwrap());
    let bytes =
        std::fs::read(place.path(&format!("site/{}/component.wasm", component["path"].as_str().unwrap())))
            .unwrap();
    let (store, _) = graph_core::trust::TrustStore::from_yaml("trust.yaml", trust).unwrap();
    let at = graph_core::time::Timestamp(1_700_000_000_000);
    let verify = |item: &str| {
        graph_core::trust::VerifiedComponent::verify(bytes.clone().into(), Some(envelope), &store, item, at)
    };
    assert!(verify("rye/agent/turn").is_ok());
    assert!(verify("rye/agent/other").is_err(), "the key is for what is built in alone");
}
