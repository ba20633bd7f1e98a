//! Runs that are moved to another host, and removal of the data of runs.

use std::fs;

use serde_json::{Value, json};

use crate::place::{Place, Ran};

const LOOP: &str = r#"start: work
channels: { log: { reducer: append }, n: { reducer: sum, default: 0 } }
nodes:
  work: { action: { item_id: t/kit, params: { op: echo, value: "${state.n}" } }, assign: { n: 1, log: ["${result}"], once: "${inputs.name}" }, next: [{ to: work, when: { path: state.n, op: lt, value: 6 } }, { to: [] }] }
"#;

const ASKING: &str = r#"start: ask
nodes:
  ask: { action: { item_id: t/kit, params: { op: interrupt, payload: "Publish?" } }, assign: { verdict: "${result}" } }
"#;

fn place() -> Place {
    let place = Place::with_compiled_testkit();
    place.graph("loop.yaml", LOOP);
    place.graph("asking.yaml", ASKING);
    place
}

fn run(place: &Place, graph: &str, id: &str) -> i32 {
    let args =
        ["run", graph, "--caps", "caps.yaml", "--allow-unsigned", "--run-id", id, "--input", "name=Ada"];
    place.run(&args).code
}

fn exits(ran: &Ran, code: i32) {
    assert_eq!(ran.code, code, "{}", ran.shown());
}

/// Copies a file to another place.
fn carry(from: &Place, to: &Place, name: &str) {
    fs::copy(from.path(name), to.path(name)).unwrap();
}

fn export(place: &Place, id: &str) -> Vec<String> {
    exits(&place.run(&["runs", "export", id, "-o", "run.jsonl"]), 0);
    fs::read_to_string(place.path("run.jsonl")).unwrap().lines().map(str::to_owned).collect()
}

/// Writes the run's public key, as its owner would publish it.
fn public_key(lines: &[String], place: &Place) {
    let header: Value = serde_json::from_str(&lines[0]).unwrap();
    place.write("host.pem", header["key"].as_str().unwrap());
}

#[test]
fn a_run_is_taken_to_another_host_and_checked_there() {
    let (here, there) = (place(), place());
    assert_eq!(run(&here, "loop.yaml", "r1"), 0);
    assert_eq!(run(&here, "asking.yaml", "q1"), 6);
    let lines = export(&here, "r1");
    let streamed = here.run(&["runs", "export", "r1"]);
    exits(&streamed, 0);
    assert_eq!(streamed.stdout.lines().count(), lines.len());
    carry(&here, &there, "run.jsonl");
    public_key(&lines, &there);
    let (imported, code) = there.json(&["runs", "import", "run.jsonl", "--key", "host.pem"]);
    assert_eq!(code, 0, "{imported}");
    assert_eq!(
        (&imported["checkpoints"], &imported["key"], &imported["row_is_signed"]),
        (&json!(7), &json!("given"), &json!(true))
    );
    exits(&there.run(&["runs", "verify", "r1", "--key", "host.pem"]), 0);
    // Without the key, this host cannot verify it.
    exits(&there.run(&["runs", "verify", "r1"]), 8);
    let (mut shown, _) = there.json(&["runs", "show", "r1"]);
    let (mut original, _) = here.json(&["runs", "show", "r1"]);
    assert_eq!(shown["state"]["log"], json!([0, 1, 2, 3, 4, 5]));
    for document in [&mut shown, &mut original] {
        document.as_object_mut().unwrap().remove("pid");
    }
    assert_eq!(shown, original);
    // A second import is refused.
    let again = there.run(&["runs", "import", "run.jsonl"]);
    exits(&again, 2);
    assert!(again.stderr.contains("an imported run keeps its id"), "{}", again.stderr);
    let nowhere = there.run(&["runs", "export", "@last", "-o", "no/folder/run.jsonl"]);
    exits(&nowhere, 10);
    assert!(nowhere.stderr.contains("its folder does not exist"), "{}", nowhere.stderr);
    // A waiting run can be shown, and only its own host can continue it.
    export(&here, "q1");
    carry(&here, &there, "run.jsonl");
    let imported = there.run(&["runs", "import", "run.jsonl"]);
    exits(&imported, 0);
    assert!(imported.stderr.contains("that key is not trusted here"), "{}", imported.shown());
    exits(&there.run(&["runs", "verify", "q1", "--key", "host.pem"]), 0);
    assert_eq!(there.json(&["runs", "show", "q1"]).0["interrupts"][0]["payload"], "Publish?");
    exits(&there.run(&["resume", "q1", "--answer", "yes"]), 8);
    exits(&there.run(&["runs", "cancel", "q1"]), 8);
    // From there it can be exported again: the run is signed, the file is not.
    exits(&there.run(&["runs", "export", "q1", "-o", "again.jsonl"]), 0);
    let third = place();
    carry(&there, &third, "again.jsonl");
    public_key(&lines, &third);
    let (imported, code) = third.json(&["runs", "import", "again.jsonl", "--key", "host.pem"]);
    assert_eq!((code, &imported["row_is_signed"]), (0, &json!(false)), "{imported}");
    // At its own host it continues normally.
    carry(&there, &here, "again.jsonl");
    exits(&here.run(&["runs", "gc", "--keep", "0", "--all-statuses"]), 0);
    let (imported, _) = here.json(&["runs", "import", "again.jsonl"]);
    assert_eq!(imported["key"], "own");
    exits(&here.run(&["resume", "q1", "--answer", "yes"]), 0);
    exits(&here.run(&["runs", "verify", "q1"]), 0);
}

