//! The published table, and what a run of the fixtures prints.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value;

use super::fixture::{Fixture, folder};

/// The topics in the order of a component's life, with their titles.
const TOPICS: [(&str, &str); 12] = [
    ("artifacts", "Artifacts: refused before anything is compiled"),
    ("registry", "Registries: refused before anything is written"),
    ("compilation", "Compilation: structural caps, then a child process with limits of time and memory"),
    ("instantiation", "Instantiation"),
    ("execution", "Execution"),
    ("abi", "The canonical ABI"),
    ("host-calls", "Host calls"),
    ("reach", "Servers, secrets, knowledge, other items"),
    ("results", "Results"),
    ("documents", "Documents"),
    ("files", "Granted folders"),
    ("commands", "What is shown"),
];

fn outcome(fixture: &Fixture) -> String {
    let get = |key: &str| fixture.expect.get(key);
    let exit = get("exit").and_then(Value::as_i64).unwrap_or(-1);
    let words = [get("code"), get("category")];
    let words: Vec<_> = words.into_iter().flatten().filter_map(Value::as_str).collect();
    let told = if exit == 0 && words.is_empty() { "goes on".to_owned() } else { words.join(", ") };
    format!("{told} (exit {exit})")
}

fn page(fixtures: &[Fixture]) -> String {
    let mut page = String::from(
        "# Hostile input\n\n\
         What a stranger's component, document or statement tries, and what comes of it. Each row is a file in this folder, run by\n\
         `tests/cli/hostile.rs` (`cargo test --release --workspace -- hostile`), which also checks of each: the host ends by itself and in\n\
         time, no checkpoint advances, a healthy run beside it finishes, nothing is left behind in temporary folders, projects or the\n\
         process table; and of the rows marked with ↻ that meeting them a hundred times more in one process takes no more memory.\n\
         This page is generated from the files: `HOSTILE_UPDATE=1` writes it anew.\n",
    );
    for (topic, title) in TOPICS {
        let rows: Vec<_> = fixtures.iter().filter(|fixture| fixture.topic == topic).collect();
        if rows.is_empty() {
            continue;
        }
        write!(page, "\n## {title}\n\n| Input | Outcome | Guarded by | Fixture |\n|---|---|---|---|\n")
            .unwrap();
        for fixture in rows {
            let file = fixture.name.split_once('/').map_or("", |(_, file)| file);
            let repeat = if fixture.repeats { " ↻" } else { "" };
            writeln!(
                page,
                "| {} | {}{repeat} | {} | [{file}]({}.yaml) |",
                fixture.input.trim().replace('|', "\\|").replace('\n', " "),
                outcome(fixture),
                fixture.guards.join("; "),
                fixture.name
            )
            .unwrap();
        }
    }
    page
}

pub(crate) fn compare(fixtures: &[Fixture]) {
    for fixture in fixtures {
        assert!(
            TOPICS.iter().any(|(topic, _)| *topic == fixture.topic),
            "{} has no place in the table",
            fixture.name
        );
    }
    let (path, page) = (folder().join("README.md"), page(fixtures));
    if std::env::var_os("HOSTILE_UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == page,
        "tests/hostile/README.md is not what the fixtures say; HOSTILE_UPDATE=1 writes it anew"
    );
}

/// A line for each fixture that ran.
pub(crate) fn outcomes(outcomes: &[(&Fixture, Result<(), String>, Duration)]) -> String {
    let mut lines = String::new();
    for (fixture, ended, took) in outcomes {
        let mark = if ended.is_ok() { "ok" } else { "FAILED" };
        writeln!(lines, "{mark:<6} {:<44} {:<38} {:>6} ms", fixture.name, outcome(fixture), took.as_millis())
            .unwrap();
    }
    let passed = outcomes.iter().filter(|(_, ended, _)| ended.is_ok()).count();
    write!(lines, "hostile inputs: {passed} as expected, {} not", outcomes.len() - passed).unwrap();
    lines
}
