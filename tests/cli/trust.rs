//! Trust over time: keys that are revoked, that expire, that follow each other, and several that have to sign.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use graph_core::capability::CapabilityKind;
use serde_json::{Value, json};

use crate::place::{Place, Ran};

const ASKING: &str = r#"start: ask
nodes:
  ask: { action: { item_id: t/ask, params: { op: interrupt, payload: "Go on?" } }, next: first }
  first: { action: { item_id: t/kit, params: { op: echo, value: 1 } }, next: second }
  second: { action: { item_id: t/kit, params: { op: echo, value: 2 } }, assign: { told: "${result}" } }
output: "${state.told}"
"#;

fn ok(ran: &Ran) {
    assert_eq!(ran.code, 0, "{}", ran.shown());
}

/// Makes `t/ask`, signed with `steady`, and `t/kit`, signed with `one`.
fn signed() -> Place {
    let place = Place::with_compiled_testkit();
    std::fs::copy(place.path(".ai/tools/t/kit.wasm"), place.path(".ai/tools/t/ask.wasm")).unwrap();
    for key in ["one", "two", "steady"] {
        ok(&place.run(&["keys", "generate", key]));
    }
    ok(&place.run(&["trust", "add", "steady", "--key", "steady", "--items", "t/ask"]));
    sign(&place, "kit", &["--key", "one"]);
    sign(&place, "ask", &["--key", "steady"]);
    place.graph("asking.yaml", ASKING);
    place
}

fn sign(place: &Place, item: &str, options: &[&str]) {
    let file = format!(".ai/tools/t/{item}.wasm");
    let version: &[&str] = if options.contains(&"--add") { &[] } else { &["--version", "1.0.0"] };
    ok(&place.run(&[&["sign", &file], options, version].concat()));
}

fn trust(place: &Place, key: &str, more: &[&str]) {
    ok(&place.run(&[&["trust", "add", key, "--key", key, "--items", "t/*"], more].concat()));
}

fn run(place: &Place, id: &str) -> (Value, i32) {
    place.json(&["run", "asking.yaml", "--caps", "caps.yaml", "--run-id", id])
}

fn message(document: &Value) -> &str {
    document["error"]["message"].as_str().unwrap_or_else(|| panic!("{document}"))
}

