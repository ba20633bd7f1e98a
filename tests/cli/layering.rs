//! Dependencies between crates have one direction, only the command line performs operations of a command line, and
//! tests do not change the dependencies of the product.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use graph_host::terminal::width::COMMANDS;
use serde_json::Value;

/// Returns the output of `cargo`, without network access.
fn cargo(args: &[&str]) -> String {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let mut command = Command::new(cargo);
    let output =
        command.args(args).args(["--locked", "--offline", "--manifest-path", manifest]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn crates_depend_on_each_other_one_way_only() {
    let metadata: Value =
        serde_json::from_str(&cargo(&["metadata", "--no-deps", "--format-version", "1"])).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let name = |value: &Value| value["name"].as_str().unwrap().to_owned();
    let members: BTreeSet<_> = packages.iter().map(name).collect();
    let mut edges = BTreeSet::new();
    for package in packages {
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        // A dependency of the kind `null` is neither for tests nor for build scripts.
        for dependency in dependencies.filter(|dependency| dependency["kind"].is_null()).map(name) {
            for (prefix, only) in [("wasmtime", "graph-engine"), ("clap", "graph-host")] {
                if dependency.starts_with(prefix) {
                    assert_eq!(name(package), only, "{dependency} is named in one crate alone");
                }
            }
            if members.contains(&dependency) {
                edges.insert((name(package), dependency));
            }
        }
    }
    let allowed = [
        ("graph-bundle", "graph-core"),
        ("graph-cases", "graph-core"),
        ("graph-cases", "graph-driver"),
        ("graph-cases", "graph-runtime"),
        ("graph-cases", "graph-store"),
        ("graph-cases", "graph-walker"),
        ("graph-catalogue", "graph-core"),
        ("graph-driver", "graph-core"),
        ("graph-driver", "graph-store"),
        ("graph-driver", "graph-walker"),
        ("graph-engine", "graph-core"),
        ("graph-engine", "graph-http"),
        ("graph-engine", "graph-model"),
        ("graph-host", "graph-cases"),
        ("graph-host", "graph-core"),
        ("graph-host", "graph-runtime"),
        ("graph-host", "graph-toolchain"),
        ("graph-host", "graph-walker"),
        ("graph-registry", "graph-core"),
        ("graph-registry", "graph-held"),
        ("graph-registry", "graph-http"),
        ("graph-registry", "graph-walker"),
        ("graph-model", "graph-core"),
        ("graph-runtime", "graph-bundle"),
        ("graph-runtime", "graph-catalogue"),
        ("graph-runtime", "graph-core"),
        ("graph-runtime", "graph-driver"),
        ("graph-runtime", "graph-engine"),
        ("graph-runtime", "graph-http"),
        ("graph-runtime", "graph-registry"),
        ("graph-runtime", "graph-store"),
        ("graph-runtime", "graph-walker"),
        ("graph-store", "graph-core"),
        ("graph-store", "graph-held"),
        ("graph-toolchain", "graph-core"),
        ("graph-toolchain", "graph-runtime"),
        ("graph-walker", "graph-core"),
        ("graph-web", "graph-core"),
        ("graph-web", "graph-model"),
        ("graph-web", "graph-walker"),
    ];
    let allowed: BTreeSet<_> =
        allowed.into_iter().map(|(one, two)| (one.to_owned(), two.to_owned())).collect();
    assert_eq!(edges, allowed);
}

/// Texts of sources that end the process, print, or read the current folder.
const OF_THE_COMMAND_LINE: [&str; 8] =
    ["process::exit", "println!", "eprintln!", "print!(", "dbg!(", "clap::", "env::current_dir", "ExitCode"];

/// Returns the code of a source without its tests: everything from a `#[cfg(test)]` of a module on.
pub(crate) fn without_tests(text: &str) -> &str {
    ["#[cfg(test)]\nmod tests {", "#[cfg(test)]\n#[allow"]
        .into_iter()
        .filter_map(|mark| text.find(mark))
        .min()
        .map_or(text, |at| &text[..at])
}

/// Lists the sources in a folder that are no tests.
pub(crate) fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && path.file_name().is_some_and(|name| name != "tests.rs")
            // The conformance suite for stores is a test, too.
            && !path.components().any(|part| ["tests", "conformance"].iter().any(|name| part.as_os_str() == *name))
        {
            found.push(path);
        }
    }
}

