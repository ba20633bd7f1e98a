//! Commands that messages print do what the messages say: each is typed in the state in which it was printed.

use std::process::Command;

use graph_core::diagnostic::Problems;
use graph_core::yaml;
use serde_json::Value;

use crate::place::{Place, Ran};

/// A text of a hint's fixture.
fn text<'v>(hint: &'v Value, key: &str) -> Option<&'v str> {
    hint.get(key).and_then(Value::as_str)
}

fn words(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Types a line at a shell.
fn type_line(place: &Place, line: &str) -> Ran {
    let program = place.command(&[]);
    let mut shell = Command::new("sh");
    let binary = program.get_program().to_string_lossy().into_owned();
    shell.args(["-c", &line.replacen("graph-host ", &format!("'{binary}' "), 1)]);
    if let Some(folder) = program.get_current_dir() {
        shell.current_dir(folder);
    }
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    place.ran(&shell.stdin(std::process::Stdio::null()).output().unwrap())
}

fn check(name: &str, wanted: &Value, ran: &Ran) {
    let shown = ran.shown();
    if let Some(code) = wanted.get("code").and_then(Value::as_i64) {
        assert_eq!(i64::from(ran.code), code, "{name}: {shown}");
    }
    if let Some(contained) = text(wanted, "contains") {
        assert!(shown.contains(contained), "{name}: {contained} is not in {shown}");
    }
    if let Some(never) = text(wanted, "never") {
        assert!(!shown.contains(never), "{name}: {never} is in {shown}");
    }
}

#[test]
fn commands_that_messages_print_do_what_they_say() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/hints/hints.yaml");
    let read = std::fs::read_to_string(file).unwrap();
    let hints = yaml::parse(&read, &Problems::new()).unwrap().to_json();
    for hint in hints.as_array().unwrap() {
        let name = text(hint, "name").unwrap();
        let place = Place::new();
        place.graph("graph.yaml", text(hint, "graph").unwrap());
        if let Some(child) = text(hint, "child") {
            place.graph(".ai/tools/t/child.yaml", child);
            place.write("caps.yaml", "dispatch: ['execute.tool.t.*']\n");
        }
        if let Some(large) = hint.get("large").and_then(Value::as_u64) {
            place.write(
                "large.json",
                &format!("{{\"t\":\"{}\"}}", "x".repeat(usize::try_from(large).unwrap())),
            );
        }
        let mut last = place.run(&words(&hint["run"]));
        if let Some(code) = hint.get("code").and_then(Value::as_i64) {
            assert_eq!(i64::from(last.code), code, "{name}: {}", last.shown());
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
        if let Some(changed) = text(hint, "change") {
            place.graph("graph.yaml", changed);
        }
        for command in hint.get("before").and_then(Value::as_array).into_iter().flatten() {
            last = place.run(&words(command));
        }
        let shown = last.shown();
        for (key, is_there) in [("contains", true), ("never", false)] {
            if let Some(wanted) = text(hint, key) {
                assert_eq!(shown.contains(wanted), is_there, "{name}: {wanted} in {shown}");
            }
        }
        let Some(after) = text(hint, "after") else { continue };
        let all = format!("{}\n{}", last.stdout, last.stderr);
        // A long command has a line of its own.
        let found =
            all.split_once(after).and_then(|(_, rest)| rest.trim_start().lines().next()).map(str::trim);
        let line = found.unwrap_or_else(|| panic!("{name}: {after} is not in {shown}"));
        assert!(line.starts_with("graph-host "), "{name}: {line}");
        let line = line.replace("ANSWER", text(hint, "answer").unwrap_or("ANSWER"));
        assert!(!line.contains("ANSWER"), "{name}: {line}");
        check(name, &hint["then"], &type_line(&place, &line));
    }
}
