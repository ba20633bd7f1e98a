//! Stored formats of older releases: `tests/formats/VERSION` is read, checked, exported and resumed by this release;
//! and reports of `migrate` about stored files, old, new and broken.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::{Value, json};

use crate::place::{Place, Ran};

#[test]
fn the_component_of_the_stores_is_its_text_assembled() {
    let assembled = wat::parse_str(include_str!("../formats/hello.wat")).unwrap();
    assert!(
        assembled == include_bytes!("../formats/hello.wasm"),
        "tests/formats/hello.wasm is not hello.wat"
    );
}

/// A copy of a release's stored files. Its project is `project`, and its user's space `home`.
struct Stored {
    place: Place,
}

/// Lists the releases whose stores have to stay readable.
fn releases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/formats");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut releases: Vec<_> = entries.filter(|path| path.join("project").is_dir()).collect();
    releases.sort();
    assert!(!releases.is_empty());
    releases
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

impl Stored {
    fn by(release: &Path) -> Self {
        let stored = Self::untouched(release);
        stored.adopt();
        stored
    }

    /// Like [`Self::by`], before any command has read it. Its adoption brings its database up to date.
    fn untouched(release: &Path) -> Self {
        let stored = Self { place: Place::new() };
        for folder in ["project", "home"] {
            copy(&release.join(folder), &stored.place.path(folder));
        }
        stored
    }

    /// Like [`Self::by`], with every store brought up to date.
    fn up_to_date(release: &Path) -> Self {
        let stored = Self::by(release);
        let (document, code) = migrate(&stored, &[]);
        assert_eq!((code, state_of(&document, "files")), (0, "migrated"), "{document}");
        stored
    }

    /// Adopts state that was moved here, as its user would.
    fn adopt(&self) {
        let adopted = self.run(&["runs", "adopt"]);
        assert_eq!(adopted.code, 0, "{}", adopted.shown());
    }

    fn run(&self, args: &[&str]) -> Ran {
        let mut command = self.place.command(args);
        self.place.ran(&command.current_dir(self.place.path("project")).output().unwrap())
    }

    fn json(&self, args: &[&str]) -> (Value, i32) {
        let ran = self.run(&[args, &["--json"]].concat());
        let value = serde_json::from_str(&ran.stdout)
            .unwrap_or_else(|error| panic!("{args:?}: {error}\n{}\n{}", ran.stdout, ran.stderr));
        (value, ran.code)
    }

    fn ok(&self, args: &[&str]) -> Ran {
        let ran = self.run(args);
        assert_eq!(ran.code, 0, "{args:?}: {}{}", ran.stdout, ran.stderr);
        ran
    }
}

/// The runs of a release, with their statuses.
const RUNS: [(&str, &str); 12] = [
    ("pruned", "completed"),
    ("completed", "completed"),
    ("forked", "interrupted"),
    ("waiting", "interrupted"),
    ("exit", "interrupted"),
    ("asking-inside", "interrupted"),
    ("failed", "failed"),
    ("killed", "running"),
    ("file-completed", "completed"),
    ("file-waiting", "interrupted"),
    ("file-exit", "interrupted"),
    ("file-killed", "running"),
];

#[test]
fn runs_of_older_releases_are_listed_shown_verified_and_exported() {
    for release in releases() {
        let stored = Stored::by(&release);
        let (list, code) = stored.json(&["runs", "list"]);
        assert_eq!(code, 0, "{list}");
        let listed: BTreeMap<_, _> = list["runs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|run| (run["run_id"].as_str().unwrap(), run["status"].as_str().unwrap()))
            .collect();
        assert_eq!(listed, RUNS.into_iter().collect::<BTreeMap<_, _>>(), "{}", release.display());
        for (run, _) in RUNS {
            for command in ["show", "history", "state", "verify"] {
                stored.ok(&["runs", command, run]);
            }
            let file = format!("{run}.export");
            stored.ok(&["runs", "export", run, "--output", &file]);
            // Elsewhere the whole file is checked before anything is stored.
            let elsewhere = stored.place.path("elsewhere").join(run);
            fs::create_dir_all(elsewhere.join(".ai")).unwrap();
            let elsewhere = elsewhere.to_string_lossy().into_owned();
            stored.ok(&["runs", "import", &file, "--project", &elsewhere]);
            stored.ok(&["runs", "verify", run, "--project", &elsewhere]);
        }
        let pruned = stored.ok(&["runs", "verify", "pruned"]);
        assert!(pruned.stdout.contains("its history begins with checkpoint 6"), "{}", pruned.stdout);
    }
}

#[test]
fn archives_of_older_releases_are_imported() {
    for release in releases() {
        let stored = Stored::by(&release);
        for run in ["completed", "file-waiting"] {
            let elsewhere = stored.place.path("elsewhere");
            fs::create_dir_all(elsewhere.join(".ai")).unwrap();
            let (archive, elsewhere) = (format!("{run}.run.jsonl"), elsewhere.to_string_lossy().into_owned());
            stored.ok(&["runs", "import", &archive, "--project", &elsewhere]);
            stored.ok(&["runs", "verify", run, "--project", &elsewhere]);
        }
        // A later version of the format is refused, with advice.
        let path = stored.place.path("project/completed.run.jsonl");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replacen("\"version\":2", "\"version\":9", 1)).unwrap();
        let refused = stored.run(&["runs", "import", "completed.run.jsonl"]);
        assert_eq!(refused.code, 3, "{}", refused.stderr);
        assert!(refused.stderr.contains("read it with the version of graph-host"), "{}", refused.stderr);
    }
}

