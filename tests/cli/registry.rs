//! Publishes and pulls through image-layout directories.

use serde_json::{Value, json};

use crate::place::{Place, Ran};
use crate::server::{Answer, Server};

const FLOW: &str = "start: a\nnodes:\n  a: { action: { item_id: t/kit, params: { op: echo, value: 1 } }, assign: { said: \"${result}\" } }";

fn ok(ran: &Ran) {
    assert_eq!(ran.code, 0, "{}", ran.shown());
}

/// Makes `t/kit` 1.0.0, `t/flow` 1.0.0 and `t/note` 2.0.0, signed with `me`, and a project elsewhere.
fn signed() -> Place {
    let place = Place::with_compiled_testkit();
    ok(&place.run(&["keys", "generate", "me"]));
    ok(&place.run(&["trust", "add", "me", "--key", "me", "--items", "t/*"]));
    std::fs::create_dir_all(place.path(".ai/knowledge/t")).unwrap();
    std::fs::create_dir_all(place.path("other/.ai")).unwrap();
    place.write("other/caps.yaml", "dispatch: ['execute.tool.t.*', 'load.knowledge.t.*']\n");
    place.graph(".ai/tools/t/flow.yaml", FLOW);
    place.write(".ai/knowledge/t/note.md", "---\ntitle: A note\nversion: 2.0.0\n---\nText.\n");
    sign(&place, "1.0.0");
    for text in [".ai/tools/t/flow.yaml", ".ai/knowledge/t/note.md"] {
        ok(&place.run(&["sign", text, "--key", "me", "--time", "2026-01-01"]));
    }
    place
}

fn sign(place: &Place, version: &str) {
    ok(&place.run(&["sign", ".ai/tools/t/kit.wasm", "--key", "me", "--version", version]));
}

