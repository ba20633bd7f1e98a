//! Runs with a long history: the memory of commands does not grow with it.

use std::fs;
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::place::{Place, Ran};

/// A graph with a loop, a growing list and a changing value.
const LOOP: &str = "start: a\nmax_steps: 100000\nchannels: { log: { reducer: append }, n: { reducer: sum } }\nnodes:\n  \
                    a: { assign: { log: [x], n: 1, text: \"${inputs.text}\" }, next: a, revisit: true }";

/// Limit of the additional memory for a longer history, in bytes.
const SLACK: u64 = 16 << 20;

/// The commands that read a whole history.
const COMMANDS: [&[&str]; 13] = [
    &["runs", "list"],
    &["runs", "list", "--json"],
    &["runs", "show", "r"],
    &["runs", "show", "r", "--json"],
    &["runs", "history", "r"],
    &["runs", "history", "r", "--json"],
    &["runs", "state", "r"],
    &["runs", "state", "r", "--json"],
    &["runs", "state", "r", "--at", "step:50"],
    &["runs", "state", "r", "--at", "node:a"],
    &["runs", "verify", "r"],
    &["runs", "events", "r", "--stream", "events"],
    &["runs", "export", "r", "--output", "run.jsonl"],
];

/// Makes a project with a run of `steps` steps.
fn place(steps: u64, store: &str) -> Place {
    let place = Place::new();
    place.graph("loop.yaml", LOOP);
    let steps = steps.to_string();
    let text = format!("text={}", "x".repeat(1_000));
    let run = ["run", "loop.yaml", "--run-id", "r", "--store", store, "--durability", "async", "-q"];
    let ran = place.run(&[&run[..], &["-i", &text, "--max-steps", &steps]].concat());
    assert_eq!(ran.code, 7, "{}", ran.shown());
    place
}

/// Runs a command; returns its exit code, its messages and its peak memory in bytes.
fn measured(command: &mut Command) -> (i32, String, u64) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut out = child.stdout.take().unwrap();
    let mut err = child.stderr.take().unwrap();
    let drained = thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()).unwrap());
    let told = thread::spawn(move || {
        let mut text = String::new();
        err.read_to_string(&mut text).unwrap();
        text
    });
    let mut peak = 0;
    let code = loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        peak = peak.max(kilobytes.unwrap_or(0) << 10);
        if let Some(status) = child.try_wait().unwrap() {
            break status.code().unwrap_or(-1);
        }
        thread::sleep(Duration::from_millis(1));
    };
    drained.join().unwrap();
    (code, told.join().unwrap(), peak)
}

#[test]
#[cfg(target_os = "linux")]
fn no_command_takes_memory_for_a_whole_history() {
    for store in ["sqlite", "file"] {
        let (short, long) = (place(100, store), place(8_000, store));
        for command in COMMANDS {
            let of = |place: &Place| {
                let (code, told, peak) = measured(&mut place.command(command));
                assert_eq!(code, 0, "{command:?}: {told}");
                peak
            };
            // A short process may have ended before it was inspected: its largest figure is used.
            let (short, long) = ((0..5).map(|_| of(&short)).max().unwrap_or(0), of(&long));
            assert!(
                long < short + SLACK,
                "{store} {command:?}: {short} bytes for 100 steps, {long} for 8,000"
            );
        }
    }
}

/// Changes the text of a checkpoint in the database.
fn damage(place: &Place, sequence: u64) {
    let script = "import sqlite3, sys\ncon = sqlite3.connect(sys.argv[1])\n\
                  con.execute(\"UPDATE checkpoints SET body = replace(body, '\\\"fuel\\\":', '\\\"fuel\\\": ') WHERE sequence = ?\", \
                  [int(sys.argv[2])])\ncon.commit()\ncon.close()";
    let file = place.path(".ai/state/runs.db");
    let changed = Command::new("python3").args(["-c", script]).arg(file).arg(sequence.to_string()).status();
    assert!(changed.unwrap().success());
}

#[test]
fn a_resume_says_what_it_has_checked_and_verify_checks_the_rest() {
    let place = place(700, "sqlite");
    let (document, code) = place.json(&["resume", "r", "--max-steps", "701"]);
    assert_eq!(code, 7, "{document}");
    assert_eq!(document["visited"].as_array().unwrap().len(), 701);
    let checked = |member: &str| document["checked"][member].as_u64().unwrap();
    assert_eq!((checked("last"), checked("child_runs"), checked("records")), (700, 0, 1));
    assert_eq!(checked("checkpoints"), 701 - checked("first"));
    assert!(checked("first") > 600, "{document}");
    damage(&place, 5);
    let told = place.run(&["resume", "r", "--max-steps", "702"]);
    assert_eq!(told.code, 7, "{}", told.shown());
    assert!(told.stderr.contains("; for the whole history: graph-host runs verify r"), "{}", told.shown());
    let (state, code) = place.json(&["runs", "state", "r", "--at", "step:702"]);
    assert_eq!((code, &state["state"]["n"]), (0, &serde_json::json!(702)));
    assert!(state["visited"].is_null(), "{}", state["visited"]);
    for command in ["runs verify r", "runs state r --at step:5", "runs show r", "runs history r"] {
        let ran = place.run(&command.split(' ').collect::<Vec<_>>());
        assert_eq!(ran.code, 8, "{command}: {}", ran.shown());
    }
    // The history before the damage is shown.
    let (history, _) = place.json(&["runs", "history", "r"]);
    assert_eq!(history["checkpoints"].as_array().unwrap().len(), 5);
    assert_eq!(history["error"]["code"], "integrity");
    // The newest checkpoint is checked, and so are the checkpoints that it builds on.
    damage(&place, 702);
    let refused = place.run(&["resume", "r", "--max-steps", "703"]);
    assert_eq!(refused.code, 8, "{}", refused.shown());
}

