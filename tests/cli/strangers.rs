//! A project that a stranger made: links, pipes and devices below its `.ai`, and state that is not this host's. Nothing
//! outside of the project and of the user's space is written, emptied or removed, and no command waits without end.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use graph_core::time::Timestamp;
use graph_core::trust::{SigningKey, StateMarker};

use crate::hostile::watch::{self, Bounds, Ended};
use crate::place::Place;

/// Files outside of the project, which commands in it must not change.
const VICTIMS: [&str; 4] = ["cancel", "kill", "output.log", "notes.md"];

/// Paths below `.ai` where a stranger may put something, and `true` if a folder is expected there.
const SPOTS: [(&str, bool); 16] = [
    ("", true),
    ("state", true),
    ("state/runs.db", false),
    ("state/files", true),
    ("state/knowledge.db", false),
    ("state/host.json", false),
    ("threads", true),
    ("threads/r1", true),
    ("threads/r1/output.log", false),
    ("threads/r1/cancel", false),
    ("tools", true),
    ("tools/t", true),
    ("tools/t/kit.wasm", false),
    ("knowledge", true),
    ("knowledge/graphs", true),
    ("hooks.yaml", false),
];

/// Commands that a user may type in such a project.
const COMMANDS: [&[&str]; 15] = [
    &["run", "g.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "r1"],
    &["run", "g.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "r1", "--store", "file"],
    &["run", "g.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "r1", "--store", "memory"],
    &["run", "g.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "r1", "--detach"],
    &["run", "g.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--plan"],
    &["resume", "r1"],
    &["runs", "list"],
    &["runs", "show", "r1"],
    &["runs", "verify", "r1"],
    &["runs", "cancel", "r1", "--no-wait"],
    &["runs", "kill", "r1", "--no-wait"],
    &["runs", "gc", "--older-than", "0s", "--all-statuses"],
    &["runs", "import", "r1.archive"],
    &["runs", "adopt"],
    &["doctor"],
];

const GRAPH: &str = "start: a\nnodes:\n  a: { action: { item_id: t/kit, params: { op: echo, value: 1 } }, next: b }\n  b: { interrupt: before }\n";

/// Makes a project with a run that waits for an answer, in this kind of store, with compiled code and an archive of the run.
fn template(store: &str) -> &'static Place {
    static SQLITE: OnceLock<Place> = OnceLock::new();
    static FILE: OnceLock<Place> = OnceLock::new();
    let made = if store == "file" { &FILE } else { &SQLITE };
    made.get_or_init(|| {
        let place = Place::with_testkit();
        place.graph("g.yaml", GRAPH);
        let run =
            ["run", "g.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "r1", "--store", store];
        let ran = place.run(&run);
        assert_eq!(ran.code, 6, "{}", ran.stderr);
        let exported = place.run(&["runs", "export", "r1", "-o", "r1.archive"]);
        assert_eq!(exported.code, 0, "{}", exported.stderr);
        place
    })
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Makes the marker that a key signs for the state of a project.
fn marker(key: &SigningKey, project: &Path) -> String {
    let folder = project.join(".ai/state").canonicalize().unwrap();
    StateMarker::sign(key, folder.as_os_str().as_encoded_bytes(), Timestamp(1_700_000_000_000)).to_text()
}

/// Copies a template with this host's state, and files outside of it.
fn project(store: &str) -> (Place, PathBuf) {
    let place = Place::new();
    copy(&template(store).path(""), &place.path(""));
    let key = SigningKey::from_pem(&place.read("home/identity.pem")).unwrap();
    place.write(".ai/state/host.json", &marker(&key, &place.path("")));
    let victim = place.path("outside");
    std::fs::create_dir_all(victim.join("r1")).unwrap();
    for name in VICTIMS {
        std::fs::write(victim.join(name), "mine").unwrap();
        std::fs::write(victim.join("r1").join(name), "mine").unwrap();
    }
    (place, victim)
}

/// Reads every file below a folder.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![folder.to_path_buf()];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                waiting.push(entry.path());
            }
            let bytes = if kind.is_file() { std::fs::read(entry.path()).unwrap() } else { Vec::new() };
            found.insert(entry.path(), bytes);
        }
    }
    found
}

fn offered(place: &Place, words: &[&str]) -> Ended {
    let bounds = Bounds { time: Duration::from_secs(30), memory: 1024, ..Bounds::default() };
    watch::within(place.command(&[words, &["--json"]].concat()), &bounds)
}

/// Replaces the file at a spot with `plant`, and runs every command.
fn each_command(spot: &str, store: &str, plant: impl Fn(&Path, &Path)) {
    for words in COMMANDS {
        let (place, victim) = project(store);
        let at = if spot.is_empty() { place.path(".ai") } else { place.path(".ai").join(spot) };
        if at.symlink_metadata().is_ok() {
            std::fs::rename(&at, place.path("aside")).unwrap();
        }
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        plant(&at, &victim);
        let before = contents(&victim);
        let ended = offered(&place, words);
        let said = format!(
            "{words:?} with something else at .ai/{spot}: {:?}\n{}\n{}",
            ended.code, ended.document, ended.stderr
        );
        assert!(ended.stopped.is_none(), "{said}: {:?}", ended.stopped);
        assert!(ended.code.is_some_and(|code| [0, 2, 3, 4, 6, 8, 9, 10].contains(&code)), "{said}");
        assert!(!ended.stderr.contains("panicked"), "{said}");
        assert_eq!(contents(&victim), before, "{said}");
    }
}

/// Returns the kind of store that uses a spot.
fn store_at(spot: &str) -> &'static str {
    if spot == "state/files" || spot.starts_with("knowledge") { "file" } else { "sqlite" }
}

