//! Relations of runs: parents, graphs inside, forks, and the registry's columns about them.

use std::io::{BufRead as _, BufReader};

use serde_json::{Value, json};

use crate::place::Place;

const RUN: [&str; 5] = ["run", "g.yaml", "--caps", "caps.yaml", "--allow-unsigned"];

/// Makes a graph that runs another one for each of two items, which asks.
fn place() -> Place {
    let place = Place::with_compiled_testkit();
    place.graph(
        "g.yaml",
        "start: first\nnodes:\n  first: { assign: { ready: true }, next: each }\n  each: { type: foreach, parallel: true, over: [1, 2], as: n, collect: got, action: { item_id: t/inner, params: { n: \"${n}\" } } }\n",
    );
    place.graph(
        ".ai/tools/t/inner.yaml",
        r#"start: note
nodes:
  note: { assign: { n: "${inputs.n}" }, next: ask }
  ask: { type: ask, ask: { question: "Which?", choices: [a, b] }, assign: { answer: "${result}" } }
"#,
    );
    place
}

fn rows(place: &Place, more: &[&str]) -> Vec<Value> {
    let (document, code) = place.json(&[&["runs", "list"], more].concat());
    assert_eq!(code, 0, "{document}");
    document["runs"].as_array().unwrap().clone()
}

fn ids(rows: &[Value]) -> Vec<&str> {
    rows.iter().map(|row| row["run_id"].as_str().unwrap()).collect()
}

fn chosen(row: &Value, keys: &[&str]) -> Vec<Value> {
    keys.iter().map(|key| row[*key].clone()).collect()
}

