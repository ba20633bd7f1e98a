//! A component that has been granted the folder of its project exchanges files below `.ai` between two calls of the
//! host. The state of the run, its knowledge, its item and its signals stay in the folders that the run started with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::place::{Compiled, Place, Ran, kit};

const BASH: &str = "rye/bash/bash";

/// Commands of a component in the project, `/p`. In `inner` is another project of the same user; `evil-NAME` are links to its files.
const SWAPS: [(&str, &str); 8] = [
    ("state by a link", "mv /p/.ai/state /p/.ai/kept; mv /p/evil-state /p/.ai/state"),
    ("state by two renames", "mv /p/.ai/state /p/.ai/kept; mv /p/inner/.ai/state /p/.ai/state"),
    ("all of .ai by a link", "mv /p/.ai /p/kept; mv /p/evil-ai /p/.ai"),
    ("all of .ai by two renames", "mv /p/.ai /p/kept; mv /p/inner/.ai /p/.ai"),
    ("signals by a link", "mv /p/.ai/threads /p/.ai/kept; mv /p/evil-threads /p/.ai/threads"),
    ("knowledge by a link", "mv /p/.ai/knowledge /p/.ai/kept; mv /p/evil-knowledge /p/.ai/knowledge"),
    (
        "items of runs by a link",
        "mv /p/.ai/knowledge/graphs /p/.ai/kept; mv /p/evil-graphs /p/.ai/knowledge/graphs",
    ),
    (
        "the files of a store by a link",
        "mv /p/.ai/state/files /p/.ai/kept; mv /p/evil-files /p/.ai/state/files",
    ),
];

/// Makes a graph that reads and writes knowledge around a component's script.
fn graph(script: &str) -> String {
    format!(
        "start: first\nnodes:\n  first: {{ action: {{ item_id: t/net, params: {{ op: knowledge-get, key: notes/private }} }}, next: swap }}\n  swap: {{ action: {{ item_id: {BASH}, params: {{ command: \"{script}\" }} }}, next: again }}\n  again: {{ action: {{ item_id: t/net, params: {{ op: knowledge-get, key: notes/private }} }}, assign: {{ stolen: \"${{result}}\" }}, next: put }}\n  put: {{ action: {{ item_id: t/net, params: {{ op: knowledge-put, key: notes/private, text: overwritten }} }} }}\n"
    )
}

const CAPS: &str = "dispatch: ['execute.tool.t.net', 'execute.tool.rye.bash.bash']\nitems:\n  t/net:\n    http: [{ host: 127.0.0.1, schemes: [http], ports: [1], addresses: [127.0.0.1] }]\n    secrets: [{ name: TOKEN, from: { file: token }, header: authorization, host: 127.0.0.1, schemes: [http] }]\n    knowledge: [{ scope: notes/, access: rw }]\n    tools: true\n  rye/bash/bash: { filesystem: [{ path: ., as: /p, access: rw }], clocks: true, random: true }\n";

/// Makes a project in a folder of a place.
fn project(place: &Place, folder: &str) {
    std::fs::create_dir_all(place.path(folder).join(".ai/tools/t")).unwrap();
    std::fs::copy(kit("testkit-net"), place.path(folder).join(".ai/tools/t/net.wasm")).unwrap();
    place.write(&format!("{folder}/caps.yaml"), CAPS);
    place.write(&format!("{folder}/token"), "v4lue-of-the-token\n");
}

fn in_folder(place: &Place, folder: &str, words: &[&str]) -> Ran {
    place.ran(&place.command(words).current_dir(place.path(folder)).output().unwrap())
}

fn typed<'a>(graph: &'a str, run: &'a str, store: &'a str) -> Vec<&'a str> {
    vec!["run", graph, "--caps", "caps.yaml", "--allow-unsigned", "--run-id", run, "--store", store]
}

