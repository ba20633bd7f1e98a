//! Items and spaces: their places, the texts that a run keeps, and the items that it may sign.

use serde_json::json;

use crate::place::Place;

const NOTE: &str = "---\ntitle: Notes\n---\nFirst text.\n";

fn with_note(config: &str, caps: &str) -> Place {
    let place = Place::new();
    for folder in ["knowledge/acme", "directives"] {
        std::fs::create_dir_all(place.path(".ai").join(folder)).unwrap();
    }
    place.write(".ai/knowledge/acme/note.md", NOTE);
    place.write(
        ".ai/directives/greet.md",
        "---\ninputs: { who: { type: string, required: true } }\n---\nGreet {input:who}.\n",
    );
    place.graph("g.yaml", config);
    place.write("caps.yaml", &format!("dispatch: [{caps}]\n"));
    place
}

/// A graph that loads the note after an answer.
const ASK_THEN_READ: &str = "start: wait\nnodes:\n  wait: { interrupt: after, next: read }\n  read:\n    action: { primary: load, item_type: knowledge, item_id: acme/note }\n    assign: { text: \"${result.body}\" }\noutput: \"${state.text}\"";

#[test]
fn a_run_keeps_the_texts_that_its_graph_names() {
    let place = with_note(ASK_THEN_READ, "load.knowledge.acme.*");
    let run = |id: &str| place.run(&["run", "g.yaml", "--caps", "caps.yaml", "--run-id", id]);
    let first = run("one");
    assert_eq!(first.code, 6, "{}", first.stderr);
    assert!(first.stderr.contains("the knowledge `acme/note` is not signed"), "{}", first.stderr);
    assert_eq!(run("two").code, 6);
    assert_eq!(run("three").code, 6);

    // A changed text is refused with its change, and used if the change is accepted.
    place.write(".ai/knowledge/acme/note.md", &NOTE.replace("First", "Second"));
    let refused = place.run(&["resume", "one"]);
    assert_eq!(refused.code, 8);
    assert!(refused.stderr.contains("the knowledge acme/note.md was "), "{}", refused.stderr);
    let accepted = place.run(&["resume", "one", "--accept-changes"]);
    assert_eq!((accepted.code, accepted.stdout.trim()), (0, "Second text."), "{}", accepted.stderr);

    // A removed text is replaced by the one that the run has kept; a signature line alone is no change.
    std::fs::remove_file(place.path(".ai/knowledge/acme/note.md")).unwrap();
    let kept = place.run(&["resume", "two"]);
    assert_eq!((kept.code, kept.stdout.trim()), (0, "First text."), "{}", kept.stderr);
    place.write(".ai/knowledge/acme/note.md", NOTE);
    assert_eq!(place.run(&["keys", "generate", "me"]).code, 0);
    assert_eq!(place.run(&["trust", "add", "me", "--key", "me", "--items", "acme/*"]).code, 0);
    assert_eq!(place.run(&["sign", ".ai/knowledge/acme/note.md", "--key", "me"]).code, 0);
    let signed = place.run(&["resume", "three"]);
    assert_eq!((signed.code, signed.stdout.trim()), (0, "First text."), "{}", signed.stderr);
    assert_eq!(place.run(&["runs", "verify", "three"]).code, 0);
}

#[test]
fn a_plan_lists_texts_and_what_is_missing() {
    let config = "start: [a, b, c, d]\nnodes:\n  a: { action: { primary: load, item_type: knowledge, item_id: acme/note } }\n  b: { action: { item_type: directive, item_id: greet, params: { who: 1 } } }\n  c: { action: { primary: search, item_type: knowledge } }\n  d: { action: { primary: sign, item_type: knowledge, item_id: acme/note } }";
    let place = with_note(config, "load.knowledge.acme.*, execute.directive.*");
    let plan = place.run(&["run", "g.yaml", "--caps", "caps.yaml", "--plan"]);
    let suggested = place.run(&["caps", "suggest", "g.yaml"]);
    insta::assert_snapshot!(format!("{}\n{}", plan.shown(), suggested.shown()));
    let (document, _) = place.json(&["run", "g.yaml", "--caps", "caps.yaml", "--plan"]);
    assert_eq!(document["texts"][1]["signature"], json!({ "standing": "unsigned" }), "{document}");
    place.graph(".ai/tools/t/flow.yaml", "start: a\nnodes: { a: {} }");
    let unknown = place.run(&["run", "t/flwo", "--caps", "caps.yaml"]);
    let registry = place.run(&["run", "oci://example.com/../graph:1", "--caps", "caps.yaml"]);
    insta::assert_snapshot!(format!("{}\n{}", unknown.shown(), registry.shown()));
}