#[test]
fn a_file_that_is_not_whole_or_was_changed_is_refused() {
    let (here, there) = (place(), place());
    assert_eq!(run(&here, "loop.yaml", "r1"), 0);
    let lines = export(&here, "r1");
    let refused = |what: &str, lines: &[String], code: i32| {
        there.write("bad.jsonl", &(lines.join("\n") + "\n"));
        let (refused, found) = there.json(&["runs", "import", "bad.jsonl"]);
        assert_eq!(found, code, "{what}: {refused}");
        let (listed, _) = there.json(&["runs", "list"]);
        assert!(listed["runs"].as_array().is_none_or(Vec::is_empty), "{what}: {listed}");
        refused["error"]["message"].as_str().unwrap().to_owned()
    };
    let at = |start: &str| lines.iter().position(|line| line.starts_with(start)).unwrap();
    let (first_record, first_text) = (at("{\"record\""), at("{\"text\""));
    assert!(refused("no last line", &lines[..lines.len() - 1], 8).contains("cut off"));
    assert!(
        refused("a record left out", &[&lines[..first_record + 2], &lines[first_record + 3..]].concat(), 8)
            .contains("lines are missing")
    );
    let changed = |index: usize, from: &str, to: &str| {
        let mut lines = lines.clone();
        assert!(lines[index].contains(from), "{}", lines[index]);
        lines[index] = lines[index].replacen(from, to, 1);
        lines
    };
    refused("a row changed", &changed(1, "\"graph_id\":\"loop\"", "\"graph_id\":\"pool\""), 8);
    refused("something after the end", &[&lines[..], &["{}".to_owned()]].concat(), 8);
    // A forger recomputes the sum of the lines: then the signatures and the chain decide.
    let summed_up = |body: &[String]| {
        let mut lines = body.to_vec();
        lines.push(format!(
            "{{\"end\":{{\"lines\":{},\"digest\":\"{}\",\"key_id\":null,\"signature\":null}}}}",
            body.len(),
            digest(body)
        ));
        lines
    };
    let body = &lines[..lines.len() - 1];
    let shorter = [&body[..first_record], &body[first_record + 1..]].concat();
    assert!(refused("without its first checkpoint", &summed_up(&shorter), 8).contains("is not whole"));
    // It does not help either to remove the numbers of entries, as if the run were older than numbers.
    let unnumbered: Vec<String> = shorter
        .iter()
        .map(|line| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            if let Some(record) = line.pointer_mut("/record") {
                record.as_object_mut().unwrap().remove("before").unwrap();
            }
            line.to_string()
        })
        .collect();
    assert!(refused("and without numbers", &summed_up(&unnumbered), 8).contains("not intact"));
    let end_off = body[..body.len() - 1].to_vec();
    refused("without its last checkpoint", &summed_up(&end_off), 8);
    let value = changed(first_record + 2, "\\\"step\\\":2", "\\\"step\\\":3")[..body.len()].to_vec();
    refused("a record changed", &summed_up(&value), 8);
    let value = changed(first_record + 1, "\"json\":\"[0]\"", "\"json\":\"[7]\"")[..body.len()].to_vec();
    assert!(refused("a value changed", &summed_up(&value), 8).contains("channel `log`"));
    let text = changed(first_text, "\"text\":\"{", "\"text\":\"{ ")[..body.len()].to_vec();
    assert!(refused("a text changed", &summed_up(&text), 8).contains("text"));
    // A file whose sum was only recomputed is as valid as before; its row is then unsigned.
    there.write("summed.jsonl", &(summed_up(body).join("\n") + "\n"));
    // Another host's key.
    exits(&there.run(&["keys", "generate", "other"]), 0);
    let other = fs::read_dir(there.path("home/keys")).unwrap().flatten().map(|file| file.path());
    let other = other.into_iter().find(|path| path.to_string_lossy().contains("pub")).unwrap();
    let (wrong, code) = there.json(&["runs", "import", "summed.jsonl", "--key", other.to_str().unwrap()]);
    assert_eq!(code, 8, "{wrong}");
    let (imported, code) = there.json(&["runs", "import", "summed.jsonl"]);
    assert_eq!(
        (code, &imported["key"], &imported["row_is_signed"]),
        (0, &json!("carried"), &json!(false)),
        "{imported}"
    );
    // Files of other formats.
    for foreign in ["", "hello\n", "{}\n", "[1]\n", "{\"format\":\"other\"}\n"] {
        there.write("foreign.jsonl", foreign);
        exits(&there.run(&["runs", "import", "foreign.jsonl"]), 3);
    }
    there.write("newer.jsonl", &lines.join("\n").replacen("\"version\":3", "\"version\":4", 1));
    let newer = there.run(&["runs", "import", "newer.jsonl"]);
    exits(&newer, 3);
    assert!(newer.stderr.contains("version 4"), "{}", newer.shown());
    exits(&there.run(&["runs", "import", "nothing.jsonl"]), 9);
    exits(&there.run(&["runs", "import", "."]), 2);
}

