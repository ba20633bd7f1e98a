//! Values that are typed, read from standard input or written to standard output.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::place::{Place, Ran};

/// Four questions of different forms, in one superstep.
const FORMS: &str = r#"start: [text, number, choice, free]
nodes:
  text: { type: ask, ask: { question: "Which version?", schema: { type: string } }, assign: { text: "${result}" } }
  number: { type: ask, ask: { question: "How much?", schema: { type: number } }, assign: { number: "${result}" } }
  choice: { type: ask, ask: { question: "Which?", choices: ["a", "b", "10"] }, assign: { choice: "${result}" } }
  free: { type: ask, ask: { question: "What?" }, assign: { free: "${result}" } }
"#;

#[test]
fn a_typed_answer_is_a_number_only_where_no_text_is_taken() {
    let place = Place::new();
    place.graph("q.yaml", FORMS);
    for (typed, text, number, free) in [
        ("1.10", json!("1.10"), json!(1.1), json!("1.10")),
        ("12e02", json!("12e02"), json!(1200), json!("12e02")),
        ("7", json!("7"), json!(7), json!(7)),
        ("-5", json!("-5"), json!(-5), json!(-5)),
        ("1.5", json!("1.5"), json!(1.5), json!(1.5)),
    ] {
        let (text_answer, number_answer, free_answer) =
            (format!("text={typed}"), format!("number={typed}"), format!("free={typed}"));
        let answers = ["--answer", &text_answer, "--answer", &number_answer, "--answer", &free_answer];
        // The same answers in advance and for open questions.
        let run = [&["run", "q.yaml", "--answer", "choice=a"][..], &answers].concat();
        let (in_advance, code) = place.json(&run);
        let state = json!({ "text": text, "number": number, "choice": "a", "free": free });
        assert_eq!((code, &in_advance["state"]), (0, &state), "{typed}: {in_advance}");
        let id = format!("r{typed}").replace('.', "-");
        assert_eq!(place.run(&["run", "q.yaml", "--run-id", &id, "-q"]).code, 6);
        let (open, code) = place.json(&[&["resume", &id, "--answer", "choice=a"][..], &answers].concat());
        assert_eq!((code, &open["state"]), (0, &state), "{typed}: {open}");
    }
}

