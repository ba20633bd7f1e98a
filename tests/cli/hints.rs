//! Commands that messages print work as the messages claim: each is typed in the state in which it was printed.

use std::path::Path;
use std::process::Command;

use graph_core::diagnostic::Problems;
use graph_core::yaml;
use graph_host::terminal::width::end_of_command;
use serde_json::Value;

use crate::place::{Place, Ran, kit};

/// Returns a text of a hint's fixture.
pub(crate) fn text<'v>(hint: &'v Value, key: &str) -> Option<&'v str> {
    hint.get(key).and_then(Value::as_str)
}

fn words(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Reads the fixtures of a file in `tests/hints`.
pub(crate) fn read(name: &str) -> Vec<Value> {
    let file = format!("{}/../../tests/hints/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
    let read = std::fs::read_to_string(file).unwrap();
    let hints = yaml::parse(&read, &Problems::new()).unwrap().to_json();
    hints.as_array().unwrap().clone()
}

/// Types a line at a shell that finds this program.
pub(crate) fn type_line(place: &Place, line: &str) -> Ran {
    let program = place.command(&[]);
    let folder = Path::new(program.get_program()).parent().unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(place.path(""));
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let path = std::env::var("PATH").unwrap_or_default();
    shell.env("PATH", format!("{}:{path}", folder.display()));
    place.ran(&shell.stdin(std::process::Stdio::null()).output().unwrap())
}

/// Returns the command that is printed after a text.
fn printed(shown: &str, after: &str) -> Option<String> {
    let rest = &shown[shown.find(after)? + after.len()..];
    let at = rest.find("graph-host ")?;
    // A `cd` before it belongs to the command.
    let begin = rest[..at].rfind("cd ").filter(|cd| rest[*cd..at].ends_with(" && ")).unwrap_or(at);
    let command = &rest[begin..];
    Some(
        command[..end_of_command(command, rest[..begin].ends_with('`'))]
            .trim_end_matches([' ', '.', ','])
            .to_owned(),
    )
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
    for hint in &read("hints") {
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

/// Writes the files that exist before the first line of a hint is typed.
fn prepare(place: &Place, hint: &Value) {
    let all = |key: &str| hint.get(key).and_then(Value::as_object).into_iter().flatten();
    let folder_of = |file: &str| {
        std::fs::create_dir_all(place.path(file).parent().unwrap()).unwrap();
    };
    for (id, component) in all("kit") {
        let file = format!(".ai/tools/{id}.wasm");
        folder_of(&file);
        std::fs::copy(kit(component.as_str().unwrap()), place.path(&file)).unwrap();
    }
    for (file, config) in all("graphs") {
        folder_of(file);
        place.graph(file, config.as_str().unwrap());
    }
    for (file, content) in all("files") {
        folder_of(file);
        place.write(file, content.as_str().unwrap());
    }
}

#[test]
fn commands_about_keys_and_items_do_what_they_say() {
    let mut wrong = Vec::new();
    for hint in &read("commands") {
        let name = text(hint, "name").unwrap();
        let place = if hint.get("kit").is_some() { Place::with_compiled_testkit() } else { Place::new() };
        prepare(&place, hint);
        let lines = words(&hint["typed"]);
        let mut last = None;
        for (number, line) in lines.iter().enumerate() {
            let ran = type_line(&place, line);
            let is_last = number + 1 == lines.len();
            let code = hint.get("code").and_then(Value::as_i64).filter(|_| is_last).unwrap_or(0);
            assert!(i64::from(ran.code) == code, "{name}: {line}: {}", ran.shown());
            last = Some(ran);
        }
        let last = last.unwrap();
        let shown = format!("{}\n{}", last.stdout, last.stderr);
        if let Some(never) = text(hint, "never") {
            assert!(!shown.contains(never), "{name}: {never} in {shown}");
        }
        let Some(after) = text(hint, "after") else { continue };
        let Some(line) = printed(&shown, after) else {
            wrong.push(format!("{name}: no command behind {after} in {shown}"));
            continue;
        };
        let mut line = line.replace("[folder]", &place.path("").to_string_lossy());
        for (word, value) in hint.get("fill").and_then(Value::as_object).into_iter().flatten() {
            assert!(line.contains(word), "{name}: {word} is not in {line}");
            line = line.replace(word, value.as_str().unwrap());
        }
        let ran = type_line(&place, &line);
        let wanted = &hint["then"];
        let code = wanted.get("code").and_then(Value::as_i64).unwrap_or(0);
        let contained = text(wanted, "contains").unwrap_or_default();
        if i64::from(ran.code) != code || !ran.shown().contains(contained) {
            wrong.push(format!("{name}: {line}: {}\nwanted: {wanted}", ran.shown()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
