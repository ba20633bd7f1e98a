//! Checks that every command of README and of the guides has the effects that the page describes.
//!
//! A `console` block is a session: `$ ` begins a command, the lines below it are what it prints. `[..]` stands for
//! anything within a line, a line `...` for any lines, and `# exits with N` says how it ends. Blocks under
//! `<!-- file: NAME -->` are files that the sessions use; one under `<!-- picture: FILE -->` is what `graph show FILE` prints. A block under `<!-- not run: WHY -->` is not run, one under
//! `<!-- slow: WHY -->` only with `FULL=1`. Those under `<!-- title: LANGUAGE -->` are built and run by `tests/models/run`.

use std::path::Path;
use std::process::Command;

pub(crate) struct Block<'t> {
    pub(crate) language: &'t str,
    pub(crate) mark: Option<&'t str>,
    pub(crate) line: usize,
    pub(crate) lines: Vec<&'t str>,
}

pub(crate) fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut mark = None;
    let mut open: Option<Block<'_>> = None;
    for (number, line) in (1..).zip(text.lines()) {
        match &mut open {
            Some(_) if line == "```" => blocks.extend(open.take()),
            Some(block) => block.lines.push(line),
            None => {
                if let Some(language) = line.strip_prefix("```") {
                    open = Some(Block { language, mark, line: number, lines: Vec::new() });
                    mark = None;
                } else if !line.is_empty() {
                    mark = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->"));
                }
            }
        }
    }
    assert!(open.is_none(), "a block is not closed");
    blocks
}

struct Step<'t> {
    command: &'t str,
    expected: Vec<&'t str>,
}

fn steps<'t>(lines: &[&'t str]) -> Vec<Step<'t>> {
    let mut steps: Vec<Step<'t>> = Vec::new();
    for line in lines {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step { command, expected: Vec::new() }),
            (None, Some(step)) => step.expected.push(line),
            (None, None) => panic!("a session begins with a command, not with {line:?}"),
        }
    }
    steps
}

/// Checks whether a line is as expected: `[..]` matches any text, and the distance of columns does not matter.
fn line_fits(expected: &str, line: &str) -> bool {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (expected, line) = (words(expected), words(line));
    let mut parts = expected.split("[..]");
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first.trim_end()) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.trim().is_empty();
    }
    while let Some(part) = parts.next() {
        let part = part.trim();
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

fn fits(expected: &[&str], lines: &[&str]) -> bool {
    match expected {
        [] => lines.is_empty(),
        ["...", more @ ..] => (0..=lines.len()).any(|skipped| fits(more, &lines[skipped..])),
        [one, more @ ..] => lines.first().is_some_and(|line| line_fits(one, line)) && fits(more, &lines[1..]),
    }
}

/// Copies the files that git would keep: no build folders, no state of runs.
#[cfg(unix)]
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            if name != "target" && name != "state" {
                copy(&entry.path(), &to.join(name));
            }
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(std::fs::read_link(entry.path()).unwrap(), to.join(name)).unwrap();
        } else {
            std::fs::copy(entry.path(), to.join(name)).unwrap();
        }
    }
}

/// Runs a page: its files are written and its sessions are typed, in a copy of the repository and an empty home.
#[cfg(unix)]
fn run_page(page: &str) {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(repository.join(page)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for part in ["examples", "guest-sdk", "host", "wit"] {
        copy(&repository.join(part), &folder.path().join(part));
    }
    std::fs::copy(repository.join("Cargo.lock"), folder.path().join("Cargo.lock")).unwrap();
    let binaries = Path::new(env!("CARGO_BIN_EXE_graph-host")).parent().unwrap();
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap());
    let is_full = std::env::var_os("FULL").is_some_and(|full| !full.is_empty());
    // The dependencies of guests are compiled once for all pages.
    if is_full && text.contains("<!-- slow:") {
        let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guests-of-pages");
        std::fs::create_dir_all(&built).unwrap();
        std::fs::create_dir(folder.path().join("home")).unwrap();
        std::os::unix::fs::symlink(&built, folder.path().join("home/built")).unwrap();
    }
    let run = |command: &str| {
        let output = Command::new("sh")
            .args(["-c", &format!("{{ {command}\n}} 2>&1")])
            .current_dir(folder.path())
            .env("GRAPH_HOST_HOME", folder.path().join("home"))
            .env("PATH", &path)
            .env("NO_COLOR", "1")
            .env("COLUMNS", "100")
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        (String::from_utf8(output.stdout).unwrap(), output.status.code())
    };
    let mut ran = 0;
    for block in blocks(&text) {
        let mark = block.mark.unwrap_or_default();
        if let Some(file) = mark.strip_prefix("file: ") {
            let file = folder.path().join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, block.lines.join("\n") + "\n").unwrap();
        }
        if let Some(file) = mark.strip_prefix("picture: ") {
            let (picture, _) = run(&format!("graph-host graph show {file}"));
            assert_eq!(picture.trim(), block.lines.join("\n"), "{page}: the picture of {file}");
        }
        let is_left_out = mark.starts_with("not run:") || (mark.starts_with("slow:") && !is_full);
        if block.language == "console" && is_left_out {
            ran += 1;
        }
        if block.language != "console" || is_left_out {
            continue;
        }
        for step in steps(&block.lines) {
            let (command, code) = step.command.split_once(" # exits with ").unwrap_or((step.command, "0"));
            let command = command.replace("cargo run --release --", "graph-host");
            let (printed, ended) = run(&command);
            let lines: Vec<_> = printed.lines().collect();
            assert!(
                fits(&step.expected, &lines),
                "{page}, the block at line {}: $ {}\nprints\n{printed}\nexpected\n{}",
                block.line,
                step.command,
                step.expected.join("\n")
            );
            let ended = ended.map(|code| code.to_string());
            assert_eq!(ended.as_deref(), Some(code), "{page}: {command}\n{printed}");
            ran += 1;
        }
    }
    assert!(ran > 0, "{page}: no command was found");
}

