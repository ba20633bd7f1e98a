//! Runs of other processes: in the background, waited for, watched, stopped from outside.
#![cfg(unix)]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::place::{Place, Ran};

/// A run of about half a second per step, in two tasks, with more steps than any test waits for.
const LONG: &str = r"start: work
max_steps: 5000
max_total_steps: 5000
channels: { n: { reducer: sum, default: 0 } }
nodes:
  work: { action: { item_id: t/kit, params: { op: spin, iterations: 3000000 } }, assign: { n: 1 }, next: [{ to: work, when: { path: state.n, op: lt, value: 4000 } }, { to: [] }] }
";

const ASKING: &str = r#"start: ask
nodes:
  ask: { action: { item_id: t/kit, params: { op: interrupt, payload: "Publish?" } }, assign: { verdict: "${result}" } }
"#;

fn run<'a>(graph: &'a str, id: &'a str) -> Vec<&'a str> {
    vec!["run", graph, "--caps", "caps.yaml", "--allow-unsigned", "--run-id", id]
}

fn detached<'a>(graph: &'a str, id: &'a str) -> Vec<&'a str> {
    [&run(graph, id)[..], &["--detach"]].concat()
}

fn long() -> Place {
    let place = Place::with_compiled_testkit();
    place.graph("long.yaml", LONG);
    place
}

