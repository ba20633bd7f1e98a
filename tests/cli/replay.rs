//! Replays of runs, from their journals and with the present world.

use serde_json::{Value, json};

use crate::place::{Place, Ran, kit};

fn ok(ran: &Ran) {
    assert_eq!(ran.code, 0, "{}", ran.shown());
}

fn message(document: &Value) -> &str {
    document["error"]["message"].as_str().unwrap_or_else(|| panic!("{document}"))
}

/// A retry, a failure that is handled, questions, a list, a child run that asks and fails once, and an edge on the result.
const ALL: &str = r#"start: [ask, shaky, each, child]
max_steps: 20
channels: { log: { reducer: append }, n: { reducer: sum, default: 0 } }
nodes:
  ask: { action: { item_id: t/kit, params: { op: interrupt, payload: "Go on?" } }, assign: { log: ["${result}"] }, next: done }
  shaky: { action: { item_id: t/kit, params: { op: fail, category: transient, message: "not now" } }, retry: { max_attempts: 3, initial_interval: 1ms }, on_error: rescue }
  rescue: { assign: { log: ["rescued ${state._last_error.node}"] }, next: done }
  each: { type: foreach, over: [1, 2, 3], as: one, action: { item_id: t/kit, params: { op: echo, value: "${one}" } }, collect: all, parallel: true, next: done }
  child: { action: { item_id: t/below, params: { word: "deep" } }, assign: { log: ["${result.said}"] }, next: done }
  done: { assign: { n: 1 }, next: [{ to: more, when: { path: state.n, op: lt, value: 4 } }, { to: [] }] }
  more: { action: { item_id: t/kit, params: { op: activation } }, assign: { n: 1, seen: "${result.superstep}" }, next: done }
output: { log: "${state.log}", all: "${state.all}", n: "${state.n}" }
"#;

const BELOW: &str = r#"start: first
nodes:
  first: { action: { item_id: t/kit, params: { op: echo, value: "${inputs.word}" } }, assign: { word: "${result}" }, next: ask }
  ask: { action: { item_id: t/kit, params: { op: interrupt, payload: "And below?" } }, assign: { answer: "${result}" } }
output: { said: "${state.word} ${state.answer}" }
"#;