/// Makes a test for each page with commands, so that they run at the same time.
macro_rules! pages {
    ($($name:ident: $page:literal;)*) => {
        #[cfg(unix)]
        mod commands_do_what_the_page_says {
            $(#[test] fn $name() { super::run_page($page); })*
        }

        const PAGES: &[&str] = &[$($page),*];
    };
}

pages! {
    readme: "README.md";
    background: "host/docs/guide/background.md";
    bash: "host/docs/guide/bash.md";
    cache: "host/docs/guide/cache.md";
    cases: "host/docs/guide/cases.md";
    examples: "host/docs/guide/examples.md";
    graphs_as_items: "host/docs/guide/graphs-as-items.md";
    history: "host/docs/guide/history.md";
    hooks: "host/docs/guide/hooks.md";
    knowledge: "host/docs/guide/knowledge.md";
    models: "host/docs/guide/models.md";
    nodes: "host/docs/guide/nodes.md";
    observe: "host/docs/guide/observe.md";
    registry: "host/docs/guide/registry.md";
    runs: "host/docs/reference/runs.md";
    start: "host/docs/guide/start.md";
    trust: "host/docs/guide/trust.md";
}

/// Pages whose commands another test runs.
const ELSEWHERE: &[&str] = &["host/docs/guide/embedding.md"];

#[test]
fn every_page_with_commands_is_run() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for folder in ["host/docs/guide", "host/docs/reference"] {
        for entry in std::fs::read_dir(repository.join(folder)).unwrap() {
            let entry = entry.unwrap();
            let page = format!("{folder}/{}", entry.file_name().to_str().unwrap());
            let text = std::fs::read_to_string(entry.path()).unwrap();
            let has_commands = blocks(&text).iter().any(|block| block.language == "console");
            let is_run = PAGES.contains(&page.as_str()) || ELSEWHERE.contains(&page.as_str());
            assert!(!has_commands || is_run, "no test runs the commands of {page}");
        }
    }
}

/// The commands that `new` prints work as printed, in an empty home and below another workspace.
#[cfg(unix)]
#[test]
fn what_new_prints_works() {
    if std::env::var_os("FULL").is_none_or(|full| full.is_empty()) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("Cargo.toml"), "[workspace]\nmembers = []\n").unwrap();
    let binaries = Path::new(env!("CARGO_BIN_EXE_graph-host")).parent().unwrap();
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap());
    let run = |command: &str| {
        let output = Command::new("sh")
            .args(["-c", &format!("{{ {command}\n}} 2>&1")])
            .current_dir(folder.path())
            .env("GRAPH_HOST_HOME", folder.path().join("home"))
            .env("PATH", &path)
            .env("NO_COLOR", "1")
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{command}\n{printed}");
        printed
    };
    let printed_commands = |printed: &str| -> Vec<String> {
        let commands = printed.lines().filter(|line| line.starts_with("graph-host "));
        commands.map(str::to_owned).collect()
    };
    let of_graph = printed_commands(&run("graph-host new graph first"));
    let of_node = printed_commands(&run("graph-host new node greet"));
    assert_eq!((of_graph.len(), of_node.len()), (2, 5), "{of_graph:?} {of_node:?}");
    for command in of_graph.iter().chain(&of_node) {
        run(command);
    }
    // The second node compiles none of the dependencies of the first again, neither macros nor parts of the component.
    let second = printed_commands(&run("graph-host new node second"));
    let built = run(second.iter().find(|command| command.starts_with("graph-host build ")).unwrap());
    assert!(built.contains("Compiling second v0.1.0"), "{built}");
    assert!(!built.contains("Compiling syn v") && !built.contains("Compiling serde_json v"), "{built}");
    // Both can be used by anyone who trusts the key, and their build folder is listed and can be removed.
    assert!(run("graph-host inspect me/second").contains("Greets someone."));
    assert!(run("graph-host cache list").contains("what nodes use"));
    run("graph-host cache prune --all");
    assert!(!folder.path().join("home/built").exists());
}

#[test]
fn what_does_not_fit_is_seen() {
    assert!(line_fits("a [..] c", "a b  c") && !line_fits("a [..] c", "a b d"));
    assert!(line_fits("a [..] b [..] c", "a 1 b 2 c") && !line_fits("a [..] b [..] c", "a 1 2 c"));
    assert!(line_fits("a", " a") && !line_fits("a", "a b") && !line_fits("a b", "a"));
    assert!(fits(&["a", "...", "c"], &["a", "b", "b", "c"]));
    assert!(!fits(&["a", "...", "c"], &["a", "b"]) && !fits(&["a"], &["a", "b"]) && !fits(&[], &["a"]));
}