#[test]
fn the_number_of_a_choice_is_as_it_is_shown() {
    let place = Place::new();
    place.graph("q.yaml", r#"{ start: q, nodes: { q: { type: ask, ask: { question: "Which?", choices: ["a", "b", "10"] }, assign: { v: "${result}" } } } }"#);
    for (typed, value) in [("2", "b"), (" 2 ", "b"), ("b", "b"), ("3", "10"), ("10", "10")] {
        let (ended, code) = place.json(&["run", "q.yaml", "--answer", typed]);
        assert_eq!((code, &ended["state"]["v"]), (0, &json!(value)), "{typed}: {ended}");
    }
    for typed in ["02", "+2", "2.0", "0", "4", "2e0", "٢"] {
        let (refused, code) = place.json(&["run", "q.yaml", "--answer", typed]);
        assert_eq!(code, 2, "{typed}: {refused}");
    }
}

#[test]
fn blanks_around_a_name_are_no_part_of_it() {
    let place = Place::new();
    place.graph("q.yaml", FORMS);
    assert_eq!(place.run(&["run", "q.yaml", "--run-id", "r", "-q"]).code, 6);
    assert_eq!(place.run(&["resume", "r", "--answer", " choice=b", "-q"]).code, 6);
    // Its question has an answer: it is not used for another one.
    let (refused, code) = place.json(&["resume", "r", "--answer", " choice =a"]);
    assert_eq!((code, &refused["error"]["code"]), (2, &json!("already_answered")), "{refused}");
    let answers =
        ["resume", "r", "--answer", "\tfree= as it is ", "--answer", "text=x", "--answer", "1.1/0 =3"];
    let (ended, code) = place.json(&answers);
    let state = json!({ "text": "x", "number": 3, "choice": "b", "free": "as it is" });
    assert_eq!((code, &ended["state"]), (0, &state), "{ended}");
}

#[test]
fn an_input_of_a_text_or_null_is_the_text() {
    let place = Place::new();
    let schema = |of_v: &str| {
        format!(
            "tool_type: graph\nconfig_schema: {{ type: object, properties: {{ v: {of_v} }} }}\n\
             config: {{ start: a, nodes: {{ a: {{ type: return, output: {{ v: \"${{inputs.v}}\" }} }} }} }}\n"
        )
    };
    let returns = |of_v: &str, typed: &str| {
        place.write("g.yaml", &schema(of_v));
        let (ended, code) = place.json(&["run", "g.yaml", "-i", &format!("v={typed}")]);
        assert_eq!(code, 0, "{of_v} {typed}: {ended}");
        ended["output"]["v"].clone()
    };
    for of_v in [
        "{ anyOf: [{ type: string }, { type: 'null' }] }",
        "{ oneOf: [{ type: 'null' }, { type: string }] }",
        "{ type: [string, 'null'] }",
    ] {
        for typed in ["123", "1.10", "true", "-5"] {
            assert_eq!(returns(of_v, typed), json!(typed), "{of_v}");
        }
        assert_eq!(returns(of_v, "null"), Value::Null, "{of_v}");
    }
    assert_eq!(returns("{ anyOf: [{ type: integer }, { type: 'null' }] }", "123"), json!(123));
}

#[test]
fn values_that_begin_with_a_hyphen_are_advised_on() {
    let place = Place::new();
    place.graph(
        "q.yaml",
        r#"{ start: q, nodes: { q: { type: ask, ask: { question: "?" }, assign: { v: "${result}" } } } }"#,
    );
    let (ended, code) = place.json(&["run", "q.yaml", "--answer", "-5"]);
    assert_eq!((code, &ended["state"]["v"]), (0, &json!(-5)), "{ended}");
    for (given, written, value) in [
        (&["--answer", "- item"][..], "--answer=- item", json!("- item")),
        (&["--answer", "--yes"], "--answer=--yes", json!("--yes")),
    ] {
        let refused = place.run(&[&["run", "q.yaml"], given].concat());
        assert_eq!(refused.code, 2, "{}", refused.shown());
        let quoted = if written.contains(' ') { format!("'{written}'") } else { written.to_owned() };
        let tip = format!("tip: a value that begins with `-` is written {quoted}");
        assert!(refused.stderr.contains(&tip), "{}", refused.stderr);
        // As the message suggests.
        let (ended, code) = place.json(&["run", "q.yaml", written]);
        assert_eq!((code, &ended["state"]["v"]), (0, &value), "{ended}");
    }
    let refused = place.run(&["run", "q.yaml", "-i", "-x=1"]);
    assert!(refused.stderr.contains("is written --input=-x=1"), "{}", refused.stderr);
    assert_eq!(place.run(&["run", "q.yaml", "--input=-x=1", "--answer", "a", "-q"]).code, 0);
    // A word after an option without value has another error.
    for other in [&["run", "q.yaml", "--quiet", "-x"][..], &["run", "q.yaml", "--no-such"]] {
        let refused = place.run(other);
        assert!(refused.code == 2 && !refused.stderr.contains("is written"), "{}", refused.stderr);
    }
}

fn piped(place: &Place, args: &[&str], text: &[u8]) -> Ran {
    let mut child = place.command(args).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text).unwrap();
    place.ran(&child.wait_with_output().unwrap())
}

