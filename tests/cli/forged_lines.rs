//! A stranger's text never appears as a line of the program, nor as a command of a CI system that reads the output.

use serde_json::{Value, json};

use crate::place::{Place, Ran};

/// Texts that would forge lines if they were printed unchanged: after a line break, in the first line of a field, and
/// where a long message is wrapped.
const FORGED: [&str; 4] = [
    "x\n::error::forged\n  ::stop-commands::forged\n##[error]forged\nforged: 1 passed, 0 failed\n  trust     forged\n- forged\n\tforged",
    "::error title=x::forged",
    "trust     forged ##vso[task.setvariable variable=PATH]forged",
    "a text that is long enough for the message that quotes it to be wrapped ::warning::forged ::notice::forged",
];

/// Fails if a line of the output is the stranger's: at the margin, as a field of `inspect`, or as a command of a CI system.
fn shows_no_forged_line(text: &str, args: &[&str], ran: &Ran) {
    for line in ran.stdout.lines().chain(ran.stderr.lines()).flat_map(|line| line.split('\r')) {
        let command = line.trim_start().strip_prefix("::");
        let is_forged = command.is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()))
            || line.contains("##[")
            || line.contains("##vso[")
            || ["forged", "- forged", "\tforged"].iter().any(|own| line.starts_with(own))
            || (args[0] == "inspect" && line.starts_with("  trust     forged"));
        assert!(!is_forged, "{text:?} {args:?}: {line:?}\n{}", ran.shown());
    }
}

/// Runs commands, each of which has to mention the text.
fn each_shows(place: &Place, text: &str, commands: &[&[&str]]) {
    for args in commands {
        let ran = place.run(args);
        shows_no_forged_line(text, args, &ran);
        assert!(ran.stdout.contains("forged") || ran.stderr.contains("forged"), "{args:?}: {}", ran.shown());
    }
}

#[test]
fn what_a_graph_says_is_no_line_of_ours() {
    for text in FORGED {
        let place = Place::new();
        let quoted = json!(text).to_string();
        place.write(
            "g.yaml",
            &format!(
                "version: \"1\"\ntool_type: graph\nexecutor_id: graph-host\ncategory: tests\ndescription: {quoted}\n\
                 permissions: [{quoted}]\nconfig:\n  start: q\n  max_steps: 9\n  nodes:\n    q:\n      type: ask\n      \
                 ask: {{ question: {quoted}, choices: [{quoted}, b], about: {quoted} }}\n      next: f\n    \
                 f: {{ type: fail, fail: {{ message: {quoted} }} }}\n    alone: {{ next: {quoted} }}\n"
            ),
        );
        each_shows(&place, text, &[&["validate", "g.yaml"]]);
        let graph = place.read("g.yaml");
        place.write("g.yaml", graph.split("    alone").next().unwrap());
        each_shows(
            &place,
            text,
            &[
                &["inspect", "g.yaml"],
                &["run", "g.yaml", "--plan"],
                &["run", "g.yaml", "--run-id", "r"],
                &["runs", "show", "r"],
                &["runs", "wait", "r"],
                &["resume", "r", "--answer", "b"],
                &["runs", "show", "r"],
                &["runs", "wait", "r"],
                &["resume", "r", "--answer", text],
            ],
        );
        for args in [
            &["runs", "list"][..],
            &["runs", "history", "r"],
            &["runs", "watch", "r"],
            &["graph", "report", "g.yaml"],
        ] {
            shows_no_forged_line(text, args, &place.run(args));
        }
    }
}