/// Links to existing files, and to missing ones.
#[cfg(unix)]
#[test]
fn no_link_below_ai_is_followed() {
    use std::os::unix::fs::symlink;
    for (spot, is_folder) in SPOTS {
        each_command(spot, store_at(spot), |at, victim| {
            let target = if is_folder { victim.to_path_buf() } else { victim.join("notes.md") };
            symlink(target, at).unwrap();
        });
        each_command(spot, store_at(spot), |at, victim| symlink(victim.join("new"), at).unwrap());
    }
}

/// A pipe would block, and a folder is no file.
#[cfg(unix)]
#[test]
fn no_pipe_is_waited_for() {
    for (spot, _) in SPOTS.into_iter().filter(|(_, is_folder)| !is_folder) {
        each_command(spot, store_at(spot), |at, _| {
            assert!(Command::new("mkfifo").arg(at).status().unwrap().success());
        });
        each_command(spot, store_at(spot), |at, _| std::fs::create_dir(at).unwrap());
    }
}

/// Commands that write state, and those that show it.
const WRITING: [&[&str]; 8] = [
    &["run", "g.yaml", "--caps", "caps.yaml", "--allow-unsigned"],
    &["run", "g.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--store", "file"],
    &["resume", "r1"],
    &["runs", "update", "r1", "--values", "{\"x\": 1}"],
    &["runs", "fork", "r1"],
    &["runs", "cancel", "r1"],
    &["runs", "gc", "--older-than", "0s", "--all-statuses"],
    &["runs", "import", "r1.archive"],
];
const SHOWING: [&[&str]; 5] = [
    &["runs", "list"],
    &["runs", "show", "r1"],
    &["runs", "history", "r1"],
    &["runs", "state", "r1"],
    &["runs", "verify", "r1"],
];