#[test]
fn standard_input_that_is_json_is_read_as_json() {
    let place = Place::new();
    place.graph("g.yaml", r#"{ start: a, nodes: { a: { type: return, output: "${inputs}" } } }"#);
    let run = ["run", "g.yaml", "--inputs", "-", "--json"];
    for (text, inputs) in [
        (
            r#"{"n": 1e3, "m": 1.0, "big": 18446744073709551615}"#,
            json!({ "n": 1000, "m": 1, "big": u64::MAX }),
        ),
        ("\u{feff}\n {\"t\": \"\\ud83d\\ude00\", \"yes\": \"no\"}", json!({ "t": "\u{1f600}", "yes": "no" })),
        ("{\"t\":\t\"a\\/b\"}", json!({ "t": "a/b" })),
        // Text that is no JSON is YAML.
        ("{n: 1, t: 'x',}", json!({ "n": 1, "t": "x" })),
        ("n: 1\n", json!({ "n": 1 })),
    ] {
        let ran = piped(&place, &run, text.as_bytes());
        let ended: Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
        assert_eq!((ran.code, &ended["output"]), (0, &inputs), "{text}: {}", ran.shown());
    }
    for text in [
        r#"{"n": 1, "n": 2}"#,
        r#"{"n": 18446744073709551616}"#,
        r#"{"n": {"a": 1e400}}"#,
        r#"{"t": "\ud800"}"#,
        "\u{feff}{\"n\": 1, \"n\": 1}",
    ] {
        let ran = piped(&place, &run, text.as_bytes());
        assert_eq!(ran.code, 3, "{text}: {}", ran.shown());
        assert!(ran.stdout.contains("<stdin> is JSON that cannot be used unchanged"), "{}", ran.shown());
    }
}

#[test]
fn a_text_is_written_byte_for_byte_where_no_person_reads_it() {
    let place = Place::new();
    place.graph("g.yaml", r#"{ start: a, nodes: { a: { type: return, output: "${inputs.v}" } } }"#);
    for text in ["one line", "ends with a line\n", "ends with two\n\n", "a\u{8}b\u{1b}[31m\r\n\0", "\n", ""] {
        place.write("in.json", &json!({ "v": text }).to_string());
        let run = format!("r{}", text.len());
        let bytes = |args: &[&str]| place.command(args).output().unwrap().stdout;
        let written = bytes(&["run", "g.yaml", "--inputs", "in.json", "-q", "--run-id", &run]);
        assert_eq!(written, text.as_bytes(), "{text:?}");
        assert_eq!(bytes(&["runs", "wait", &run]), text.as_bytes(), "{text:?}");
    }
    // A file is like a pipe.
    place.write("in.json", &json!({ "v": "a\tb\n" }).to_string());
    let file = std::fs::File::create(place.path("out.txt")).unwrap();
    let args = ["run", "g.yaml", "--inputs", "in.json", "-q"];
    assert!(place.command(&args).stdout(file).status().unwrap().success());
    assert_eq!(place.read("out.txt"), "a\tb\n");
    // JSON stays JSON, a line.
    place.write("in.json", &json!({ "v": ["a\n"] }).to_string());
    assert_eq!(place.run(&args).stdout, "[\n  \"a\\n\"\n]\n");
}

#[test]
fn a_graph_that_is_written_out_for_graph_run_is_validated() {
    let place = Place::new();
    let calling = |params: &str| {
        format!(
            "{{ start: a, nodes: {{ a: {{ action: {{ item_id: graph/run, params: {params} }}, assign: {{ v: \"${{result}}\" }} }} }} }}"
        )
    };
    for params in [
        "{ graph: { tool_type: graph, config: { start: nowhere, nodes: { b: {} } } } }",
        // The other params, or texts of the graph, have templates.
        "{ inputs: { x: '${inputs.x}' }, graph: { tool_type: graph, config: { start: nowhere, nodes: { b: {} } } } }",
        "{ graph: { tool_type: graph, config: { start: b, nodes: { b: { assign: { v: '$${inputs.x}' }, next: nowhere } } } } }",
        "{ graph: { tool_type: graph, config: { start: b, nodes: { b: { type: ask, ask: { question: '$${oops' } } } } } }",
        "{ graph: 'tool_type: graph' }",
        "{ graph: [] }",
        "{ }",
        "{ graf: {} }",
    ] {
        place.graph("g.yaml", &calling(params));
        let (checked, code) = place.json(&["validate", "g.yaml"]);
        assert_eq!((code, &checked["valid"]), (3, &json!(false)), "{params}: {checked}");
        assert_eq!(checked["files"][0]["items"][0]["node"], "a", "{params}: {checked}");
        place.write("caps.yaml", "dispatch: [execute.tool.graph.run]\n");
        let (checked, code) = place.json(&["validate", "g.yaml", "--caps", "caps.yaml"]);
        assert_eq!((code, &checked["files"][0]["items"][0]["node"]), (3, &json!("a")), "{params}: {checked}");
    }
    for params in [
        "{ inputs: { x: '${inputs.x}' }, graph: { tool_type: graph, config: { start: b, nodes: { b: { assign: { v: '$${inputs.x}' } } } } } }",
        // A template gives a part of it.
        "{ graph: { tool_type: graph, config: { start: '${inputs.start}', nodes: { b: {} } } } }",
        "{ graph: '${inputs.graph}' }",
        "'${inputs.all}'",
    ] {
        place.graph("g.yaml", &calling(params));
        let (checked, code) = place.json(&["validate", "g.yaml"]);
        assert_eq!((code, &checked["valid"]), (0, &json!(true)), "{params}: {checked}");
    }
}