/// Computes the digest of lines, as in the last line of a file.
fn digest(lines: &[String]) -> graph_core::digest::Digest {
    let hasher = graph_core::digest::DomainHasher::new("graph-host/export/v1");
    lines.iter().fold(hasher, |hasher, line| hasher.field(format!("{line}\n").as_bytes())).finish()
}

#[test]
fn old_checkpoints_go_and_the_rest_can_be_checked() {
    let place = place();
    assert_eq!(run(&place, "loop.yaml", "r1"), 0);
    assert_eq!(run(&place, "asking.yaml", "q1"), 6);
    let (before, _) = place.json(&["runs", "show", "r1"]);
    let (would, code) = place.json(&["runs", "gc", "--checkpoints", "2", "--dry-run"]);
    assert_eq!((code, &would["pruned"]), (0, &json!([{ "run_id": "r1", "checkpoints": 5 }])), "{would}");
    assert_eq!(place.json(&["runs", "verify", "r1"]).0["checkpoints"], 7);
    let (done, _) = place.json(&["runs", "gc", "--checkpoints", "2"]);
    assert_eq!(done["pruned"], would["pruned"]);
    assert!(done["bytes"].as_u64().unwrap() > 0, "{done}");
    let (verified, code) = place.json(&["runs", "verify", "r1"]);
    assert_eq!(
        (code, &verified["checkpoints"], &verified["begins"]["checkpoint"], &verified["begins"]["removed"]),
        (0, &json!(2), &json!(5), &json!(5)),
        "{verified}"
    );
    let verified = place.run(&["runs", "verify", "r1"]);
    assert!(verified.stdout.contains("its history begins with checkpoint 5"), "{}", verified.shown());
    let (after, _) = place.json(&["runs", "show", "r1"]);
    for key in ["state", "output", "visited", "executions", "fuel", "steps", "checkpoint", "inputs", "status"]
    {
        assert_eq!(after[key], before[key], "{key}");
    }
    // A second removal leaves one checkpoint; and the run goes to another host unchanged.
    exits(&place.run(&["runs", "gc", "--checkpoints", "1"]), 0);
    let (verified, _) = place.json(&["runs", "verify", "r1"]);
    assert_eq!((&verified["checkpoints"], &verified["begins"]["removed"]), (&json!(1), &json!(6)));
    assert_eq!(place.json(&["runs", "show", "r1"]).0["visited"], before["visited"]);
    let lines = export(&place, "r1");
    let there = self::place();
    carry(&place, &there, "run.jsonl");
    exits(&there.run(&["runs", "import", "run.jsonl"]), 0);
    // A removal of the note about removed checkpoints is detected.
    let mut body: Vec<String> = lines[..lines.len() - 1].to_vec();
    body.retain(|line| !line.starts_with("{\"pruning\""));
    assert_eq!(body.len(), lines.len() - 2);
    let end = format!(
        "{{\"end\":{{\"lines\":{},\"digest\":\"{}\",\"key_id\":null,\"signature\":null}}}}",
        body.len(),
        digest(&body)
    );
    body.push(end);
    let third = self::place();
    third.write("forged.jsonl", &(body.join("\n") + "\n"));
    exits(&third.run(&["runs", "import", "forged.jsonl"]), 8);
    // The waiting run has lost nothing.
    exits(&place.run(&["resume", "q1", "--answer", "yes"]), 0);
}

