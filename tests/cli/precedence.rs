//! Precedence between items with one id: items that a stranger's project must not put before the user's own.

use serde_json::json;

use crate::place::{Place, Ran, kit};

const NOTE: &str = "---\ntitle: Notes\nversion: @V\n---\nText @V.\n";
const GREET: &str =
    "---\nversion: @V\ninputs: { who: { type: string, required: true } }\n---\nGreet {input:who} (@V).\n";
const FLOW: &str = "version: \"@V\"\ntool_type: graph\nexecutor_id: graph-host\ncategory: tests\ndescription: a test\nconfig:\n  start: a\n  nodes: { a: { assign: { text: \"flow @V\" } } }\n";

/// A graph that dispatches an item of every kind.
const EVERY_KIND: &str = "start: [component, graph, knowledge, directive]
nodes:
  component: { action: { item_id: t/kit, params: { op: echo, value: ran } }, assign: { component: \"${result}\" } }
  graph: { action: { item_id: t/flow }, assign: { graph: \"${result.text}\" } }
  knowledge: { action: { primary: load, item_type: knowledge, item_id: t/note }, assign: { knowledge: \"${result.body}\" } }
  directive: { action: { item_type: directive, item_id: t/greet, params: { who: Ada } }, assign: { directive: \"${result.text}\" } }";

/// Files of the items, below `.ai`, and their texts with a placeholder for the version.
const TEXTS: [(&str, &str); 3] =
    [("tools/t/flow.yaml", FLOW), ("knowledge/t/note.md", NOTE), ("directives/t/greet.md", GREET)];

fn ok(ran: &Ran) {
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

/// Makes a user whose own items of every kind are signed with this version, and a graph that uses them.
fn with_own_items(version: &str) -> Place {
    let place = Place::with_compiled_testkit();
    std::fs::remove_file(place.path(".ai/tools/t/kit.wasm")).unwrap();
    for folder in ["home/.ai/tools/t", "home/.ai/knowledge/t", "home/.ai/directives/t"] {
        std::fs::create_dir_all(place.path(folder)).unwrap();
    }
    for folder in [".ai/knowledge/t", ".ai/directives/t"] {
        std::fs::create_dir_all(place.path(folder)).unwrap();
    }
    ok(&place.run(&["keys", "generate", "me"]));
    ok(&place.run(&["trust", "add", "me", "--key", "me", "--items", "t/*"]));
    put(&place, "home/.ai", version, true);
    place.graph("g.yaml", EVERY_KIND);
    place.write("caps.yaml", "dispatch: ['execute.tool.t.*', 'load.*', 'search.*', 'execute.directive.*']\n");
    place
}

/// Writes an item of every kind into a space.
fn put(place: &Place, space: &str, version: &str, sign: bool) {
    for (file, text) in TEXTS {
        place.write(&format!("{space}/{file}"), &text.replace("@V", version));
    }
    std::fs::copy(kit("testkit"), place.path(&format!("{space}/tools/t/kit.wasm"))).unwrap();
    if sign {
        for (file, _) in TEXTS {
            ok(&place.run(&["sign", &format!("{space}/{file}"), "--key", "me"]));
        }
        let component = format!("{space}/tools/t/kit.wasm");
        ok(&place.run(&["sign", &component, "--key", "me", "--version", version]));
    }
}

const RUN: [&str; 4] = ["run", "g.yaml", "--caps", "caps.yaml"];

fn plan(place: &Place, more: &[&str]) -> String {
    shown(&place.run(&[&RUN[..], &["--plan"], more].concat()))
}

/// Returns the outcome of a command, without parts that differ between keys, and without the progress of a run.
fn shown(ran: &Ran) -> String {
    let text = ran.shown();
    let mut parts = text.split("signed by `me` (");
    let mut clean = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        clean += "signed by `me` ([key]";
        clean += &part[12..];
    }
    clean
}

#[test]
fn inspect_shows_the_other_items_with_an_id() {
    let place = with_own_items("1.2.0");
    put(&place, ".ai", "1.3.0", true);
    let other = |space: &str, version: &str| json!({ "space": space, "version": version, "signer": "me" });
    let without_file = |mut shown: serde_json::Value| {
        shown.as_object_mut().unwrap().remove("file");
        shown
    };
    for (item, own) in [
        ("t/kit", "tools/t/kit.wasm"),
        ("t/flow", "tools/t/flow.yaml"),
        ("t/note", "knowledge/t/note.md"),
        ("t/greet", "directives/t/greet.md"),
    ] {
        for named in [item, &format!(".ai/{own}")] {
            let (shown, code) = place.json(&["inspect", named]);
            assert_eq!((code, &shown["space"], &shown["hidden_by"]), (0, &json!("project"), &json!(null)));
            assert_eq!(without_file(shown["hides"][0].clone()), other("user", "1.2.0"), "{named}");
            let text = place.run(&["inspect", named]);
            assert!(
                text.stdout.contains("  place     from project; hides user 1.2.0 signed by me\n"),
                "{}",
                text.shown()
            );
        }
        let (shown, code) = place.json(&["inspect", &format!("home/.ai/{own}")]);
        assert_eq!((code, &shown["space"], &shown["hides"]), (0, &json!("user"), &json!([])), "{shown}");
        assert_eq!(without_file(shown["hidden_by"].clone()), other("project", "1.3.0"), "{item}");
    }
    // An unsigned item of the project is passed over.
    put(&place, ".ai", "1.3.0", false);
    std::fs::remove_file(place.path(".ai/tools/t/kit.wasm.dsse.json")).unwrap();
    let (shown, _) = place.json(&["inspect", "t/note"]);
    assert_eq!((&shown["space"], &shown["passed_over"][0]["space"]), (&json!("user"), &json!("project")));
}

#[test]
fn an_unsigned_item_never_replaces_a_signed_one() {
    let place = with_own_items("1.2.0");
    put(&place, ".ai", "9.0.0", false);
    insta::assert_snapshot!(plan(&place, &["--allow-unsigned"]));
    let run = place.run(&[&RUN[..], &["--allow-unsigned"]].concat());
    let warned = run.stderr.matches("an unsigned item never replaces a signed one").count();
    assert_eq!((run.code, warned), (0, 4), "{}", run.stderr);
    // It runs the signed items, without permission to run others.
    let (document, code) = place.json(&RUN);
    assert_eq!(code, 0, "{document}");
    let state = json!({
        "component": "ran", "graph": "flow 1.2.0", "knowledge": "Text 1.2.0.", "directive": "Greet Ada (1.2.0).",
    });
    for (key, text) in state.as_object().unwrap() {
        assert_eq!(document["state"][key].as_str().unwrap().trim(), text, "{document}");
    }
    let (document, _) = place.json(&[&RUN[..], &["--plan"]].concat());
    for item in [&document["items"][0], &document["graphs"][0], &document["texts"][0], &document["texts"][1]]
    {
        assert_eq!(item["space"], json!("user"), "{item}");
        assert_eq!(item["passed_over"][0]["space"], json!("project"), "{item}");
        assert_eq!(item["hides"], json!([]), "{item}");
    }
    // A graph that is named by its id is chosen by the same rule, with a warning.
    let named = place.run(&["run", "t/flow", "--json"]);
    assert!(named.stdout.contains("flow 1.2.0"), "{}", named.stdout);
    assert!(named.stderr.contains("an unsigned item never replaces a signed one"), "{}", named.stderr);
    // The user's own decision.
    let (document, code) = place.json(&[&RUN[..], &["--allow-unsigned", "--items", ".ai"]].concat());
    assert_eq!((code, &document["state"]["graph"]), (0, &json!("flow 9.0.0")), "{document}");
}

#[test]
fn an_older_item_of_the_project_is_refused_where_the_user_has_a_newer_one() {
    let place = with_own_items("1.2.0");
    put(&place, ".ai", "1.0.0", true);
    // The graph inside the graph is found first, and refused by itself.
    let refused = place.run(&RUN);
    assert_eq!(refused.code, 8, "{}", refused.stderr);
    let by_id = place.run(&["run", "t/flow"]);
    assert_eq!(by_id.code, 8, "{}", by_id.stderr);
    std::fs::remove_file(place.path(".ai/tools/t/flow.yaml")).unwrap();
    let planned = plan(&place, &[]);
    let run = place.run(&RUN);
    assert_eq!(run.code, 8, "{}", run.stderr);
    insta::assert_snapshot!([shown(&refused), planned, shown(&run)].join("\n"));
    // The user's own decision.
    ok(&place.run(&[&RUN[..], &["--items", ".ai"]].concat()));

    // A newer or an equal version: the project's item is used, and the plan names the items that it hides.
    put(&place, ".ai", "1.3.0", true);
    insta::assert_snapshot!(plan(&place, &[]));
    let (document, code) = place.json(&RUN);
    assert_eq!((code, &document["state"]["graph"]), (0, &json!("flow 1.3.0")), "{document}");
}

#[test]
fn a_different_item_of_no_known_version_is_reported_at_the_start() {
    let place = with_own_items("1.2.0");
    place.write(".ai/knowledge/t/note.md", "# Other\n");
    ok(&place.run(&["sign", ".ai/knowledge/t/note.md", "--key", "me"]));
    let run = place.run(&RUN);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("their versions do not say which one is newer"), "{}", run.stderr);
    // An equal text is not reported.
    std::fs::copy(place.path("home/.ai/knowledge/t/note.md"), place.path(".ai/knowledge/t/note.md")).unwrap();
    let run = place.run(&RUN);
    assert!(run.code == 0 && !run.stderr.contains("newer"), "{}", run.stderr);
}
