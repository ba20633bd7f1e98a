//! Values that are no JSON, or would not be used unchanged, in every place where a person gives one.

use std::fmt::Write as _;

use crate::place::Place;

const ASKING: &str = r#"start: draft
channels: { log: { reducer: append }, n: { reducer: sum, default: 0 } }
nodes:
  draft: { assign: { log: ["drafted"], n: 1, got: "${inputs.a}" }, next: ask }
  ask: { action: { item_id: t/kit, params: { op: interrupt, payload: "Publish?" } }, assign: { verdict: "${result}" } }
"#;

fn place() -> Place {
    let place = Place::with_compiled_testkit();
    place.graph("asking.yaml", ASKING);
    let files: [(&str, &[u8]); 13] = [
        ("nan.json", b"{\"a\": NaN}"),
        ("infinity.json", b"{\"a\": [1,\n -Infinity]}"),
        ("nan.yaml", b"a: .nan\n"),
        ("twice.json", b"{\"a\": 1, \"a\": 2}"),
        ("twice.yaml", b"a: 1\na: 2\n"),
        ("bytes.json", b"{\"a\": \"\xff\xfe\"}"),
        ("surrogate.json", b"{\"a\": \"\\ud800\"}"),
        ("integer.json", b"{\"a\": 18446744073709551616}"),
        ("integer.yaml", b"a: -9223372036854775809\n"),
        ("float.json", b"{\"a\": 1e400}"),
        ("cut.json", b"{\"a\": [1, 2"),
        ("behind.json", b"{\"a\": 1} x"),
        ("empty.json", b""),
    ];
    for (name, bytes) in files {
        std::fs::write(place.path(name), bytes).unwrap();
    }
    place
}

const RUN: [&str; 5] = ["run", "asking.yaml", "--caps", "caps.yaml", "--allow-unsigned"];

#[test]
fn what_is_not_json_is_refused_wherever_it_is_given() {
    let place = place();
    assert_eq!(place.run(&[&RUN[..], &["--run-id", "r1"]].concat()).code, 6);
    let mut cases: Vec<(Vec<&str>, i32)> = Vec::new();
    for file in [
        "nan.json",
        "infinity.json",
        "nan.yaml",
        "twice.json",
        "twice.yaml",
        "bytes.json",
        "surrogate.json",
        "integer.json",
        "integer.yaml",
        "float.json",
        "cut.json",
        "behind.json",
        "empty.json",
    ] {
        cases.push(([&RUN[..], &["--inputs", file]].concat(), 3));
        cases.push((vec!["runs", "update", "r1", "--values", file], 3));
    }
    for pair in ["a=18446744073709551616", r#"a={"x": 1, "x": 2}"#, r#"a="\ud800""#, "a=1e400"] {
        cases.push(([&RUN[..], &["--input", pair]].concat(), 2));
    }
    for values in
        [r#"{"n": NaN}"#, r#"{"n": 1, "n": 2}"#, r#"{"n": 18446744073709551616}"#, r#"{"a": "\ud800"}"#]
    {
        cases.push((vec!["runs", "update", "r1", "--values", values], 2));
        cases.push((vec!["runs", "fork", "r1", "--values", values], 2));
    }
    cases.push((vec!["runs", "update", "r1", "--values", r#"{"n": "x"}"#], 3));
    cases.push((vec!["runs", "fork", "r1", "--values", r#"{"n": "x"}"#], 3));
    cases.push((vec!["resume", "r1", "--answer", r#"{"x": 1, "x": 2}"#], 2));
    cases.push((vec!["resume", "r1", "--answer", "ask=1e400"], 2));
    let mut shown = String::new();
    for (args, code) in cases {
        let ran = place.run(&args);
        assert_eq!(ran.code, code, "{args:?}: {}", ran.stderr);
        // `update` reports the same about a file as `run`, and `fork` the same as `update`.
        if args.get(1) != Some(&"fork")
            && !(args.get(1) == Some(&"update") && args[4].contains('.') && !args[4].contains('{'))
        {
            writeln!(shown, "$ graph-host {}\n{}", args.join(" "), ran.shown()).unwrap();
        }
    }
    insta::assert_snapshot!(shown);
    // No run was started, and nothing was changed.
    let (listed, _) = place.json(&["runs", "list"]);
    assert_eq!(listed["runs"].as_array().unwrap().len(), 1, "{listed}");
    let (shown, _) = place.json(&["runs", "show", "r1"]);
    assert_eq!((shown["checkpoints"].as_u64(), shown["status"].as_str()), (Some(2), Some("interrupted")));
    assert_eq!(place.run(&["runs", "verify", "r1"]).code, 0);
}

#[test]
fn numbers_that_fit_stay_exact_and_other_text_is_text() {
    let place = place();
    for (typed, read) in [
        ("18446744073709551615", "18446744073709551615"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("NaN", "\"NaN\""),
        ("{x: 1}", "\"{x: 1}\""),
        ("007", "\"007\""),
        ("\"18446744073709551616\"", "\"18446744073709551616\""),
    ] {
        let (asked, _) = place.json(&[&RUN[..], &["--input", &format!("a={typed}")]].concat());
        assert_eq!(asked["state"]["got"].to_string(), read, "{typed}");
    }
}

#[test]
fn a_checkpoint_that_was_removed_is_told_as_that() {
    let place = place();
    assert_eq!(place.run(&[&RUN[..], &["--run-id", "r1"]].concat()).code, 6);
    assert_eq!(place.run(&["resume", "r1", "--answer", "yes"]).code, 0);
    assert_eq!(place.run(&["runs", "gc", "--checkpoints", "1"]).code, 0);
    let mut shown = String::new();
    for place_of in ["step:1", "node:ask", "0"] {
        for command in ["fork", "state"] {
            let args = ["runs", command, "r1", "--at", place_of];
            let ran = place.run(&args);
            assert_eq!(ran.code, 9, "{args:?}: {}", ran.stderr);
            let told = place.json(&args).0["error"]["message"].to_string();
            assert!(told.contains("the 2 before checkpoint 2 were removed"), "{told}");
            if command == "fork" {
                writeln!(shown, "$ graph-host {}\n{}", args.join(" "), ran.shown()).unwrap();
            }
        }
    }
    insta::assert_snapshot!(shown);
    assert_eq!(place.json(&["runs", "list"]).0["runs"].as_array().unwrap().len(), 1);
}