#[test]
fn a_run_signs_what_both_manifest_and_user_name() {
    let config = "start: sign\nnodes:\n  sign: { action: { primary: sign, item_type: knowledge, item_id: acme/note }, assign: { by: \"${result.key_id}\", trusted: \"${result.trusted}\" } }";
    let place = with_note(config, "sign.knowledge.acme.note");
    assert_eq!(place.run(&["keys", "generate", "me"]).code, 0);
    assert_eq!(place.run(&["trust", "add", "me", "--key", "me", "--items", "acme/*"]).code, 0);
    let run = ["run", "g.yaml", "--caps", "caps.yaml"];
    let without = place.run(&run);
    assert_eq!(without.code, 4);
    assert!(without.stderr.contains("--sign-with KEY"), "{}", without.stderr);
    place.write("wide.yaml", "dispatch: ['sign.knowledge.*']\n");
    let wide = place.run(&["run", "g.yaml", "--caps", "wide.yaml", "--sign-with", "me"]);
    assert_eq!(wide.code, 4, "{}", wide.stderr);
    assert_eq!(std::fs::read_to_string(place.path(".ai/knowledge/acme/note.md")).unwrap(), NOTE);

    let (document, code) = place.json(&[&run[..], &["--sign-with", "me"]].concat());
    assert_eq!((code, &document["state"]["trusted"]), (0, &json!(true)), "{document}");
    let warnings = document["warnings"].to_string();
    assert!(warnings.contains("the run signed knowledge `acme/note` with the key"), "{warnings}");
    assert_eq!(place.run(&["verify", ".ai/knowledge/acme/note.md"]).code, 0);

    // An unreadable item is not signed.
    place.write(".ai/knowledge/acme/note.md", "---\ntitle: [\n---\n");
    let broken = place.run(&[&run[..], &["--sign-with", "me"]].concat());
    assert_eq!(broken.code, 5, "{}", broken.stderr);
}

#[test]
fn knowledge_and_directives_are_validated_and_shown() {
    let place = with_note(ASK_THEN_READ, "");
    place.write("typo.md", "---\ninputs: { who: }\n---\nGreet {input:woh}.\n");
    let files = [".ai/knowledge/acme/note.md", ".ai/directives/greet.md", "typo.md", "g.yaml"];
    let checked = place.run(&[&["validate"], &files[..]].concat());
    let shown = place.run(&["inspect", "acme/note"]);
    let directive = place.run(&["inspect", ".ai/directives/greet.md"]);
    insta::assert_snapshot!([checked.shown(), shown.shown(), directive.shown()].concat());
    let (document, code) = place.json(&["inspect", "greet"]);
    assert_eq!((code, &document["kind"], &document["space"]), (0, &json!("directive"), &json!("project")));
}

#[test]
fn items_come_from_the_project_then_from_the_users_space() {
    let config = "start: read\nnodes:\n  read: { action: { primary: load, item_type: knowledge, item_id: shared }, assign: { text: \"${result.body}\" } }\noutput: \"${state.text}\"";
    let place = with_note(config, "load.knowledge.shared");
    let text = || place.run(&["run", "g.yaml", "--caps", "caps.yaml", "--quiet"]).stdout.trim().to_owned();
    for (folder, content) in [
        ("home/installed/knowledge", "installed"),
        ("home/.ai/knowledge", "user"),
        (".ai/knowledge", "project"),
    ] {
        std::fs::create_dir_all(place.path(folder)).unwrap();
        place.write(&format!("{folder}/shared.md"), content);
        assert_eq!(text(), content);
    }
    std::fs::create_dir_all(place.path("named/knowledge")).unwrap();
    place.write("named/knowledge/shared.md", "named");
    let named = place.run(&["run", "g.yaml", "--caps", "caps.yaml", "--quiet", "--items", "named"]);
    assert_eq!(named.stdout.trim(), "named");
}