/// For any fault of the marker, the runs are shown and verified, nothing is written, and `runs adopt` works.
#[test]
fn state_that_is_not_this_hosts_is_shown_and_never_written() {
    type Plant = fn(&Place);
    let markers: [(&str, Plant); 6] = [
        ("no marker", |place| std::fs::remove_file(place.path(".ai/state/host.json")).unwrap()),
        ("signed by another host", |place| {
            let text = marker(&SigningKey::from_seed(&[9; 32]), &place.path(""));
            place.write(".ai/state/host.json", &text);
        }),
        ("is for", |place| {
            // The marker before the project was moved here.
            place.write(".ai/state/host.json", &template("sqlite").read(".ai/state/host.json"));
            copy(&template("sqlite").path("home"), &place.path("home"));
        }),
        ("is no marker", |place| place.write(".ai/state/host.json", "{")),
        ("too large", |place| place.write(".ai/state/host.json", &" ".repeat(100_000))),
        ("is no marker", |place| {
            let text = place.read(".ai/state/host.json").replace("/v1", "/v2");
            place.write(".ai/state/host.json", &text);
        }),
    ];
    for (why, plant) in markers {
        let (place, _) = project("sqlite");
        plant(&place);
        let state = || {
            let mut found = contents(&place.path(".ai/state"));
            // Memory that SQLite shares between reading processes.
            found.retain(|path, _| !path.to_string_lossy().ends_with("-shm"));
            found
        };
        let before = state();
        for words in WRITING {
            let ended = offered(&place, words);
            let message = ended.document["error"]["message"].as_str().unwrap_or_default();
            let said = format!("{why}: {words:?}: {:?} {}\n{}", ended.code, ended.document, ended.stderr);
            assert_eq!(ended.code, Some(8), "{said}");
            assert!(message.contains("not this host's") && message.contains(why), "{said}");
            let help = ended.document["error"]["help"].as_str().unwrap_or_default();
            assert!(
                help.contains("graph-host runs adopt") && help.contains("graph-host runs import"),
                "{said}"
            );
        }
        for words in SHOWING {
            let ended = offered(&place, words);
            assert_eq!(ended.code, Some(0), "{why}: {words:?}: {} {}", ended.document, ended.stderr);
        }
        assert_eq!(before.keys().collect::<Vec<_>>(), state().keys().collect::<Vec<_>>(), "{why}");
        assert_eq!(before, state(), "{why}");
        // The command in the message works.
        let (adopted, code) = place.json(&["runs", "adopt"]);
        assert_eq!(
            (code, &adopted["adopted"], &adopted["own_runs"]),
            (0, &true.into(), &1.into()),
            "{why}: {adopted}"
        );
        assert_eq!(place.json(&["runs", "adopt"]).0["adopted"], false);
        let resumed = place.run(&["resume", "r1"]);
        assert_eq!(resumed.code, 0, "{why}: {}", resumed.stderr);
    }
}

/// Reading a database of an older version would write it first: only its own host does that.
#[test]
fn an_older_database_is_brought_up_to_date_by_its_own_host_alone() {
    let older = |place: &Place| {
        let database = rusqlite::Connection::open(place.path(".ai/state/runs.db")).unwrap();
        database
            .execute_batch(
                "ALTER TABLE runs DROP COLUMN model; ALTER TABLE runs DROP COLUMN spend; \
                 ALTER TABLE runs DROP COLUMN output_tokens; ALTER TABLE runs DROP COLUMN input_tokens; \
                 ALTER TABLE runs DROP COLUMN turns; \
                 DROP TABLE fences; DROP TABLE epochs; DROP TABLE results; PRAGMA user_version = 5; \
                 PRAGMA journal_mode = DELETE",
            )
            .unwrap();
        database.close().unwrap();
    };
    let (place, _) = project("sqlite");
    older(&place);
    for words in SHOWING {
        assert_eq!(offered(&place, words).code, Some(0), "{words:?}");
        older(&place);
    }
    std::fs::remove_file(place.path(".ai/state/host.json")).unwrap();
    let before = contents(&place.path(".ai/state"));
    for words in SHOWING.iter().chain([&["runs", "export", "r1"][..]].iter()) {
        let ended = offered(&place, words);
        let error = &ended.document["error"];
        let said = format!("{words:?}: {:?} {}", ended.code, ended.document);
        assert_eq!((ended.code, error["code"].as_str()), (Some(8), Some("integrity")), "{said}");
        assert!(error["message"].as_str().unwrap().contains("has schema version 5"), "{said}");
        assert!(error["help"].as_str().unwrap().contains("graph-host runs adopt"), "{said}");
        assert_eq!(before, contents(&place.path(".ai/state")), "{said}");
    }
    let (adopted, code) = place.json(&["runs", "adopt"]);
    assert_eq!((code, &adopted["own_runs"]), (0, &1.into()), "{adopted}");
    assert_eq!(place.run(&["resume", "r1"]).code, 0);
}