/// Waits until a run has committed `wanted` steps.
fn steps(place: &Place, id: &str, wanted: u64) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while place.json(&["runs", "show", id]).0["steps"].as_u64().unwrap_or(0) < wanted {
        assert!(Instant::now() < deadline, "run {id} does not get to step {wanted}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn signal(name: &str, pid: &Value) {
    let sent = Command::new("kill").args([name, &pid.to_string()]).status().unwrap();
    assert!(sent.success());
}

fn status(place: &Place, id: &str) -> String {
    place.json(&["runs", "show", id]).0["status"].as_str().unwrap().to_owned()
}

fn log(place: &Place, id: &str) -> String {
    std::fs::read_to_string(place.path(&format!(".ai/threads/{id}/output.log"))).unwrap()
}

fn exits(ran: &Ran, code: i32) {
    assert_eq!(ran.code, code, "{}", ran.shown());
}

#[test]
fn a_run_in_the_background_is_cancelled_and_goes_on() {
    let place = long();
    let (started, code) = place.json(&detached("long.yaml", "d1"));
    assert_eq!((code, &started["run_id"], &started["status"]), (0, &json!("d1"), &json!("running")));
    assert_eq!(
        (&started["graph_run_id"], &started["success"]),
        (&json!("d1"), &json!(true)),
        "as Rye tells it"
    );
    assert!(started["log"].as_str().unwrap().ends_with(".ai/threads/d1/output.log"), "{started}");
    let (shown, _) = place.json(&["runs", "show", "d1"]);
    assert_eq!(shown["holder"]["pid"], started["pid"]);
    // The terminal is closed: the run continues.
    signal("-HUP", &started["pid"]);
    steps(&place, "d1", 2);
    let (late, code) = place.json(&["runs", "wait", "d1", "--timeout", "100ms"]);
    assert_eq!((code, &late["error"]["code"]), (124, &json!("timed_out")));
    // A second process for one run is refused with the holder of the run.
    for second in [&["resume", "d1"][..], &["resume", "d1", "--detach"], &["resume", "d1", "--input", "a=1"]]
    {
        let (refused, code) = place.json(second);
        assert_eq!((code, &refused["error"]["code"]), (10, &json!("storage")), "{refused}");
        let held = format!("held by process {} ", started["pid"]);
        assert!(refused["error"]["message"].as_str().unwrap().contains(&held), "{refused}");
    }
    let (stopped, code) = place.json(&["runs", "cancel", "d1"]);
    assert_eq!(code, 0, "{stopped}");
    assert_eq!(
        stopped,
        json!({ "run_id": "d1", "wish": "cancel", "stopped": true, "status": "cancelled", "marked": false, "ended_process": null })
    );
    assert!(!place.path(".ai/threads/d1/cancel").exists());
    assert!(log(&place, "d1").contains("■ cancelled:"), "{}", log(&place, "d1"));
    exits(&place.run(&["runs", "wait", "d1"]), 130);
    exits(&place.run(&["runs", "watch", "d1"]), 130);
    let (before, _) = place.json(&["runs", "show", "d1"]);
    // It can be resumed; the signal file of other programs does the same.
    let (again, code) = place.json(&["resume", "d1", "--detach"]);
    assert_eq!(code, 0, "{again}");
    steps(&place, "d1", before["steps"].as_u64().unwrap() + 1);
    std::fs::write(place.path(".ai/threads/d1/cancel"), "").unwrap();
    exits(&place.run(&["runs", "wait", "d1", "--timeout", "60s"]), 130);
    let (shown, _) = place.json(&["runs", "show", "d1"]);
    assert_eq!(shown["status"], "cancelled");
    assert_eq!(shown["state"]["n"], shown["steps"]);
    exits(&place.run(&["runs", "verify", "d1"]), 0);
    let (refused, code) = place.json(&["runs", "cancel", "d1"]);
    assert_eq!((code, &refused["error"]["code"]), (2, &json!("not_running")));
}

#[test]
fn a_kill_discards_what_is_under_way_as_a_second_ctrl_c_does() {
    let place = long();
    place.graph(
        "slow.yaml",
        &LONG
            .replace("3000000", "200000000")
            .replace("max_steps: 5000", "max_steps: 5000\nlimits: { fuel: 100000000000, timeout: 120s }"),
    );
    place.write("caps.yaml", "dispatch: ['execute.tool.t.*']\nlimits: { fuel: 100000000000, timeout: 120s }\nrun: { fuel: 100000000000000 }\n");
    let (started, code) = place.json(&detached("slow.yaml", "k1"));
    assert_eq!(code, 0, "{started}");
    let (stopped, code) = place.json(&["runs", "kill", "k1"]);
    assert_eq!(
        (code, &stopped["status"], &stopped["ended_process"]),
        (0, &json!("killed"), &Value::Null),
        "{stopped}"
    );
    let (started, _) = place.json(&detached("slow.yaml", "k2"));
    signal("-INT", &started["pid"]);
    std::thread::sleep(Duration::from_millis(100));
    signal("-INT", &started["pid"]);
    exits(&place.run(&["runs", "wait", "k2", "--timeout", "60s"]), 130);
    for id in ["k1", "k2"] {
        let (shown, _) = place.json(&["runs", "show", id]);
        assert_eq!(
            (&shown["status"], &shown["steps"], &shown["next"]),
            (&json!("killed"), &json!(0), &json!(["work"]))
        );
        exits(&place.run(&["runs", "verify", id]), 0);
    }
}

#[test]
fn a_process_that_does_not_react_is_ended() {
    let place = long();
    let (started, _) = place.json(&detached("long.yaml", "s1"));
    steps(&place, "s1", 1);
    signal("-STOP", &started["pid"]);
    let (late, code) = place.json(&["runs", "cancel", "s1", "--timeout", "300ms"]);
    assert_eq!((code, &late["error"]["code"]), (124, &json!("timed_out")));
    let (stopped, code) = place.json(&["runs", "kill", "s1", "--timeout", "500ms"]);
    assert_eq!(code, 0, "{stopped}");
    assert_eq!(
        (&stopped["ended_process"], &stopped["status"], &stopped["marked"]),
        (&started["pid"], &json!("killed"), &json!(true))
    );
    exits(&place.run(&["runs", "verify", "s1"]), 0);
    // The next process of the run performs a request that no process performed.
    exits(&place.run(&["resume", "s1"]), 130);
    assert_eq!(status(&place, "s1"), "cancelled");
    assert!(!place.path(".ai/threads/s1/cancel").exists());
}

#[test]
fn a_run_that_nobody_runs_is_marked() {
    let place = long();
    place.graph("asking.yaml", ASKING);
    exits(&place.run(&run("asking.yaml", "q")), 6);
    for (command, status_then) in [("cancel", "cancelled"), ("kill", "killed")] {
        let id = &format!("q-{command}");
        exits(&place.run(&run("asking.yaml", id)), 6);
        let (marked, code) = place.json(&["runs", command, id]);
        assert_eq!(
            (code, &marked["marked"], &marked["status"]),
            (0, &json!(true), &json!(status_then)),
            "{marked}"
        );
        exits(&place.run(&["runs", "verify", id]), 0);
        // The question stays, and can be answered.
        let (shown, _) = place.json(&["runs", "show", id]);
        assert_eq!(shown["interrupts"][0]["payload"], "Publish?");
        exits(&place.run(&["resume", id, "--answer", "yes"]), 0);
        let (refused, code) = place.json(&["runs", command, id]);
        assert_eq!((code, &refused["error"]["code"]), (2, &json!("finished")));
    }
    // A run that was cut short.
    let mut child = place.command(&run("long.yaml", "cut")).spawn().unwrap();
    steps(&place, "cut", 1);
    child.kill().unwrap();
    child.wait().unwrap();
    exits(&place.run(&["runs", "wait", "cut"]), 5);
    let (marked, code) = place.json(&["runs", "cancel", "cut"]);
    assert_eq!((code, &marked["status"]), (0, &json!("cancelled")), "{marked}");
    exits(&place.run(&["runs", "verify", "cut"]), 0);
    exits(&place.run(&["runs", "cancel", "nobody"]), 9);
}

/// Without its lock, a run can be taken by another process. The first process notices that at its next commit.
#[test]
fn a_run_that_is_taken_over_ends_where_it_was() {
    let place = long();
    for (store, lock) in
        [("sqlite", ".ai/state/runs/o-sqlite.lock"), ("file", ".ai/state/files/runs/0000000001-o-file/lock")]
    {
        let id = format!("o-{store}");
        let mut first = place.command(&[&run("long.yaml", &id)[..], &["--store", store]].concat());
        let first = first.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        steps(&place, &id, 1);
        std::fs::remove_file(place.path(lock)).unwrap();
        let (taken, code) = place.json(&["resume", &id, "--detach"]);
        assert_eq!(code, 0, "{taken}");
        let ended = place.ran(&first.wait_with_output().unwrap());
        exits(&ended, 10);
        let said = ended.stderr.replace("\n  ", " ").replace('\n', " ");
        assert!(
            said.contains(&format!("run {id} was taken over, and this process writes nothing more")),
            "{said}"
        );
        assert!(said.contains("another process has taken it up since"), "{said}");
        // The second process still holds the run, under its own name and with its own lock.
        let (shown, _) = place.json(&["runs", "show", &id]);
        assert_eq!(shown["holder"]["pid"], taken["pid"], "{shown}");
        assert!(place.path(lock).exists());
        steps(&place, &id, shown["steps"].as_u64().unwrap() + 1);
        exits(&place.run(&["runs", "cancel", &id]), 0);
        exits(&place.run(&["runs", "verify", &id]), 0);
        let (shown, _) = place.json(&["runs", "show", &id]);
        assert_eq!(shown["state"]["n"], shown["steps"]);
    }
}

#[test]
fn what_is_wrong_is_told_before_anything_goes_to_the_background() {
    let place = long();
    place.graph("asking.yaml", ASKING);
    exits(&place.run(&["run", "asking.yaml", "--allow-unsigned", "--detach"]), 4);
    exits(&place.run(&["run", "nothing.yaml", "--detach"]), 9);
    exits(&place.run(&["run", "asking.yaml", "--plan", "--detach"]), 2);
    assert!(!place.path(".ai/threads").exists());
    exits(&place.run(&run("asking.yaml", "q")), 6);
    let (refused, code) = place.json(&["resume", "q", "--detach"]);
    assert_eq!((code, &refused["error"]["code"]), (2, &json!("answer_needed")), "{refused}");
    assert_eq!(status(&place, "q"), "interrupted");
    let (_, code) = place.json(&["resume", "q", "--detach", "--answer", "a b=c"]);
    assert_eq!(code, 0);
    let (waited, code) = place.json(&["runs", "wait", "q", "--timeout", "60s"]);
    assert_eq!((code, &waited["output"]["verdict"]), (0, &json!("a b=c")), "{waited}");
    let (refused, code) = place.json(&["resume", "q", "--detach"]);
    assert_eq!((code, &refused["error"]["code"]), (2, &json!("finished")));
}

#[test]
fn answers_given_beforehand_reach_the_background() {
    let place = long();
    place.graph("asking.yaml", ASKING);
    let mut args = detached("asking.yaml", "q");
    args.extend(["--answer", "later"]);
    exits(&place.run(&args), 0);
    let (waited, code) = place.json(&["runs", "wait", "q", "--timeout", "60s"]);
    assert_eq!(
        (code, &waited["output"]["verdict"], &waited["executions"]["ask"]),
        (0, &json!("later"), &json!(2))
    );
    // The document of the wait is that of the run.
    let (shown, _) = place.json(&["runs", "show", "q"]);
    for (key, value) in waited.as_object().unwrap() {
        assert_eq!(&shown[key], value, "{key}");
    }
    let watched = place.run(&["runs", "watch", "q"]);
    exits(&watched, 0);
    assert!(watched.stderr.contains("   1  ask"), "{}", watched.shown());
}

#[test]
fn show_tells_what_the_run_told() {
    let place = Place::with_compiled_testkit();
    let graph = r#"start: [a, b]
nodes:
  a: { action: { item_id: t/kit, params: { op: echo, value: 1 } }, assign: { x: "${result}" }, next: c }
  b: { action: { item_id: t/kit, params: { op: echo, value: "${state.missing}" } }, next: c }
  c: { action: { item_id: t/kit, params: { op: fail, category: permanent, message: no } } }
"#;
    place.graph("fails.yaml", graph);
    let (told, code) = place.json(&run("fails.yaml", "f"));
    assert_eq!(code, 5, "{told}");
    let (shown, _) = place.json(&["runs", "show", "f"]);
    for (key, value) in told.as_object().unwrap() {
        assert_eq!(&shown[key], value, "{key}");
    }
}