const PAUSING: &str = r"start: work
channels: { n: { reducer: sum, default: 0 } }
nodes:
  work: { interrupt: before, assign: { n: 1 }, next: [{ to: work, when: { path: state.n, op: lt, value: 3 } }, { to: [] }] }
";

/// Makes a run with a pause before each of three steps, which has ended.
fn paused_run(place: &Place, store: &str) {
    place.graph("pausing.yaml", PAUSING);
    exits(&place.run(&["run", "pausing.yaml", "--run-id", "p1", "--store", store]), 6);
    for code in [6, 6, 0] {
        exits(&place.run(&["resume", "p1"]), code);
    }
}

fn events(place: &Place) -> String {
    let told = place.run(&["runs", "events", "p1", "--stream", "events"]);
    exits(&told, 0);
    told.stdout
}

#[test]
fn an_export_has_every_pause() {
    let (here, there) = (place(), place());
    paused_run(&here, "sqlite");
    export(&here, "p1");
    carry(&here, &there, "run.jsonl");
    for store in ["sqlite", "file"] {
        exits(&there.run(&["runs", "import", "run.jsonl", "--store", store]), 0);
        assert_eq!(events(&there), events(&here), "{store}");
        let lines = export(&there, "p1");
        let records = |lines: &[String]| {
            lines.iter().filter(|line| line.starts_with("{\"record\"")).cloned().collect::<Vec<_>>()
        };
        let original = fs::read_to_string(here.path("run.jsonl")).unwrap();
        let original: Vec<String> = original.lines().map(str::to_owned).collect();
        assert_eq!(records(&lines), records(&original), "{store}");
        // An id stays taken, also for an import.
        exits(&there.run(&["runs", "import", "run.jsonl"]), 2);
        exits(&there.run(&["runs", "gc", "--keep", "0"]), 0);
        exits(&there.run(&["runs", "show", "p1"]), 9);
    }
    exits(&there.run(&["runs", "import", "run.jsonl", "--store", "memory"]), 2);
}

#[test]
fn runs_in_files_are_looked_after_too() {
    let place = place();
    paused_run(&place, "file");
    exits(
        &place.run(&[
            "run",
            "asking.yaml",
            "--caps",
            "caps.yaml",
            "--allow-unsigned",
            "--run-id",
            "q1",
            "--store",
            "file",
        ]),
        6,
    );
    let item = place.path(".ai/knowledge/graphs/pausing/p1.md");
    assert!(item.exists());
    let (done, code) = place.json(&["runs", "gc", "--checkpoints", "2"]);
    assert_eq!((code, &done["pruned"]), (0, &json!([{ "run_id": "p1", "checkpoints": 2 }])), "{done}");
    let (verified, code) = place.json(&["runs", "verify", "p1"]);
    assert_eq!((code, &verified["begins"]["removed"]), (0, &json!(2)), "{verified}");
    assert_eq!(place.json(&["runs", "show", "p1"]).0["state"]["n"], 3);
    // Stopped while it waits, it continues at the same place.
    exits(&place.run(&["runs", "cancel", "q1"]), 0);
    assert_eq!(place.json(&["runs", "show", "q1"]).0["status"], "cancelled");
    exits(&place.run(&["resume", "q1"]), 6);
    exits(&place.run(&["runs", "kill", "q1"]), 0);
    assert_eq!(place.json(&["runs", "show", "q1"]).0["status"], "killed");
    exits(&place.run(&["resume", "q1", "--answer", "yes"]), 0);
    let watched = place.run(&["runs", "watch", "q1"]);
    exits(&watched, 0);
    assert!(watched.stderr.contains("ask"), "{}", watched.shown());
    let (done, _) = place.json(&["runs", "gc", "--keep", "0"]);
    assert_eq!(done["removed"].as_array().unwrap().len(), 2, "{done}");
    assert!(done["texts"].as_u64().unwrap() > 0 && done["bytes"].as_u64().unwrap() > 0, "{done}");
    assert!(!item.exists());
    assert_eq!(fs::read_dir(place.path(".ai/state/files/runs")).unwrap().count(), 0);
    assert_eq!(fs::read_dir(place.path(".ai/state/files/snapshots")).unwrap().count(), 0);
    assert!(!place.path(".ai/state/runs.db").exists());
}

