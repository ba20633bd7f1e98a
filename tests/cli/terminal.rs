//! Screens for people: the tour of README typed in a terminal of 60 and of 120 columns, and output that exists only on a terminal.
//!
//! `script` (util-linux) gives the command a terminal, and `vt100` makes the screen of what it writes there. Times, dates and
//! figures of fuel are replaced. `↩` is where a line was too long for the screen: only commands, paths and ids may be.
#![cfg(target_os = "linux")]

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use graph_core::diagnostic::Problems;
use serde_json::Value;

use crate::place::{Place, install_program, redact};

/// Number of rows that suffices for all output here.
const ROWS: u16 = 200;

/// A command in a terminal.
pub(crate) struct Typed {
    written: Arc<Mutex<Vec<u8>>>,
    child: std::process::Child,
    stdin: Option<ChildStdin>,
    columns: u16,
}

impl Typed {
    pub(crate) fn new(place: &Place, columns: u16, command: &str) -> Self {
        Self::with(place, columns, command, |_| ())
    }

    fn with(place: &Place, columns: u16, command: &str, change: impl FnOnce(&mut Command)) -> Self {
        let line = format!("stty cols {columns} rows {ROWS}; {command}");
        let mut script = Command::new("script");
        let binaries = Path::new(env!("CARGO_BIN_EXE_graph-host")).parent().unwrap();
        script
            .args(["-qfec", &line, "/dev/null"])
            .current_dir(place.path("."))
            .env("PATH", format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap()))
            .env("SHELL", "/bin/sh")
            .env("TERM", "xterm-256color")
            .env("GRAPH_HOST_HOME", place.path("home"))
            .env("TZ", "UTC")
            .env_remove("COLUMNS")
            .env_remove("NO_COLOR")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        change(&mut script);
        let mut child = script.spawn().expect("`script` of util-linux");
        let (stdin, mut stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        let written = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&written);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = stdout.read(&mut bytes) {
                shared.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
        });
        Self { written, child, stdin, columns }
    }

    pub(crate) fn raw(&self) -> String {
        String::from_utf8_lossy(&self.written.lock().unwrap()).into_owned()
    }

    /// Waits until something was written.
    pub(crate) fn until(&self, text: &str) {
        let deadline = Instant::now() + Duration::from_mins(1);
        while !self.raw().contains(text) {
            assert!(Instant::now() < deadline, "no {text:?} in\n{}", self.raw());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn types(&mut self, text: &str) {
        self.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Waits until the command has ended; returns its exit code.
    pub(crate) fn ends(&mut self) -> i32 {
        let deadline = Instant::now() + Duration::from_mins(1);
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                // The rest of the output is on its way.
                std::thread::sleep(Duration::from_millis(50));
                return status.code().unwrap_or(-1);
            }
            assert!(Instant::now() < deadline, "it does not end:\n{}", self.raw());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Returns the text on the screen.
    fn screen(&self) -> String {
        let mut parser = vt100::Parser::new(ROWS.try_into().unwrap(), self.columns.try_into().unwrap(), 0);
        parser.process(&self.written.lock().unwrap());
        let screen = parser.screen();
        let rows = screen.rows(0, self.columns).enumerate();
        let rows = rows.map(|(row, text)| {
            let wrapped = screen.row_wrapped(u16::try_from(row).unwrap());
            format!("{}{}", text.trim_end(), if wrapped { "↩" } else { "" })
        });
        rows.collect::<Vec<_>>().join("\n").trim_end().to_owned()
    }
}

/// Replaces text that differs between runs, with the same width in a column.
fn stable(place: &Place, screen: &str) -> String {
    let folder = place.path("").display().to_string();
    let screen = screen.replace(folder.trim_end_matches('/'), "[folder]");
    let mut shown = String::new();
    for word in screen.split_inclusive([' ', '\n', '│', '(', ',']) {
        let text = word.trim_end_matches([' ', '\n', ',', ';']);
        let is_date = text.len() == 10
            && text.starts_with("20")
            && text.bytes().filter(|byte| *byte == b'-').count() == 2;
        let is_time = text.len() == 8 && text.bytes().filter(|byte| *byte == b':').count() == 2;
        let is_digest = text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_long_digest = text.starts_with("sha256:");
        match text {
            _ if is_date => shown.push_str(&word.replace(text, "2026-01-02")),
            _ if is_time => shown.push_str(&word.replace(text, "03:04:05")),
            _ if is_digest => shown.push_str(&word.replace(text, "0123456789ab")),
            _ if is_long_digest => shown.push_str(&word.replace(text, "sha256:[..]")),
            _ => shown.push_str(word),
        }
    }
    without_durations(&redact(&shown))
}

/// Removes the longest attempt of each line, whose digits also decide where the line is cut.
fn without_durations(screen: &str) -> String {
    let mut kept = Vec::new();
    let mut is_rest = false;
    for line in screen.lines() {
        let continues = line.ends_with('↩');
        match line.split_once(" longest ") {
            _ if is_rest => {}
            Some((before, _)) => {
                kept.push(before.trim_end());
                is_rest = continues;
                continue;
            }
            None => kept.push(line),
        }
        is_rest = is_rest && continues;
    }
    kept.join("\n")
}

/// Copies the parts of the examples that the tour needs.
fn examples() -> Place {
    let place = Place::new();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    std::fs::create_dir_all(place.path("examples")).unwrap();
    std::fs::copy(from.join("trust.yaml"), place.path("examples/trust.yaml")).unwrap();
    for example in ["project-stats", "approval"] {
        let tools = format!("{example}/.ai/tools/examples");
        let to = place.path(&format!("examples/{tools}"));
        std::fs::create_dir_all(&to).unwrap();
        for name in std::fs::read_dir(from.join(&tools)).unwrap() {
            let name = name.unwrap().file_name();
            std::fs::copy(from.join(&tools).join(&name), to.join(&name)).unwrap();
        }
        for file in ["graph.yaml", "caps.yaml"] {
            let file = format!("{example}/{file}");
            std::fs::copy(from.join(&file), place.path(&format!("examples/{file}"))).unwrap();
        }
    }
    // The inputs of the examples are small.
    std::fs::create_dir_all(place.path("examples/approval/notes")).unwrap();
    let notes = "approval/notes/release.md";
    std::fs::copy(from.join(notes), place.path(&format!("examples/{notes}"))).unwrap();
    let caps = place.read("examples/project-stats/caps.yaml").replace("../..", "../approval/notes");
    place.write("examples/project-stats/caps.yaml", &caps);
    place
}

/// Types the tour in a terminal of this width, and returns its screens.
fn tour(columns: u16) -> String {
    let place = examples();
    let mut shown = String::new();
    let stats = "graph-host run examples/project-stats/graph.yaml --trust examples/trust.yaml";
    let approval = "graph-host run examples/approval/graph.yaml --caps examples/approval/caps.yaml --trust examples/trust.yaml --run-id ask";
    let with_caps = format!("{stats} --caps examples/project-stats/caps.yaml");
    let commands: [(String, &[&str]); 10] = [
        (format!("{with_caps} --run-id stats"), &[]),
        (format!("{with_caps} --plan"), &[]),
        (stats.to_owned(), &[]),
        (approval.to_owned(), &["replace\n", "2\n", "accept\n"]),
        ("graph-host runs list".to_owned(), &[]),
        ("graph-host runs show ask".to_owned(), &[]),
        ("graph-host runs history ask".to_owned(), &[]),
        ("sed s/max_attempts/max_attempt/ examples/approval/graph.yaml > broken.yaml; graph-host validate broken.yaml".to_owned(), &[]),
        ("graph-host resume stats".to_owned(), &[]),
        ("graph-host --help".to_owned(), &[]),
    ];
    for (command, answers) in commands {
        let mut typed = Typed::new(&place, columns, &command);
        for (number, answer) in answers.iter().enumerate() {
            let deadline = Instant::now() + Duration::from_mins(1);
            // Each prompt follows its question, or the error of the previous answer.
            while typed.screen().matches("\n  >").count() <= number {
                assert!(Instant::now() < deadline, "no prompt {number} in\n{}", typed.screen());
                std::thread::sleep(Duration::from_millis(10));
            }
            typed.types(answer);
        }
        let code = typed.ends();
        let screen = stable(&place, &typed.screen());
        write!(shown, "$ {command}\n{screen}\n[exits with {code}]\n\n").unwrap();
    }
    shown
}

#[test]
fn the_tour_on_60_columns() {
    insta::assert_snapshot!(tour(60));
}

#[test]
fn the_tour_on_120_columns() {
    insta::assert_snapshot!(tour(120));
}

/// A graph whose node computes until it is stopped.
const SLOW: &str = "start: each\nnodes:\n  each: { type: foreach, over: [1, 2], as: n, action: { item_id: t/kit, params: { op: spin, iterations: 1000000000000 } }, timeout: 1500ms, on_item_error: skip }\n";

#[test]
fn a_line_says_what_is_under_way_and_leaves_nothing_behind() {
    let place = Place::with_testkit();
    place.graph("slow.yaml", SLOW);
    // More fuel than it can use before its time is over.
    place.write(
        "caps.yaml",
        "dispatch: ['execute.tool.t.*']\nlimits: { fuel: 1000000000000 }\nrun: { fuel: 10000000000000 }\n",
    );
    let run = "graph-host run slow.yaml --caps caps.yaml --allow-unsigned --run-id slow";
    let mut typed = Typed::new(&place, 80, run);
    typed.until("item 1 of 2");
    typed.until("item 2 of 2");
    typed.ends();
    let screen = typed.screen();
    assert!(typed.raw().contains("compiling t/kit") || typed.raw().contains("step 1"), "{}", typed.raw());
    assert!(!screen.contains("item 1 of 2") && !screen.contains("compiling"), "{screen}");
    assert!(screen.contains("✗ each#1 timeout") && screen.contains("✗ each#2 timeout"), "{screen}");
    // No line: it is not wanted, it could not be watched, or it would disturb a script.
    for (number, (option, variable)) in
        [("--quiet", None), ("--json", None), ("", Some(("TERM", "dumb"))), ("--stream events", None)]
            .iter()
            .enumerate()
    {
        let run = format!("{run}-{number} {option}");
        let mut typed = Typed::with(&place, 80, &run, |command| {
            command.envs(variable.iter().copied());
        });
        typed.ends();
        assert!(!typed.raw().contains("item 1 of 2"), "{option} {variable:?}\n{}", typed.raw());
    }
    // Without colours it is a line all the same.
    let plain = Typed::with(&place, 80, &format!("{run}-plain"), |command| {
        command.env("NO_COLOR", "1");
    });
    plain.until("item 2 of 2");
    let raw = plain.raw();
    assert!(!raw.contains("\u{1b}[1m") && raw.contains('\r'), "{raw}");
}

#[test]
fn failures_are_shown_once_with_their_item_and_hooks_with_their_decision() {
    let place = Place::with_testkit();
    place.graph("child.yaml", "start: inspect\nnodes:\n  inspect: { action: { item_id: t/kit, params: { op: fail, category: permanent, message: \"no such thing\" } } }\n");
    std::fs::copy(place.path("child.yaml"), place.path(".ai/tools/t/child.yaml")).unwrap();
    place.graph("outer.yaml", "start: each\nnodes:\n  each: { type: foreach, over: [1, 2], as: n, action: { item_id: t/child, params: { n: \"${n}\" } } }\n");
    place.graph("hooked.yaml", "start: each\nhooks:\n  - { event: error, action: { retry: true, max_retries: 1 } }\n  - { id: notify, event: graph_completed, action: { item_id: t/kit, params: { op: echo, value: 1 } } }\nnodes:\n  each: { type: foreach, over: [1, 2], as: n, on_item_error: skip, action: { item_id: t/kit, params: { op: fail, category: permanent, message: \"bad item\" } } }\n");
    let mut shown = String::new();
    for graph in ["child", "outer", "hooked"] {
        let mut typed = Typed::new(
            &place,
            80,
            &format!("graph-host run {graph}.yaml --caps caps.yaml --allow-unsigned --run-id {graph}"),
        );
        let code = typed.ends();
        write!(shown, "$ run {graph}.yaml\n{}\n[exits with {code}]\n\n", stable(&place, &typed.screen()))
            .unwrap();
    }
    for command in ["runs show outer", "runs show hooked", "runs watch outer"] {
        let mut typed = Typed::new(&place, 80, &format!("graph-host {command}"));
        let code = typed.ends();
        write!(shown, "$ {command}\n{}\n[exits with {code}]\n\n", stable(&place, &typed.screen())).unwrap();
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn values_are_blocks_and_say_how_all_of_them_is_shown() {
    let place = Place::new();
    let lines: String = (1..=80).map(|number| format!("line {number}\\n")).collect::<Vec<_>>().concat();
    place.graph(
        "long.yaml",
        &format!(
            "start: a\nnodes:\n  a: {{ assign: {{ text: \"{lines}\", list: {:?}, steer: \"a\\e[2Jb\" }} }}\n",
            (0..200).collect::<Vec<_>>()
        ),
    );
    let mut typed = Typed::new(&place, 80, "graph-host run long.yaml --run-id long");
    assert_eq!(typed.ends(), 0);
    insta::assert_snapshot!(stable(&place, &typed.screen()));
    // The command that it names shows all of it, and a pipe gets JSON.
    let command =
        typed.screen().lines().find_map(|line| line.strip_prefix("all of it: ").map(str::to_owned)).unwrap();
    let all = Typed::new(&place, 80, &command);
    all.until("line 80");
    let piped = place.run(&["run", "long.yaml"]);
    assert!(serde_json::from_str::<serde_json::Value>(&piped.stdout).is_ok(), "{}", piped.shown());
    let state = place.run(&["runs", "state", "long", "--at", "1"]);
    let command = state.stdout.lines().find_map(|line| line.strip_prefix("all of it: graph-host ")).unwrap();
    let all = place.run(&command.split(' ').collect::<Vec<_>>());
    assert!(all.stdout.contains("    line 80\n") && !all.stdout.contains("all of it"), "{}", all.shown());
}

#[test]
fn what_is_printed_about_a_run_names_it_as_it_was_typed() {
    let place = Place::new();
    place.graph("ask.yaml", "start: a\nnodes: { a: { type: ask, ask: { question: \"Which?\", choices: [one, two] }, assign: { x: \"${result}\" } } }\n");
    std::fs::create_dir(place.path("elsewhere")).unwrap();
    let ran = place.run(&["run", "ask.yaml", "--run-id", "first-run", "--project", "elsewhere"]);
    assert_eq!(ran.code, 6, "{}", ran.shown());
    let command = |text: &str| {
        let line =
            text.lines().find_map(|line| line.strip_prefix("resume with: graph-host ")).map(str::to_owned);
        line.unwrap_or_else(|| panic!("{text}"))
    };
    assert_eq!(command(&ran.stderr), "resume first-run --project elsewhere --answer ANSWER");
    let shown = place.run(&["runs", "show", "first", "--project", "elsewhere"]);
    assert!(shown.stdout.contains("  1. one\n  2. two\n"), "{}", shown.shown());
    let typed = command(&shown.stdout);
    assert_eq!(typed, "resume first --project elsewhere --answer ANSWER");
    let words: Vec<_> = typed.split(' ').map(|word| if word == "ANSWER" { "three" } else { word }).collect();
    let refused = place.run(&words);
    assert_eq!(refused.code, 2, "{}", refused.shown());
    let words: Vec<_> = typed.split(' ').map(|word| if word == "ANSWER" { "2" } else { word }).collect();
    assert_eq!(place.run(&words).code, 0);
}

#[test]
fn a_run_is_shown_in_the_browser() {
    let place = Place::new();
    place.graph(
        "seen.yaml",
        "start: a\nnodes: { a: { next: b }, b: { metadata: { note: \"</svg><script>x()</script>\" } } }\n",
    );
    assert_eq!(place.run(&["run", "seen.yaml", "--run-id", "seen"]).code, 0);
    let page = place.command(&["runs", "open", "seen", "--no-open"]).output().unwrap();
    let path = String::from_utf8(page.stdout).unwrap();
    let text = std::fs::read_to_string(path.trim()).unwrap();
    assert!(
        text.starts_with("<!doctype html>")
            && text.contains("<svg")
            && text.contains("prefers-color-scheme: dark")
    );
    assert!(!text.contains("<script") && !text.contains(" src=") && !text.contains("href=\"http"), "{text}");
    // The browser gets that file.
    install_program(&place.path("browser"), b"#!/bin/sh\necho \"$1\" > opened\n");
    let opened =
        place.command(&["runs", "open", "@last"]).env("BROWSER", place.path("browser")).output().unwrap();
    assert!(opened.status.success());
    assert_eq!(place.read("opened"), path);
    // If no browser can be started, the path is printed.
    let none = place.command(&["runs", "open", "seen"]).env("BROWSER", "/nothing").output().unwrap();
    assert!(none.status.success() && String::from_utf8(none.stdout).unwrap() == path);
    assert!(String::from_utf8(none.stderr).unwrap().contains("open this file"));
    assert_eq!(place.run(&["runs", "open", "nobody"]).code, 9);
}

/// An item id that is longer than a narrow line.
const LONG: &str = "a/group/of/items/whose/names/are/longer/than/a/line/of/sixty/columns";

/// Returns the lines of a manifest in a text: those with keys of manifests, and the lines below them, without their indent.
fn manifest_lines(text: &str) -> String {
    let keys = ["dispatch:", "items:", "run:"];
    let mut lines: Vec<&str> = Vec::new();
    let mut depth = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        let is_top = keys.iter().any(|key| line.trim_start().starts_with(key));
        match depth {
            _ if is_top => depth = Some(indent),
            Some(top) if indent > top => {}
            _ => depth = None,
        }
        if let Some(top) = depth {
            lines.push(&line[top..]);
        }
    }
    lines.join("\n") + "\n"
}

/// Pastes lines into a manifest: each block that begins with a key is read, and merged with the manifest.
fn pasted(manifest: &str, lines: &str) -> String {
    fn put(into: &mut Value, more: Value) {
        match (into, more) {
            (Value::Object(into), Value::Object(more)) => {
                more.into_iter().for_each(|(key, value)| put(into.entry(key).or_insert(Value::Null), value));
            }
            (Value::Array(into), Value::Array(more)) => into.extend(more),
            (into, more) => *into = more,
        }
    }
    let read = |text: &str| {
        let problems = Problems::new();
        let parsed = graph_core::yaml::parse(text, &problems);
        let (parsed, _) =
            problems.finish("pasted", text, parsed).unwrap_or_else(|error| panic!("{error}:\n{text}"));
        parsed.to_json()
    };
    let mut whole = read(manifest);
    let mut block = String::new();
    for line in lines.lines().chain(["end:"]) {
        if !line.starts_with(' ') && !block.is_empty() {
            put(&mut whole, read(&std::mem::take(&mut block)));
        }
        block.push_str(line);
        block.push('\n');
    }
    whole.to_string()
}

#[test]
fn lines_of_a_manifest_are_copied_from_narrow_screens() {
    for width in ["40", "60", "120"] {
        let place = Place::new();
        let kits = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/nodes/.ai/tools/examples");
        let item = place.path(&format!(".ai/tools/{LONG}.wasm"));
        std::fs::create_dir_all(item.parent().unwrap()).unwrap();
        std::fs::copy(kits.join("testkit-io.wasm"), item).unwrap();
        place.graph(
            "g.yaml",
            &format!(
                "start: a\nnodes: {{ a: {{ action: {{ item_id: {LONG}, params: {{ op: now }} }} }} }}\n"
            ),
        );
        place.write("caps.yaml", "{}\n");
        let mut refusals = 0;
        for attempt in 0.. {
            let words = ["run", "g.yaml", "--caps", "caps.yaml", "--allow-unsigned"];
            let ran = place.ran(&place.command(&words).env("COLUMNS", width).output().unwrap());
            if ran.code == 0 {
                break;
            }
            assert!(ran.code == 4 && attempt < 8, "{width}: {}", ran.shown());
            let plan = [&words[..], &["--plan"]].concat();
            let plan = place.ran(&place.command(&plan).env("COLUMNS", width).output().unwrap());
            let lines = manifest_lines(&ran.stderr);
            assert_eq!(lines, manifest_lines(&plan.stdout), "{width}: an error and a plan say the same");
            assert!(!lines.trim().is_empty(), "{width}: {}", ran.shown());
            // The pasted lines are read together with the existing ones.
            place.write("caps.yaml", &pasted(&place.read("caps.yaml"), &lines));
            refusals += 1;
        }
        assert!(refusals > 0, "{width}: nothing was refused");
    }
}
