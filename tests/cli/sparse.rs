//! Sparse files: 6 GiB that occupy no disk space. No command reads the holes of any such file in a project or in the user's space.

#![cfg(unix)]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::draw::is_drawn;
use crate::place::{Place, Ran};

const LENGTH: u64 = 6 << 30;

/// Processor time that a command may use, in seconds; the system ends it at that.
const SECONDS: &str = "2";

const COMMANDS: [&[&str]; 6] = [
    &["runs", "list"],
    &["runs", "show", "f1"],
    &["resume", "f1", "-q"],
    &["run", "g.yaml", "--caps", "caps.yaml", "-q"],
    &["inspect", "t/kit"],
    &["doctor"],
];

/// Files that may exist in addition, or that others write.
const OTHERS: [&str; 9] = [
    ".ai/state/runs.db-journal",
    ".ai/state/runs.db-wal",
    ".ai/state/knowledge.db",
    ".ai/hooks.yaml",
    ".ai/tools/t/kit.wasm.dsse.json",
    "graph-host.lock",
    "home/hooks.yaml",
    "home/knowledge.db",
    "caps.yaml",
];

fn place() -> Place {
    let place = Place::with_compiled_testkit();
    place.graph("g.yaml", "start: a\nnodes:\n  a: { assign: { x: 1 }, next: b }\n  b: { interrupt: before }");
    for (run, store) in [("s1", "sqlite"), ("f1", "file")] {
        let ran = place.run(&["run", "g.yaml", "--run-id", run, "--store", store, "--state-item"]);
        assert_eq!(ran.code, 6, "{}", ran.stderr);
    }
    assert_eq!(place.run(&["keys", "generate", "me"]).code, 0);
    assert_eq!(place.run(&["trust", "add", "me", "--key", "me", "--items", "*"]).code, 0);
    fs::create_dir_all(place.path(".ai/threads/s1")).unwrap();
    place.write(".ai/threads/s1/output.log", "");
    place
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

fn run_within(place: &Place, args: &[&str]) -> Result<Ran, String> {
    let bounded = format!("ulimit -t {SECONDS}; exec \"$0\" \"$@\"");
    let command = place.command(args);
    let mut shell = std::process::Command::new("sh");
    shell.arg("-c").arg(bounded).arg(command.get_program()).args(args);
    shell.current_dir(place.path("."));
    for (name, value) in command.get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    let ended = shell.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match ended.status.code() {
        Some(code) => Ok(Ran { code, stdout: text(&ended.stdout), stderr: text(&ended.stderr) }),
        None => Err(format!("it was ended: {}", ended.status)),
    }
}

/// Makes a file sparse, with its beginning or without, calls `work`, and restores the file.
fn with_holes(file: &Path, keeps: bool, work: impl FnOnce()) {
    let before = fs::read(file).ok();
    let mut options = File::options();
    options.write(true).create(true).truncate(!keeps).open(file).unwrap().set_len(LENGTH).unwrap();
    work();
    match before {
        Some(bytes) => fs::write(file, bytes).unwrap(),
        None => fs::remove_file(file).unwrap_or_default(),
    }
}

#[test]
fn no_command_reads_the_holes_of_a_file() {
    let place = place();
    let mut all = Vec::new();
    files(&place.path("."), &mut all);
    all.extend(OTHERS.iter().map(|name| place.path(name)).filter(|path| !path.exists()).collect::<Vec<_>>());
    assert!(all.len() > 25, "{all:?}");
    let mut wrong = Vec::new();
    for file in &all {
        for keeps in [true, false] {
            if !is_drawn(
                &format!("{keeps} {}", file.strip_prefix(place.path(".")).unwrap_or(file).display()),
                3,
            ) {
                continue;
            }
            with_holes(file, keeps, || {
                for args in COMMANDS {
                    let what = format!("{} (keeps: {keeps}): {args:?}", file.display());
                    match run_within(&place, args) {
                        Err(ended) => wrong.push(format!("{what}: {ended}")),
                        Ok(ran) if ![0, 2, 3, 4, 5, 6, 8, 10].contains(&ran.code) => {
                            wrong.push(format!("{what}: exit {}: {}", ran.code, ran.stderr));
                        }
                        // A report of `doctor` and of `runs show` is what they print.
                        Ok(ran) if ran.code != 0 && ran.stderr.is_empty() && ran.stdout.is_empty() => {
                            wrong.push(format!("{what}: exit {} without a word", ran.code));
                        }
                        Ok(_) => {}
                    }
                }
            });
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_log_of_holes_hides_no_other_run() {
    let place = place();
    let log =
        fs::read_dir(place.path(".ai/state/files/runs")).unwrap().next().unwrap().unwrap().path().join("log");
    for keeps in [true, false] {
        with_holes(&log, keeps, || {
            let listed = run_within(&place, &["runs", "list"]).unwrap();
            assert!(listed.stdout.contains("s1"), "{} {}", listed.stdout, listed.stderr);
            let shown = run_within(&place, &["runs", "show", "s1"]).unwrap();
            assert_eq!(shown.code, 0, "{}", shown.stderr);
        });
    }
    let shown = place.run(&["runs", "show", "f1"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
}
