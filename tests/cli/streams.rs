//! A run's history: live, later from the store, and after a crash.

use std::io::{BufRead as _, BufReader};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::place::Place;

/// A node that emits, two that write side by side, one that fails once, a question, and an end.
const GRAPH: &str = r#"start: emit
channels: { log: { reducer: append }, total: { reducer: sum, default: 0 } }
nodes:
  emit: { action: { item_id: t/kit, params: { op: emit, name: progress, count: 3, text: "working" } }, assign: { emitted: "${result}" }, next: [left, right] }
  left: { action: { item_id: t/kit, params: { op: echo, value: [1, 2] } }, assign: { log: "${result}", total: 5 } }
  right: { action: { item_id: t/kit, params: { op: echo, value: 3 } }, assign: { log: "${result}", total: 7 } }
  join: { wait_for: [left, right], next: flaky }
  flaky: { action: { item_id: t/kit, params: { op: fail, category: transient, message: down } }, retry: { max_attempts: 2, initial_interval: 1ms, jitter: false }, on_error: ask }
  ask: { action: { item_id: t/kit, params: { op: interrupt, payload: { question: "Go on?" } } }, assign: { answer: "${result}" } }
"#;

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

fn place() -> Place {
    let place = Place::with_compiled_testkit();
    place.graph("g.yaml", GRAPH);
    place
}

const RUN: [&str; 7] = ["run", "g.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "r"];

/// Returns the lines of `runs events`.
fn events(place: &Place, more: &[&str]) -> Vec<Value> {
    let ran = place.run(&[&["runs", "events", "r"], more].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    lines(&ran.stdout)
}

fn of_kind<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["kind"] == kind).collect()
}

#[test]
fn a_stream_shows_what_happens_and_the_store_tells_the_same() {
    let place = place();
    let first = place.run(&[&RUN[..], &["--stream", "debug"]].concat());
    assert_eq!(first.code, 6, "{}", first.stderr);
    let second = place.run(&["resume", "r", "--answer", "yes", "--stream", "debug", "--json"]);
    assert_eq!(second.code, 0, "{}", second.stderr);
    let (mut live, resumed) = (lines(&first.stdout), lines(&second.stdout));
    // With --json, the result is the last line; without it there is none.
    let (document, resumed) = resumed.split_last().unwrap();
    assert_eq!(document["status"], "completed");
    live.extend_from_slice(resumed);

    // The beginning of attempts is shown live only, and before anything of their superstep.
    let started: Vec<_> = live.iter().filter(|line| is_live_only(line)).cloned().collect();
    let attempts: Vec<_> =
        started.iter().map(|line| (line["node"].as_str().unwrap(), &line["attempt"])).collect();
    assert_eq!(attempts.len(), 7, "{attempts:?}");
    assert!(
        attempts.contains(&("flaky", &json!(2))) && attempts.contains(&("ask", &json!(1))),
        "{attempts:?}"
    );
    for line in &started {
        assert!(
            line["offset"].is_null() && line["kind"] == "task_started" && line["item"] == "t/kit",
            "{line}"
        );
        let at = live.iter().position(|other| other == line).unwrap();
        let before = live[..at].iter().rev().find_map(|line| line["offset"].as_u64()).unwrap_or(0);
        assert_eq!(line["after"], before, "{line}");
        let committed = live[..at].iter().filter(|other| other["kind"] == "commit").count() as u64;
        assert_eq!(line["step"], committed + 1, "{line}");
    }
    live.retain(|line| !is_live_only(line));

    // Every other line has a number; none is missing or repeated, across processes.
    let offsets: Vec<_> = live.iter().map(|line| line["offset"].as_u64().unwrap()).collect();
    assert_eq!(offsets, (1..=live.len() as u64).collect::<Vec<_>>());
    for line in &live {
        assert_eq!((&line["run"], &line["namespace"]), (&json!("r"), &json!("")), "{line}");
        assert_eq!((&line["run_id"], &line["root_run_id"]), (&json!("r"), &json!("r")), "{line}");
        assert_eq!((&line["graph_id"], &line["parent_run_id"]), (&json!("g"), &Value::Null), "{line}");
        assert!(line["at"].as_str().unwrap().starts_with("20") && line["step"].is_u64(), "{line}");
    }
    // A live stream also shows the params and results of tasks.
    let echo = live.iter().find(|line| line["kind"] == "task" && line["node"] == "left").unwrap();
    assert_eq!((&echo["params"]["value"], &echo["result"]), (&json!([1, 2]), &json!([1, 2])));
    let mut stored = live.clone();
    for line in &mut stored {
        line.as_object_mut().unwrap().retain(|key, _| line_is_stored(key));
    }
    assert_eq!(events(&place, &[]), stored);
    for after in [0, 1, 7, live.len() as u64 - 1, live.len() as u64] {
        let rest = events(&place, &["--after", &after.to_string(), "--follow"]);
        assert_eq!(rest, stored[usize::try_from(after).unwrap()..], "after {after}");
    }
    assert_eq!(place.run(&["runs", "verify", "r"]).code, 0);
}