#[test]
fn names_in_a_graph_are_no_lines_of_ours() {
    for text in FORGED {
        let place = Place::with_testkit();
        let quoted = json!(text).to_string();
        place.graph(
            "g.yaml",
            &format!(
                "start: {quoted}\nchannels: {{ {quoted}: append }}\nhooks:\n  - {{ id: {quoted}, event: error, action: {{ item_id: {quoted} }} }}\n\
                 nodes:\n  {quoted}: {{ action: {{ item_id: {quoted}, params: {{ op: {quoted} }} }}, next: [ {{ to: {quoted}, when: {quoted}, label: {quoted} }} ], on_error: {quoted} }}\n"
            ),
        );
        place.graph("h.yaml", &format!("start: a\nnodes:\n  a: {{ action: {{ item_id: {quoted} }} }}\n"));
        place.graph("i.yaml", &format!("start: a\nnodes:\n  a: {{ action: {{ item_id: t/kit, params: {{ op: fail, message: {quoted} }} }} }}\n"));
        place.write("bad.yaml", &format!("dispatch: [{quoted}]\n{quoted}: 1\n"));
        for graph in ["g.yaml", "h.yaml", "i.yaml"] {
            for args in [
                &["validate", graph][..],
                &["validate", graph, "--items", "x"],
                &["inspect", graph],
                &["caps", "suggest", graph, "--allow-unsigned"],
                &["graph", "report", graph],
                &["graph", "show", graph],
                &["run", graph, "--plan", "--caps", "caps.yaml", "--allow-unsigned"],
                &["run", graph, "--caps", "caps.yaml", "--allow-unsigned"],
                &["run", graph, "--caps", "bad.yaml"],
            ] {
                shows_no_forged_line(text, args, &place.run(args));
            }
        }
    }
}

#[test]
fn what_a_case_says_is_no_line_of_ours() {
    for text in FORGED {
        let place = Place::new();
        let quoted = json!(text).to_string();
        place.write(
            "a.case.yaml",
            &format!(
                "name: {quoted}\nabout: {quoted}\ngraph: {{ start: f, nodes: {{ f: {{ type: fail, fail: {{ message: {quoted} }} }} }} }}\n\
                 script:\n  - run: {{ inputs: {{ a: {quoted} }} }}\n    expect: {{ status: completed, error: {{ contains: [{quoted}] }}, state: {{ x: {quoted} }} }}\n"
            ),
        );
        place.write("b.case.yaml", &format!("name: {quoted}\n{quoted}: 1\nscript: [{{ {quoted}: 1 }}]\n"));
        each_shows(&place, text, &[&["test", "a.case.yaml"]]);
        // A long key is shortened.
        for args in
            [&["test", "b.case.yaml"][..], &["validate", "b.case.yaml"], &["test", ".", "--filter", text]]
        {
            shows_no_forged_line(text, args, &place.run(args));
        }
    }
}

#[test]
fn what_knowledge_and_its_publisher_say_is_no_line_of_ours() {
    for text in FORGED {
        let place = Place::new();
        let quoted = json!(text).to_string();
        std::fs::create_dir_all(place.path(".ai/knowledge/t")).unwrap();
        let note = format!(
            "---\nid: t/note\ntitle: {quoted}\nversion: 1.0.0\ndescription: {quoted}\ntags: [{quoted}]\n---\n{text}\n"
        );
        place.write(".ai/knowledge/t/note.md", &note);
        each_shows(&place, text, &[&["inspect", "t/note"]]);
        for args in [
            &["keys", "generate", "me"][..],
            &["trust", "add", "me", "--key", "me", "--items", "t/*"],
            &["sign", ".ai/knowledge/t/note.md", "--key", "me"],
            &["publish", "t/note", "oci-layout:out"],
        ] {
            let ran = place.run(args);
            assert_eq!(ran.code, 0, "{args:?}: {}", ran.shown());
        }
        let yank = ["yank", "oci-layout:out:t/note:1.0.0", "--key", "me", "--reason", text];
        shows_no_forged_line(text, &yank, &place.run(&yank));
        for args in [
            &["search", "oci-layout:out"][..],
            &["pull", "oci-layout:out:t/note:1.0.0"],
            &["lock", "--check"],
        ] {
            shows_no_forged_line(text, args, &place.run(args));
        }
    }
}