fn all() -> Place {
    let place = Place::with_compiled_testkit();
    place.graph(".ai/tools/t/below.yaml", BELOW);
    place.graph("all.yaml", ALL);
    let run = ["run", "all.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "r"];
    let (asks, code) = place.json(&run);
    assert_eq!((code, asks["interrupts"].as_array().unwrap().len()), (6, 2), "{asks}");
    // One question at a time.
    let id = |document: &Value, node: &str| {
        let open = document["interrupts"].as_array().unwrap().iter();
        open.filter(|open| open["payload"] == node)
            .map(|open| open["id"].as_str().unwrap().to_owned())
            .next()
            .unwrap()
    };
    let below = format!("{}=yes", id(&asks, "And below?"));
    let (asks, code) = place.json(&["resume", "r", "--answer", &below]);
    assert_eq!(code, 6, "{asks}");
    let above = format!("{}={{\"sure\": true}}", id(&asks, "Go on?"));
    let (done, code) = place.json(&["resume", "r", "--answer", &above]);
    assert_eq!((code, &done["output"]["all"]), (0, &json!([1, 2, 3])), "{done}");
    place
}

#[test]
fn a_run_with_everything_in_it_replays_equal() {
    let place = all();
    let before = std::fs::read(place.path(".ai/state/runs.db")).unwrap();
    let ran = place.run(&["replay", "r"]);
    ok(&ran);
    assert!(ran.stdout.contains("✓ run r replays equal: "), "{}", ran.shown());
    let (replayed, code) = place.json(&["replay", "r", "--times", "20"]);
    assert_eq!((code, &replayed["equal"], &replayed["times"]), (0, &json!(true), &json!(20)), "{replayed}");
    let supersteps = replayed["supersteps"].as_array().unwrap();
    assert!(supersteps.iter().any(|one| one["namespace"] != ""), "{replayed}");
    assert!(supersteps.iter().all(|one| one["record"] == true), "{replayed}");
    assert!(replayed["attempts"].as_u64().unwrap() >= 12, "{replayed}");
    assert_eq!(std::fs::read(place.path(".ai/state/runs.db")).unwrap(), before, "nothing is written");
}

/// A graph that reads two files, one after the other.
const READING: &str = r#"start: one
nodes:
  one: { action: { item_id: t/io, params: { op: read, path: /in/one.txt } }, assign: { one: "${result}" }, next: two }
  two: { action: { item_id: t/io, params: { op: read, path: /in/two.txt } }, assign: { two: "${result}" } }
output: "${state.one} ${state.two}"
"#;

fn reading() -> Place {
    let place = Place::new();
    std::fs::copy(kit("testkit-io"), place.path(".ai/tools/t/io.wasm")).unwrap();
    place.write(
        "caps.yaml",
        "dispatch: ['execute.tool.t.*']\nitems:\n  \"t/io\":\n    filesystem: [{ path: in, as: /in, access: ro }]\n    clocks: true\n    random: true\n",
    );
    std::fs::create_dir(place.path("in")).unwrap();
    place.write("in/one.txt", "first");
    place.write("in/two.txt", "second");
    place.graph("reading.yaml", READING);
    let ran = place.run(&["run", "reading.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "r"]);
    ok(&ran);
    place
}

#[test]
fn a_journal_answers_for_files_that_are_gone_and_live_asks_the_world() {
    let place = reading();
    let live = place.run(&["replay", "r", "--live"]);
    ok(&live);
    assert!(live.stdout.contains("every answer is the recorded one"), "{}", live.shown());
    place.write("in/two.txt", "changed");
    ok(&place.run(&["replay", "r"]));
    let (live, code) = place.json(&["replay", "r", "--live"]);
    assert_eq!((code, &live["equal"]), (0, &json!(false)), "{live}");
    let found = &live["world"][0];
    assert_eq!(
        (&found["step"], &found["task"], &found["node"]),
        (&json!(2), &json!("2.0"), &json!("two")),
        "{live}"
    );
    assert_eq!(live["differences"][0]["key"], "state.two", "{live}");
    let shown = place.run(&["replay", "r", "--live"]).stdout;
    assert!(shown.contains("answers otherwise: step 2, task 2.0 (node `two`), entry "), "{shown}");
    assert!(shown.contains("key `state.two`: recorded \"second\", replayed \"changed\""), "{shown}");
    std::fs::remove_dir_all(place.path("in")).unwrap();
    std::fs::create_dir(place.path("in")).unwrap();
    ok(&place.run(&["replay", "r"]));
    assert_eq!(place.run(&["runs", "verify", "r"]).code, 0);
}

/// Hooks of a run and of a failed task read files, too.
const READING_HOOKS: &str = r#"start: one
hooks:
  - { id: looks, event: after_step, action: { item_id: t/io, params: { op: read, path: /in/one.txt } } }
  - { id: failed, event: error, action: { item_id: t/io, params: { op: read, path: /in/two.txt } } }
  - { id: past, event: error, action: { continue: true } }
  - { id: ends, event: graph_completed, action: { item_id: t/io, params: { op: read, path: /in/one.txt } } }
nodes:
  one: { action: { item_id: t/io, params: { op: read, path: /in/none.txt } }, assign: { one: "${result}" }, next: two }
  two: { action: { item_id: t/io, params: { op: read, path: /in/two.txt } }, assign: { two: "${result}" } }
"#;

#[test]
fn what_hooks_use_of_the_host_is_in_the_history() {
    let place = reading();
    place.graph("hooked.yaml", READING_HOOKS);
    let run = ["run", "hooked.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "h"];
    let (ran, _) = place.json(&run);
    assert_eq!(
        (&ran["status"], &ran["state"]["two"]),
        (&json!("completed_with_errors"), &json!("second")),
        "{ran}"
    );
    let (shown, _) = place.json(&["runs", "show", "h"]);
    // The hooks of the last boundary are in no checkpoint.
    let steps = shown["history"].as_array().unwrap().iter().chain([&shown]);
    let hooks = steps.flat_map(|step| step["hooks"].as_array().unwrap());
    let read: Vec<_> = hooks.filter(|hook| hook["host"]["bytes"].as_u64() > Some(0)).collect();
    assert_eq!(read.len(), 4, "{shown}");
    ok(&place.run(&["replay", "h"]));
    // Nothing is read again.
    std::fs::remove_dir_all(place.path("in")).unwrap();
    std::fs::create_dir(place.path("in")).unwrap();
    ok(&place.run(&["replay", "h"]));
    assert_eq!(place.run(&["runs", "verify", "h"]).code, 0);
}

#[test]
fn another_component_is_a_difference_with_its_step_task_and_key() {
    let place = reading();
    // The component does not know the operation.
    std::fs::copy(kit("testkit"), place.path(".ai/tools/t/io.wasm")).unwrap();
    let (refused, code) = place.json(&["replay", "r"]);
    assert_eq!((code, &refused["error"]["code"]), (8, &json!("integrity")), "{refused}");
    let first = &refused["error"]["differences"][0];
    assert_eq!(
        (&first["step"], &first["task"], &first["node"]),
        (&json!(1), &json!("1.0"), &json!("one")),
        "{refused}"
    );
    let told = message(&refused);
    assert!(told.contains("differs at step 1, task 1.0 (node `one`), key `journal`"), "{told}");
    assert!(
        refused["error"]["changes"][0]
            .as_str()
            .unwrap()
            .contains("component `t/io` of nodes `one`, `two` was "),
        "{refused}"
    );
    // A component with the same behaviour is not the one that ran.
    let mut bytes = std::fs::read(kit("testkit-io")).unwrap();
    bytes.extend([0, 2, 1, b'x']);
    std::fs::write(place.path(".ai/tools/t/io.wasm"), bytes).unwrap();
    let (refused, code) = place.json(&["replay", "r"]);
    assert_eq!(code, 8, "{refused}");
    assert!(message(&refused).contains("is replayed with something else than it ran with"), "{refused}");
    std::fs::copy(kit("testkit-io"), place.path(".ai/tools/t/io.wasm")).unwrap();
    ok(&place.run(&["replay", "r"]));
}

#[test]
fn what_cannot_be_replayed_says_why() {
    let place = reading();
    assert_eq!(place.json(&["replay", "nobody"]).1, 9);
    assert_eq!(place.run(&["replay", "r", "--times", "0"]).code, 2);
    assert_eq!(place.run(&["replay", "r", "--times", "2", "--live"]).code, 2);
    std::fs::remove_file(place.path(".ai/tools/t/io.wasm")).unwrap();
    let (refused, code) = place.json(&["replay", "r"]);
    assert_eq!(code, 8, "{refused}");
    assert!(refused["error"]["changes"][0].as_str().unwrap().contains("was removed"), "{refused}");
}