/// Makes a project, and another one inside it, with a run in each store, an entry of knowledge, and files in place of signals of `r1`.
fn places() -> Place {
    static COMPILED: Compiled = Compiled::new();
    let place = Place::new();
    COMPILED.give(&place, |first| {
        project(first, ".");
        assert_eq!(first.run(&["inspect", "t/net"]).code, 0);
        assert_eq!(first.run(&["inspect", BASH]).code, 0);
    });
    project(&place, ".");
    project(&place, "inner");
    let put = "start: a\nnodes:\n  a: { action: { item_id: t/net, params: { op: knowledge-put, key: notes/private, text: my private note } } }\n";
    place.graph("inner/put.yaml", put);
    for (store, run) in [("sqlite", "own1"), ("file", "own2")] {
        let ran = in_folder(&place, "inner", &typed("put.yaml", run, store));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        // In the project itself, so that all exchanged files exist.
        place.graph("before.yaml", &put.replace("my private note", "mine"));
        let ran = in_folder(&place, ".", &typed("before.yaml", run, store));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    for folder in [".", "inner"] {
        std::fs::create_dir_all(place.path(folder).join(".ai/threads/r1")).unwrap();
    }
    for name in ["output.log", "notes"] {
        place.write(&format!("inner/.ai/threads/r1/{name}"), "mine");
    }
    for (link, target) in [
        ("evil-state", "../inner/.ai/state"),
        ("evil-ai", "inner/.ai"),
        ("evil-threads", "../inner/.ai/threads"),
        ("evil-knowledge", "../inner/.ai/knowledge"),
        ("evil-graphs", "../../inner/.ai/knowledge/graphs"),
        ("evil-files", "../../inner/.ai/state/files"),
    ] {
        std::os::unix::fs::symlink(target, place.path(link)).unwrap();
    }
    place
}

/// Reads every file below a folder.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(inner) = waiting.pop() {
        for entry in std::fs::read_dir(folder.join(&inner)).unwrap().map(Result::unwrap) {
            let (path, kind) = (inner.join(entry.file_name()), entry.file_type().unwrap());
            let bytes = if kind.is_file() { std::fs::read(entry.path()).unwrap() } else { Vec::new() };
            found.insert(path.clone(), bytes);
            if kind.is_dir() {
                waiting.push(path);
            }
        }
    }
    found
}

#[test]
fn what_a_component_puts_in_the_place_of_a_folder_is_not_touched() {
    for (what, script) in SWAPS {
        for store in ["sqlite", "file", "memory"] {
            let place = places();
            let before = contents(&place.path("inner/.ai"));
            place.graph("g.yaml", &graph(script));
            let ran =
                in_folder(&place, ".", &[&typed("g.yaml", "r1", store)[..], &["--state-item"]].concat());
            let said = format!("{what}, {store}: {}\n{}\n{}", ran.code, ran.stdout, ran.stderr);
            assert!([0, 1, 8, 10].contains(&ran.code), "{said}");
            assert!(!ran.stderr.contains("panicked"), "{said}");
            assert!(!said.contains("my private note"), "{said}");
            // After a move, it is the same in its new place.
            let now = if what == "state by two renames" {
                let mut now = contents(&place.path("inner/.ai"));
                let state = contents(&place.path(".ai/state"));
                now.insert("state".into(), Vec::new());
                now.extend(state.into_iter().map(|(path, bytes)| (Path::new("state").join(path), bytes)));
                now
            } else if what == "all of .ai by two renames" {
                contents(&place.path(".ai"))
            } else {
                contents(&place.path("inner/.ai"))
            };
            let changed: Vec<_> =
                before.keys().chain(now.keys()).filter(|path| before.get(*path) != now.get(*path)).collect();
            assert!(changed.is_empty(), "{said}: {changed:?}");
        }
    }
}

#[test]
fn a_run_whose_state_was_removed_says_so() {
    for script in ["rm -rf /p/.ai", "rm -rf /p/.ai/state", "rm -rf /p/.ai; mkdir -p /p/.ai/state"] {
        for store in ["sqlite", "file"] {
            let place = places();
            place.graph("g.yaml", &format!("start: a\nnodes:\n  a: {{ action: {{ item_id: {BASH}, params: {{ command: \"{script}\" }} }} }}\n"));
            let ran = in_folder(&place, ".", &typed("g.yaml", "r1", store));
            let said = format!("{script}, {store}: {}\n{}", ran.code, ran.stderr);
            assert_eq!(ran.code, 10, "{said}");
            let told = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(told.contains("was removed while it was in use"), "{said}");
        }
    }
}