/// Checks whether a line is live only.
fn is_live_only(line: &Value) -> bool {
    line["kind"] == "task_started"
}

/// Checks whether a key of a task's line is stored; params and result are live only.
fn line_is_stored(key: &str) -> bool {
    !["params", "result"].contains(&key)
}

#[test]
fn each_stream_has_its_lines() {
    let place = place();
    assert_eq!(place.run(&[&RUN[..], &["--stream", "values,updates"]].concat()).code, 6);
    assert_eq!(place.run(&["resume", "r", "--answer", "yes"]).code, 0);

    let custom = events(&place, &["--stream", "custom"]);
    assert_eq!(custom.len(), 3);
    for (number, line) in custom.iter().enumerate() {
        let told = json!({ "number": number, "text": "working" });
        assert_eq!((&line["name"], &line["payload"]), (&json!("progress"), &told));
        assert_eq!(
            (&line["node"], &line["task"], &line["attempt"]),
            (&json!("emit"), &json!("1.0"), &json!(1))
        );
    }

    let values = events(&place, &["--stream", "values"]);
    let states: Vec<_> = values.iter().map(|line| line["state"].clone()).collect();
    assert_eq!(states[0], json!({ "log": [], "total": 0 }));
    assert_eq!(states[1], json!({ "emitted": 3, "log": [], "total": 0 }));
    assert_eq!(states[2], json!({ "emitted": 3, "log": [1, 2, 3], "total": 12 }));
    let (shown, _) = place.json(&["runs", "show", "r"]);
    assert_eq!(states.last(), Some(&shown["state"]));
    // A reader that comes late sees the same states.
    let late = values[2]["offset"].as_u64().unwrap() - 1;
    assert_eq!(events(&place, &["--stream", "values", "--after", &late.to_string()]), values[2..]);

    let updates = events(&place, &["--stream", "updates"]);
    let wrote = |node: &str| {
        let line = updates.iter().find(|line| line["node"] == node).unwrap_or_else(|| panic!("{updates:?}"));
        line["writes"].clone()
    };
    assert_eq!(wrote("emit"), json!([{ "channel": "emitted", "value": 3 }]));
    let one = |channel: &str, value: Value| json!({ "channel": channel, "value": value });
    assert_eq!(wrote("left"), json!([one("log", json!([1, 2])), one("total", json!(5))]));
    assert_eq!(wrote("right"), json!([one("log", json!([3])), one("total", json!(7))]));

    let asked = events(&place, &["--stream", "interrupts"]);
    assert_eq!(asked.len(), 1);
    assert_eq!((&asked[0]["id"], &asked[0]["payload"]["question"]), (&json!("5.0/0"), &json!("Go on?")));

    let events = events(&place, &["--stream", "events"]);
    let kinds: Vec<_> = events.iter().map(|line| line["kind"].as_str().unwrap()).collect();
    let step = ["superstep", "task", "commit"];
    let expected = [
        &["run"][..],
        &["superstep", "task", "route", "route", "commit"],
        &["superstep", "task", "task", "commit"],
        &["superstep", "task", "route", "commit"],
        &["superstep", "retry", "task", "route", "commit"],
        &["end", "run"],
        &step,
        &["end"],
    ];
    assert_eq!(kinds, expected.concat());
    let retry = of_kind(&events, "retry")[0];
    assert_eq!((&retry["failure"]["category"], &retry["wait_ms"]), (&json!("transient"), &json!(1)));
    let routes = of_kind(&events, "route");
    let by: Vec<_> = routes.iter().map(|line| [&line["node"], &line["to"], &line["by"]]).collect();
    let route = |node: &str, to: &str, by: &str| [node, to, by].map(Value::from);
    let expected = [
        route("emit", "left", "always"),
        route("emit", "right", "always"),
        route("join", "flaky", "always"),
        route("flaky", "ask", "on_error"),
    ];
    assert_eq!(by, expected.each_ref().map(|route| [&route[0], &route[1], &route[2]]));
    assert!(of_kind(&events, "superstep").iter().all(|line| line["max_steps"] == 100), "{events:?}");
    let ends: Vec<_> = of_kind(&events, "end").iter().map(|line| line["status"].clone()).collect();
    assert_eq!(ends, ["interrupted", "completed"]);
}

