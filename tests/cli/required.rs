//! A signature that the trust store requires cannot be avoided by removing it, for any reader of the item; and an item
//! that was signed as one kind is not accepted as another kind.

use serde_json::Value;

use crate::place::{Place, Ran};

const GRAPH: &str = "start: a\nnodes: { a: { assign: { done: 1 } } }";
const NOTE: &str = "---\ntitle: Note\n---\nA text.\n";
const DIRECTIVE: &str = "---\ntitle: Do\n---\nDo it.\n";
const ITEMS: [&str; 4] =
    [".ai/tools/t/child.yaml", ".ai/knowledge/t/note.md", ".ai/directives/t/do.md", ".ai/tools/t/kit.wasm"];

fn is_component(item: &str) -> bool {
    std::path::Path::new(item).extension().is_some_and(|extension| extension == "wasm")
}

fn ok(ran: &Ran) {
    assert_eq!(ran.code, 0, "{}", ran.shown());
}

/// Makes one item of each kind, all signed with the key that is required for them.
fn place() -> Place {
    let place = Place::with_compiled_testkit();
    for folder in ["knowledge/t", "directives/t"] {
        std::fs::create_dir_all(place.path(".ai").join(folder)).unwrap();
    }
    place.graph(".ai/tools/t/child.yaml", GRAPH);
    place.write(".ai/knowledge/t/note.md", NOTE);
    place.write(".ai/directives/t/do.md", DIRECTIVE);
    place.write("caps.yaml", "dispatch: ['*']\n");
    for key in ["one", "other"] {
        ok(&place.run(&["keys", "generate", key]));
        ok(&place.run(&["trust", "add", key, "--key", key, "--items", "t/*"]));
    }
    let store = place.read("home/trust.yaml");
    place.write(
        "home/trust.yaml",
        &format!("{store}require:\n  - {{ items: [\"t/*\"], threshold: 1, keys: [one] }}\n"),
    );
    for item in ITEMS {
        sign(&place, item, "one");
    }
    place
}

fn sign(place: &Place, item: &str, key: &str) {
    let version: &[&str] = if is_component(item) { &["--version", "1.0.0"] } else { &[] };
    ok(&place.run(&[&["sign", item, "--key", key], version].concat()));
}

/// Removes the signature of an item.
fn unsign(place: &Place, item: &str) {
    if is_component(item) {
        std::fs::remove_file(place.path(&format!("{item}.dsse.json"))).unwrap();
        return;
    }
    let text = place.read(item);
    let (line, rest) = text.split_once('\n').unwrap();
    assert!(line.contains("graph-host:signed:"), "{text}");
    place.write(item, rest);
}

/// Returns the place of the rule in the trust store.
fn rule(place: &Place) -> String {
    let store = place.read("home/trust.yaml");
    let line = store.lines().position(|line| line.contains("threshold: 1")).unwrap() + 1;
    format!("trust.yaml:{line}")
}

fn refused(place: &Place, (document, code): &(Value, i32), item: &str) {
    assert_eq!(*code, 8, "{item}: {document}");
    let error = document["error"].to_string();
    for text in ["`one`", &rule(place), "graph-host sign", item] {
        assert!(error.contains(text), "{item}: no {text:?} in {document}");
    }
}

/// Writes a graph of one node.
fn node(place: &Place, node: &str) {
    place.graph("g.yaml", &format!("start: a\nnodes: {{ a: {{ {node} }} }}"));
}

fn run(place: &Place, graph: &str, id: &str) -> (Value, i32) {
    place.json(&["run", graph, "--caps", "caps.yaml", "--allow-unsigned", "--run-id", id])
}

#[test]
fn a_removed_signature_is_refused_wherever_an_item_is_used() {
    let place = place();
    let uses = [
        (ITEMS[0], "action: { item_id: t/child }"),
        (ITEMS[0], "action: { primary: load, item_id: t/child }"),
        (ITEMS[1], "action: { primary: load, item_type: knowledge, item_id: t/note }"),
        (ITEMS[1], "action: { item_type: knowledge, item_id: t/note }"),
        (ITEMS[2], "action: { primary: load, item_type: directive, item_id: t/do }"),
        (ITEMS[2], "action: { item_type: directive, item_id: t/do }"),
        (ITEMS[3], "action: { item_id: t/kit, params: { op: echo, value: 1 } }"),
    ];
    for (at, (item, entry)) in uses.into_iter().enumerate() {
        node(&place, entry);
        let (ran, code) = run(&place, "g.yaml", &format!("signed-{at}"));
        assert_eq!(code, 0, "{entry}: {ran}");
        let kept: Vec<_> = [item.to_owned(), format!("{item}.dsse.json")]
            .into_iter()
            .filter_map(|file| Some((file.clone(), std::fs::read(place.path(&file)).ok()?)))
            .collect();
        unsign(&place, item);
        let is_load_of_tool = entry.contains("load, item_id");
        let ended = run(&place, "g.yaml", &format!("removed-{at}"));
        if is_load_of_tool {
            // Read at its dispatch: a failure of the node.
            assert_eq!((ended.1, &ended.0["error"]["category"]), (4, &Value::from("denied")), "{}", ended.0);
            assert!(ended.0.to_string().contains(&rule(&place)), "{}", ended.0);
        } else {
            refused(&place, &ended, item.rsplit_once('/').unwrap().1.rsplit_once('.').unwrap().0);
            assert_eq!(place.run(&["runs", "show", &format!("removed-{at}")]).code, 9);
        }
        // A signature of a key that the rule does not name is not enough either.
        sign(&place, item, "other");
        let ended = run(&place, "g.yaml", &format!("other-{at}"));
        assert_eq!(ended.1, if is_load_of_tool { 4 } else { 8 }, "{entry}: {}", ended.0);
        for (file, bytes) in kept {
            std::fs::write(place.path(&file), bytes).unwrap();
        }
    }
}

