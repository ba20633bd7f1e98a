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

fn all(durability: &str) -> Place {
    let place = Place::with_compiled_testkit();
    place.graph(".ai/tools/t/below.yaml", BELOW);
    place.graph("all.yaml", ALL);
    let run = [
        "run",
        "all.yaml",
        "--caps",
        "caps.yaml",
        "--allow-unsigned",
        "--run-id",
        "r",
        "--durability",
        durability,
    ];
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
    for durability in ["sync", "async", "exit"] {
        let place = all(durability);
        let before = std::fs::read(place.path(".ai/state/runs.db")).unwrap();
        let ran = place.run(&["replay", "r"]);
        ok(&ran);
        assert!(ran.stdout.contains("✓ run r replays equal: "), "{}", ran.shown());
        let (replayed, code) = place.json(&["replay", "r", "--times", "20"]);
        assert_eq!(
            (code, &replayed["equal"], &replayed["times"]),
            (0, &json!(true), &json!(20)),
            "{replayed}"
        );
        let supersteps = replayed["supersteps"].as_array().unwrap();
        assert!(supersteps.iter().any(|one| one["namespace"] != ""), "{replayed}");
        assert!(supersteps.iter().all(|one| one["record"] == json!(durability != "exit")), "{replayed}");
        // Three attempts of one task, two of each that asked, three items, and the rest once.
        assert!(replayed["attempts"].as_u64().unwrap() >= 12, "{replayed}");
        assert_eq!(std::fs::read(place.path(".ai/state/runs.db")).unwrap(), before, "nothing is written");
    }
}