#[test]
fn steps_and_nodes_show_how_long_they_took() {
    let place = place();
    assert_eq!(place.run(&RUN).code, 6);
    let (shown, _) = place.json(&["runs", "show", "r"]);
    let steps = shown["history"].as_array().unwrap();
    let longest = |step: &Value| {
        let tasks = step["tasks"].as_array().unwrap().iter();
        tasks.map(|task| task["micros"].as_u64().unwrap_or(0)).max().unwrap_or(0)
    };
    // A call takes some microseconds at the least, and a superstep as long as its longest task.
    for step in [&steps[1], &steps[2], &steps[4]] {
        assert!(longest(step) > 0 && step["micros"].as_u64().unwrap() >= longest(step), "{step}");
    }
    let left = &shown["nodes"]["left"];
    assert_eq!((&left["tasks"], &left["dispatches"]), (&json!(1), &json!(1)));
    assert!(left["micros"].as_u64().unwrap() > 0 && left["fuel"].as_u64().unwrap() > 0, "{left}");
    assert_eq!(shown["nodes"]["flaky"]["dispatches"], 2);
    assert_eq!(shown["nodes"]["join"], Value::Null);
    let told = place.run(&["runs", "show", "r"]);
    assert!(told.stdout.contains("\nnodes\n"), "{}", told.stdout);
}