/// Knowledge of components is not read from another host's state, and a run without a store needs no state.
#[test]
fn knowledge_of_another_host_is_not_used() {
    let place = Place::with_testkit();
    std::fs::copy(crate::place::kit("testkit-net"), place.path(".ai/tools/t/net.wasm")).unwrap();
    place.graph(
        "g.yaml",
        "start: a\nnodes:\n  a: { action: { item_id: t/net, params: { op: knowledge-get, key: notes/x } }, assign: { x: \"${result}\" } }\n",
    );
    place.write(
        "caps.yaml",
        "dispatch: ['execute.tool.t.*']\nitems:\n  t/net:\n    http: [{ host: 127.0.0.1, schemes: [http], ports: [1], addresses: [127.0.0.1] }]\n    secrets: [{ name: TOKEN, from: { file: token }, header: authorization, host: 127.0.0.1, schemes: [http] }]\n    knowledge: [{ scope: notes/, access: ro }]\n    tools: true\n",
    );
    place.write("token", "v4lue-of-the-token\n");
    let run = ["run", "g.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--store", "memory"];
    let fresh = place.run(&run);
    assert_eq!(fresh.code, 0, "{}", fresh.stderr);
    std::fs::create_dir_all(place.path(".ai/state")).unwrap();
    std::fs::write(place.path(".ai/state/knowledge.db"), "whatever").unwrap();
    let planted = place.json(&run).0;
    assert_ne!(planted["status"], "completed", "{planted} {}", fresh.stderr);
    assert!(
        planted["error"]["message"].as_str().is_some_and(|text| text.contains("not this host's")),
        "{planted}"
    );
}

/// A granted folder is the one that the manifest names, and no other one behind a link.
#[cfg(unix)]
#[test]
fn a_granted_folder_is_the_one_that_is_named() {
    use std::os::unix::fs::symlink;
    let place = Place::with_testkit();
    std::fs::copy(crate::place::kit("testkit-io"), place.path(".ai/tools/t/io.wasm")).unwrap();
    std::fs::create_dir_all(place.path("secret/inner")).unwrap();
    symlink(place.path("secret"), place.path("data")).unwrap();
    place.graph(
        "g.yaml",
        "start: a\nnodes:\n  a: { action: { item_id: t/io, params: { op: list, path: /d } } }\n",
    );
    let real = place.path("secret").canonicalize().unwrap();
    for (path, leads) in [("data", "secret"), ("data/inner", "secret/inner"), ("./secret/../data", "secret")]
    {
        place.write(
            "caps.yaml",
            &format!("dispatch: ['execute.tool.t.*']\nitems:\n  t/io: {{ random: true, clocks: true, filesystem: [{{ path: {path}, as: /d, access: ro }}] }}\n"),
        );
        for more in [&["--plan"][..], &[]] {
            let run = [&["run", "g.yaml", "--caps", "caps.yaml", "--allow-unsigned"], more].concat();
            let ran = place.run(&run);
            assert_eq!(ran.code, 4, "{path}: {}{}", ran.stdout, ran.stderr);
            let shown = format!("{}{}", ran.stdout, ran.stderr);
            let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(shown.contains(&format!("leads to [folder]/{leads}")), "{path}: {shown}");
        }
    }
    place.write(
        "caps.yaml",
        &format!(
            "dispatch: ['execute.tool.t.*']\nitems:\n  t/io: {{ random: true, clocks: true, filesystem: [{{ path: {}, as: /d, access: ro }}] }}\n",
            real.display()
        ),
    );
    let ran = place.run(&["run", "g.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--plan"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
}