#[test]
fn a_space_is_never_looked_for_in_the_current_folder() {
    let place = Place::new();
    place.graph("g.yaml", "start: a\nnodes:\n  a: { assign: { n: 1 } }\n");
    let absolute = place.path("absolute").display().to_string();
    let before = contents(&place.path(""));
    for (variables, named) in [
        ([("GRAPH_HOST_HOME", "home"), ("HOME", &*absolute)], "GRAPH_HOST_HOME"),
        ([("GRAPH_HOST_HOME", "./home"), ("HOME", &*absolute)], "GRAPH_HOST_HOME"),
        ([("GRAPH_HOST_HOME", ".."), ("HOME", &*absolute)], "GRAPH_HOST_HOME"),
        ([("GRAPH_HOST_HOME", ""), ("HOME", "relative")], "HOME"),
        ([("GRAPH_HOST_HOME", ""), ("HOME", ".")], "HOME"),
        ([("HOME", &*absolute), ("XDG_DATA_HOME", "data")], "XDG_DATA_HOME"),
        ([("HOME", &*absolute), ("XDG_CACHE_HOME", "cache")], "XDG_CACHE_HOME"),
    ] {
        for words in [
            &["keys", "generate", "me"][..],
            &["keys", "list"],
            &["trust", "list"],
            &["cache", "list"],
            &["run", "g.yaml"],
            &["run", "g.yaml", "--store", "memory"],
            &["runs", "list"],
            &["doctor"],
            &["inspect", "rye/bash/bash"],
            &["pull", "--from-lock"],
        ] {
            let mut command = place.command(words);
            for name in ["GRAPH_HOST_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"] {
                command.env_remove(name);
            }
            let ran = place.ran(&command.envs(variables).output().unwrap());
            let said = format!("{variables:?} {words:?}: {}\n{}", ran.code, ran.stderr);
            assert_eq!(ran.code, 2, "{said}");
            if words[0] != "pull" {
                let told = format!("{named} is the relative path");
                assert!(ran.stderr.contains(&told) && ran.stderr.contains("absolute path"), "{said}");
            }
            assert!(contents(&place.path("")) == before, "{said}");
        }
    }
}

#[test]
fn however_few_files_may_be_open_it_is_an_error() {
    for words in [
        &["run", "g.yaml"][..],
        &["run", "g.yaml", "--store", "file", "--state-item"],
        &["run", "g.yaml", "--detach"],
        &["run", "kit.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--store", "memory"],
        &["validate", "g.yaml"],
        &["runs", "list"],
        &["runs", "verify", "old"],
        &["keys", "generate", "me"],
        &["test"],
    ] {
        for most in 3..=20 {
            let place = Place::with_compiled_testkit();
            place.graph("g.yaml", "start: a\nnodes:\n  a: { assign: { n: 1 } }\n");
            place.graph(
                "kit.yaml",
                "start: a\nnodes:\n  a: { action: { item_id: t/kit, params: { op: echo, value: 1 } } }\n",
            );
            assert_eq!(place.run(&["run", "g.yaml", "--run-id", "old"]).code, 0);
            let ordinary = place.command(words);
            let mut command = std::process::Command::new("sh");
            command.args(["-c", &format!("ulimit -n {most}; exec \"$0\" \"$@\"")]);
            command.arg(ordinary.get_program()).args(ordinary.get_args()).current_dir(place.path(""));
            command.envs(ordinary.get_envs().filter_map(|(name, value)| Some((name, value?))));
            let ran = place.ran(&command.output().unwrap());
            let said = format!("{words:?}, {most}: {}\n{}", ran.code, ran.stderr);
            assert!(!ran.stderr.contains("panicked"), "{said}");
            // The program may be one whose libraries cannot be opened.
            let is_loaded = ran.code != 127;
            assert!(!is_loaded || (0..=13).contains(&ran.code), "{said}");
            assert!(!is_loaded || ran.code == 0 || ran.stderr.contains("rror"), "{said}");
        }
    }
}