#[test]
fn runs_of_older_releases_are_replayed() {
    for release in releases() {
        let stored = Stored::by(&release);
        for run in ["completed", "pruned", "file-completed"] {
            stored.ok(&["replay", run]);
        }
    }
}

#[test]
fn runs_of_older_releases_are_resumed() {
    for release in releases() {
        let stored = Stored::by(&release);
        let waited =
            json!({ "said": "yes", "text": "hello", "log": ["step 1", "step 2", "step 3", "greeted"] });
        let finished = json!({ "answer": "for Ada", "log": ["greeted", "child", "each"], "text": "hello" });
        let cut_short = json!(["first", "hello", "after"]);
        let said = json!({ "said": "yes" });
        // The signature of its graph inside does not name the kind of item: the refusal shows the command to type.
        let (refused, code) = stored.json(&["resume", "asking-inside", "--answer", "yes"]);
        let message = refused["error"]["message"].as_str().unwrap_or_default();
        assert!(code == 8 && message.contains("graph-host sign"), "{refused}");
        for child in ["asking-child", "child"] {
            stored.ok(&["sign", &format!("../home/.ai/tools/t/{child}.yaml"), "--key", "tester"]);
        }
        for (run, answer, output) in [
            ("waiting", Some("yes"), &waited),
            ("exit", Some("yes"), &waited),
            ("file-waiting", Some("yes"), &waited),
            ("file-exit", Some("yes"), &waited),
            ("asking-inside", Some("yes"), &said),
            ("forked", None, &finished),
            ("killed", None, &cut_short),
            ("file-killed", None, &cut_short),
        ] {
            let answer = answer.map(|answer| ["--answer", answer]);
            let words =
                [&["resume", run][..], answer.as_ref().map_or(&[][..], |answer| &answer[..])].concat();
            let (document, code) = stored.json(&words);
            assert_eq!((code, &document["output"]), (0, output), "{run}: {document}");
            stored.ok(&["runs", "verify", run]);
            stored.ok(&["replay", run]);
        }
        // The failed task fails again, and the pending one next to it does not run a second time.
        let (document, code) = stored.json(&["resume", "failed"]);
        assert_eq!((code, &document["error"]["category"]), (5, &json!("permanent")), "{document}");
        stored.ok(&["runs", "verify", "failed"]);
        // A new run uses the cached result.
        let words = ["run", "completed.yaml", "--caps", "caps.yaml", "--input", "name=Grace"];
        let (document, code) = stored.json(&words);
        assert_eq!((code, &document["output"]["answer"]), (0, &json!("for Grace")), "{document}");
        assert_eq!(document["cached"], json!({ "greet": 1 }), "{document}");
    }
}

#[test]
fn what_else_older_releases_have_stored_is_read() {
    for release in releases() {
        let stored = Stored::by(&release);
        let log = stored.ok(&["trust", "log"]);
        assert!(log.stdout.contains("knowledge t/note.md"), "{}", log.stdout);
        assert!(stored.ok(&["trust", "list"]).stdout.contains("tester"));
        // The layout that it was pulled from is missing, and only that is reported.
        let pull = stored.run(&["pull"]);
        assert!(pull.stderr.contains("there is no `oci-layout`"), "{}", pull.stderr);
        stored.ok(&["verify", "../home/installed/tools/t/hello.wasm", "--id", "t/hello"]);
        let knowledge = stored.place.path("project/.ai/state/knowledge.db");
        let before = fs::read(&knowledge).unwrap();
        assert_eq!(state_of(&migrate(&stored, &["--check"]).0, "knowledge"), "older");
        assert_eq!(fs::read(&knowledge).unwrap(), before);
        assert_eq!(state_of(&migrate(&stored, &[]).0, "knowledge"), "migrated");
        assert_eq!(state_of(&migrate(&stored, &["--check"]).0, "knowledge"), "current");
        assert!(fs::read(&knowledge).unwrap() != before);
    }
}

