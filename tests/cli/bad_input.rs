//! Every mistake has a message with advice, and its exit code.

use std::fmt::Write as _;

use crate::place::Place;

#[test]
fn mistakes_are_explained() {
    let place = Place::new();
    place.graph("good.yaml", "start: a\nnodes:\n  a: {}\n");
    place.graph("node.yaml", "start: a\nnodes:\n  a: { next: bb }\n  b: {}\n");
    place.write("yaml.yaml", "config: [1\n");
    place.write("text.wasm", "not a component");
    place.write("list.yaml", "- 1\n");
    place.write(
        "inputs.yaml",
        "version: \"1\"\ntool_type: graph\nexecutor_id: graph-host\ncategory: tests\ndescription: a test\nconfig_schema: { properties: { name: { type: integer } } }\nconfig: { start: a, nodes: { a: {} } }\n",
    );
    let cases: [(&[&str], i32); 28] = [
        (&["run", "missing.yaml"], 9),
        (&["run", "no/such/item"], 9),
        (&["run", "yaml.yaml"], 3),
        (&["run", "node.yaml"], 3),
        (&["run", "."], 2),
        (&["run", "good.yaml", "--caps", "missing.yaml"], 9),
        (&["run", "good.yaml", "--caps", "list.yaml"], 3),
        (&["run", "good.yaml", "--trust", "missing.yaml"], 9),
        (&["run", "good.yaml", "--items", "missing"], 9),
        (&["run", "good.yaml", "--inputs", "list.yaml"], 3),
        (&["run", "good.yaml", "--input", "novalue"], 2),
        (&["run", "good.yaml", "--run-id", "../x"], 2),
        (&["run", "good.yaml", "--max-steps", "0"], 2),
        (&["run", "good.yaml", "--max-steps", "-1"], 2),
        (&["run", "good.yaml", "--max-steps", "18446744073709551616"], 2),
        (&["resume", "r", "--max-steps", "-1"], 2),
        (&["runs", "wait", "r", "--timeout", "-3s"], 2),
        (&["runs", "watch", "r", "--from", "-1"], 2),
        (&["runs", "gc", "--keep", "-1"], 2),
        (&["inspect", "."], 2),
        (&["verify", "."], 2),
        (&["sign", ".", "--key", "nobody"], 9),
        (&["resume", "nope"], 9),
        (&["runs", "show", "nope"], 9),
        (&["inspect", "text.wasm"], 8),
        (&["run", ""], 2),
        (&["run", "text.wasm"], 2),
        (&["run", "inputs.yaml", "--input", "name=Ada"], 3),
    ];
    let mut shown = String::new();
    for (args, code) in cases {
        let ran = place.run(args);
        writeln!(shown, "$ graph-host {}\n{}", args.join(" "), ran.shown()).unwrap();
        assert_eq!(ran.code, code, "{args:?}: {}", ran.stderr);
        assert!(ran.stdout.is_empty(), "{args:?} prints on stdout: {}", ran.stdout);
        let (document, code_of_json) = place.json(args);
        assert_eq!(code_of_json, code, "{args:?}");
        assert!(document["error"]["message"].is_string(), "{args:?}: {document}");
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn hostile_files_are_refused() {
    let place = Place::new();
    let wide = format!("x: '{}', nex: a", "y".repeat(200_000));
    place.graph("wide.yaml", &format!("start: a\nnodes: {{ a: {{ {wide} }} }}\n"));
    let ran = place.run(&["validate", "wide.yaml"]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("`nex` is not a key") && ran.stderr.len() < 4000, "{}", ran.stderr);
    #[cfg(unix)]
    for args in
        [&["run", "/dev/zero"][..], &["validate", "/dev/zero"], &["run", "wide.yaml", "--trust", "/dev/zero"]]
    {
        let (document, code) = place.json(args);
        assert_eq!(code, 3, "{args:?}: {document}");
    }
}

#[test]
fn a_run_id_is_taken_once() {
    let place = Place::new();
    place.graph("good.yaml", "start: a\nnodes:\n  a: {}\n");
    assert_eq!(place.run(&["run", "good.yaml", "--run-id", "r"]).code, 0);
    let (document, code) = place.json(&["run", "good.yaml", "--run-id", "r"]);
    assert_eq!((code, &document["error"]["code"]), (2, &serde_json::json!("usage")), "{document}");
    assert_eq!(place.json(&["runs", "list"]).0["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn a_damaged_or_unwritable_store_is_told() {
    let place = Place::new();
    place.graph("good.yaml", "start: a\nnodes:\n  a: {}\n");
    std::fs::create_dir_all(place.path(".ai/state")).unwrap();
    place.write(".ai/state/runs.db", "");
    let empty = place.run(&["runs", "list"]);
    assert!(empty.code == 9 && empty.stderr.contains("runs.db is empty"), "{}", empty.stderr);
    place.write(".ai/state/runs.db", "this is no database, whatever its name says");
    let (document, code) = place.json(&["run", "good.yaml"]);
    assert_eq!((code, &document["error"]["code"]), (8, &serde_json::json!("integrity")), "{document}");
    std::fs::remove_dir_all(place.path(".ai/state")).unwrap();
    place.write(".ai/state", "a file where the folder should be");
    let (document, code) = place.json(&["run", "good.yaml"]);
    assert_eq!((code, &document["error"]["code"]), (10, &serde_json::json!("storage")), "{document}");
}

#[test]
fn inputs_that_the_schema_does_not_name_are_warned_of() {
    let place = Place::new();
    let graph = |schema: &str| {
        format!(
            "tool_type: graph\nconfig_schema: {schema}\nconfig:\n  start: a\n  nodes: {{ a: {{ assign: {{ x: 1 }} }} }}\n"
        )
    };
    place.write("g.yaml", &graph("{ properties: { files: { type: integer } } }"));
    let ran = place.run(&["run", "g.yaml", "--input", "fles=3", "--input", "depth=2", "--input", "files=1"]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let warning = "the graph's `config_schema` has no input `fles`; did you mean `files`?";
    assert_eq!(ran.stderr.matches("has no input").count(), 1, "{}", ran.shown());
    assert!(ran.stderr.contains(warning), "{}", ran.shown());
    let strict = place.run(&["run", "g.yaml", "--input", "fles=3", "--strict-inputs"]);
    assert_eq!(strict.code, 3);
    assert!(
        strict.stderr.contains(warning) && strict.stderr.contains("--strict-inputs"),
        "{}",
        strict.shown()
    );
    assert_eq!(place.run(&["run", "g.yaml", "--input", "files=3", "--strict-inputs"]).code, 0);
    // A schema with a rule for other names decides about them.
    for schema in [
        "{ properties: { files: {} }, additionalProperties: true }",
        "{ type: object }",
        "{ allOf: [{}], properties: { files: {} } }",
    ] {
        place.write("g.yaml", &graph(schema));
        let ran = place.run(&["run", "g.yaml", "--input", "fles=3", "--strict-inputs"]);
        assert_eq!((ran.code, ran.stderr.contains("has no input")), (0, false), "{schema}: {}", ran.shown());
    }
}