#[test]
fn edits_forks_and_accepted_changes_are_where_a_replay_begins_anew() {
    let place = all("sync");
    for (id, edit) in [("f", &[][..]), ("g", &["--values", r#"{"log": ["by hand"]}"#])] {
        let fork = ["runs", "fork", "r", "--at", "step:1", "--run-id", id, "--go"];
        let (forked, code) = place.json(&[&fork[..], edit].concat());
        assert_eq!(code, 0, "{forked}");
        let (replayed, code) = place.json(&["replay", id]);
        assert_eq!((code, &replayed["equal"]), (0, &json!(true)), "{replayed}");
    }
    let run = ["run", "all.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "s"];
    assert_eq!(place.json(&run).1, 6);
    place.graph("all.yaml", &ALL.replace("next: [{ to: more", "next: [{ to: more, label: changed"));
    let answers = ["resume", "s", "--accept-changes", "--answer", "ask=1", "--answer", "child/ask=2"];
    let (done, code) = place.json(&answers);
    assert_eq!(code, 0, "{done}");
    let (replayed, code) = place.json(&["replay", "s"]);
    assert_eq!((code, &replayed["equal"]), (0, &json!(true)), "{replayed}");
    // A waiting run is replayed up to its question.
    let run = ["run", "all.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "w"];
    assert_eq!(place.json(&run).1, 6);
    let (replayed, code) = place.json(&["replay", "w"]);
    assert_eq!((code, replayed["supersteps"].as_array().unwrap().len()), (0, 1), "{replayed}");
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

#[test]
fn a_child_run_whose_time_was_over_is_cut_short_again() {
    let place = Place::with_compiled_testkit();
    let below = |tail: &str| {
        format!(
            "start: [quick, slow]\nnodes:\n  quick: {{ action: {{ item_id: t/kit, params: {{ op: echo, value: 1 }} }} }}\n  {tail}"
        )
    };
    let spin = "slow: { action: { item_id: t/kit, params: { op: spin, iterations: 4000000000 } }, fuel: 90000000000, timeout: 60s }\n";
    place.graph(".ai/tools/t/below.yaml", &below(spin));
    let deep = "slow: { action: { item_id: t/below } }\n";
    place.graph(".ai/tools/t/deep.yaml", &below(deep));
    place.graph(
        "late.yaml",
        "start: [late, deeper]\non_error: continue\nnodes:\n  late: { action: { item_id: t/below }, timeout: 300ms, retry: { \
         max_attempts: 2, initial_interval: 1ms }, next: after }\n  deeper: { action: { item_id: t/deep }, timeout: 300ms, next: after \
         }\n  after: { action: { item_id: t/kit, params: { op: echo, value: 2 } }, assign: { done: \"${result}\" } }\n",
    );
    // More fuel than can be used in that time.
    let caps =
        "dispatch: [\"*\"]\nlimits: { fuel: 90000000000, timeout: 60s }\nrun: { fuel: 1000000000000 }\n";
    place.write("roomy.yaml", caps);
    let run = ["run", "late.yaml", "--caps", "roomy.yaml", "--allow-unsigned", "--run-id", "r"];
    let (ran, code) = place.json(&run);
    assert_eq!((code, &ran["status"]), (0, &json!("completed_with_errors")), "{ran}");
    assert_eq!((&ran["state"]["_retries"]["late"], &ran["state"]["done"]), (&json!(1), &json!(2)), "{ran}");
    let error = &ran["state"]["_last_error"]["error"];
    assert_eq!(*error, json!("its graph `t/deep` did not end within 0.3 s"), "{ran}");
    let (replayed, code) = place.json(&["replay", "r"]);
    assert_eq!((code, &replayed["differences"]), (0, &json!([])), "{replayed}");
}

/// A child run stops by itself, and its parent's time is over before its last hook has ended: its use counts.
#[test]
fn a_child_run_that_had_stopped_before_its_parent_was_cut_short_stops_again() {
    let place = Place::with_compiled_testkit();
    let spin = "{ item_id: t/kit, params: { op: spin, iterations: 40000000000 } }";
    let ways = [
        ("ends", "graph_completed", "{ op: echo, value: 1 }", ""),
        ("fails", "error", "{ op: fail, category: permanent, message: broken }", ""),
        ("stops", "limit", "{ op: echo, value: 1 }", "max_steps: 1\n"),
    ];
    let mut nodes = String::new();
    for (name, event, params, limit) in ways {
        let below = format!(
            "{limit}hooks:\n  - {{ event: {event}, action: {spin} }}\nstart: quick\nnodes:\n  quick: {{ action: {{ item_id: t/kit, \
             params: {{ op: echo, value: 1 }} }}, next: last }}\n  last: {{ action: {{ item_id: t/kit, params: {params} }} }}\n"
        );
        place.graph(&format!(".ai/tools/t/{name}.yaml"), &below);
        let around = format!(
            "start: [quick, below]\nnodes:\n  quick: {{ action: {{ item_id: t/kit, params: {{ op: echo, value: 1 }} }} }}\n  below: {{ \
             action: {{ item_id: t/{name} }} }}\n"
        );
        place.graph(&format!(".ai/tools/t/around-{name}.yaml"), &around);
        let node =
            format!("  {name}: {{ action: {{ item_id: t/around-{name} }}, timeout: 500ms, next: after }}\n");
        nodes.push_str(&node);
    }
    let names = ways.map(|(name, ..)| name).join(", ");
    let after = "  after: { action: { item_id: t/kit, params: { op: echo, value: 2 } }, assign: { done: \"${result}\" } }\n";
    place.graph("late.yaml", &format!("start: [{names}]\non_error: continue\nnodes:\n{nodes}{after}"));
    let caps =
        "dispatch: [\"*\"]\nlimits: { fuel: 900000000000, timeout: 60s }\nrun: { fuel: 10000000000000 }\n";
    place.write("caps.yaml", caps);
    let run = ["run", "late.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "r"];
    let (ran, code) = place.json(&run);
    assert_eq!((code, &ran["status"]), (0, &json!("completed_with_errors")), "{ran}");
    let (replayed, code) = place.json(&["replay", "r"]);
    assert_eq!((code, &replayed["differences"]), (0, &json!([])), "{replayed}");
}

/// More child runs than run at once: those that ask make room for later ones, which start long before the answers.
#[test]
fn child_runs_that_begin_while_others_wait_for_answers_begin_then() {
    let place = Place::with_compiled_testkit();
    place.graph(
        ".ai/tools/t/asks.yaml",
        "start: choose\nnodes:\n  choose: { next: [{ to: ask, when: { path: inputs.n, op: lt, value: 4 } }, { to: done }] }\n  \
         ask: { type: ask, ask: { question: \"go on?\" }, next: done }\n  \
         done: { type: return, output: \"${inputs.n}\" }\n",
    );
    let all: Vec<_> = (0..24).collect();
    place.graph(
        "many.yaml",
        &format!(
            "start: each\nnodes:\n  each: {{ type: foreach, over: {all:?}, as: one, action: {{ item_id: t/asks, params: {{ n: \"${{one}}\" }} }}, \
             collect: all, parallel: true }}\n"
        ),
    );
    place.write("caps.yaml", "dispatch: [\"*\"]\n");
    let run = ["run", "many.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "r"];
    let (asked, code) = place.json(&run);
    assert_eq!((code, asked["interrupts"].as_array().map(Vec::len)), (6, Some(4)), "{asked}");
    let interrupts = asked["interrupts"].as_array().unwrap();
    let answers: Vec<_> =
        interrupts.iter().map(|one| format!("{}=yes", one["id"].as_str().unwrap())).collect();
    // The second answer first, and the others together.
    for (answers, expected) in [(&answers[1..2], 6), (&[&answers[..1], &answers[2..]].concat()[..], 0)] {
        let mut resume = vec!["resume", "r"];
        resume.extend(answers.iter().flat_map(|answer| ["--answer", answer]));
        let (done, code) = place.json(&resume);
        assert_eq!(code, expected, "{done}");
    }
    let (shown, _) = place.json(&["runs", "show", "r"]);
    assert_eq!(shown["state"]["all"], json!(all), "{shown}");
    let (replayed, code) = place.json(&["replay", "r"]);
    assert_eq!((code, &replayed["differences"]), (0, &json!([])), "{replayed}");
}

/// A resume starts child runs at once, long before their superstep commits.
#[test]
fn child_runs_that_a_resume_begins_begin_with_the_resume() {
    let place = Place::with_compiled_testkit();
    place.graph(".ai/tools/t/child.yaml", "start: a\nnodes: { a: { assign: { text: child } } }\n");
    place.graph(
        "g.yaml",
        "start: ask\nnodes:\n  ask: { interrupt: after, next: [child, slow] }\n  child: { action: { item_id: t/child } }\n  \
         slow: { action: { item_id: t/kit, params: { op: fail, category: transient, message: \"not now\" } }, \
         retry: { max_attempts: 2, initial_interval: 60ms }, on_error: done }\n  done: { assign: { done: true } }\n",
    );
    place.write("caps.yaml", "dispatch: [\"*\"]\n");
    let run = ["run", "g.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "r"];
    assert_eq!(place.run(&run).code, 6);
    let (done, code) = place.json(&["resume", "r"]);
    assert_eq!((code, &done["state"]["done"]), (0, &json!(true)), "{done}");
    let (replayed, code) = place.json(&["replay", "r"]);
    assert_eq!((code, &replayed["differences"]), (0, &json!([])), "{replayed}");
}