#[test]
fn old_runs_go_and_others_stay() {
    let place = place();
    for id in ["r1", "r2", "r3"] {
        assert_eq!(run(&place, "loop.yaml", id), 0);
    }
    for id in ["q1", "q2"] {
        assert_eq!(run(&place, "asking.yaml", id), 6);
    }
    let ids = || {
        let (listed, _) = place.json(&["runs", "list"]);
        let ids: Vec<String> = listed["runs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|run| run["run_id"].as_str().unwrap().to_owned())
            .collect();
        ids.join(" ")
    };
    let nothing = place.run(&["runs", "gc"]);
    exits(&nothing, 0);
    assert_eq!(nothing.stdout, "there is nothing to remove\n");
    exits(&place.run(&["runs", "gc", "--older-than", "1d"]), 0);
    exits(&place.run(&["runs", "gc", "--keep", "1", "--dry-run"]), 0);
    assert_eq!(ids(), "q2 q1 r3 r2 r1");
    let (done, _) = place.json(&["runs", "gc", "--keep", "1"]);
    let removed: Vec<_> =
        done["removed"].as_array().unwrap().iter().map(|run| run["run_id"].clone()).collect();
    assert_eq!(removed, ["r2", "r1"]);
    // Runs that could be resumed are kept unless they are requested.
    assert_eq!(ids(), "q2 q1 r3");
    exits(&place.run(&["runs", "show", "r1"]), 9);
    let (done, _) = place.json(&["runs", "gc", "--keep", "0", "--all-statuses"]);
    assert_eq!(done["removed"].as_array().unwrap().len(), 3);
    assert!(done["texts"].as_u64().unwrap() >= 4, "{done}");
    assert_eq!(ids(), "");
    exits(&place.run(&["runs", "gc", "--older-than", "soon"]), 2);
    exits(&place.run(&["runs", "gc", "--checkpoints", "0"]), 2);
    // The id is free again.
    assert_eq!(run(&place, "loop.yaml", "r1"), 0);
    exits(&place.run(&["runs", "verify", "r1"]), 0);
}

#[cfg(unix)]
#[test]
fn what_a_process_holds_is_left_alone() {
    let place = place();
    let endless = LOOP
        .replace("value: 6", "value: 100000")
        .replace("op: echo, value: \"${state.n}\"", "op: spin, iterations: 2000000");
    place.graph("endless.yaml", &format!("{endless}max_steps: 100000\nmax_total_steps: 100000\n"));
    let args = [
        "run",
        "endless.yaml",
        "--caps",
        "caps.yaml",
        "--allow-unsigned",
        "--run-id",
        "e1",
        "--input",
        "name=Ada",
        "--detach",
    ];
    exits(&place.run(&args), 0);
    let (done, code) = place.json(&["runs", "gc", "--keep", "0", "--all-statuses"]);
    assert_eq!((code, &done["removed"]), (0, &json!([])), "{done}");
    assert!(done["left"][0].as_str().unwrap().contains("held"), "{done}");
    exits(&place.run(&["runs", "export", "e1", "-o", "e.jsonl"]), 10);
    assert!(!place.path("e.jsonl").exists());
    exits(&place.run(&["runs", "kill", "e1"]), 0);
    exits(&place.run(&["runs", "verify", "e1"]), 0);
    assert!(place.path(".ai/threads/e1/output.log").exists());
    exits(&place.run(&["runs", "gc", "--keep", "0", "--all-statuses"]), 0);
    assert!(!place.path(".ai/threads/e1").exists());
}