/// Returns the state of a format in the report of `migrate`.
fn state_of<'d>(document: &'d Value, format: &str) -> &'d str {
    let files = document["files"].as_array().unwrap();
    files.iter().find(|file| file["format"] == format).unwrap()["state"].as_str().unwrap()
}

fn migrate(stored: &Stored, more: &[&str]) -> (Value, i32) {
    stored.json(&[&["migrate"][..], more].concat())
}

/// Reads every file below a folder, with its content and the time of its last change.
fn state(folder: &Path) -> BTreeMap<PathBuf, (Option<Vec<u8>>, SystemTime)> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        let content = metadata.is_file().then(|| fs::read(&path).unwrap());
        if metadata.is_dir() {
            files.extend(state(&path));
        }
        files.insert(path, (content, metadata.modified().unwrap()));
    }
    files
}

#[test]
fn a_check_writes_nothing() {
    for release in releases() {
        let stored = Stored::untouched(&release);
        // The newest version is in the log next to the database, as its process was killed.
        let before = state(&stored.place.path(""));
        assert!(before.contains_key(&stored.place.path("project/.ai/state/runs.db-wal")));
        let (document, code) = migrate(&stored, &["--check"]);
        assert_eq!(code, 5, "{document}");
        let older: Vec<_> = document["files"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|file| file["state"] != "current")
            .map(|file| (file["format"].as_str().unwrap(), file["state"].as_str().unwrap()))
            .collect();
        assert_eq!(older, [("runs", "older"), ("knowledge", "older"), ("files", "older")]);
        let formats: Vec<_> = document["files"]
            .as_array()
            .unwrap()
            .iter()
            .map(|file| file["format"].as_str().unwrap())
            .collect();
        assert_eq!(formats, ["runs", "knowledge", "files", "lockfile", "trust_store", "trust_log"]);
        assert!(state(&stored.place.path("")) == before, "something was changed");
        stored.adopt();
        assert_eq!(before_version(&stored, 3), 5);
        let before = state(&stored.place.path(""));
        let (document, code) = migrate(&stored, &["--check"]);
        assert_eq!((code, &document["files"][0]["state"]), (5, &json!("older")), "{document}");
        assert!(state(&stored.place.path("")) == before, "something was changed");
    }
}

/// Sets the version of the database, and returns the exit code of a check.
fn before_version(stored: &Stored, version: u32) -> i32 {
    let file = stored.place.path("project/.ai/state/runs.db");
    // All changes are moved into the file itself.
    stored.ok(&["runs", "gc", "--dry-run"]);
    for ending in ["-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{ending}", file.display()));
    }
    let mut bytes = fs::read(&file).unwrap();
    bytes[60..64].copy_from_slice(&version.to_be_bytes());
    fs::write(&file, bytes).unwrap();
    migrate(stored, &["--check"]).1
}

#[test]
fn newer_files_are_named_and_refused() {
    let release = releases().pop().unwrap();
    let check = |change: &dyn Fn(&Stored), format: &str| {
        let stored = Stored::up_to_date(&release);
        change(&stored);
        let before = state(&stored.place.path(""));
        for more in [&["--check"][..], &[]] {
            let (document, code) = migrate(&stored, more);
            assert_eq!(code, 8, "{format}: {document}");
            let bad: Vec<_> = document["files"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|file| file["state"] != "current")
                .collect();
            assert_eq!(bad.len(), 1, "{format}: {document}");
            assert_eq!(
                (&bad[0]["format"], &bad[0]["state"]),
                (&json!(format), &json!("newer")),
                "{document}"
            );
        }
        assert!(state(&stored.place.path("")) == before, "{format}: something was changed");
        stored
    };
    let replace = |file: &'static str, from: &'static str, to: &'static str| {
        move |stored: &Stored| {
            let path = stored.place.path(file);
            let text = fs::read_to_string(&path).unwrap();
            fs::write(&path, text.replacen(from, to, 1)).unwrap();
        }
    };
    let prepend = |file: &'static str, text: &'static str| {
        move |stored: &Stored| {
            let path = stored.place.path(file);
            fs::write(&path, [text.to_owned(), fs::read_to_string(&path).unwrap()].concat()).unwrap();
        }
    };
    let refused = |stored: &Stored, args: &[&str], code: i32| {
        let ran = stored.run(args);
        assert_eq!(ran.code, code, "{args:?}: {}{}", ran.stdout, ran.stderr);
        assert!(
            ran.stderr.replace("\n  ", " ").replace('\n', " ").contains("use a newer graph-host"),
            "{}",
            ran.stderr
        );
    };
    let stored = check(
        &|stored: &Stored| {
            fs::write(stored.place.path("project/.ai/state/files/format"), "graph-host/files 9\n").unwrap();
        },
        "files",
    );
    refused(&stored, &["runs", "list"], 8);
    let stored = check(&replace("project/graph-host.lock", "version: 1", "version: 2"), "lockfile");
    refused(&stored, &["pull"], 3);
    let stored = check(&prepend("home/trust.yaml", "version: 2\n"), "trust_store");
    refused(&stored, &["trust", "list"], 3);
    let stored = check(&replace("home/trust.log", "{\"entry\"", "{\"version\":2,\"entry\""), "trust_log");
    refused(&stored, &["trust", "log"], 8);
    let stored = check(
        &|stored: &Stored| set_version(&stored.place.path("project/.ai/state/knowledge.db"), 3),
        "knowledge",
    );
    drop(stored);
    // A manifest is reported where it is used.
    let stored = Stored::by(&release);
    prepend("project/caps.yaml", "version: 2\n")(&stored);
    refused(&stored, &["run", "completed.yaml", "--caps", "caps.yaml"], 3);
    replace("project/caps.yaml", "version: 2", "version: 1")(&stored);
    assert_eq!(stored.run(&["run", "failed.yaml", "--caps", "caps.yaml", "--plan"]).code, 0);
}