fn in_time(after: Duration) -> String {
    let at = SystemTime::now() + after;
    let millis = u64::try_from(at.duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap();
    graph_core::time::Timestamp(millis).to_string()
}

#[test]
fn the_help_names_every_kind_of_capability_that_a_key_may_have() {
    let help = Place::new().run(&["trust", "add", "--help"]).stdout;
    let words: Vec<_> = help.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    for kind in CapabilityKind::ALL.into_iter().filter(|kind| *kind != CapabilityKind::Log) {
        assert!(words.contains(&kind.as_str()), "{kind}: {help}");
    }
}

#[test]
fn a_revocation_reaches_runs_that_are_suspended() {
    let place = signed();
    trust(&place, "one", &[]);
    assert_eq!(run(&place, "r").1, 6);
    ok(&place.run(&["trust", "revoke", "one", "--since", "2026-01-02"]));
    for accept in [&["--answer", "yes"][..], &["--answer", "yes", "--accept-changes"]] {
        let (refused, code) = place.json(&[&["resume", "r"], accept].concat());
        assert_eq!((code, &refused["error"]["code"]), (8, &json!("integrity")), "{refused}");
        let told = message(&refused);
        assert!(told.contains("nodes `first`, `second`: `t/kit` is signed, and the key `one`"), "{told}");
        assert!(told.contains("is revoked since 2026-01-02T00:00:00.000Z"), "{told}");
    }
    // The run is unchanged: signed again, it continues.
    trust(&place, "two", &[]);
    sign(&place, "kit", &["--key", "two"]);
    assert_eq!(place.json(&["resume", "r", "--answer", "yes", "--accept-changes"]).1, 0);
}

#[test]
fn a_revocation_reaches_texts_that_a_run_has_kept() {
    let place = Place::new();
    std::fs::create_dir_all(place.path(".ai/knowledge/t")).unwrap();
    place.write(".ai/knowledge/t/note.md", "---\nname: note\ntitle: Note\nversion: 1.0.0\n---\nA text.\n");
    place.write("caps.yaml", "dispatch: ['load.knowledge.t.*']\n");
    place.graph(
        "asking.yaml",
        "start: wait\nnodes:\n  wait: { interrupt: after, next: read }\n  read: { action: { primary: load, item_type: knowledge, item_id: t/note } }",
    );
    ok(&place.run(&["keys", "generate", "one"]));
    trust(&place, "one", &[]);
    ok(&place.run(&["sign", ".ai/knowledge/t/note.md", "--key", "one"]));
    ok(&place.run(&["sign", "asking.yaml", "--key", "one", "--id", "asking"]));
    let (refused, code) = run(&place, "g");
    assert_eq!(code, 8, "a key may not sign what lies outside of its patterns: {refused}");
    place.write(
        "asking.yaml",
        std::fs::read_to_string(place.path("asking.yaml")).unwrap().split_once('\n').unwrap().1,
    );
    for id in ["r", "gone"] {
        assert_eq!(run(&place, id).1, 6);
    }
    ok(&place.run(&["trust", "revoke", "one"]));
    let (refused, code) = place.json(&["resume", "r"]);
    assert_eq!(code, 8, "{refused}");
    assert!(
        message(&refused).contains("the key `one`") && message(&refused).contains("is revoked"),
        "{refused}"
    );
    // A removed text is replaced by the run's copy, and its signer is still revoked.
    std::fs::remove_file(place.path(".ai/knowledge/t/note.md")).unwrap();
    let (refused, code) = place.json(&["resume", "gone"]);
    assert_eq!(code, 8, "{refused}");
    assert!(message(&refused).contains("`knowledge t/note.md` was signed with the key `one`"), "{refused}");
}

#[test]
fn a_key_expires_between_supersteps() {
    let place = signed();
    let end = in_time(Duration::from_secs(4));
    trust(&place, "one", &["--not-after", &end]);
    assert_eq!(run(&place, "r").1, 6);
    std::thread::sleep(Duration::from_millis(4100));
    // A new run is refused.
    let (refused, code) = run(&place, "late");
    assert_eq!(code, 8, "{refused}");
    // The superstep that is next reads a time before the key expired; the one after it reads the time of the resume.
    let (failed, code) = place.json(&["resume", "r", "--answer", "yes"]);
    assert_eq!((code, &failed["error"]["category"]), (4, &json!("denied")), "{failed}");
    assert_eq!((&failed["error"]["node"], &failed["steps"]), (&json!("first"), &json!(1)), "{failed}");
    assert!(message(&failed).contains(&format!("expired at {end}, and it is ")), "{failed}");
    // Now the recorded time is past the end: the resume itself is refused.
    let (refused, code) = place.json(&["resume", "r"]);
    assert_eq!(code, 8, "{refused}");
    assert!(message(&refused).contains(&format!("expired at {end}, and it is ")), "{refused}");
    assert_eq!(place.run(&["runs", "verify", "r"]).code, 0);
}

#[test]
fn several_keys_have_to_sign() {
    let place = signed();
    trust(&place, "one", &[]);
    trust(&place, "two", &[]);
    let store = place.path("home/trust.yaml");
    let plain = std::fs::read_to_string(&store).unwrap();
    let require = "require:\n  - items: [\"t/kit\"]\n    threshold: 2\n    keys: [one, two]\n";
    std::fs::write(&store, format!("{plain}{require}")).unwrap();
    let (refused, code) = run(&place, "r");
    assert_eq!(code, 8, "{refused}");
    let told = message(&refused);
    assert!(
        told.contains("`t/kit` is signed by too few: it needs signatures of 2 of the keys `one`"),
        "{told}"
    );
    assert!(told.contains("and has that of `one`"), "{told}");
    sign(&place, "kit", &["--key", "two", "--add"]);
    assert_eq!(run(&place, "r").1, 6);
    let verified = place.run(&["verify", ".ai/tools/t/kit.wasm"]);
    assert_eq!(verified.code, 0, "{}", verified.shown());
    // A key and its successor count as one.
    ok(&place.run(&["keys", "rotate", "two", "two-new"]));
    ok(&place.run(&["trust", "rotate", "home/keys/two-new.rotation.json", "--name", "two-new"]));
    assert!(std::fs::read_to_string(&store).unwrap().contains("require:"), "an edit keeps what is required");
    sign(&place, "kit", &["--key", "two"]);
    sign(&place, "kit", &["--key", "two-new", "--add"]);
    let (refused, code) = run(&place, "s");
    assert_eq!(code, 8, "{refused}");
    sign(&place, "kit", &["--key", "one", "--add"]);
    assert_eq!(run(&place, "s").1, 6);
    let (listed, _) = place.json(&["trust", "list"]);
    assert_eq!(listed["require"][0]["threshold"], 2, "{listed}");
    // After a revocation of one of the two, there are too few again: also for suspended runs.
    ok(&place.run(&["trust", "revoke", "one"]));
    let (refused, code) = place.json(&["resume", "s", "--answer", "yes"]);
    assert_eq!(code, 8, "{refused}");
    assert!(message(&refused).contains("is revoked"), "{refused}");
}

#[test]
fn a_requirement_that_cannot_be_met_is_told_with_its_place() {
    let place = signed();
    trust(&place, "one", &[]);
    let store = place.path("home/trust.yaml");
    let plain = std::fs::read_to_string(&store).unwrap();
    let lines = plain.lines().count();
    let require = "require:\n  - items: [\"t/*\"]\n    threshold: 3\n    keys: [one, onne, one]\n  - items: []\n    threshold: 0\n    keys: one\n    sometimes: 1\n  - { items: [\"x/*\"], threshold: 2, keys: [one] }\n";
    std::fs::write(&store, format!("{plain}    succeeds: nobody\n{require}")).unwrap();
    let ran = place.run(&["trust", "list"]);
    assert_eq!(ran.code, 3, "{}", ran.shown());
    let told = ran.stderr.replace("[folder]/", "");
    insta::assert_snapshot!(told.replace(&format!("{}:", lines + 1), "N+1:"));
}

#[test]
fn a_key_is_followed_by_another_one() {
    let place = signed();
    trust(&place, "one", &[]);
    ok(&place.run(&["keys", "rotate", "one", "next"]));
    let statement = "home/keys/next.rotation.json";
    ok(&place.run(&["trust", "rotate", statement, "--until", "2020-01-01T00:00:00Z"]));
    let (listed, _) = place.json(&["trust", "list"]);
    let keys = listed["keys"].as_array().unwrap();
    let of = |name: &str| keys.iter().find(|key| key["name"] == name).unwrap_or_else(|| panic!("{listed}"));
    assert_eq!((&of("one")["standing"], &of("one-2")["standing"]), (&json!("expired"), &json!("valid")));
    assert_eq!((&of("one-2")["succeeds"], &of("one-2")["items"]), (&json!("one"), &json!(["t/*"])));
    assert_eq!(run(&place, "r").1, 8, "what the old key signed does not count any more");
    sign(&place, "kit", &["--key", "next"]);
    assert_eq!(run(&place, "r").1, 6);
    // The same statement again, and one of a key that is not trusted: its successor is not accepted.
    let again = place.run(&["trust", "rotate", statement]);
    assert_eq!(again.code, 8, "{}", again.shown());
    let text = std::fs::read_to_string(place.path(statement)).unwrap();
    place.write("forged.json", &text.replacen("\"at\":\"20", "\"at\":\"21", 1));
    place.write("other.json", "{\n  \"type\": \"x\",\n  oops\n}");
    let stranger = {
        ok(&place.run(&["keys", "rotate", "two", "three"]));
        "home/keys/three.rotation.json"
    };
    let refused: [(&[&str], i32, &str); 5] = [
        (&["trust", "rotate", "forged.json"], 8, "does not hold"),
        (&["trust", "rotate", "other.json"], 3, "line 3"),
        (&["trust", "rotate", stranger], 9, "the trust store has no key"),
        (&["trust", "rotate", "nothing.json"], 9, "does not exist"),
        (&["keys", "rotate", "two", "three"], 2, "there is a key `three` already"),
    ];
    for (args, exit, text) in refused {
        let (document, code) = place.json(args);
        assert!(code == exit && message(&document).contains(text), "{args:?}: {code} {document}");
    }
}

#[test]
fn the_host_has_another_identity_and_its_old_runs_stay() {
    let place = signed();
    trust(&place, "one", &[]);
    for id in ["a", "b"] {
        assert_eq!(run(&place, id).1, 6);
    }
    let (rotated, code) = place.json(&["keys", "rotate-host"]);
    assert_eq!(code, 0, "{rotated}");
    let (went_on, code) = place.json(&["resume", "a", "--answer", "yes"]);
    assert_eq!(code, 0, "{went_on}");
    let (verified, _) = place.json(&["runs", "verify", "a"]);
    assert_eq!(verified["key_id"], rotated["old_id"]);
    assert_eq!(run(&place, "c").1, 6);
    assert_eq!(place.json(&["runs", "verify", "c"]).0["key_id"], rotated["id"]);
    // With its private half gone, a run can be verified and shown, and not continued.
    std::fs::remove_dir_all(place.path("home/identities")).unwrap();
    assert_eq!(place.json(&["runs", "verify", "b"]).1, 8, "nobody knows the old key any more");
    // Nor is the owner of the state folder known, until its user adopts it.
    assert_eq!(place.json(&["resume", "c", "--answer", "yes"]).1, 8);
    assert_eq!(place.json(&["runs", "adopt"]).1, 0);
    let (second, _) = place.json(&["keys", "rotate-host", "--destroy"]);
    assert_eq!((&second["old_id"], &second["destroyed"]), (&rotated["id"], &json!(true)));
    assert_eq!(place.json(&["runs", "verify", "c"]).1, 0);
    assert_eq!(place.json(&["runs", "show", "c"]).1, 0);
    let (refused, code) = place.json(&["resume", "c", "--answer", "yes"]);
    assert_eq!(code, 8, "{refused}");
    assert!(message(&refused).contains("has destroyed its key"), "{refused}");
}

#[test]
fn what_was_accepted_is_logged_and_an_edited_log_is_noticed() {
    let place = signed();
    trust(&place, "one", &[]);
    for id in ["a", "b"] {
        assert_eq!(run(&place, id).1, 6);
    }
    ok(&place.run(&["trust", "add", "two", "--key", "two", "--items", "t/*"]));
    sign(&place, "kit", &["--key", "two"]);
    assert_eq!(run(&place, "c").1, 6);
    ok(&place.run(&["trust", "revoke", "one"]));
    let (log, code) = place.json(&["trust", "log"]);
    assert_eq!(code, 0, "{log}");
    let told: Vec<_> = log["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| format!("{} {}", entry["event"].as_str().unwrap(), entry["item"].as_str().unwrap()))
        .collect();
    let expected = [
        "key_added steady",
        "key_added one",
        "accepted t/ask@1.0.0",
        "accepted t/kit@1.0.0",
        "key_added two",
        "accepted t/kit@1.0.0",
        "key_revoked one",
    ];
    assert_eq!(told, expected);
    let entries = &log["entries"];
    assert_eq!(entries[3]["digest"], entries[5]["digest"]);
    assert_ne!(entries[3]["key_ids"], entries[5]["key_ids"]);
    assert!(entries[3]["statement"].as_str().unwrap().starts_with("sha256:"), "{log}");
    let verified = place.run(&["trust", "log", "--verify"]);
    assert_eq!(verified.stdout, "✓ home/trust.log is intact: 7 lines\n", "{}", verified.shown());

    let file = place.path("home/trust.log");
    let whole = std::fs::read_to_string(&file).unwrap();
    let without = |line: usize| {
        let kept = whole.lines().enumerate().filter(|(at, _)| *at != line);
        kept.fold(String::new(), |text, (_, line)| text + line + "\n")
    };
    let edits = [
        (whole.replacen("t/kit@1.0.0", "t/kit@2.0.0", 1), "line 4"),
        (without(2), "line 3"),
        (without(6), "its end was cut off"),
        (whole.replace("\"key_revoked\"", "\"key_added\""), "line 7"),
    ];
    for (edited, told) in edits {
        std::fs::write(&file, edited).unwrap();
        let (refused, code) = place.json(&["trust", "log", "--verify"]);
        assert_eq!((code, &refused["error"]["code"]), (8, &json!("integrity")), "{refused}");
        assert!(message(&refused).contains(told), "{refused}");
        ok(&place.run(&["keys", "generate", "more", "--force"]));
        assert_eq!(place.json(&["trust", "add", "more", "--key", "more", "--items", "x/*"]).1, 8);
        assert!(
            !place.run(&["trust", "list"]).stdout.contains("more"),
            "what cannot be written down is not done"
        );
    }
    std::fs::write(&file, whole).unwrap();
    assert_eq!(place.run(&["trust", "log", "--verify"]).code, 0);
}

/// Runs a command at a terminal and types one line; returns the exit code and the output.
fn typed(place: &Place, args: &[&str], line: &str) -> (i32, String) {
    let script = "import os, pty, sys\n\
        child, terminal = pty.fork()\n\
        if child == 0: os.execv(sys.argv[2], sys.argv[2:])\n\
        os.write(terminal, (sys.argv[1] + '\\n').encode())\n\
        shown = b''\n\
        try:\n    \
            while part := os.read(terminal, 4096): shown += part\n\
        except OSError: pass\n\
        print(shown.decode())\n\
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))";
    let plain = place.command(args);
    let mut command = std::process::Command::new("python3");
    command.args(["-c", script, line]).arg(plain.get_program()).args(plain.get_args());
    command
        .current_dir(place.path(""))
        .envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.output().unwrap();
    (output.status.code().unwrap(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_revocation_asks_about_the_keys_that_follow() {
    let place = signed();
    trust(&place, "one", &[]);
    for (old, new) in [("one", "next"), ("next", "last")] {
        ok(&place.run(&["keys", "rotate", old, new]));
        let statement = format!("home/keys/{new}.rotation.json");
        ok(&place.run(&["trust", "rotate", &statement, "--name", new]));
    }
    let standing = |name: &str| {
        let (listed, _) = place.json(&["trust", "list"]);
        let keys = listed["keys"].as_array().unwrap();
        keys.iter().find(|key| key["name"] == name).unwrap_or_else(|| panic!("{listed}"))["standing"].clone()
    };
    let standings = || ["one", "next", "last"].map(standing);
    let (refused, code) = place.json(&["trust", "revoke", "one"]);
    assert_eq!(code, 2, "{refused}");
    assert!(message(&refused).contains("`next` (") && message(&refused).contains("`last` ("), "{refused}");
    let help = refused["error"]["help"].as_str().unwrap();
    for typed in ["trust revoke one --with-successors", "trust revoke one --yes"] {
        assert!(help.contains(typed), "{refused}");
    }
    assert_eq!(standings(), ["valid"; 3]);
    let (code, shown) = typed(&place, &["trust", "revoke", "one"], "");
    assert_eq!((code, standings()), (2, ["valid"; 3].map(Value::from)), "{shown}");
    assert!(shown.contains("Revoke them too?"), "{shown}");
    let (code, shown) = typed(&place, &["trust", "revoke", "one"], "no");
    assert_eq!((code, standings()), (0, ["revoked", "valid", "valid"].map(Value::from)), "{shown}");
    assert!(shown.contains("still trusted, on the word of the revoked key"), "{shown}");
    let (kept, _) = place.json(&["trust", "revoke", "one", "--yes"]);
    assert_eq!(kept["successors_kept"].as_array().map(Vec::len), Some(2), "{kept}");
    let (revoked, code) = place.json(&["trust", "revoke", "next", "--with-successors"]);
    assert_eq!((code, &revoked["successors_revoked"][0]["name"]), (0, &json!("last")), "{revoked}");
    assert_eq!(standings(), ["revoked"; 3]);
    let (log, _) = place.json(&["trust", "log"]);
    let revoked = log["entries"].as_array().unwrap().iter().filter(|entry| entry["event"] == "key_revoked");
    let names: Vec<_> = revoked.map(|entry| entry["item"].as_str().unwrap()).collect();
    assert_eq!(names, ["one", "last", "next"], "{log}");
    // No key is left to ask about.
    ok(&place.run(&["trust", "revoke", "one", "--since", "2026-01-02"]));
}

#[test]
fn a_log_that_a_kill_left_without_its_head_is_repaired() {
    let place = signed();
    let head = place.path("home/trust.log.head");
    // `trust add steady` was the first command: this is the state after a kill before the head was written.
    std::fs::remove_file(&head).unwrap();
    let before = place.read("home/trust.log");
    for args in [&["trust", "add", "one", "--key", "one", "--items", "t/*"][..], &["trust", "log"]] {
        let (refused, code) = place.json(args);
        assert_eq!(code, 8, "{refused}");
        assert!(refused["error"]["help"].as_str().unwrap().contains("graph-host trust repair"), "{refused}");
    }
    let (repaired, code) = place.json(&["trust", "repair"]);
    assert_eq!((code, &repaired["repaired"], &repaired["lines"]), (0, &json!(true), &json!(1)), "{repaired}");
    assert!(place.read("home/trust.log").starts_with(&before));
    let (log, _) = place.json(&["trust", "log"]);
    assert_eq!(log["entries"][1]["event"], "head_restored", "{log}");
    trust(&place, "one", &[]);
    assert_eq!(run(&place, "r").1, 6);
    let again = place.run(&["trust", "repair"]);
    assert!(again.code == 0 && again.stdout.contains("there is nothing to repair"), "{}", again.shown());
    // A repair does not avoid the check: missing or changed lines are still detected.
    let whole = place.read("home/trust.log");
    let cut: String = whole.lines().take(2).flat_map(|line| [line, "\n"]).collect();
    for damaged in [cut, whole.replacen("\"steady\"", "\"stesdy\"", 1)] {
        place.write("home/trust.log", &damaged);
        let (refused, code) = place.json(&["trust", "repair"]);
        assert_eq!(code, 8, "{refused}");
        assert_eq!(place.read("home/trust.log"), damaged);
    }
    place.write("home/trust.log", &whole);
    std::fs::remove_file(&head).unwrap();
    let (refused, code) = place.json(&["trust", "repair"]);
    assert_eq!(code, 8, "{refused}");
    assert!(message(&refused).contains("more lines than one command writes") && !head.exists(), "{refused}");
}

#[test]
fn what_a_killed_process_left_is_removed_by_the_next_command() {
    let place = signed();
    let left = |folder: &str| place.path(&format!("home{folder}/.graph-host-aBcDe1.tmp"));
    std::fs::create_dir_all(place.path("home/identities")).unwrap();
    for folder in ["", "/keys", "/identities"] {
        std::fs::write(left(folder), "-----BEGIN PRIVATE KEY-----").unwrap();
    }
    let other = place.path("home/keys/.graph-host-notes.tmp.txt");
    std::fs::write(&other, "mine").unwrap();
    std::fs::remove_file(place.path("home/keys/one.pub.pem")).unwrap();
    ok(&place.run(&["keys", "list"]));
    for folder in ["", "/keys", "/identities"] {
        assert!(!left(folder).exists(), "{folder}");
    }
    assert!(other.exists());
    assert!(place.read("home/keys/one.pub.pem").contains("PUBLIC KEY"), "computed from the private half");
}