/// A line that was shown exists after a crash, under the same number, and later lines follow it.
#[test]
fn what_was_shown_is_there_after_a_crash() {
    let place = Place::with_compiled_testkit();
    let graph = r"start: work
max_steps: 100
channels: { n: { reducer: sum, default: 0 } }
nodes:
  work: { action: { item_id: t/kit, params: { op: emit, name: tick, count: 2 } }, assign: { n: 1 }, next: wait }
  wait: { action: { item_id: t/kit, params: { op: spin, iterations: 2000000 } }, next: [{ to: work, when: { path: state.n, op: lt, value: 12 } }, { to: [] }] }
";
    place.graph("g.yaml", graph);
    let mut child = place.command(&[&RUN[..], &["--stream", "debug", "--quiet"]].concat()).spawn().unwrap();
    let mut shown = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        shown.extend(lines(&line.unwrap()));
        if shown.len() == 40 {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(shown.len() >= 40);
    let strip = |lines: &mut Vec<Value>| {
        lines.retain(|line| !is_live_only(line));
        for line in lines {
            line.as_object_mut().unwrap().retain(|key, _| line_is_stored(key));
        }
    };
    strip(&mut shown);
    let before = events(&place, &[]);
    assert_eq!(before[..shown.len()], shown[..]);
    let resumed = place.run(&["resume", "r", "--stream", "debug"]);
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    let mut resumed = lines(&resumed.stdout);
    strip(&mut resumed);
    let after = events(&place, &[]);
    assert_eq!(after[..before.len()], before[..]);
    assert_eq!(after[before.len()..], resumed[..]);
    let ticks = of_kind(&after, "custom").len();
    assert_eq!(ticks, 24, "each tick is told once");
    let offsets: Vec<_> = after.iter().map(|line| line["offset"].as_u64().unwrap()).collect();
    assert_eq!(offsets, (1..=after.len() as u64).collect::<Vec<_>>());
    assert_eq!(place.run(&["runs", "verify", "r"]).code, 0);
}

#[test]
fn a_follower_reads_on_until_the_run_has_stopped() {
    let place = place();
    let spin = "start: a\nnodes:\n  a: { action: { item_id: t/kit, params: { op: spin, iterations: 20000000 } }, next: b }\n  b: {}\n";
    place.graph("g.yaml", spin);
    let mut run = place.command(&RUN).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_mins(1);
    while place.run(&["runs", "events", "r"]).code != 0 {
        assert!(Instant::now() < deadline, "the run does not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
    let followed = events(&place, &["--follow", "--stream", "events"]);
    assert!(run.wait().unwrap().success());
    assert_eq!(followed.last().unwrap()["kind"], "end");
    assert_eq!(followed, events(&place, &["--stream", "events"]));
}

#[test]
fn what_components_emit_is_bounded_and_cannot_steer_a_terminal() {
    let place = Place::with_compiled_testkit();
    let graph = |params: &str| {
        let config = format!("start: a\nnodes:\n  a: {{ action: {{ item_id: t/kit, params: {params} }} }}\n");
        place.graph("g.yaml", &config);
    };
    // Events count against the budget for logs, 64 KiB for a task.
    graph("{ op: emit, name: n, count: 5000 }");
    let run = ["run", "g.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--json"];
    let ran = place.run(&run);
    assert_eq!(ran.code, 5, "{}", ran.stderr);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(document["error"]["category"], "limit", "{document}");
    for name in ["bad name", "", "ä"] {
        graph(&format!("{{ op: emit, name: '{name}', count: 1 }}"));
        let document: Value = serde_json::from_str(&place.run(&run).stdout).unwrap();
        assert_eq!(document["error"]["category"], "invalid-input", "{document}");
    }
    graph("{ op: emit, name: n, count: 1, text: \"\\e[2J\\x9b31m\\u202e\\x7f\" }");
    let ran = place.run(&[&run[..5], &["--stream", "custom"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let raw = |text: &str| text.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}');
    assert!(!raw(&ran.stdout) && !raw(&ran.stderr), "{:?} {:?}", ran.stdout, ran.stderr);
    assert_eq!(lines(&ran.stdout)[0]["payload"]["text"], "\u{1b}[2J\u{9b}31m\u{202e}\u{7f}");
}

#[test]
fn a_history_that_was_changed_is_found() {
    let place = place();
    assert_eq!(place.run(&RUN).code, 6);
    assert_eq!(place.run(&["resume", "r", "--answer", "yes"]).code, 0);
    let (told, _) = place.json(&["runs", "verify", "r"]);
    let all = events(&place, &[]).len();
    assert_eq!(told["entries"], all);
    let beyond = place.run(&["runs", "events", "r", "--after", &(all + 1).to_string()]);
    assert_eq!(beyond.code, 2);
    assert!(beyond.stderr.contains(&format!("{all} entries")), "{}", beyond.stderr);

    let database = place.path(".ai/state/runs.db");
    let whole = std::fs::read(&database).unwrap();
    let change = |statement: &str| {
        std::fs::write(&database, &whole).unwrap();
        for beside in ["runs.db-wal", "runs.db-shm"] {
            let _ = std::fs::remove_file(place.path(".ai/state").join(beside));
        }
        let script = format!(
            "import sqlite3, sys\ncon = sqlite3.connect(sys.argv[1])\ncon.execute({statement:?})\ncon.commit()\ncon.close()"
        );
        let done =
            std::process::Command::new("python3").args(["-c", &script]).arg(&database).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let verified = place.run(&["runs", "verify", "r"]);
        assert_eq!(verified.code, 8, "{statement}: {}", verified.stdout);
        verified.stderr
    };
    assert!(change("DELETE FROM history WHERE id = (SELECT min(id) FROM history)").contains("is not whole"));
    assert!(
        change("UPDATE history SET body = replace(body, 'interrupted', 'completed')").contains("was changed")
    );
    assert!(change("UPDATE checkpoints SET event = event + 1 WHERE sequence = 2").contains("is not whole"));
    assert!(change("UPDATE checkpoints SET events = events + 1 WHERE sequence = 2").contains("has "));
}

#[test]
fn a_stream_that_does_not_exist_is_refused() {
    let place = place();
    let refused = place.run(&[&RUN[..], &["--stream", "everything"]].concat());
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("values, updates, events, debug, interrupts, custom"),
        "{}",
        refused.stderr
    );
    assert_eq!(place.run(&["runs", "events", "r"]).code, 9);
}

/// Makes a graph that runs another one for each of two items, which emits, fails once and asks.
fn nested() -> Place {
    let place = Place::with_compiled_testkit();
    place.graph(
        "g.yaml",
        "start: first\nnodes:\n  first: { assign: { ready: true }, next: each }\n  each: { type: foreach, over: [1, 2], as: n, collect: got, action: { item_id: t/inner, params: { n: \"${n}\" } } }\n",
    );
    place.graph(
        ".ai/tools/t/inner.yaml",
        r#"start: emit
nodes:
  emit: { action: { item_id: t/kit, params: { op: emit, name: tick, count: 1 } }, next: flaky }
  flaky: { action: { item_id: t/kit, params: { op: fail, category: transient, message: down } }, retry: { max_attempts: 2, initial_interval: 1ms, jitter: false }, on_error: ask }
  ask: { action: { item_id: t/kit, params: { op: interrupt, payload: "Go on?" } }, assign: { n: "${inputs.n}" } }
"#,
    );
    place
}

#[test]
fn what_happens_in_graphs_inside_is_told_with_its_namespace() {
    let place = nested();
    let first = place.run(&[&RUN[..], &["--stream", "debug"]].concat());
    assert_eq!(first.code, 6, "{}", first.stderr);
    let answers = ["--answer", "2.0/3.0/0=yes"];
    let second = place.run(&[&["resume", "r"][..], &answers, &["--stream", "debug"]].concat());
    let asked = lines(&first.stdout);
    let asked: Vec<_> = asked.iter().filter(|line| line["kind"] == "interrupt").collect();
    assert!(!asked.is_empty(), "{}", first.stdout);
    assert!([0, 6].contains(&second.code), "{}", second.stderr);
    let third = place.run(&["resume", "r", "--answer", "yes", "--stream", "debug"]);
    assert_eq!(third.code, 0, "{}", third.stderr);

    let mut live: Vec<_> = [first, second, third].iter().flat_map(|ran| lines(&ran.stdout)).collect();
    let started: Vec<_> = live.iter().filter(|line| is_live_only(line)).cloned().collect();
    live.retain(|line| !is_live_only(line));
    // A graph inside the graph is an attempt of its node, and names the run that it starts.
    for run in ["r/2.0", "r/2.1"] {
        let begins =
            started.iter().find(|line| line["child_run_id"] == run).unwrap_or_else(|| panic!("{started:?}"));
        assert_eq!(
            (&begins["node"], &begins["item"], &begins["run_id"]),
            (&json!("each"), &json!("t/inner"), &json!("r"))
        );
        let inside: Vec<_> = started.iter().filter(|line| line["run_id"] == run).collect();
        assert!(
            inside.iter().any(|line| line["node"] == "emit" && line["graph_id"] == "t/inner"),
            "{inside:?}"
        );
    }
    for line in live.iter().chain(&started) {
        let inside = line["namespace"] != "";
        let graph = if inside { "t/inner" } else { "g" };
        let parent = if inside { json!("r") } else { Value::Null };
        assert_eq!(
            (&line["graph_id"], &line["parent_run_id"], &line["root_run_id"]),
            (&json!(graph), &parent, &json!("r"))
        );
        let own = if inside { format!("r/{}", line["namespace"].as_str().unwrap()) } else { "r".to_owned() };
        assert_eq!(line["run_id"], own, "{line}");
    }
    let offsets: Vec<_> = live.iter().map(|line| line["offset"].as_u64().unwrap()).collect();
    assert_eq!(offsets, (1..=live.len() as u64).collect::<Vec<_>>());
    let mut stored = live.clone();
    for line in &mut stored {
        line.as_object_mut().unwrap().retain(|key, _| line_is_stored(key));
    }
    assert_eq!(events(&place, &[]), stored);
    // Each kind of line exists for both runs inside, under the task that started them.
    for namespace in ["2.0", "2.1"] {
        for kind in [
            "run",
            "superstep",
            "custom",
            "retry",
            "task",
            "update",
            "values",
            "route",
            "commit",
            "interrupt",
            "end",
        ] {
            let there = live.iter().any(|line| line["namespace"] == namespace && line["kind"] == kind);
            assert!(there, "{kind} of {namespace}");
        }
    }
    // A late reader knows the graph, too.
    for line in &stored {
        let after = line["offset"].as_u64().unwrap() - 1;
        assert_eq!(events(&place, &["--after", &after.to_string()])[0], *line);
    }
    let states = events(&place, &["--stream", "values"]);
    let inner: Vec<_> = states.iter().filter(|line| line["namespace"] == "2.1").collect();
    assert_eq!(inner.last().unwrap()["state"]["n"], 2, "{inner:?}");
    // The run at the top alone has the same numbers, with gaps.
    let top = events(&place, &["--namespaces", "top"]);
    let of_top = |lines: &[Value]| -> Vec<Value> {
        lines.iter().filter(|line| line["namespace"] == "").cloned().collect()
    };
    assert_eq!(top, of_top(&stored));
    assert!(!top.is_empty() && top.len() < stored.len());
    let again =
        place.run(&[&RUN[..5], &["--run-id", "s", "--stream", "events", "--namespaces", "top"]].concat());
    let again = lines(&again.stdout);
    assert!(again.iter().all(|line| line["namespace"] == "") && again.len() > 3, "{again:?}");
    assert_eq!(place.run(&[&RUN[..], &["--namespaces", "top"]].concat()).code, 2, "it is for a stream");
}

#[test]
fn a_watcher_is_shown_what_the_run_itself_shows() {
    let place = nested();
    let ran = place.run(&RUN);
    let watched = place.run(&["runs", "watch", "r"]);
    assert_eq!((ran.code, watched.code), (6, 6), "{}", watched.stderr);
    // Except for the first line, with components and signatures, the order of graphs inside, and reports of slow compilation.
    let told = |text: &str| {
        let of_both =
            |line: &&str| !["  inside:", "warning:", "compiling "].iter().any(|head| line.starts_with(head));
        let lines = text.lines().filter(of_both).skip(1);
        let mut lines: Vec<_> = lines.map(|line| line.trim_end().to_owned()).collect();
        lines.sort();
        lines
    };
    let verdict = |line: &String| line.contains("interrupted:");
    let (mut own, mut seen) = (told(&ran.stderr), told(&watched.stderr));
    assert!(own.iter().any(verdict) && seen.iter().any(verdict), "{seen:?}");
    own.retain(|line| !verdict(line));
    seen.retain(|line| !verdict(line));
    assert_eq!(seen, own, "{}\n{}", ran.stderr, watched.stderr);
    assert!(seen.iter().any(|line| line.contains("each#1 ┆    1  emit")), "{seen:?}");
    assert!(seen.iter().any(|line| line.contains("↻ each#1/flaky attempt 2")), "{seen:?}");

    // It continues from a number, as lines followed by the document.
    let all = events(&place, &["--stream", "events"]);
    let from = all[4]["offset"].to_string();
    let ran = place.run(&["runs", "watch", "r", "--json", "--stream", "events", "--from", &from]);
    assert_eq!(ran.code, 6, "{}", ran.stderr);
    let found = lines(&ran.stdout);
    let (document, rest) = found.split_last().unwrap();
    assert_eq!(rest, &all[4..]);
    assert_eq!((&document["run_id"], &document["status"]), (&json!("r"), &json!("interrupted")));
    let late = place.run(&["runs", "watch", "r", "--from", &(events(&place, &[]).len() + 1).to_string()]);
    assert!(!late.stderr.contains("emit"), "{}", late.stderr);
    assert_eq!(place.run(&["runs", "watch", "r", "--from", "0"]).code, 2);
    let beyond = place.run(&["runs", "watch", "r", "--from", "100000"]);
    assert!(beyond.code == 2 && beyond.stderr.contains("entries so far"), "{}", beyond.stderr);
}

#[test]
fn a_fork_that_goes_on_streams_as_a_resume_does() {
    let place = place();
    assert_eq!(place.run(&RUN).code, 6);
    let fork = ["runs", "fork", "r", "--at", "step:2", "--run-id", "f"];
    let go = ["--go", "--stream", "debug", "--answer", "yes", "--json", "--max-steps", "9"];
    let ran = place.run(&[&fork[..], &go].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let live = lines(&ran.stdout);
    let (document, live) = live.split_last().unwrap();
    let live: Vec<_> = live.iter().filter(|line| !is_live_only(line)).collect();
    assert_eq!((&document["run_id"], &document["state"]["answer"]), (&json!("f"), &json!("yes")));
    assert!(live.iter().any(|line| line["kind"] == "interrupt"), "{live:?}");
    let followed = place.run(&[
        "runs",
        "events",
        "f",
        "--after",
        &(live[0]["offset"].as_u64().unwrap() - 1).to_string(),
    ]);
    assert_eq!(lines(&followed.stdout).len(), live.len());
    let refused = place.run(&["runs", "fork", "r", "--stream", "debug"]);
    assert!(refused.code == 2 && refused.stderr.contains("add --go"), "{}", refused.stderr);
    for option in ["--detach", "--max-steps=3", "--answer=x", "--sign-with=k", "--accept-changes"] {
        assert_eq!(place.run(&["runs", "fork", "r", option]).code, 2, "{option}");
    }
    let at_once = place.run(
        &[&["runs", "fork", "r", "--run-id", "g"][..], &["--go", "--detach", "--answer", "yes"]].concat(),
    );
    assert_eq!(at_once.code, 0, "{}", at_once.stderr);
    assert_eq!(place.run(&["runs", "wait", "g", "--timeout", "60s"]).code, 0);
    assert_eq!(place.json(&["runs", "list"]).0["runs"].as_array().unwrap().len(), 3);
}

/// An attempt is reported when it starts: nothing of its superstep is stored by then.
#[test]
fn an_attempt_is_shown_when_it_begins() {
    let place = Place::with_compiled_testkit();
    place.graph(
        "g.yaml",
        "start: first\nnodes:\n  first: { next: slow }\n  slow: { action: { item_id: t/kit, params: { op: spin, iterations: 200000000000 } } }\n",
    );
    // It is killed before it has used this up.
    place.write(
        "caps.yaml",
        "dispatch: ['execute.tool.t.*']\nlimits: { fuel: 900000000000, timeout: 60s }\nrun: { fuel: 1000000000000 }\n",
    );
    let mut child = place.command(&[&RUN[..], &["--stream", "events"]].concat()).spawn().unwrap();
    let mut read = BufReader::new(child.stdout.take().unwrap()).lines();
    let begun = read.find_map(|line| lines(&line.unwrap()).into_iter().find(is_live_only)).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!((&begun["node"], &begun["step"], &begun["attempt"]), (&json!("slow"), &json!(2), &json!(1)));
    let stored = events(&place, &["--stream", "events"]);
    assert!(stored.iter().all(|line| line["step"].as_u64().unwrap() < 2), "{stored:?}");
    assert_eq!(stored.last().unwrap()["offset"], begun["after"], "{stored:?}");
}

/// The limit of supersteps that held is recorded: a larger one later changes no line.
#[test]
fn lines_say_how_many_supersteps_were_allowed() {
    let place = Place::with_compiled_testkit();
    place.graph("g.yaml", "start: a\nmax_steps: 50\nnodes:\n  a: { next: [{ to: a, label: again }] }\n");
    assert_eq!(place.run(&[&RUN[..], &["--max-steps", "2"]].concat()).code, 7);
    let first = events(&place, &[]);
    let most = |lines: &[Value]| -> Vec<Value> {
        of_kind(lines, "superstep").iter().map(|line| line["max_steps"].clone()).collect()
    };
    assert_eq!(most(&first), [2, 2]);
    assert_eq!(place.run(&["resume", "r", "--max-steps", "4"]).code, 7);
    let all = events(&place, &[]);
    assert_eq!(all[..first.len()], first[..]);
    assert_eq!(most(&all), [2, 2, 4, 4]);
    let route = of_kind(&all, "route")[0];
    assert_eq!(
        (&route["label"], &route["by"], &route["edge"]),
        (&json!("again"), &json!("always"), &json!(0))
    );
    assert_eq!(place.run(&["runs", "verify", "r"]).code, 0);
    assert_eq!(place.run(&["replay", "r"]).code, 0);
}

#[test]
fn what_no_history_has_is_not_looked_for_in_silence() {
    let place = place();
    assert_eq!(place.run(&RUN).code, 6);
    let asked = place.run(&["runs", "events", "r", "--stream", "messages"]);
    assert_eq!((asked.code, asked.stdout.as_str()), (2, ""), "{}", asked.stderr);
    assert!(asked.stderr.contains("runs transcript r"), "{}", asked.stderr);
    let both = place.run(&["runs", "events", "r", "--stream", "messages,interrupts"]);
    assert!(
        both.code == 0 && !both.stdout.is_empty() && both.stderr.contains("no history has them"),
        "{}",
        both.stderr
    );
}