/// Writes the version into the header of a database.
fn set_version(file: &Path, version: u32) {
    let mut bytes = fs::read(file).unwrap();
    bytes[60..64].copy_from_slice(&version.to_be_bytes());
    fs::write(file, bytes).unwrap();
}

#[test]
fn what_cannot_be_read_is_named_and_left_alone() {
    let release = releases().pop().unwrap();
    for file in [
        "project/.ai/state/runs.db",
        "project/.ai/state/knowledge.db",
        "project/.ai/state/files/format",
        "project/graph-host.lock",
        "home/trust.yaml",
        "home/trust.log",
    ] {
        for wrong in ["garbage", "folder", "link"] {
            // These files are read through links: a user may keep them elsewhere.
            let is_database = Path::new(file).extension().is_some_and(|extension| extension == "db");
            if wrong == "link" && !is_database {
                continue;
            }
            let stored = Stored::up_to_date(&release);
            let path = stored.place.path(file);
            if path.exists() {
                fs::rename(&path, stored.place.path("moved")).unwrap();
                let _ = fs::remove_file(format!("{}-wal", path.display()));
            }
            match wrong {
                "garbage" => fs::write(&path, "[garbage: ".repeat(50) + "\n").unwrap(),
                "folder" => fs::create_dir(&path).unwrap(),
                _ => std::os::unix::fs::symlink(stored.place.path("moved"), &path).unwrap(),
            }
            let before = state(&stored.place.path(""));
            for more in [&["--check"][..], &[]] {
                let (document, code) = migrate(&stored, more);
                let bad: Vec<_> = document["files"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter(|file| file["state"] == "unreadable")
                    .collect();
                assert_eq!((code, bad.len()), (8, 1), "{file}, {wrong}: {document}");
                assert!(bad[0]["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{document}");
            }
            assert!(state(&stored.place.path("")) == before, "{file}, {wrong}: something was changed");
        }
    }
}

#[test]
fn a_state_folder_that_leads_out_of_the_project_is_not_migrated() {
    let stored = Stored::by(&releases().pop().unwrap());
    assert_eq!(before_version(&stored, 3), 5);
    let place = &stored.place;
    fs::rename(place.path("project/.ai/state"), place.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink(place.path("elsewhere"), place.path("project/.ai/state")).unwrap();
    let before = state(&place.path("elsewhere"));
    let (document, code) = migrate(&stored, &[]);
    assert_eq!(code, 8, "{document}");
    assert!(document.to_string().contains("is a link to"), "{document}");
    assert!(state(&place.path("elsewhere")) == before);
}

#[test]
fn a_project_without_state_has_nothing_to_migrate() {
    let place = Place::new();
    let ran = place.run(&["migrate", "--check"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "nothing is stored yet\n"), "{}", ran.stderr);
    assert!(!place.path(".ai/state").exists() && !place.path("home").exists());
    assert_eq!(place.run(&["migrate", "--project", "nowhere"]).code, 9);
}

#[test]
fn what_migrate_prints() {
    let stored = Stored::by(&releases().pop().unwrap());
    let check = stored.run(&["migrate", "--check"]);
    assert_eq!(before_version(&stored, 9), 8);
    let newer = stored.run(&["migrate", "--check"]);
    insta::assert_snapshot!([check.shown(), newer.shown()].join("\n"));
}