/// Runs a command in the other project.
fn there(place: &Place, args: &[&str]) -> Ran {
    let output = place.command(args).current_dir(place.path("other")).output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn there_json(place: &Place, args: &[&str]) -> (Value, i32) {
    let ran = there(place, &[args, &["--json"]].concat());
    (serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}\n{}", ran.shown())), ran.code)
}

fn message(document: &Value) -> &str {
    document["error"]["message"].as_str().unwrap_or_else(|| panic!("{document}"))
}

#[test]
fn a_graph_is_published_with_its_items_and_runs_elsewhere() {
    let place = signed();
    let published = place.json(&["publish", "t/flow", "t/note", "--with-items", "oci-layout:out"]).0;
    let ids: Vec<_> = published["published"].as_array().unwrap().iter().map(|it| it["id"].clone()).collect();
    assert_eq!(ids, [json!("t/kit"), json!("t/flow"), json!("t/note")], "{published}");
    let again = place.json(&["publish", "t/flow", "--with-items", "oci-layout:out"]).0;
    for (one, other) in
        again["published"].as_array().unwrap().iter().zip(published["published"].as_array().unwrap())
    {
        assert_eq!(one["was_there"], true, "the same thing twice is the same bytes: {again}");
        assert_eq!(one["manifest"], other["manifest"]);
    }

    let (pulled, code) =
        there_json(&place, &["pull", "oci-layout:../out:t/flow:1.0.0", "oci-layout:../out:t/note:2.0.0"]);
    assert_eq!(code, 0, "{pulled}");
    let kinds: Vec<_> = pulled["pulled"].as_array().unwrap().iter().map(|it| it["kind"].clone()).collect();
    assert_eq!(kinds, [json!("graph"), json!("component"), json!("knowledge")]);
    for file in ["tools/t/flow.yaml", "tools/t/kit.wasm", "tools/t/kit.wasm.dsse.json", "knowledge/t/note.md"]
    {
        assert!(place.path("home/installed").join(file).is_file(), "{file}");
    }
    let same = |one: &str, other: &str| {
        assert_eq!(std::fs::read(place.path(one)).unwrap(), std::fs::read(place.path(other)).unwrap());
    };
    same(".ai/tools/t/kit.wasm", "home/installed/tools/t/kit.wasm");
    same(".ai/tools/t/flow.yaml", "home/installed/tools/t/flow.yaml");
    let (ran, code) = there_json(&place, &["run", "t/flow", "--caps", "caps.yaml"]);
    assert_eq!((code, &ran["output"]["said"]), (0, &json!(1)), "{ran}");

    // A pull restores from the lockfile alone; a second one has nothing to do.
    std::fs::remove_dir_all(place.path("home/installed")).unwrap();
    let (restored, code) = there_json(&place, &["pull"]);
    assert_eq!((code, restored["pulled"].as_array().map(Vec::len)), (0, Some(3)), "{restored}");
    let (again, _) = there_json(&place, &["pull"]);
    assert!(again["pulled"].as_array().unwrap().iter().all(|it| it["was_there"] == true), "{again}");
    assert_eq!(there(&place, &["run", "t/flow", "--caps", "caps.yaml"]).code, 0);
    let (checked, code) = there_json(&place, &["lock", "--check"]);
    assert_eq!((code, &checked["holds"]), (0, &json!(true)), "{checked}");
}

#[test]
fn what_is_said_about_publishing_and_pulling() {
    let place = signed();
    let mut shown = Vec::new();
    let mut say = |ran: Ran| shown.push(ran.shown());
    say(place.run(&["publish", "t/kit", "t/note", "oci-layout:out"]));
    say(place.run(&["publish", "t/kit", "oci-layout:out"]));
    say(place.run(&["search", "oci-layout:out"]));
    say(place.run(&["search", "oci-layout:out", "a note"]));
    say(place.run(&["pull", "oci-layout:out:t/kit:1.0.0"]));
    say(place.run(&["lock", "oci-layout:out:t/note:2.0.0"]));
    say(place.run(&["lock", "--check"]));
    // Missing artifacts, and invalid references.
    say(place.run(&["pull", "oci-layout:out:t/kit:9.0.0"]));
    say(place.run(&["pull", "oci-layout:nowhere:t/kit:1.0.0"]));
    say(place.run(&["pull", "oci-layout:out"]));
    say(place.run(&["pull", "oci://registry.example/../x:1"]));
    say(place.run(&["pull", "docker://registry.example/x:1"]));
    say(place.run(&["publish", "t/kit", "t/note", "oci-layout:out:one"]));
    say(place.run(&["publish", "t/kit"]));
    say(place.run(&["publish", "t/kit", "oci-layout:out:t/kit:3.0.0"]));
    say(place.run(&["publish", "t/nothing", "oci-layout:out"]));
    say(place.run(&["publish", "caps.yaml", "oci-layout:.ai"]));
    say(place.run(&["search", "oci-layout:nowhere"]));
    place.write("graph-host.lock", "version: 1\ntools: { x: { kind: graph, reference: nowhere } }\n");
    say(place.run(&["pull"]));
    insta::assert_snapshot!(digests(&shown.join("\n")));
}

/// Replaces digests and key ids, which differ from key to key.
fn digests(text: &str) -> String {
    let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(is_hex) {
        let length = rest[at..].find(|c| !is_hex(c)).unwrap_or(rest.len() - at);
        shown += &rest[..at];
        shown += if length == 64 || length == 12 { "[hex]" } else { &rest[at..at + length] };
        rest = &rest[at + length..];
    }
    shown + rest
}

#[test]
fn what_is_unsigned_or_changed_is_not_published() {
    let place = signed();
    let refused = |args: &[&str], exit: i32, told: &str| {
        let (document, code) = place.json(&[&["publish"], args].concat());
        assert_eq!(code, exit, "{document}");
        assert!(message(&document).contains(told), "{document}");
    };
    std::fs::rename(place.path(".ai/tools/t/kit.wasm.dsse.json"), place.path("kept")).unwrap();
    refused(&["t/kit", "oci-layout:out"], 8, "is not signed");
    refused(&["t/flow", "--with-items", "oci-layout:out"], 8, "is not signed");
    assert!(!place.path("out").exists(), "all is checked before anything is published");
    std::fs::rename(place.path("kept"), place.path(".ai/tools/t/kit.wasm.dsse.json")).unwrap();
    place.write(".ai/knowledge/t/note.md", &(place.read(".ai/knowledge/t/note.md") + "More.\n"));
    refused(&["t/note", "oci-layout:out"], 8, "was changed after it was signed");
    place.write(".ai/knowledge/t/plain.md", "# Plain\n");
    refused(&[".ai/knowledge/t/plain.md", "oci-layout:out"], 8, "is not signed");
    ok(&place.run(&["sign", ".ai/knowledge/t/plain.md", "--key", "me"]));
    refused(&["t/plain", "oci-layout:out"], 2, "does not say its version");
    ok(&place.run(&["publish", "t/plain", "--version", "0.1.0", "oci-layout:out"]));
    ok(&place.run(&["trust", "revoke", "me"]));
    refused(&["t/kit", "oci-layout:out"], 8, "is revoked");
    refused(&["t/flow", "oci-layout:out"], 8, "is revoked");
}

#[test]
fn a_version_keeps_what_it_names_unless_it_is_forced() {
    let place = signed();
    ok(&place.run(&["publish", "t/kit", "oci-layout:out"]));
    ok(&place.run(&["publish", "t/kit", "oci-layout:out:t/kit:latest"]));
    ok(&there(&place, &["pull", "oci-layout:../out:t/kit:1.0.0"]));
    // Other bytes of the same version: another time makes another manifest.
    let other = |args: &[&str]| place.command(args).env("SOURCE_DATE_EPOCH", "86400").output().unwrap();
    let refused = other(&["publish", "t/kit", "oci-layout:out"]);
    assert_eq!(refused.status.code(), Some(8), "{}", String::from_utf8_lossy(&refused.stderr));
    assert!(
        other(&["publish", "t/kit", "oci-layout:out:t/kit:latest"]).status.success(),
        "any other tag may move"
    );
    assert!(other(&["publish", "t/kit", "oci-layout:out", "--force"]).status.success());

    // A user who has locked it is warned, with both digests.
    let lock = std::fs::read_to_string(place.path("other/graph-host.lock")).unwrap();
    let (moved, code) = there_json(&place, &["pull", "oci-layout:../out:t/kit:1.0.0"]);
    assert_eq!(code, 8, "{moved}");
    assert!(message(&moved).contains("has moved since `t/kit` was locked: it was sha256:"), "{moved}");
    assert_eq!(there(&place, &["lock", "--check"]).code, 8);
    assert_eq!(there(&place, &["lock"]).code, 8, "not even a lock takes it over by itself");
    assert_eq!(std::fs::read_to_string(place.path("other/graph-host.lock")).unwrap(), lock);
    ok(&there(&place, &["pull"]));
    ok(&there(&place, &["lock", "--accept-moved"]));
    assert_ne!(std::fs::read_to_string(place.path("other/graph-host.lock")).unwrap(), lock);
    // The lock names the new item: the installed one is still the other.
    assert_eq!(there(&place, &["lock", "--check"]).code, 8);
}

#[test]
fn a_step_back_is_refused_unless_it_is_meant() {
    let place = signed();
    ok(&place.run(&["publish", "t/kit", "oci-layout:out"]));
    sign(&place, "1.1.0");
    ok(&place.run(&["publish", "t/kit", "oci-layout:out"]));
    let pull = |version: &str, more: &[&str]| {
        let reference = format!("oci-layout:../out:t/kit:{version}");
        there_json(&place, &[&["pull", reference.as_str()], more].concat())
    };
    assert_eq!(pull("1.0.0", &[]).1, 0);
    assert_eq!(pull("1.1.0", &[]).1, 0);
    let (refused, code) = pull("1.0.0", &[]);
    assert_eq!(code, 8, "{refused}");
    assert!(message(&refused).contains("1.0.0, and 1.1.0 is locked: that would be a step back"), "{refused}");
    // This project has locked nothing, and the newer version is installed.
    std::fs::remove_file(place.path("other/graph-host.lock")).unwrap();
    let (refused, code) = pull("1.0.0", &["--no-lock"]);
    assert_eq!(code, 8, "{refused}");
    assert!(message(&refused).contains("1.1.0 is installed"), "{refused}");
    assert!(!place.path("other/graph-host.lock").exists());
    assert_eq!(pull("1.0.0", &["--allow-downgrade"]).1, 0);
    assert!(place.read("other/graph-host.lock").contains("version: \"1.0.0\""));
}

#[test]
fn a_range_selects_the_greatest_version_and_is_locked_by_digest() {
    let place = signed();
    for version in ["1.0.0", "1.2.0", "1.10.0", "2.0.0"] {
        sign(&place, version);
        ok(&place.run(&["publish", "t/kit", "oci-layout:out"]));
    }
    let locked = |range: &str| {
        let (document, code) = there_json(&place, &["lock", range]);
        assert_eq!(code, 0, "{document}");
        (document["locked"][0]["version"].clone(), document["locked"][0]["reference"].clone())
    };
    let (version, reference) = locked("oci-layout:../out:t/kit@~1.2");
    assert_eq!((version, reference), (json!("1.2.0"), json!("oci-layout:../out:t/kit:1.2.0")));
    let lock = place.read("other/graph-host.lock");
    assert!(lock.contains("version: \"1.2.0\"") && lock.contains("manifest: \"sha256:"), "{lock}");
    // A locked item is found by its id.
    assert_eq!(locked("t/kit@^1").0, "1.10.0");
    let (pulled, code) = there_json(&place, &["pull", "t/kit@>=1, <3"]);
    assert_eq!((code, &pulled["pulled"][0]["version"]), (0, &json!("2.0.0")), "{pulled}");

    let refused = |args: &[&str], exit: i32, part: &str| {
        let (document, code) = there_json(&place, args);
        assert_eq!(code, exit, "{document}");
        assert!(message(&document).contains(part), "{part}: {document}");
    };
    refused(&["lock", "t/kit@^3"], 9, "satisfies `^3`: the nearest are 1.2.0, 1.10.0, 2.0.0");
    refused(&["lock", "t/kit@^1.x2"], 2, "(column 5)");
    refused(&["lock", "t/kit@^1"], 8, "that would be a step back");
    refused(&["lock", "t/other@^1"], 9, "`t/other` is not locked");
    refused(&["lock", "oci-layout:../out:t/kit:1.0.0@^1"], 2, "one of them is enough");
    assert_eq!(there(&place, &["lock", "--check"]).code, 0);
}

#[test]
fn what_was_pulled_runs_signed_or_not_at_all() {
    let place = signed();
    ok(&place.run(&["publish", "t/flow", "t/note", "--with-items", "oci-layout:out"]));
    ok(&there(&place, &["pull", "oci-layout:../out:t/flow:1.0.0", "oci-layout:../out:t/note:2.0.0"]));
    ok(&there(&place, &["pull", "oci-layout:../out:t/kit:1.0.0", "--into", "vendored"]));
    let run = ["run", "t/flow", "--caps", "caps.yaml", "--allow-unsigned"];
    assert_eq!(there(&place, &run).code, 0);
    let refused = |args: &[&str], what: &str| {
        let (document, code) = there_json(&place, args);
        assert_eq!(code, 8, "{document}");
        let told = format!("{document}");
        assert!(
            told.contains(what) && told.contains("was pulled") && told.contains("is not signed"),
            "{told}"
        );
    };
    // The component, in the installed space and elsewhere; with its record of origin and, if all items of the folder
    // were pulled, without.
    std::fs::remove_file(place.path("home/installed/tools/t/kit.wasm.dsse.json")).unwrap();
    refused(&run, "kit.wasm");
    std::fs::remove_file(place.path("home/installed/tools/t/kit.wasm.origin.json")).unwrap();
    refused(&run, "kit.wasm");
    std::fs::remove_file(place.path("other/vendored/tools/t/kit.wasm.dsse.json")).unwrap();
    refused(&[&run[..], &["--items", "vendored"]].concat(), "kit.wasm");
    // The graph and the text, without their signature lines.
    ok(&there(&place, &["pull"]));
    assert_eq!(there(&place, &run).code, 0, "pulling again mends it");
    for (file, args) in [
        ("tools/t/flow.yaml", &run[..]),
        ("knowledge/t/note.md", &["run", "reads.yaml", "--caps", "caps.yaml", "--allow-unsigned"]),
    ] {
        place.graph(
            "other/reads.yaml",
            "start: a\nnodes: { a: { action: { primary: load, item_type: knowledge, item_id: t/note } } }",
        );
        assert_eq!(there(&place, args).code, 0);
        let path = place.path("home/installed").join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, graph_core::trust::unsigned_text(&text)).unwrap();
        refused(args, file.rsplit('/').next().unwrap());
    }
}