#[test]
fn only_the_command_line_prints_exits_and_looks_where_it_was_typed() {
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&host).unwrap() {
        let source = entry.unwrap().path().join("src");
        if source.is_dir() && source != host.join("cli/src") {
            sources(&source, &mut files);
        }
    }
    assert!(files.len() > 250, "{}", files.len());
    let mut found = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let shown = file.strip_prefix(&host).unwrap().display().to_string();
        for (number, line) in without_tests(&text).lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            for word in OF_THE_COMMAND_LINE {
                if code.contains(word) {
                    found.push(format!("{shown}:{}: {}", number + 1, line.trim()));
                }
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The parts that a run is assembled from. Programs use `Runtime` instead, or `BareRuntime` without a project.
const PARTS_OF_A_RUN: [&str; 14] = [
    "AssembledRun",
    "ComponentExecutor",
    "Definition",
    "Environment",
    "ExecutorParts",
    "NewRunSettings",
    "Plan::make",
    "Plan::make_for",
    "RunTree",
    "accept_plan",
    "context::walker",
    "fork_row",
    "run::snapshot",
    "stores::open",
];

#[test]
fn only_the_runtime_assembles_runs() {
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&host).unwrap() {
        let crate_folder = entry.unwrap().path();
        for folder in ["src", "benches"].map(|name| crate_folder.join(name)) {
            if folder.is_dir() && folder != host.join("runtime/src") {
                sources(&folder, &mut files);
            }
        }
    }
    let mut found = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        // Other crates have types with the same names.
        if !text.contains("graph_runtime::") {
            continue;
        }
        let shown = file.strip_prefix(&host).unwrap().to_string_lossy().into_owned();
        for (number, line) in without_tests(&text).lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            let names = |part: &str| {
                let is_word = |c: char| c.is_alphanumeric() || c == '_';
                code.match_indices(part).any(|(at, _)| {
                    let (before, after) = (&code[..at], &code[at + part.len()..]);
                    !before.ends_with(is_word) && !after.starts_with(is_word)
                })
            };
            if PARTS_OF_A_RUN.into_iter().any(names) {
                found.push(format!("{shown}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "use `Runtime`, or `BareRuntime` without a project:\n{}", found.join("\n"));
}

/// Files of libraries with texts that name commands or options, with the number of these texts, each with the reason.
const WITH_COMMANDS: [(&str, usize, &str); 2] = [
    ("catalogue/src/usage.rs", 11, "a catalogue lists the commands to type, which are its content"),
    (
        "walker/src/compat/rye/orchestrator.rs",
        3,
        "the failure of a task, which its run records and cases quote",
    ),
];

#[test]
fn a_library_names_no_commands_and_no_options() {
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
    let names_command = |text: &str| {
        text.split("graph-host ").skip(1).any(|rest| {
            let word = rest.split(|c: char| !c.is_ascii_lowercase()).next().unwrap_or_default();
            COMMANDS.contains(&word)
        })
    };
    let names_option = |text: &str| {
        text.match_indices("--").any(|(at, _)| {
            !text[..at].ends_with('-') && text[at + 2..].starts_with(|c: char| c.is_ascii_lowercase())
        })
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&host).unwrap() {
        let source = entry.unwrap().path().join("src");
        // The toolchain types commands of compilers, with their options.
        if source.is_dir() && !["cli", "toolchain"].iter().any(|name| source == host.join(name).join("src")) {
            sources(&source, &mut files);
        }
    }
    assert!(files.len() > 300, "{}", files.len());
    let mut found = BTreeMap::<_, Vec<_>>::new();
    for file in files.iter().filter(|file| !file.to_string_lossy().ends_with("_tests.rs")) {
        let text = std::fs::read_to_string(file).unwrap();
        let shown = file.strip_prefix(&host).unwrap().to_string_lossy().into_owned();
        for literal in crate::hint_sources::literals(without_tests(&text)) {
            if names_command(&literal) || names_option(&literal) || literal.contains("command line") {
                found.entry(shown.clone()).or_default().push(literal);
            }
        }
    }
    let excepted: BTreeMap<_, _> =
        WITH_COMMANDS.iter().map(|(file, texts, _)| ((*file).to_owned(), *texts)).collect();
    let counted: BTreeMap<_, _> = found.iter().map(|(file, texts)| (file.clone(), texts.len())).collect();
    assert_eq!(counted, excepted, "give a remedy as data, which the command line words: {found:#?}");
}

/// Types of tables, which nothing can change.
const TABLES: [&str; 4] = ["KeyTable", "Shape", "super::Shape", "[&str;"];

/// Statics of libraries that are no tables, each with the reason.
const STATICS: [(&str, &str, &str); 8] = [
    ("core/src/ranking/tables.rs", "TABLES", "a table that is made of the program's own text"),
    ("core/src/schema/compile/meta.rs", "READ", "the schema of schemas, made of the program's own text"),
    ("core/src/yaml/fields.rs", "ASKED", "a record for tests, behind a feature"),
    ("runtime/src/items/built_in.rs", "ITEMS", "the built-in items, decompressed at first use"),
    ("store/src/file/store.rs", "LOOKED_AT", "a count for tests"),
    ("store/src/sqlite/open.rs", "MADE", "numbers for the names of files, no two alike in a process"),
    ("walker/src/walker/phase.rs", "SEEN", "a record for tests"),
    ("walker/src/walker/tree/visits.rs", "COUNT", "a count for tests"),
];

/// What an operation does follows from its arguments: two programs in one process do not share a setting.
#[test]
fn a_library_has_no_state_of_its_own() {
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&host).unwrap() {
        let source = entry.unwrap().path().join("src");
        if source.is_dir() && source != host.join("cli/src") {
            sources(&source, &mut files);
        }
    }
    let (mut found, mut tables) = (BTreeSet::new(), 0);
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let shown = file.strip_prefix(&host).unwrap().to_string_lossy().into_owned();
        for line in without_tests(&text).lines() {
            let code = line.split("//").next().unwrap_or_default();
            for (at, word) in code.match_indices("static ") {
                let Some((name, rest)) = code[at + word.len()..].split_once(':') else { continue };
                let name = name.trim_start_matches("mut ");
                let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
                if code[..at].ends_with(|c: char| c == '\'' || c.is_alphanumeric()) || !is_name {
                    continue;
                }
                if TABLES.iter().any(|table| rest.trim_start().starts_with(table)) {
                    tables += 1;
                } else {
                    found.insert((shown.clone(), name.to_owned()));
                }
            }
        }
    }
    assert!(tables > 70, "{tables}");
    let listed: BTreeSet<_> =
        STATICS.iter().map(|(file, name, _)| ((*file).to_owned(), (*name).to_owned())).collect();
    assert_eq!(found, listed, "give the value to what needs it, as an argument or a field");
}

/// Files that print or write texts with their line breaks, each with the reason. All others print a stranger's text on
/// one line, or as a block with a margin.
const WITH_LINE_BREAKS: [(&str, &str); 17] = [
    ("catalogue/src/text.rs", "pages in HTML"),
    ("cli/src/terminal/case_report.rs", "lines that are indented, and differences line by line"),
    ("cli/src/terminal/drawing.rs", "labels of a picture, without line breaks"),
    ("cli/src/terminal/output.rs", "warnings, of which each further line is indented"),
    ("cli/src/terminal/page.rs", "a page in HTML"),
    ("cli/src/terminal/prompt.rs", "questions, of which each further line is indented"),
    ("cli/src/terminal/report.rs", "errors, of which each further line is indented"),
    ("cli/src/terminal/run_report.rs", "JSON, whose line breaks are layout"),
    ("cli/src/terminal/values.rs", "lines of values, which are indented"),
    ("cli/src/command/runs/transcript/lines.rs", "lines of messages, which are indented"),
    ("runtime/src/error.rs", "errors, which the terminal indents"),
    ("runtime/src/run/state_item.rs", "a document"),
    ("runtime/src/history/transcript/knowledge_item.rs", "a document"),
    ("walker/src/topology/dot.rs", "labels of a picture"),
    ("walker/src/topology/facts.rs", "labels of a picture"),
    ("walker/src/topology/mermaid.rs", "labels of a picture"),
    ("walker/src/topology/shape.rs", "labels of a picture"),
];

#[test]
fn a_text_is_printed_on_one_line_or_as_a_block() {
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&host).unwrap() {
        let source = entry.unwrap().path().join("src");
        // The core defines the functions.
        if source.is_dir() && source != host.join("core/src") {
            sources(&source, &mut files);
        }
    }
    let mut found: Vec<String> = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        if text.contains("printable_lines") || text.contains("diagnostic::visible") {
            found.push(file.strip_prefix(&host).unwrap().display().to_string());
        }
    }
    found.sort();
    let mut listed: Vec<_> = WITH_LINE_BREAKS.map(|(file, _)| file).to_vec();
    listed.sort_unstable();
    assert_eq!(found, listed);
}