#[test]
fn a_removed_signature_is_refused_at_the_named_graph_and_by_every_command_that_reads_it() {
    let place = place();
    let commands: [&[&str]; 5] = [
        &["run", ITEMS[0], "--allow-unsigned"],
        &["run", "t/child", "--allow-unsigned"],
        &["run", "t/child", "--plan"],
        &["verify", ITEMS[0]],
        &["publish", "t/child", "oci-layout:out", "--version", "1.0.0"],
    ];
    for command in commands {
        let (ran, code) = place.json(command);
        assert_eq!(code, 0, "{command:?}: {ran}");
    }
    unsign(&place, ITEMS[0]);
    for command in commands {
        refused(&place, &place.json(command), "child");
    }
    assert_eq!(place.json(&["inspect", "t/child"]).1, 8);
}

#[test]
fn a_search_leaves_out_what_lost_its_signature() {
    let place = place();
    for (item_type, item) in [("tool", ITEMS[0]), ("knowledge", ITEMS[1]), ("directive", ITEMS[2])] {
        node(
            &place,
            &format!(
                "action: {{ primary: search, item_type: {item_type} }}, assign: {{ found: \"${{result.total}}\" }}"
            ),
        );
        let (before, code) = run(&place, "g.yaml", &format!("before-{item_type}"));
        assert_eq!(code, 0, "{before}");
        unsign(&place, item);
        let (after, code) = run(&place, "g.yaml", &format!("after-{item_type}"));
        assert_eq!(code, 0, "{after}");
        let count = |document: &Value| document["state"]["found"].as_u64().unwrap();
        assert_eq!(count(&after) + 1, count(&before), "{after}");
        assert!(after["warnings"].to_string().contains(&rule(&place)), "{after}");
        sign(&place, item, "one");
    }
}

#[test]
fn a_run_does_not_sign_what_lost_the_signature_that_is_required() {
    let place = place();
    node(&place, "action: { primary: sign, item_type: knowledge, item_id: t/note }");
    place.write("caps.yaml", "dispatch: ['sign.knowledge.t.note']\n");
    let run = |key: &str| place.json(&["run", "g.yaml", "--caps", "caps.yaml", "--sign-with", key]);
    let (ran, code) = run("one");
    assert_eq!(code, 0, "{ran}");
    // Neither with an insufficient key, nor if the text may have been replaced since.
    let signed = place.read(ITEMS[1]);
    let (ran, code) = run("other");
    assert_eq!(code, 4, "{ran}");
    assert_eq!(place.read(ITEMS[1]), signed);
    unsign(&place, ITEMS[1]);
    let (ran, code) = run("one");
    assert_eq!(code, 4, "{ran}");
    assert!(ran.to_string().contains(&rule(&place)), "{ran}");
    assert!(!place.read(ITEMS[1]).contains("graph-host:signed"));
}

#[test]
fn hooks_and_called_items_are_held_to_it() {
    let place = place();
    place.graph(
        "g.yaml",
        "start: a\nhooks: [{ event: graph_started, action: { item_id: t/kit, params: { op: echo, value: 1 } } }]\nnodes: { a: {} }",
    );
    assert_eq!(run(&place, "g.yaml", "signed").1, 0);
    let envelope = std::fs::read(place.path(&format!("{}.dsse.json", ITEMS[3]))).unwrap();
    unsign(&place, ITEMS[3]);
    refused(&place, &run(&place, "g.yaml", "hook"), "t/kit");
    std::fs::write(place.path(&format!("{}.dsse.json", ITEMS[3])), envelope).unwrap();
}