#[test]
fn what_trust_files_and_lockfiles_say_is_no_line_of_ours() {
    for text in FORGED {
        let place = Place::new();
        let quoted = json!(text).to_string();
        let key = "a".repeat(64);
        place.write(
            "trust.yaml",
            &format!("keys:\n  - {{ name: {quoted}, key: {key}, items: [{quoted}] }}\nrequire:\n  - {{ items: [{quoted}], keys: [{quoted}] }}\n"),
        );
        std::fs::create_dir_all(place.path(".ai")).unwrap();
        place.write(
            ".ai/lock.yaml",
            &format!(
                "version: 1\nitems:\n  {quoted}: {{ kind: graph, reference: {quoted}, version: {quoted} }}\n"
            ),
        );
        place.write("graph-host.lock", &place.read(".ai/lock.yaml"));
        place.graph("g.yaml", "start: a\nnodes: { a: { assign: { x: 1 } } }");
        for args in [
            &["trust", "list", "--file", "trust.yaml"][..],
            &["validate", "trust.yaml"],
            &["run", "g.yaml", "--trust", "trust.yaml"],
            &["lock", "--check"],
            &["pull"],
            &["explain", text],
            &["trust", "revoke", text],
            &["runs", "show", text],
            &["inspect", text],
        ] {
            shows_no_forged_line(text, args, &place.run(args));
        }
    }
}

#[test]
fn names_of_files_are_no_lines_of_ours() {
    for text in FORGED {
        let place = Place::new();
        let name = text.replace(": ", "");
        let (graph, case, note) = (format!("{name}.yaml"), format!("{name}.case.yaml"), format!("{name}.md"));
        place.graph(&graph, "start: a\nnodes: { a: { assign: { x: 1 } } }");
        place.write(&case, "script: [");
        place.write(&note, "---\ntitle: [\n---\n");
        for args in [
            &["validate", &graph][..],
            &["validate", "."],
            &["inspect", &graph],
            &["inspect", &note],
            &["run", &graph, "--plan"],
            &["run", &graph],
            &["run", "g.yaml", "--caps", &name],
            &["test", &case],
            &["test", "."],
            &["sign", &graph, "--key", &name],
            &["verify", &graph],
            &["trust", "list", "--file", &name],
        ] {
            shows_no_forged_line(&name, args, &place.run(args));
        }
    }
}

/// The manifest of another host's run is listed if a replay needs one.
#[test]
fn what_a_strangers_manifest_names_is_no_line_of_ours() {
    for text in &FORGED[..2] {
        let (stranger, place) = (Place::new(), Place::new());
        let folder = text.replace('/', "");
        std::fs::create_dir_all(stranger.path(&folder)).unwrap();
        let quoted = json!(folder).to_string();
        stranger.graph("g.yaml", "start: a\nnodes: { a: { assign: { x: 1 } } }");
        stranger.write(
            "caps.yaml",
            &format!("items:\n  t/x:\n    filesystem: [{{ path: {quoted}, as: /data, access: ro }}]\n"),
        );
        let ran = stranger.run(&["run", "g.yaml", "--caps", "caps.yaml", "--run-id", "r"]);
        assert_eq!(ran.code, 0, "{}", ran.shown());
        assert_eq!(stranger.run(&["runs", "export", "r", "-o", "r.jsonl"]).code, 0);
        let file = stranger.read("r.jsonl");
        let header: Value = serde_json::from_str(file.lines().next().unwrap()).unwrap();
        place.write("public.pem", header["key"].as_str().unwrap());
        place.write("r.jsonl", &file);
        assert_eq!(place.run(&["runs", "import", "r.jsonl"]).code, 0);
        each_shows(&place, text, &[&["replay", "r", "--live", "--key", "public.pem"]]);
        for args in
            [&["replay", "r"][..], &["runs", "show", "r"], &["runs", "history", "r"], &["resume", "r"]]
        {
            shows_no_forged_line(text, args, &place.run(args));
        }
    }
}