#[test]
fn what_the_user_put_there_is_left_alone() {
    let place = signed();
    ok(&place.run(&["publish", "t/kit", "oci-layout:out"]));
    let before = std::fs::read(place.path(".ai/tools/t/kit.wasm")).unwrap();
    let (refused, code) = place.json(&["pull", "oci-layout:out:t/kit:1.0.0", "--into", ".ai"]);
    assert_eq!(code, 4, "{refused}");
    assert!(message(&refused).contains("was not pulled: it is left alone"), "{refused}");
    assert_eq!(std::fs::read(place.path(".ai/tools/t/kit.wasm")).unwrap(), before);
    assert!(!place.path("graph-host.lock").exists());
    #[cfg(unix)]
    {
        std::fs::create_dir_all(place.path("vendored")).unwrap();
        std::fs::create_dir_all(place.path("elsewhere")).unwrap();
        std::os::unix::fs::symlink(place.path("elsewhere"), place.path("vendored/tools")).unwrap();
        let (refused, code) = place.json(&["pull", "oci-layout:out:t/kit:1.0.0", "--into", "vendored"]);
        assert_eq!(code, 4, "{refused}");
        assert!(message(&refused).contains("a link leads from"), "{refused}");
        let left: Vec<_> = std::fs::read_dir(place.path("elsewhere/t")).into_iter().flatten().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn a_reference_can_be_run_checked_drawn_and_looked_at() {
    let place = signed();
    ok(&place.run(&["publish", "t/flow", "t/note", "--with-items", "oci-layout:out"]));
    let flow = "oci-layout:../out:t/flow:1.0.0";
    let (ran, code) = there_json(&place, &["run", flow, "--caps", "caps.yaml", "--run-id", "r"]);
    assert_eq!((code, &ran["output"]["said"], &ran["graph"]), (0, &json!(1), &json!("t/flow")), "{ran}");
    assert!(!place.path("home/installed").exists(), "nothing is installed by that");
    assert!(!place.path("other/graph-host.lock").exists());
    let (replayed, code) = there_json(&place, &["replay", "r"]);
    assert_eq!(code, 0, "{replayed}");
    assert_eq!(there(&place, &["validate", flow, "oci-layout:../out:t/note:2.0.0"]).code, 0);
    let drawn = there(&place, &["graph", "show", flow]);
    assert!(drawn.code == 0 && drawn.stdout.contains("t/kit"), "{}", drawn.shown());
    for (name, id) in [("t/flow:1.0.0", "t/flow"), ("t/kit:1.0.0", "t/kit"), ("t/note:2.0.0", "t/note")] {
        let (shown, code) = there_json(&place, &["inspect", &format!("oci-layout:../out:{name}")]);
        assert_eq!((code, &shown["id"]), (0, &json!(id)), "{shown}");
    }
    let suggested = there(&place, &["caps", "suggest", flow]);
    assert!(suggested.code == 0 && suggested.stdout.contains("execute.tool.t.kit"), "{}", suggested.shown());

    // By digest it is used without a request; the stored files are checked all the same.
    let digest =
        place.json(&["publish", "t/flow", "--with-items", "oci-layout:out"]).0["published"][1]["manifest"]
            .clone();
    let digest = digest.as_str().unwrap();
    std::fs::rename(place.path("out"), place.path("away")).unwrap();
    assert_eq!(there(&place, &["run", flow, "--caps", "caps.yaml"]).code, 9);
    let pinned = format!("oci-layout:../out@{digest}");
    let run = ["run", pinned.as_str(), "--caps", "caps.yaml", "--allow-unsigned"];
    assert_eq!(there(&place, &run).code, 0);
    let kept = format!("home/pulled/{}/.ai/tools/t/kit.wasm.dsse.json", &digest["sha256:".len()..]);
    std::fs::remove_file(place.path(&kept)).unwrap();
    let (refused, code) = there_json(&place, &run);
    assert_eq!(code, 8, "{refused}");
    assert!(message(&refused).contains("was pulled"), "{refused}");
}

#[test]
fn what_another_project_has_installed_since_is_not_used_in_place_of_what_is_locked() {
    let place = signed();
    ok(&place.run(&["publish", "t/flow", "--with-items", "oci-layout:out"]));
    ok(&there(&place, &["pull", "oci-layout:../out:t/flow:1.0.0"]));
    let run = ["run", "t/flow", "--caps", "caps.yaml"];
    assert_eq!(there(&place, &run).code, 0);
    // Another version, and other bytes: a custom section changes nothing else.
    let component = place.path(".ai/tools/t/kit.wasm");
    let mut bytes = std::fs::read(&component).unwrap();
    bytes.extend([0, 2, 1, b'x']);
    std::fs::write(&component, bytes).unwrap();
    sign(&place, "1.1.0");
    ok(&place.run(&["publish", "t/kit", "oci-layout:out"]));
    ok(&place.run(&["pull", "oci-layout:out:t/kit:1.1.0"]));
    let (refused, code) = there_json(&place, &run);
    assert_eq!(code, 8, "{refused}");
    assert!(message(&refused).contains("locked is version 1.0.0"), "{refused}");
    assert_eq!(there(&place, &["lock", "--check"]).code, 8);
    assert_eq!(there(&place, &["pull"]).code, 8, "not a step back, unless it is meant");
    ok(&there(&place, &["pull", "--allow-downgrade"]));
    assert_eq!(there(&place, &run).code, 0);
    ok(&there(&place, &["lock", "--check"]));
}

#[test]
fn a_registry_is_believed_with_a_certificate_of_its_own_name_alone() {
    let certificates: [(&str, &[u8], Option<&str>); 4] = [
        ("good", include_bytes!("certificates/good.pem"), None),
        ("other", include_bytes!("certificates/other.pem"), Some("certificate not valid for name")),
        ("self", include_bytes!("certificates/self.pem"), Some("UnknownIssuer")),
        ("expired", include_bytes!("certificates/expired.pem"), Some("certificate expired")),
    ];
    let authority = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cli/certificates/ca.pem");
    let place = Place::new();
    for (name, pem, reason) in certificates {
        // A connection that began under TLS must not continue without it, not even to this machine.
        let told = "HTTP/1.1 401 Told\r\ncontent-length: 0\r\nwww-authenticate: Bearer realm=\"http://127.0.0.1:1/token\"\r\n\r\n";
        let server = Server::start_tls(pem, Answer::Bytes(told.as_bytes().to_vec()));
        let reference = format!("oci://localhost:{}/t/kit:1.0.0", server.port);
        let words = ["pull", &reference, "--plain-http=false", "--json"];
        let ended = place.command(&words).env("SSL_CERT_FILE", authority).output().unwrap();
        let document: Value = serde_json::from_slice(&ended.stdout).unwrap();
        let expected = reason.map_or((Some(8), 1), |_| (Some(10), 0));
        assert_eq!((ended.status.code(), server.heard().len()), expected, "{name}: {document}");
        let reason = reason.unwrap_or("refusing a redirect from https to http");
        assert!(message(&document).contains(reason), "{name}: {document}");
    }
}

#[test]
#[cfg(unix)]
fn a_credential_helper_has_the_time_of_the_command_and_its_failure_is_explained() {
    let place = signed();
    let told = "HTTP/1.1 401 Told\r\ncontent-length: 0\r\nwww-authenticate: Basic realm=\"x\"\r\nconnection: close\r\n\r\n";
    let server = Server::start(|_| Answer::Bytes(told.as_bytes().to_vec()));
    let reference = format!("oci://127.0.0.1:{}/t/kit:1.0.0", server.port);
    std::fs::create_dir_all(place.path("docker")).unwrap();
    std::fs::create_dir_all(place.path("bin")).unwrap();
    place.write("docker/config.json", "{\"credsStore\":\"test\"}");
    let path = format!("{}:{}", place.path("bin").display(), std::env::var("PATH").unwrap());
    let pull = |timeout: &str| {
        let words = ["pull", &reference, "--timeout", timeout, "--json"];
        let ended = place.command(&words).env("PATH", &path).output().unwrap();
        let text = String::from_utf8(ended.stdout).unwrap();
        (serde_json::from_str::<Value>(&text).unwrap(), ended.status.code().unwrap())
    };
    let (absent, code) = pull("1m");
    assert_eq!(code, 4, "{absent}");
    assert!(message(&absent).contains("`docker-credential-test` cannot be started"), "{absent}");
    assert!(absent["error"]["help"].as_str().unwrap().contains("install the helper"), "{absent}");

    for (script, timeout, exit, part) in [
        ("sleep 600", "5s", 124, "did not answer within 5 s and was stopped"),
        ("exec yes", "1m", 4, "it wrote more than 65536 bytes"),
        ("echo s3cret; echo is locked >&2; exit 1", "1m", 4, "failed (exit status: 1): is locked"),
        ("echo s3cret", "1m", 4, "something that is not JSON"),
    ] {
        // Written by another process: a file that is open for writing in this one cannot be executed.
        let write = "cat >bin/docker-credential-test; chmod +x bin/docker-credential-test";
        let mut shell = std::process::Command::new("sh")
            .args(["-c", write])
            .current_dir(place.path("."))
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = shell.stdin.take().unwrap();
        std::io::Write::write_all(&mut stdin, format!("#!/bin/sh\n{script}\n").as_bytes()).unwrap();
        drop(stdin);
        assert!(shell.wait().unwrap().success());
        let (document, code) = pull(timeout);
        assert_eq!(code, exit, "{script}: {document}");
        assert!(message(&document).contains("`docker-credential-test`"), "{script}: {document}");
        assert!(message(&document).contains(part), "{script}: {document}");
        assert!(!document.to_string().contains("s3cret"), "{document}");
    }
}

#[test]
fn a_lockfile_names_no_registry_of_this_machine_or_its_networks() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("other/.ai")).unwrap();
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let port = server.local_addr().unwrap().port();
    let locked = |host: &str| {
        let digest = "a".repeat(64);
        place.write(
            "other/graph-host.lock",
            &format!(
                "version: 1\ntools:\n  t/kit:\n    kind: component\n    reference: oci://{host}/t/kit:1.0.0\n    version: 1.0.0\n    \
                 manifest: sha256:{digest}\n    digest: sha256:{digest}\n    key: {digest}\n"
            ),
        );
    };
    let commands: [&[&str]; 5] =
        [&["pull"], &["lock"], &["lock", "--check"], &["pull", "t/kit@^1"], &["lock", "t/kit@^1"]];
    // All spellings of addresses, and all kinds of addresses.
    for host in [
        "127.0.0.1",
        "localhost",
        "kit.localhost",
        "127.1",
        "2130706433",
        "0x7f.1",
        "0",
        "10.0.0.1",
        "192.168.1.1",
        "172.31.0.1",
        "169.254.169.254",
        "2852039166",
        "100.100.100.200",
    ] {
        locked(&format!("{host}:{port}"));
        for args in commands {
            for more in [&[][..], &["--plain-http"], &["--plain-http=false"]] {
                let (refused, code) = there_json(&place, &[args, more].concat());
                assert_eq!(
                    (code, &refused["error"]["code"]),
                    (4, &json!("denied")),
                    "{host} {args:?} {refused}"
                );
                assert!(message(&refused).contains("a file names it, not you"), "{refused}");
                let help = refused["error"]["help"].as_str().unwrap();
                assert!(help.contains(&format!("graph-host search oci://{host}:{port}")), "{help}");
            }
        }
    }
    assert_eq!(server.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock, "nothing is contacted");
    // A registry that the user has named once, with this port, may be named by a file.
    locked(&format!("127.0.0.1:{port}"));
    let search = format!("oci://127.0.0.1:{port}");
    assert_ne!(place.run(&["search", &search, "--timeout", "1s"]).code, 4);
    assert!(server.accept().is_ok());
    let (asked, _) = there_json(&place, &["lock", "--check", "--timeout", "1s"]);
    assert!(!asked.to_string().contains("a file names it"), "{asked}");
    locked(&format!("127.0.0.1:{}", port ^ 1));
    assert_eq!(there(&place, &["lock", "--check"]).code, 4, "another port is another registry");
    locked(&format!("localhost:{port}"));
    assert_eq!(there(&place, &["lock", "--check"]).code, 4, "another name is another registry");
}