#[test]
fn an_exported_history_is_imported_as_a_whole() {
    let place = place(700, "sqlite");
    let exported = place.run(&["runs", "export", "r", "--output", "run.jsonl"]);
    assert_eq!(exported.code, 0, "{}", exported.shown());
    let (first, _) = place.json(&["runs", "show", "r"]);
    for store in ["sqlite", "file"] {
        let other = Place::new();
        fs::copy(place.path("run.jsonl"), other.path("run.jsonl")).unwrap();
        let imported = other.run(&["runs", "import", "run.jsonl", "--store", store]);
        assert_eq!(imported.code, 0, "{}", imported.shown());
        let (shown, _) = other.json(&["runs", "show", "r"]);
        for member in ["history", "state", "visited", "warnings", "nodes", "fuel", "result"] {
            assert_eq!(shown[member], first[member], "{member}");
        }
        let again = other.run(&["runs", "export", "r", "--output", "again.jsonl"]);
        assert_eq!(again.code, 0, "{}", again.shown());
        let records = |place: &Place, name: &str| -> Vec<String> {
            place
                .read(name)
                .lines()
                .filter(|line| line.starts_with("{\"record\""))
                .map(str::to_owned)
                .collect()
        };
        assert!(records(&other, "again.jsonl") == records(&place, "run.jsonl"));
    }
}

#[test]
fn a_list_of_runs_goes_on_page_after_page() {
    let place = Place::new();
    place.graph("one.yaml", "start: a\nnodes:\n  a: { assign: { n: 1 } }\noutput: \"${state.n}\"");
    for number in 0..3 {
        let run = ["run", "one.yaml", "-q", "--run-id", &format!("s{number}")];
        assert_eq!(place.run(&run).code, 0);
        let run = ["run", "one.yaml", "-q", "--store", "file", "--run-id", &format!("f{number}")];
        assert_eq!(place.run(&run).code, 0);
    }
    let (listed, _) = place.json(&["runs", "list", "-n", "100"]);
    let runs = listed["runs"].as_array().unwrap();
    let ids: Vec<_> = runs.iter().map(|run| run["run_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["f2", "s2", "f1", "s1", "f0", "s0"]);
    assert!(runs.iter().all(|run| run["result"] == 1), "{listed}");
    let (listed, _) = place.json(&["runs", "list", "-n", "2"]);
    assert_eq!(listed["runs"].as_array().unwrap().len(), 2);
    let Ran { code, stdout, .. } = place.run(&["runs", "list", "-n", "0"]);
    assert_eq!((code, stdout.as_str()), (0, ""));
}

/// A stranger's database with a text that is larger than any written one.
#[test]
#[cfg(target_os = "linux")]
fn what_is_too_large_in_a_strangers_database_is_refused() {
    let place = place(5, "sqlite");
    let database = place.path(".ai/state/runs.db");
    let statements = [
        ("UPDATE checkpoints SET body = zeroblob(900000000) WHERE sequence = 3", "runs verify r"),
        ("UPDATE runs SET result = zeroblob(900000000)", "runs show r --json"),
    ];
    // For a moment the tables accept any value.
    let loosen = "PRAGMA writable_schema = ON; CREATE TABLE kept AS SELECT name, sql FROM sqlite_master; \
                  UPDATE sqlite_master SET sql = replace(sql, 'STRICT', '');";
    let tighten = "PRAGMA writable_schema = ON; \
                   UPDATE sqlite_master SET sql = (SELECT sql FROM kept WHERE kept.name = sqlite_master.name); \
                   DROP TABLE kept;";
    for (statement, command) in statements {
        let script = format!(
            "import sqlite3, sys\nfor statements in [{loosen:?}, {statement:?}, {tighten:?}]:\n con = sqlite3.connect(sys.argv[1])\n \
             con.executescript(statements)\n con.commit()\n con.close()"
        );
        let changed = Command::new("python3").args(["-c", &script]).arg(&database).status().unwrap();
        assert!(changed.success());
        let args: Vec<_> = command.split(' ').collect();
        let (code, told, peak) = measured(&mut place.command(&args));
        assert_eq!(code, 8, "{command}: {told}");
        assert!(peak < 256 << 20, "{command} takes {peak} bytes");
    }
}
