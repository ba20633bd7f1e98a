//! The published table, and the output of a run of the fixtures.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value;

use super::fixture::{Fixture, folder};
use super::offer::Taken;

/// Topics in the order of a component's life, with their titles.
const TOPICS: [(&str, &str); 18] = [
    ("artifacts", "Artifacts: refused before anything is compiled"),
    ("registry", "Registries: refused before anything is written"),
    ("compilation", "Compilation: structural caps, then a child process with limits of time and memory"),
    ("instantiation", "Instantiation"),
    ("execution", "Execution"),
    ("abi", "The canonical ABI"),
    ("host-calls", "Host calls"),
    ("reach", "Servers, secrets, knowledge, other items"),
    ("shell", "The shell that is built in"),
    ("results", "Results"),
    ("documents", "Documents"),
    ("work", "The host's own work"),
    ("files", "Granted folders"),
    ("projects", "Projects: links, and state of another host"),
    ("spaces", "Items in front of the user's own"),
    ("stores", "Databases and their side files"),
    ("formats", "What later versions have written"),
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
         What a stranger's component, document or statement may try, and the expected outcome. Each row is a file in this folder, run by\n\
         `tests/cli/hostile.rs` (`cargo test --release --workspace -- hostile`), which also checks for each of them: the host ends by itself, in\n\
         time, and within limits of memory (children included) and disk; no checkpoint advances; a healthy run next to it completes; nothing\n\
         is left behind in temporary folders, projects or the process table; and, for the rows marked with ↻, that offering them a hundred\n\
         more times in one process takes no more memory. Ctrl-C is pressed at a random moment of a sample of them (`SEED` draws\n\
         another sample, `FULL=1` takes all): the process ends within a second of processor time, and the run verifies.\n\
         This page is generated from the files: `HOSTILE_UPDATE=1` writes it again.\n",
    );
    for (topic, title) in TOPICS {
        let rows: Vec<_> = fixtures.iter().filter(|fixture| fixture.topic == topic).collect();
        if rows.is_empty() {
            continue;
        }
        write!(page, "\n## {title}\n\n| Input | Outcome | Guarded by | Fixture |\n|---|---|---|---|\n")
            .unwrap();
        for fixture in rows {
            let name = fixture.name.split_once('/').map_or("", |(_, name)| name);
            let repeat = if fixture.repeats { " ↻" } else { "" };
            writeln!(
                page,
                "| {} | {}{repeat} | {} | [{name}]({}.yaml) |",
                fixture.input.trim().replace('|', "\\|").replace('\n', " "),
                outcome(fixture),
                fixture.guards.join("; "),
                fixture.file
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

/// Outcome of a fixture.
pub(crate) struct Outcome<'f> {
    pub(crate) fixture: &'f Fixture,
    pub(crate) result: Result<(), String>,
    pub(crate) took: Duration,
    pub(crate) taken: Taken,
}

/// Makes a line for each fixture that ran: its outcome, the time with all checks, the peak memory of the process and
/// its children, the disk space that was written, and the processor time after Ctrl-C.
pub(crate) fn outcomes(outcomes: &[Outcome<'_>]) -> String {
    let mut lines = String::new();
    for Outcome { fixture, result, took, taken } in outcomes {
        let mark = if result.is_ok() { "ok" } else { "FAILED" };
        write!(
            lines,
            "{mark:<6} {:<44} {:<38} {:>6} ms {:>5} MiB memory {:>5} MiB disk",
            fixture.name,
            outcome(fixture),
            took.as_millis(),
            taken.mib,
            taken.disk
        )
        .unwrap();
        if let Some(after) = taken.after_press {
            write!(lines, " {:>5} ms after Ctrl-C", after.as_millis()).unwrap();
        }
        lines.push('\n');
    }
    let passed = outcomes.iter().filter(|outcome| outcome.result.is_ok()).count();
    write!(lines, "hostile inputs: {passed} as expected, {} not", outcomes.len() - passed).unwrap();
    lines
}
