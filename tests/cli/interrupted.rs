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
        // Moments that differ for each run of the test.
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

/// A history of megabytes is not read after Ctrl-C: its length would decide how long the user waits.
#[cfg(unix)]
#[test]
fn ctrl_c_does_not_wait_for_a_long_history_to_be_read() {
    let all: Vec<String> = (0..300).map(|node| format!("n{node}")).collect();
    let nodes: Vec<String> = all.iter().map(|node| format!("  {node}: {{ next: *all }}\n")).collect();
    let nodes = nodes.concat();
    let graph = format!(
        "start: first\nmax_steps: 100000\nmax_total_steps: 100000\nnodes:\n  first: {{ next: &all [{}] }}\n{nodes}",
        all.join(", ")
    );
    for (id, most) in [("short", 1 << 20), ("long", 80 << 20)] {
        let place = Place::new();
        place.graph("g.yaml", &graph);
        place.write("caps.yaml", "dispatch: []\n");
        let child = place
            .command(&["run", "g.yaml", "--caps", "caps.yaml", "--run-id", id, "--json"])
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_mins(1);
        let files = ["runs.db", "runs.db-wal"].map(|file| place.path(&format!(".ai/state/{file}")));
        let size =
            || files.iter().map(|file| std::fs::metadata(file).map_or(0, |file| file.len())).sum::<u64>();
        while size() < most && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        let press =
            std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(press.success());
        let ended = child.wait_with_output().unwrap();
        let document: Value = serde_json::from_slice(&ended.stdout).unwrap();
        assert_eq!((ended.status.code(), &document["status"]), (Some(130), &Value::from("cancelled")));
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(stderr.contains("`visited` is null"), id == "long", "{stderr}");
        assert_eq!(document["visited"].is_null(), id == "long");
        let (shown, code) = place.json(&["runs", "show", id]);
        assert_eq!(code, 0, "{shown}");
        assert!(shown["visited"].as_array().is_some_and(|visited| visited.len() > 1));
    }
}

/// Graphs that run each other in parallel, three levels deep, down to long tasks: thousands of child runs are open.
#[cfg(unix)]
#[test]
fn two_presses_of_ctrl_c_end_thousands_of_child_runs() {
    let place = Place::with_compiled_testkit();
    let each = |count: usize, item: &str| {
        let items: Vec<usize> = (0..count).collect();
        format!(
            "start: a\nmax_total_steps: 1000000\nnodes: {{ a: {{ type: foreach, parallel: true, over: {items:?}, as: x, action: {{ item_id: {item} }} }} }}"
        )
    };
    place.graph("g.yaml", &each(30, "t/first"));
    place.graph(".ai/tools/t/first.yaml", &each(10, "t/second"));
    place.graph(".ai/tools/t/second.yaml", &each(10, "t/third"));
    place.graph(
        ".ai/tools/t/third.yaml",
        "start: a\nnodes: { a: { action: { item_id: t/kit, params: { op: spin, iterations: 50000000 } } } }",
    );
    for (presses, store) in [(1, "memory"), (2, "memory"), (1, "sqlite"), (2, "sqlite")] {
        let name = format!("{store}{presses}");
        let args = [
            "run",
            "g.yaml",
            "--caps",
            "caps.yaml",
            "--allow-unsigned",
            "--store",
            store,
            "--run-id",
            &name,
            "-q",
        ];
        let mut child = place.command(&args).spawn().unwrap();
        let id = child.id();
        std::thread::sleep(Duration::from_secs(3));
        let at_press = processor(id);
        for _ in 0..presses {
            let press = std::process::Command::new("kill").args(["-INT", &id.to_string()]).status().unwrap();
            assert!(press.success());
            std::thread::sleep(Duration::from_millis(300));
        }
        let began = Instant::now();
        let mut used = at_press;
        let ended = loop {
            used = processor(id).unwrap_or(0).max(used.unwrap_or(0)).into();
            if let Some(ended) = child.try_wait().unwrap() {
                break ended;
            }
            assert!(began.elapsed() < Duration::from_secs(30), "{presses} presses, {store}: it does not end");
            std::thread::sleep(Duration::from_millis(10));
        };
        assert!([Some(130), None].contains(&ended.code()), "{presses} presses, {store}: {ended}");
        let after = used.unwrap_or(0).saturating_sub(at_press.unwrap_or(0));
        // In hundredths of a second. After one press, the host waits for the running tasks.
        assert!(
            presses == 1 || after <= 150,
            "{store}: it used the processor for {after}0 ms after the presses"
        );
    }
}

/// Returns the processor time of a process so far, in hundredths of a second; `None` once it has ended.
#[cfg(unix)]
fn processor(id: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}