#[test]
fn a_run_has_the_columns_of_a_thread() {
    let place = place();
    assert_eq!(place.run(&[&RUN[..], &["--run-id", "top"]].concat()).code, 6);
    place.graph("plain.yaml", "start: a\nnodes: { a: { assign: { x: 1 } } }\n");
    let under = |id: &str, parent: &str| {
        place.run(&["run", "plain.yaml", "--run-id", id, "--parent", parent, "--store", "file"])
    };
    assert_eq!(under("one", "top").code, 0);
    assert_eq!(under("two", "one").code, 0);
    let missing = under("three", "nobody");
    assert_eq!((missing.code, rows(&place, &[]).len()), (9, 3), "{}", missing.stderr);

    let all = rows(&place, &[]);
    let keys = ["thread_id", "graph_run_id", "directive", "parent_id", "root_id", "spawn_count", "status"];
    let row = |id: &str| all.iter().find(|row| row["run_id"] == id).unwrap();
    let expected = json!(["top", "top", "g", null, "top", 3, "interrupted"]);
    assert_eq!(Value::from(chosen(row("top"), &keys)), expected);
    let expected = json!(["one", "one", "plain", "top", "top", 1, "completed"]);
    assert_eq!(Value::from(chosen(row("one"), &keys)), expected);
    let expected = json!(["two", "two", "plain", "one", "top", 0, "completed"]);
    assert_eq!(Value::from(chosen(row("two"), &keys)), expected);
    // `runs show` says the same, and each of its events names its parent.
    let (shown, _) = place.json(&["runs", "show", "one"]);
    assert_eq!(chosen(&shown, &keys), chosen(row("one"), &keys));
    let events = place.run(&["runs", "events", "two"]);
    let line: Value = serde_json::from_str(events.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(chosen(&line, &["parent_run_id", "root_run_id"]), [json!("one"), json!("top")]);
    let item = std::fs::read_to_string(place.path(".ai/knowledge/graphs/plain/one.md")).unwrap();
    assert!(item.contains("parent_thread_id: \"top\""), "{item}");

    // The runs that a run has started: other runs, then the graphs inside.
    let started = rows(&place, &["--parent", "top"]);
    assert_eq!(ids(&started), ["one", "top/2.0", "top/2.1"]);
    let keys =
        ["thread_id", "directive", "graph_id", "parent_id", "root_id", "status", "step", "path", "namespace"];
    let expected = json!(["top/2.1", "t/inner", "t/inner", "top", "top", "interrupted", 1, "each#2", "2.1"]);
    assert_eq!(Value::from(chosen(&started[2], &keys)), expected);
    assert_eq!(ids(&rows(&place, &["--parent", "top", "--graph", "t/inner", "-n", "1"])), ["top/2.0"]);
    assert_eq!(ids(&rows(&place, &["--parent", "top", "--status", "completed"])), ["one"]);
    assert_eq!(ids(&rows(&place, &["--parent", "top/2.0"])), [""; 0]);
    assert_eq!(place.run(&["runs", "list", "--parent", "top/9.0"]).code, 9);
    let table = place.run(&["runs", "list", "--parent", "top"]);
    assert!(table.stdout.contains("top/2.1") && table.stdout.contains("t/inner"), "{}", table.shown());
}

#[test]
fn a_graph_inside_is_shown_by_its_namespace() {
    let place = place();
    assert_eq!(place.run(&[&RUN[..], &["--run-id", "top"]].concat()).code, 6);
    let (state, code) = place.json(&["runs", "state", "top/2.1"]);
    assert_eq!((code, &state["state"]), (0, &json!({ "n": 2 })), "{state}");
    let keys = ["run_id", "graph_run_id", "graph", "namespace", "step"];
    assert_eq!(Value::from(chosen(&state, &keys)), json!(["top/2.1", "top/2.1", "t/inner", "2.1", 1]));
    assert_eq!((&state["inputs"], &state["next"][0]["node"]), (&json!({ "n": 2 }), &json!("ask")));
    assert_eq!(place.json(&["runs", "state", "top", "--namespace", "2.1"]).0, state);
    let (earlier, _) = place.json(&["runs", "state", "top/2.1", "--at", "step:0"]);
    assert_eq!((&earlier["state"], &earlier["visited"]), (&json!({}), &json!([])));
    let told = place.run(&["runs", "state", "top/2.0"]);
    assert!(told.stdout.contains("t/inner") && told.stdout.contains("run top/2.0"), "{}", told.shown());
    let missing = place.run(&["runs", "state", "top/7.0"]);
    assert!(missing.code == 9 && missing.stderr.contains("runs list --parent top"), "{}", missing.stderr);
    assert_eq!(place.run(&["runs", "state", "top/2.0", "--namespace", "2.0"]).code, 2);

    // Questions have their form in every output.
    let form = json!({ "choices": ["a", "b"], "other": false });
    let (shown, _) = place.json(&["runs", "show", "top"]);
    let (waited, _) = place.json(&["runs", "wait", "top"]);
    let events = place.run(&["runs", "events", "top", "--stream", "interrupts"]);
    let events: Vec<Value> = events.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let again = place.run(&["runs", "show", "top"]);
    for asked in [&shown["interrupts"], &waited["interrupts"], &json!(events)] {
        let asked = asked.as_array().unwrap();
        assert_eq!(asked.len(), 2, "{asked:?}");
        assert!(asked.iter().all(|asked| asked["form"] == form), "{asked:?}");
    }
    assert!(again.stdout.contains("1. a"), "{}", again.stdout);
    place.graph(
        "ask.yaml",
        "start: ask\nnodes:\n  ask: { type: ask, ask: { question: \"Which?\", choices: [a, b] } }\n",
    );
    let (own, code) = place.json(&["run", "ask.yaml"]);
    assert_eq!((code, &own["interrupts"][0]["form"]), (6, &form));
}

#[test]
fn a_chain_has_its_forks() {
    let place = place();
    place.graph(
        "plain.yaml",
        "start: a\nnodes: { a: { assign: { x: 1 }, next: b }, b: { assign: { y: 2 } } }\n",
    );
    assert_eq!(place.run(&["run", "plain.yaml", "--run-id", "one"]).code, 0);
    let fork = |of: &str, id: &str, more: &[&str]| {
        assert_eq!(
            place.run(&[&["runs", "fork", of, "--at", "step:1", "--run-id", id], more].concat()).code,
            0
        );
    };
    fork("one", "two", &["--go"]);
    fork("one", "three", &[]);
    fork("two", "four", &["--go"]);

    let (chain, code) = place.json(&["runs", "chain", "four"]);
    assert_eq!((code, &chain["chain_root_id"]), (0, &json!("one")));
    let runs = chain["runs"].as_array().unwrap();
    assert_eq!(ids(runs), ["one", "two", "four", "three"]);
    let keys = ["run_id", "continuation_of", "continuation_id", "chain_root_id", "status"];
    let of = |at: usize| Value::from(chosen(&runs[at], &keys));
    // If several runs continue a run, the newest is named.
    assert_eq!(of(0), json!(["one", null, "three", null, "completed"]));
    assert_eq!(of(1), json!(["two", "one", "four", "one", "completed"]));
    assert_eq!(of(2), json!(["four", "two", null, "one", "completed"]));
    assert_eq!(of(3), json!(["three", "one", null, "one", "interrupted"]));
    let (shown, _) = place.json(&["runs", "show", "one"]);
    assert_eq!(shown["continuation_id"], "three");
    let told = place.run(&["runs", "chain", "one"]);
    let lines: Vec<_> = told.stdout.lines().map(|line| line.split("  plain").next().unwrap()).collect();
    assert_eq!(lines, ["one", "└ two", "  └ four", "└ three"], "{}", told.stdout);
    assert!(told.stdout.contains("interrupted, 1 step"), "{}", told.stdout);
    assert_eq!(place.run(&["runs", "chain", "nobody"]).code, 9);
}

/// A run whose process ends before anything is stored has the status `created`.
#[test]
fn a_run_that_has_not_begun_is_created() {
    let place = Place::with_compiled_testkit();
    // It is killed before it has used this up.
    place.write(
        "caps.yaml",
        "dispatch: ['execute.tool.t.*']\nlimits: { fuel: 900000000000, timeout: 60s }\nrun: { fuel: 1000000000000 }\n",
    );
    place.graph(
        "g.yaml",
        "start: a\ndurability: exit\nnodes:\n  a: { action: { item_id: t/kit, params: { op: spin, iterations: 200000000000 } } }\n",
    );
    let more = ["--run-id", "one", "--stream", "events"];
    let mut child = place.command(&[&RUN[..], &more].concat()).spawn().unwrap();
    // Its task has started once this line is printed.
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("task_started"), "{line}");
    assert_eq!(ids(&rows(&place, &["--status", "running"])), ["one"]);
    child.kill().unwrap();
    child.wait().unwrap();
    let created = rows(&place, &["--status", "created"]);
    assert_eq!((ids(&created), &created[0]["status"]), (vec!["one"], &json!("created")));
    assert_eq!(ids(&rows(&place, &["--status", "running"])), [""; 0]);
    assert_eq!(place.json(&["runs", "show", "one"]).0["status"], "created");
    assert!(place.run(&["runs", "list"]).stdout.contains("created"));
    // Nothing of it was cut short.
    let (told, code) = place.json(&["doctor"]);
    let of_runs = told["findings"].as_array().unwrap().iter().find(|found| found["what"] == "runs").unwrap();
    assert_eq!(
        (code, &of_runs["found"], &of_runs["standing"]),
        (0, &json!("1 run"), &json!("good")),
        "{told}"
    );
}