/// Files that parse JSON without a limit on the memory of its values, each with the reason.
const WITHOUT_LIMIT: [(&str, &str); 6] = [
    ("core/src/json/parse.rs", "it is the reader that names limits"),
    ("core/src/json/tree.rs", "it is the measure"),
    ("walker/src/builder/fields.rs", "a number that this process has written"),
    ("core/src/schema/compile/meta.rs", "the schema of schemas, which is part of the program"),
    ("cli/src/terminal/json_document.rs", "a text is passed on as it is, and no value made of it"),
    (
        "store/src/file/line.rs",
        "lines are read in pieces into fields whose texts are bounded, and rows are metered",
    ),
];

/// A short text of a stranger can denote values that take a hundred times its memory.
#[test]
fn json_is_read_within_limits() {
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&host).unwrap() {
        let source = entry.unwrap().path().join("src");
        if source.is_dir() {
            sources(&source, &mut files);
        }
    }
    assert!(files.len() > 300, "{}", files.len());
    let mut found = Vec::new();
    let mut excepted = BTreeSet::new();
    for file in files.iter().filter(|file| !file.to_string_lossy().ends_with("_tests.rs")) {
        let text = std::fs::read_to_string(file).unwrap();
        let shown = file.strip_prefix(&host).unwrap().to_string_lossy().into_owned();
        for (number, line) in without_tests(&text).lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            let parses =
                ["from_str", "from_slice", "from_reader", "Deserializer::from", "StreamDeserializer"];
            let parses = code.contains("serde_json::")
                && !code.contains("serde_json::from_value")
                && parses.iter().any(|word| code.contains(word));
            if !parses {
                continue;
            }
            if let Some((file, _)) = WITHOUT_LIMIT.iter().find(|(file, _)| *file == shown) {
                excepted.insert(*file);
            } else {
                found.push(format!("{shown}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "use graph_core::json::read with a TreeLimit:\n{}", found.join("\n"));
    assert_eq!(excepted.len(), WITHOUT_LIMIT.len(), "{excepted:?}");
}

/// Code for a platform is in the crates above, and listed in `host/docs/design/platforms.md`.
#[test]
fn the_walker_and_the_driver_name_no_platform() {
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for name in ["core", "walker", "driver", "web"] {
        sources(&host.join(name).join("src"), &mut files);
    }
    assert!(files.len() > 150, "{}", files.len());
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for platform in ["std::os::", "cfg(unix", "cfg(windows", "target_os", "\"/proc", "rustix"] {
            assert!(!without_tests(&text).contains(platform), "{}: {platform}", file.display());
        }
    }
}

/// Returns the features that each dependency is built with, by its name and version: once, or once for the target and
/// once for macros and build scripts.
fn features(args: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let tree = cargo(&[&["tree", "--prefix", "none", "--format", "{p}|{f}"][..], args].concat());
    let mut found = BTreeMap::<_, BTreeSet<_>>::new();
    // An empty line is between the trees of two crates.
    for line in tree.lines().filter(|line| !line.is_empty()) {
        let (package, features) = line.split_once('|').unwrap_or_else(|| panic!("{line}"));
        let package: Vec<_> = package.split(' ').take(2).collect();
        let features = features.trim_end_matches(" (*)");
        found.entry(package.join(" ")).or_default().insert(features.to_owned());
    }
    found.retain(|package, _| !package.starts_with("graph-"));
    found
}

/// Otherwise `cargo test` and `cargo bench` would build many dependencies a second time, in particular wasmtime, and
/// test another build than the one that users get.
#[test]
fn tests_are_built_with_the_dependencies_of_the_product() {
    let product = features(&["--package", "graph-host", "--edges", "normal,build"]);
    assert!(product.keys().any(|package| package.starts_with("wasmtime v")), "{product:?}");
    for scope in [&["--workspace"][..], &["--package", "graph-host"]] {
        let tested = features(&[scope, &["--edges", "normal,build,dev"]].concat());
        let differing: Vec<_> = product
            .iter()
            .filter(|(package, features)| tested.get(*package) != Some(*features))
            .map(|(package, features)| format!("{package}: {features:?}, in tests {:?}", tested.get(package)))
            .collect();
        assert!(differing.is_empty(), "{}", differing.join("\n"));
    }
}
