//! `graph-host test` with real components.

use crate::place::Place;

/// `real` and `named` are performed by the component, `faked` by its double.
const MIXED: &str = r#"about: what has no double is the real component
graph:
  start: real
  nodes:
    real: { action: { item_id: t/kit, params: { op: echo, value: { n: 1 } } }, assign: { real: "${result}" }, next: named }
    named: { action: { item_id: "t/${inputs.which}", params: { op: activation } }, assign: { visit: "${result.node_id}" }, next: faked }
    faked: { action: { item_id: t/fake }, assign: { fake: "${result}" }, next: ask }
    ask: { action: { item_id: t/kit, params: { op: interrupt, payload: "sure?" } }, assign: { answer: "${result}" } }
items: { t/fake: { result: 2 } }
script:
- run: { inputs: { which: kit } }
  expect: { status: interrupted, interrupts: [{ node: ask, payload: "sure?" }] }
- resume: { answer: yes indeed }
  expect: { status: completed, state: { real: { n: 1 }, visit: named, fake: 2, answer: yes indeed }, executions: { real: 1, ask: 2 } }
"#;

#[test]
fn what_has_no_double_is_the_real_component() {
    let place = Place::with_compiled_testkit();
    place.write("mixed.case.yaml", MIXED);
    let tested = place.run(&["test", ".", "--allow-unsigned"]);
    assert_eq!((tested.code, tested.stdout.trim()), (0, "1 passed, 0 failed"), "{}", tested.stderr);
    // The test leaves no state.
    assert!(!place.path(".ai/state").exists());
    let (document, code) = place.json(&["test", ".", "--allow-unsigned"]);
    assert_eq!((code, &document["passed"]), (0, &serde_json::json!(1)), "{document}");
}

#[test]
fn a_component_in_a_case_is_let_in_as_in_a_run() {
    let place = Place::with_compiled_testkit();
    let kit_io = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples/nodes/.ai/tools/examples/testkit-io.wasm");
    std::fs::copy(kit_io, place.path(".ai/tools/t/io.wasm")).unwrap();
    let case = |action: &str| {
        format!("graph: {{ start: a, nodes: {{ a: {{ action: {action} }} }} }}\nscript: [{{ run: {{}} }}]\n")
    };
    place.write("unsigned.case.yaml", &case("{ item_id: t/kit, params: { op: nan } }"));
    let unsigned = place.run(&["test", "unsigned.case.yaml"]);
    assert_eq!(unsigned.code, 5);
    place.write("ungranted.case.yaml", &case("{ item_id: t/io, params: { op: now } }"));
    let ungranted = place.run(&["test", "ungranted.case.yaml", "--allow-unsigned"]);
    assert_eq!(ungranted.code, 5);
    place.write("missing.case.yaml", &case("{ item_id: t/missing }"));
    let missing = place.run(&["test", "missing.case.yaml"]);
    assert_eq!(missing.code, 5);
    place.write("params.case.yaml", &case("{ item_id: t/kit, params: { op: dance } }"));
    let params = place.run(&["test", "params.case.yaml", "--allow-unsigned"]);
    assert_eq!(params.code, 5);
    let shown = [unsigned.stdout, ungranted.stdout, missing.stdout, params.stdout].concat();
    insta::assert_snapshot!(shown);

    // The manifest grants the interfaces of components; its `dispatch` is not used in a case.
    place.write(
        "grants.yaml",
        "dispatch: []\nitems: { t/io: { clocks: true, random: true, filesystem: [{ path: ., as: /data, access: ro }] } }\n",
    );
    let granted = place.run(&["test", "ungranted.case.yaml", "--allow-unsigned", "--caps", "grants.yaml"]);
    assert_eq!(granted.code, 0, "{}", granted.stdout);
}

/// A component takes no time of a case, whatever its clock shows, and a double may take seconds at the same time.
#[test]
fn components_and_doubles_run_side_by_side() {
    let place = Place::with_compiled_testkit();
    place.write(
        "beside.case.yaml",
        "graph:\n  start: [slow, spin]\n  nodes:\n    slow: { action: { item_id: t/slow }, assign: { slow: \"${result}\" } }\n\
         \x20   spin: { action: { item_id: t/kit, params: { op: spin, iterations: 20000000 } }, assign: { spun: true } }\n\
         items: { t/slow: { result: 1, delay_ms: 9000 } }\n\
         script: [{ run: {}, expect: { status: completed, state: { slow: 1, spun: true } } }]\n",
    );
    let tested = place.run(&["test", ".", "--allow-unsigned"]);
    assert_eq!(tested.code, 0, "{}", tested.stdout);
}

/// The example's own case passes, with its signed components.
#[test]
fn the_approval_example_passes_its_case() {
    let place = Place::new();
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let at = |name: &str| examples.join(name).to_string_lossy().into_owned();
    let (case, caps, trust) = (at("approval/approval.case.yaml"), at("approval/caps.yaml"), at("trust.yaml"));
    let tested = place.run(&["test", &case, "--caps", &caps, "--trust", &trust]);
    assert_eq!((tested.code, tested.stdout.trim()), (0, "1 passed, 0 failed"), "{}", tested.stderr);
    let untrusted = place.run(&["test", &case, "--caps", &caps]);
    assert_eq!(untrusted.code, 5);
    assert!(untrusted.stdout.contains("is signed by a key that is not trusted"), "{}", untrusted.stdout);
    let ungranted = place.run(&["test", &case, "--trust", &trust]);
    assert_eq!(ungranted.code, 5);
    assert!(ungranted.stdout.contains("wasi:filesystem/types"), "{}", ungranted.stdout);
}

/// The outcome of a case is the same if it is cut short after each of its writes.
#[test]
fn cases_are_cut_short_after_every_persisted_write() {
    let place = Place::new();
    place.write(
        "two.case.yaml",
        "graph: { start: [a, b], nodes: { a: { action: { item_id: t/one }, assign: { a: \"${result}\" }, next: ask }, \
         b: {}, ask: { action: { item_id: t/ask } } } }\n\
         items: { t/one: { result: 1 }, t/ask: { interrupts: [sure?], then: { result: 2 } } }\n\
         script: [{ run: {}, expect: { status: interrupted } }, { resume: { answer: 1 }, expect: { status: completed } }]\n",
    );
    let tested = place.run(&["test", "two.case.yaml", "--crash"]);
    assert_eq!(
        (tested.code, tested.stdout.trim()),
        (0, "cut short after each of 10 persisted writes in 1 case\n1 passed, 0 failed"),
        "{}",
        tested.stderr
    );
    let (document, code) = place.json(&["test", "two.case.yaml", "--crash"]);
    assert_eq!((code, &document["crashes"]["tried"]), (0, &serde_json::json!(10)), "{document}");
    // A test without anything to do does not pass.
    place.write(
        "scripted.case.yaml",
        "graph: { start: a, nodes: { a: {} } }\nscript: [{ run: { crash_after: 1 } }, { resume: {} }]\n",
    );
    let nothing = place.run(&["test", "scripted.case.yaml", "--crash"]);
    assert_eq!(nothing.code, 9, "{}", nothing.stdout);
    assert!(nothing.stderr.contains("no case writes a record"), "{}", nothing.stderr);
    let both = place.run(&["test", ".", "--crash"]);
    assert_eq!(both.code, 0);
    assert!(both.stdout.contains("1 case left out: it scripts a crash itself"), "{}", both.stdout);
}