#[test]
fn a_run_that_began_before_the_rule_is_held_to_it() {
    let place = place();
    let store = place.read("home/trust.yaml");
    let (plain, require) = store.split_at(store.find("require:").unwrap());
    let uses = [
        (ITEMS[0], "action: { item_id: t/child }"),
        (ITEMS[1], "action: { primary: load, item_type: knowledge, item_id: t/note }"),
    ];
    for (at, (item, entry)) in uses.into_iter().enumerate() {
        place.write("home/trust.yaml", plain);
        node(&place, &format!("interrupt: before, {entry}"));
        for when in ["unsigned", "gone"] {
            unsign(&place, item);
            let id = format!("{when}-{at}");
            assert_eq!(run(&place, "g.yaml", &id).1, 6);
            if when == "gone" {
                std::fs::remove_file(place.path(item)).unwrap();
            }
            place.write("home/trust.yaml", &format!("{plain}{require}"));
            let (ended, code) = place.json(&["resume", &id]);
            assert_eq!(code, 8, "{when} {item}: {ended}");
            assert!(ended.to_string().contains("trust.yaml:"), "{when} {item}: {ended}");
            // An item that was signed as the rule requires continues, also from the run's copy.
            place.write("home/trust.yaml", plain);
            if at == 0 {
                place.graph(item, GRAPH);
            } else {
                place.write(item, NOTE);
            }
            sign(&place, item, "one");
            let id = format!("signed-{when}-{at}");
            assert_eq!(run(&place, "g.yaml", &id).1, 6);
            place.write("home/trust.yaml", &format!("{plain}{require}"));
            let text = place.read(item);
            if when == "gone" {
                std::fs::remove_file(place.path(item)).unwrap();
            }
            let (ended, code) = place.json(&["resume", &id]);
            assert_eq!(code, 0, "{when} {item}: {ended}");
            place.write(item, &text);
            place.write("home/trust.yaml", plain);
        }
    }
}

#[test]
fn a_replay_is_held_to_it() {
    let place = place();
    let store = place.read("home/trust.yaml");
    let (plain, require) = store.split_at(store.find("require:").unwrap());
    place.write("home/trust.yaml", plain);
    unsign(&place, ITEMS[0]);
    node(&place, "action: { item_id: t/child }");
    assert_eq!(run(&place, "g.yaml", "r").1, 0);
    ok(&place.run(&["replay", "r"]));
    place.write("home/trust.yaml", &format!("{plain}{require}"));
    let (ended, code) = place.json(&["replay", "r"]);
    assert_eq!(code, 8, "{ended}");
    assert!(ended.to_string().contains("trust.yaml:"), "{ended}");
}

#[test]
fn a_signature_of_one_kind_is_no_signature_of_another() {
    let place = place();
    // A graph's text as knowledge: Markdown may be any text.
    place.graph("graph.yaml", GRAPH);
    let text = place.read("graph.yaml");
    place.write(".ai/knowledge/t/made.md", &text);
    sign(&place, ".ai/knowledge/t/made.md", "one");
    let signed = place.read(".ai/knowledge/t/made.md");
    let (line, rest) = signed.split_once('\n').unwrap();
    let line = line.replace("<!-- ", "# ").replace(" -->", "");
    place.write(".ai/tools/t/made.yaml", &format!("{line}\n{rest}"));
    for command in [&["run", "t/made", "--allow-unsigned"][..], &["verify", ".ai/tools/t/made.yaml"]] {
        let (ended, code) = place.json(command);
        assert_eq!(code, 8, "{ended}");
        let told = ended["error"].to_string();
        assert!(told.contains("signed it as knowledge, and it is used as a graph"), "{told}");
        assert!(told.contains("graph-host sign"), "{told}");
    }
    place.write(".ai/directives/t/made.md", &signed);
    let (ended, code) = place.json(&["verify", ".ai/directives/t/made.md"]);
    assert_eq!(code, 8, "{ended}");
    let (shown, code) = place.json(&["verify", ".ai/knowledge/t/made.md"]);
    assert_eq!((code, &shown["kind"], &shown["format"]), (0, &"knowledge".into(), &2.into()), "{shown}");
    // Outside of `.ai`, the kind is an option, or follows from the text.
    place.write("made.md", &text);
    let sign = ["sign", "made.md", "--key", "one", "--id", "t/made"];
    let (signed, code) = place.json(&[&sign[..], &["--kind", "directive"]].concat());
    assert_eq!((code, &signed["kind"]), (0, &"directive".into()), "{signed}");
    assert_eq!(place.json(&["verify", "made.md", "--id", "t/made"]).1, 8);
    assert_eq!(place.json(&["verify", "made.md", "--id", "t/made", "--kind", "directive"]).1, 0);
    assert_eq!(place.json(&[&sign[..], &["--kind", "tool"]].concat()).1, 2);
    assert_eq!(place.json(&["verify", ITEMS[3], "--kind", "graph"]).1, 2);
}
