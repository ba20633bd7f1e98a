//! Every place that reads bytes from outside is in the table of ways of `host/docs/design/defences.md`, each way with its bound and with
//! tests that exist.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The heading of the table.
const HEADING: &str = "## Every way in";

/// Calls that bring bytes from outside into the process: files and folders, standard input, the environment, other programs, servers, rows of a
/// database, the memory of a component.
const RUST: [&str; 25] = [
    "fs::read(",
    "read_to_string(",
    "read_to_end(",
    "read_exact(",
    "read_until(",
    "read_line(",
    "File::open(",
    "OpenOptions",
    "openat(",
    "read_dir(",
    "read_link(",
    "readlinkat(",
    "stdin()",
    "env::var",
    "env::args",
    "Command::new",
    "query_row(",
    "query_map(",
    ".prepare_cached(",
    ".query(",
    "hyper::",
    "http_body",
    "TcpStream",
    "Host for TaskState",
    "HostWithStore for",
];

/// Calls of the page that bring bytes from outside.
const TYPESCRIPT: [&str; 8] = [
    "fetch(",
    ".text()",
    ".arrayBuffer()",
    "indexedDB.",
    "localStorage.",
    "onmessage",
    "location.",
    "prompt(",
];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn is_test(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    stem == "tests"
        || stem.starts_with("test_")
        || stem.ends_with("_tests")
        || stem.ends_with(".d")
        || stem == "bench_baseline"
        || path.components().any(|part| {
            ["tests", "conformance", "benches", "examples", "sdk"]
                .iter()
                .any(|name| part.as_os_str() == *name)
        })
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // `upstream` has published crates, which are unpacked to be built.
        if path.is_dir() && !["node_modules", "target", "upstream"].contains(&name.as_str()) {
            files(&path, found);
        } else if path.is_file() {
            found.push(path);
        }
    }
}

/// Returns the source without the module of its tests and without comments.
fn code(text: &str) -> String {
    let end = ["#[cfg(test)]\nmod tests {", "#[cfg(test)]\n#[allow"]
        .iter()
        .filter_map(|mark| text.find(mark))
        .min();
    let text = &text[..end.unwrap_or(text.len())];
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// Checks whether `text` has `call` as a word of its own: `LockFile::open(` is not `File::open(`.
fn has_call(text: &str, call: &str) -> bool {
    let is_own = |at: usize| !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    text.match_indices(call).any(|(at, _)| !call.starts_with(char::is_alphanumeric) || is_own(at))
}

/// Finds source files with a call that reads from outside, as paths below `host/`.
fn readers() -> BTreeMap<String, &'static str> {
    let host = repository().join("host");
    let mut all = Vec::new();
    files(&host, &mut all);
    let mut found = BTreeMap::new();
    for path in all.iter().filter(|path| !is_test(path.strip_prefix(&host).unwrap())) {
        let calls: &[&'static str] = match path.extension().and_then(|extension| extension.to_str()) {
            Some("rs") => &RUST,
            Some("ts") => &TYPESCRIPT,
            _ => continue,
        };
        let text = code(&std::fs::read_to_string(path).unwrap());
        if let Some(call) = calls.iter().find(|call| has_call(&text, call)) {
            found.insert(path.strip_prefix(&host).unwrap().display().to_string(), *call);
        }
    }
    assert!(found.len() > 90, "{}", found.len());
    found
}

/// A row of the table.
struct Way {
    bytes: String,
    read_by: Vec<String>,
    bound: String,
    shown_by: Vec<String>,
}

/// Returns the words between backticks.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn table() -> Vec<Way> {
    let page = std::fs::read_to_string(repository().join("host/docs/design/defences.md")).unwrap();
    let section = page.split(HEADING).nth(1).expect("the page has the table");
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| Bytes"));
    rows.map(|line| {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [bytes, read_by, _ends_in, bound, shown_by] = cells[..] else {
            panic!("a row has five cells: {line}")
        };
        let (read_by, shown_by) = (quoted(read_by), quoted(shown_by));
        Way { bytes: bytes.to_owned(), read_by, bound: bound.to_owned(), shown_by }
    })
    .collect()
}

/// Checks whether `path` is the file `listed`, or in this folder if it ends with a slash.
fn covers(listed: &str, path: &str) -> bool {
    if listed.ends_with('/') { path.starts_with(listed) } else { path == listed }
}

#[test]
fn every_reader_of_foreign_bytes_is_listed() {
    let (ways, readers) = (table(), readers());
    let listed: Vec<_> = ways.iter().flat_map(|way| &way.read_by).collect();
    let missing: Vec<_> = readers
        .iter()
        .filter(|(path, _)| !listed.iter().any(|listed| covers(listed, path)))
        .map(|(path, call)| format!("host/{path}: {call}"))
        .collect();
    assert!(
        missing.is_empty(),
        "add the way by which these bytes come in to the table {HEADING:?} of host/docs/design/defences.md, with its bound and a test:\n{}",
        missing.join("\n")
    );
    let stale: BTreeSet<_> =
        listed.iter().filter(|listed| !readers.keys().any(|path| covers(listed, path))).collect();
    assert!(stale.is_empty(), "these paths of the table read nothing: {stale:?}");
}

#[test]
fn every_way_in_has_a_bound_and_tests_that_exist() {
    let repository = repository();
    let mut sources = Vec::new();
    for folder in ["host", "tests"] {
        files(&repository.join(folder), &mut sources);
    }
    let mut functions = BTreeSet::new();
    for path in sources.iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs")) {
        let text = std::fs::read_to_string(path).unwrap();
        let names = text.split("fn ").skip(1).filter_map(|rest| rest.split_once('('));
        functions.extend(names.map(|(name, _)| name.to_owned()));
    }
    let exists = |test: &str| {
        let fixture = repository.join("tests/hostile").join(format!("{test}.yaml"));
        let some = |prefix: &str| {
            let (folder, start) = prefix.rsplit_once('/').unwrap_or_default();
            std::fs::read_dir(repository.join("tests/hostile").join(folder)).is_ok_and(|entries| {
                entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with(start))
            })
        };
        functions.contains(test)
            || fixture.is_file()
            || (test.contains('/') && repository.join(test).exists())
            || test.strip_suffix('*').is_some_and(some)
    };
    let ways = table();
    assert!(ways.len() > 36, "{}", ways.len());
    let mut wrong = Vec::new();
    for way in &ways {
        if way.read_by.is_empty() || way.bound.is_empty() || way.shown_by.is_empty() {
            wrong.push(format!("{}: a cell is empty", way.bytes));
        }
        let absent = way.shown_by.iter().filter(|test| !exists(test));
        wrong.extend(absent.map(|test| format!("{}: there is no test {test}", way.bytes)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