/// A stranger's database may have a chain of any length and shape: each run of it is one line, of a length for a screen.
#[test]
fn a_chain_of_thousands_of_runs_is_a_line_for_each() {
    const RUNS: u32 = 3_000;
    let place = Place::new();
    place.graph("plain.yaml", "start: a\nnodes: { a: { assign: { x: 1 } } }\n");
    assert_eq!(place.run(&["run", "plain.yaml", "--run-id", "r0"]).code, 0);
    let database = rusqlite::Connection::open(place.path(".ai/state/runs.db")).unwrap();
    let columns: Vec<String> = {
        let mut named =
            database.prepare("SELECT name FROM pragma_table_info('runs') WHERE name <> 'id'").unwrap();
        named.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    let values = columns.iter().map(|column| match column.as_str() {
        "run_id" => "'r' || ?1",
        "continuation_of" => "'r' || (?1 - 1)",
        "chain_root_id" => "'r0'",
        column => column,
    });
    let (values, names) = (values.collect::<Vec<_>>().join(", "), columns.join(", "));
    let insert = format!("INSERT INTO runs ({names}) SELECT {values} FROM runs WHERE run_id = 'r0'");
    database.execute_batch("BEGIN").unwrap();
    for number in 1..=RUNS {
        database.execute(&insert, [number]).unwrap();
    }
    database.execute_batch("COMMIT").unwrap();
    let told = place.run(&["runs", "chain", "r0"]);
    assert_eq!((told.code, told.stdout.lines().count()), (0, RUNS as usize + 1), "{}", told.stderr);
    assert!(told.stdout.lines().all(|line| line.chars().count() < 160));
    assert!(told.stdout.contains("└ 2999: r2999  plain"), "{}", &told.stdout[told.stdout.len() - 400..]);
    // Runs that continue each other in a circle are shown, too.
    database.execute("UPDATE runs SET continuation_of = ?1 WHERE run_id = 'r0'", ["r3000"]).unwrap();
    database.execute("UPDATE runs SET chain_root_id = 'r0' WHERE run_id = 'r0'", []).unwrap();
    drop(database);
    let (chain, code) = place.json(&["runs", "chain", "r7"]);
    assert_eq!((code, chain["runs"].as_array().unwrap().len()), (0, RUNS as usize + 1));
    assert_eq!(chain["chain_root_id"], "r0");
}
