//! Runs that are cut short: by Ctrl-C, and by the end of their process at any moment.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::place::Place;

const LOOP: &str = r#"start: work
max_steps: 200
channels: { done: { reducer: append }, n: { reducer: sum, default: 0 } }
nodes:
  work: { action: { item_id: t/kit, params: { op: spin, iterations: 1000000 } }, assign: { n: 1, done: ["step ${state.n}"] }, next: [left, right] }
  left: { action: { item_id: t/kit, params: { op: echo, value: left } }, next: check }
  right: { action: { item_id: t/kit, params: { op: spin, iterations: 500000 } }, next: check }
  check: { next: [{ to: work, when: { path: state.n, op: lt, value: 12 } }, { to: [] }] }
"#;

fn what_counts(document: &Value) -> (Value, Value, Value, Value) {
    let of = |key: &str| document[key].clone();
    (of("status"), of("state"), of("executions"), of("visited"))
}

#[cfg(unix)]
fn run(id: &str) -> [&str; 7] {
    ["run", "loop.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", id]
}

#[cfg(unix)]
#[test]
fn a_killed_run_goes_on_as_if_nothing_had_happened() {
    let place = Place::with_compiled_testkit();
    place.graph("loop.yaml", LOOP);
    let warm = place.run(&run("warm"));
    assert_eq!(warm.code, 0, "{}", warm.stderr);
    let began = Instant::now();
    let (undisturbed, code) = place.json(&run("undisturbed"));
    assert_eq!(code, 0, "{undisturbed}");
    let whole = began.elapsed();
    let mut cut = 0;
    for moment in 0..20_u32 {
        let id = &format!("k{moment}");
        let mut child = place.command(&run(id)).spawn().unwrap();
        // A spread of moments that no two runs of the test share exactly.
        std::thread::sleep(whole * moment / 20 + Duration::from_micros(u64::from(moment * 137)));
        child.kill().unwrap();
        let ended = child.wait_with_output().unwrap();
        if ended.status.success() {
            continue;
        }
        let (found, _) = place.json(&["runs", "show", id]);
        if found["error"]["code"] == "not_found" {
            continue;
        }
        cut += 1;
        let (document, code) = place.json(&["resume", id]);
        assert_eq!(code, if found["status"] == "completed" { 2 } else { 0 }, "moment {moment}: {document}");
        if code == 0 {
            assert_eq!(what_counts(&document), what_counts(&undisturbed), "moment {moment}");
        }
        let verified = place.run(&["runs", "verify", id]);
        assert_eq!(verified.code, 0, "moment {moment}: {}", verified.stderr);
    }
    assert!(cut >= 5, "only {cut} runs were cut short: the moments are too late");
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_at_the_boundary() {
    let place = Place::with_compiled_testkit();
    place.graph("loop.yaml", &LOOP.replace("1000000", "50000000"));
    let args = ["run", "loop.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "c", "--json"];
    let child = place.command(&args).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while place.json(&["runs", "show", "c"]).0["step"].as_u64().unwrap_or(0) == 0 && Instant::now() < deadline
    {
        std::thread::sleep(Duration::from_millis(20));
    }
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130), "{}", String::from_utf8_lossy(&ended.stderr));
    let document: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!(document["status"], "cancelled");
    assert!(String::from_utf8_lossy(&ended.stderr).contains("graph-host resume c"));
}
