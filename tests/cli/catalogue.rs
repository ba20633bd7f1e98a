//! Tests `graph-host registry index`: the contents of a catalogue, its refusals, and that its commands work as typed.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use graph_core::digest::Digest;
use serde_json::{Value, json};

use crate::place::{Place, Ran};
use crate::server::{Answer, Choice, Server};

const FLOW: &str = "start: a\nnodes:\n  a: { action: { item_id: t/kit, params: { op: echo, value: 1 } }, assign: { said: \"${result}\" } }";
const HOSTILE: &str =
    "</script><script>alert(1)</script>\u{202e}\u{e0041}\u{ad}\u{3164}<img src=x onerror=alert(1)>";

fn ok(ran: &Ran) {
    assert_eq!(ran.code, 0, "{}", ran.shown());
}

/// Publishes `t/kit` 1.0.0 and 1.1.0, `t/flow` 1.0.0 and `t/note` 2.0.0, signed with `me`, to `out`.
fn published() -> Place {
    let place = Place::with_compiled_testkit();
    ok(&place.run(&["keys", "generate", "me"]));
    ok(&place.run(&["trust", "add", "me", "--key", "me", "--items", "t/*"]));
    std::fs::create_dir_all(place.path(".ai/knowledge/t")).unwrap();
    std::fs::create_dir_all(place.path("other/.ai")).unwrap();
    place.graph(".ai/tools/t/flow.yaml", FLOW);
    place.write(".ai/knowledge/t/note.md", "---\ntitle: A note\nversion: 2.0.0\n---\nText.\n");
    for text in [".ai/tools/t/flow.yaml", ".ai/knowledge/t/note.md"] {
        ok(&place.run(&["sign", text, "--key", "me", "--time", "2026-01-01"]));
    }
    for version in ["1.0.0", "1.1.0"] {
        ok(&place.run(&["sign", ".ai/tools/t/kit.wasm", "--key", "me", "--version", version]));
        ok(&place.run(&["publish", "t/kit", "oci-layout:out"]));
    }
    ok(&place.run(&["publish", "t/flow", "t/note", "--with-items", "oci-layout:out"]));
    place
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![folder.to_path_buf()];
    while let Some(inner) = waiting.pop() {
        for entry in std::fs::read_dir(inner).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                found.insert(name, std::fs::read(path).unwrap());
            }
        }
    }
    found
}

fn document(place: &Place, folder: &str) -> Value {
    serde_json::from_str(&place.read(&format!("{folder}/catalogue.json"))).unwrap()
}

fn version<'d>(document: &'d Value, id: &str, number: &str) -> &'d Value {
    let items = document["items"].as_array().unwrap();
    let item = items.iter().find(|item| item["id"] == id).unwrap_or_else(|| panic!("{id}: {document}"));
    let versions = item["versions"].as_array().unwrap();
    versions.iter().find(|version| version["version"] == number).unwrap_or_else(|| panic!("{number}: {item}"))
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    names
}

#[test]
fn a_catalogue_says_what_was_verified() {
    let place = published();
    let (summary, code) = place.json(&["registry", "index", "oci-layout:out", "-o", "site"]);
    assert_eq!(code, 0, "{summary}");
    let of_summary =
        ["items", "versions", "not_verified", "not_readable", "complete"].map(|key| summary[key].clone());
    assert_eq!(of_summary, [json!(3), json!(4), json!([]), json!([]), json!(true)], "{summary}");

    let document = document(&place, "site");
    assert_eq!((&document["format"], &document["version"]), (&json!("graph-host catalogue"), &json!(1)));
    let kit = version(&document, "t/kit", "1.1.0");
    assert_eq!(
        (&kit["trust"]["status"], &kit["trust"]["signers"][0]["name"]),
        (&json!("trusted"), &json!("me"))
    );
    let component = &kit["content"];
    assert_eq!(component["type"], "component", "{kit}");
    assert_eq!(component["callables"][0]["item"], "t/kit");
    assert!(component["callables"][0]["params"]["json"].is_object(), "{component}");
    assert!(component["wit"]["text"].as_str().unwrap().contains("graph-host:node/action"), "{component}");
    assert!(component["asks"]["ceiling"].as_array().unwrap().contains(&json!("log")), "{component}");
    let flow = version(&document, "t/flow", "1.0.0");
    assert_eq!(flow["content"]["nodes"], json!([{ "name": "a", "item": "t/kit" }]));
    assert_eq!(flow["content"]["uses"][0]["page"], kit["page"], "{flow}");
    assert_eq!(
        flow["content"]["picture"]["drawn"]["file"]
            .as_str()
            .map(|file| place.path("site").join(file).is_file()),
        Some(true)
    );
    let note = version(&document, "t/note", "2.0.0");
    assert_eq!((&note["description"], &note["content"]["title"]), (&json!("A note"), &json!("A note")));
    for page in ["index.html", kit["page"].as_str().unwrap(), flow["page"].as_str().unwrap()] {
        assert!(place.read(&format!("site/{page}")).contains("default-src 'none'"), "{page}");
    }
    // The index has installed, locked and executed nothing.
    assert!(!place.path("home/installed").exists() && !place.path("graph-host.lock").exists());
}

#[test]
fn published_cases_are_run_and_yanks_are_shown() {
    let place = published();
    let case = |name: &str, expected: u32| {
        format!(
            "name: {name}\ngraph_file: flow.yaml\nitems: {{ t/kit: {{ result: 1 }} }}\ncaps: [execute.tool.t.*]\n\
             script:\n  - run: {{}}\n    expect: {{ status: completed, state: {{ said: {expected} }} }}\n"
        )
    };
    place.write(".ai/tools/t/one.case.yaml", &case("says one", 1));
    place.write(".ai/tools/t/two.case.yaml", &case("says two", 2));
    ok(&place.run(&["publish", "t/flow", "--with-items", "oci-layout:tested"]));
    let (summary, code) = place.json(&["registry", "index", "oci-layout:tested", "-o", "site"]);
    assert_eq!((code, &summary["failed_cases"]), (0, &json!(1)), "{summary}");
    let catalogue = document(&place, "site");
    let flow = version(&catalogue, "t/flow", "1.0.0");
    assert_eq!(flow["cases"]["status"], "ran", "{flow}");
    let results = flow["cases"]["results"].as_array().unwrap();
    let told: Vec<_> = results.iter().map(|case| (&case["name"], &case["passed"])).collect();
    assert_eq!(told, [(&json!("says one"), &json!(true)), (&json!("says two"), &json!(false))], "{flow}");
    assert_eq!(results[1]["problem"], "step 1, run: not as expected: state", "{flow}");
    assert!(flow["capabilities"].as_str().unwrap().contains("execute.tool.t.kit"), "{flow}");
    assert_eq!(flow["yanked"], Value::Null);
    let page = place.read(&format!("site/{}", flow["page"].as_str().unwrap()));
    assert!(page.contains("1 of 2 passed"), "{page}");

    let reference = "oci-layout:tested:t/kit:1.1.0";
    ok(&place.run(&["yank", reference, "--key", "me", "--reason", "it logs </script> its secrets"]));
    ok(&place.run(&["registry", "index", "oci-layout:tested", "-o", "site"]));
    let catalogue = document(&place, "site");
    let kit = version(&catalogue, "t/kit", "1.1.0");
    assert_eq!(kit["yanked"]["reason"], "it logs </script> its secrets", "{kit}");
    assert_eq!((&kit["yanked"]["signer"], &kit["usage"]), (&json!("me"), &Value::Null), "{kit}");
    let page = place.read(&format!("site/{}", kit["page"].as_str().unwrap()));
    assert!(page.contains("Yanked.") && page.contains("it logs &lt;/script&gt; its secrets"), "{page}");
    ok(&place.run(&["yank", reference, "--key", "me", "--undo"]));
    ok(&place.run(&["registry", "index", "oci-layout:tested", "-o", "site"]));
    let catalogue = document(&place, "site");
    assert_eq!(version(&catalogue, "t/kit", "1.1.0")["yanked"], Value::Null);
}

/// Changes the manifest under a name of a directory, as anyone who may write there can.
fn changed(place: &Place, out: &str, name: &str, change: impl FnOnce(&mut Value)) {
    let key = "org.opencontainers.image.ref.name";
    let blobs = place.path(out).join("blobs/sha256");
    let mut index: Value = serde_json::from_str(&place.read(&format!("{out}/index.json"))).unwrap();
    let listed = index["manifests"].as_array_mut().unwrap().iter_mut();
    let listed = listed.into_iter().find(|one| one["annotations"][key] == name).unwrap();
    let hex = listed["digest"].as_str().unwrap().trim_start_matches("sha256:");
    let mut manifest: Value = serde_json::from_slice(&std::fs::read(blobs.join(hex)).unwrap()).unwrap();
    change(&mut manifest);
    let bytes = serde_json::to_vec(&manifest).unwrap();
    let digest = Digest::of_bytes(&bytes);
    std::fs::write(blobs.join(digest.hex()), &bytes).unwrap();
    listed["digest"] = json!(digest);
    listed["size"] = json!(bytes.len());
    place.write(&format!("{out}/index.json"), &index.to_string());
}

#[test]
fn no_case_runs_that_its_publisher_has_not_signed() {
    const CASE_TYPE: &str = "application/vnd.graph-host.case.v1+yaml";
    const STATEMENT: &str = "application/vnd.graph-host.companions.v1+json";
    let case = "graph_file: flow.yaml\nitems: { t/kit: { result: 1 } }\ncaps: [execute.tool.t.*]\nscript: [{ run: {} }]\n";
    let place = published();
    place.write(".ai/tools/t/own.case.yaml", &format!("name: own\n{case}"));
    ok(&place.run(&["publish", "t/flow", "--with-items", "oci-layout:tested"]));
    let added = |manifest: &mut Value| {
        let bytes = format!("name: added\n{case}").into_bytes();
        let digest = Digest::of_bytes(&bytes);
        std::fs::write(place.path("tested/blobs/sha256").join(digest.hex()), &bytes).unwrap();
        manifest["layers"].as_array_mut().unwrap().push(json!({
            "mediaType": CASE_TYPE, "digest": digest, "size": bytes.len(),
            "annotations": { "org.opencontainers.image.title": "added.case.yaml" },
        }));
    };
    let cases = || {
        ok(&place.run(&["registry", "index", "oci-layout:tested", "-o", "site"]));
        version(&document(&place, "site"), "t/flow", "1.0.0")["cases"].clone()
    };
    let names = |cases: &Value| -> Vec<String> {
        let results = cases["results"].as_array().into_iter().flatten();
        results.map(|case| case["name"].as_str().unwrap().to_owned()).collect()
    };
    let at = "oci-layout:tested:t/flow:1.0.0";
    assert!(!place.run(&["test", at]).stderr.contains("no key that you trust"));
    changed(&place, "tested", "t/flow:1.0.0", added);
    assert_eq!(names(&cases()), ["own"]);
    // The user has named all of them, and is warned about the unsigned one.
    let (tested, code) = place.json(&["test", at]);
    assert_eq!((code, &tested["passed"]), (0, &json!(2)), "{tested}");
    let told = place.run(&["test", at]).stderr.replace("\n  ", " ");
    assert!(told.contains("no key that you trust has signed `added.case.yaml`"), "{told}");
    let shown = place.json(&["inspect", at]).0;
    let signed = |at: usize| shown["published"]["cases"][at]["signed"].clone();
    assert_eq!((signed(0), signed(1)), (json!(true), json!(false)), "{shown}");
    // Without the statement, as earlier versions publish, no case is run.
    changed(&place, "tested", "t/flow:1.0.0", |manifest| {
        manifest["layers"].as_array_mut().unwrap().retain(|layer| layer["mediaType"] != STATEMENT);
    });
    let cases = cases();
    assert_eq!(cases["status"], "not_run", "{cases}");
    assert!(cases["reason"].as_str().unwrap().contains("nobody has signed them"), "{cases}");
}

#[test]
fn no_version_keeps_the_others_from_being_listed() {
    let place = published();
    let alternatives = vec!["{ $ref: \"#\" }"; 3_000].join(", ");
    let names: Vec<_> = (0..17).map(|at| format!("a{at}")).collect();
    place.write(
        ".ai/tools/t/slow.yaml",
        &format!(
            "version: 1.0.0\ntool_type: graph\nexecutor_id: graph-host\ncategory: c\ndescription: d\n\
             config_schema: {{ anyOf: [{alternatives}], type: object, required: [{}] }}\n\
             config: {{ start: a, nodes: {{ a: {{ type: return }} }} }}\n",
            names.join(", ")
        ),
    );
    ok(&place.run(&["sign", ".ai/tools/t/slow.yaml", "--key", "me", "--time", "2026-01-01"]));
    ok(&place.run(&["publish", "t/slow", "--bare", "oci-layout:out"]));
    let began = std::time::Instant::now();
    ok(&place.run(&["registry", "index", "oci-layout:out", "-o", "site"]));
    assert!(began.elapsed() < std::time::Duration::from_mins(1), "{:?}", began.elapsed());
    let catalogue = document(&place, "site");
    assert!(version(&catalogue, "t/flow", "1.0.0")["usage"].is_object());
    let slow = version(&catalogue, "t/slow", "1.0.0");
    assert!(slow["usage"].to_string().contains("--inputs inputs.json"), "{slow}");
}

#[test]
fn the_same_registry_gives_the_same_bytes() {
    let place = published();
    for folder in ["one", "two"] {
        ok(&place.run(&["registry", "index", "oci-layout:out", "-o", folder]));
    }
    let one = files(&place.path("one"));
    assert_eq!(one, files(&place.path("two")));
    let listed: Vec<_> = document(&place, "one")["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file.as_str().unwrap().to_owned())
        .collect();
    assert_eq!(listed, one.into_keys().collect::<Vec<_>>());
    // An older catalogue is replaced as a whole.
    ok(&place.run(&["sign", ".ai/tools/t/kit.wasm", "--key", "me", "--version", "2.0.0"]));
    ok(&place.run(&["publish", "t/kit", "oci-layout:more"]));
    let before = names(&place.path("."));
    ok(&place.run(&["registry", "index", "oci-layout:more", "-o", "one"]));
    assert_eq!(names(&place.path(".")), before, "nothing is left next to it");
    assert_eq!(document(&place, "one")["items"].as_array().unwrap().len(), 1);
    assert_eq!(names(&place.path("one/items")).len(), 2);
}

/// Types the commands of a version in the home of another user.
#[cfg(unix)]
fn type_commands(place: &Place, version: &Value) -> Vec<String> {
    let binaries = Path::new(env!("CARGO_BIN_EXE_graph-host")).parent().unwrap();
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap());
    let folder = place.path("reader");
    std::fs::create_dir_all(folder.join(".ai")).unwrap();
    if !folder.join("out").exists() {
        std::os::unix::fs::symlink(place.path("out"), folder.join("out")).unwrap();
    }
    if let Some(graph) = version["usage"]["graph"].as_str() {
        std::fs::write(folder.join("graph.yaml"), graph).unwrap();
    }
    let commands = version["usage"]["commands"].as_array().unwrap();
    let typed = |command: &Value| {
        let line = command["line"].as_str().unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(&folder).env("PATH", &path);
        shell.env("GRAPH_HOST_HOME", place.path("reader-home")).env("NO_COLOR", "1");
        let ended = place.ran(&shell.output().unwrap());
        assert_eq!(ended.code, 0, "{line}\n{}", ended.shown());
        line.to_owned()
    };
    commands.iter().map(typed).collect()
}

#[test]
#[cfg(unix)]
fn commands_work_when_they_are_typed() {
    let place = published();
    ok(&place.run(&["registry", "index", "oci-layout:out", "-o", "site"]));
    let document = document(&place, "site");
    let typed = type_commands(&place, version(&document, "t/flow", "1.0.0"));
    assert_eq!(typed.len(), 4, "{typed:?}");
    assert!(typed[0].contains("--items t/flow t/kit"), "{typed:?}");
    std::fs::remove_dir_all(place.path("reader-home")).unwrap();
    std::fs::remove_dir_all(place.path("reader")).unwrap();
    let typed = type_commands(&place, version(&document, "t/note", "2.0.0"));
    assert_eq!(typed.len(), 3, "{typed:?}");
    std::fs::remove_dir_all(place.path("reader-home")).unwrap();
    std::fs::remove_dir_all(place.path("reader")).unwrap();
    // Its params depend on its `op`, so a graph can call it only with a known example.
    let kit = version(&document, "t/kit", "1.1.0");
    assert!(kit["usage"]["commands"].as_array().unwrap().len() >= 3, "{kit}");
    let mut shown = kit.clone();
    shown["usage"]["commands"].as_array_mut().unwrap().truncate(3);
    type_commands(&place, &shown);
}

#[test]
fn what_is_not_verified_is_said_to_be_a_claim() {
    let place = published();
    ok(&place.run(&["trust", "remove", "me"]));
    let ran = place.run(&["registry", "index", "oci-layout:out", "-o", "site"]);
    ok(&ran);
    assert!(ran.stdout.contains("4 not verified:"), "{}", ran.shown());
    assert!(ran.stdout.contains("is signed by a key that is not trusted"), "{}", ran.shown());
    let document = document(&place, "site");
    let kit = version(&document, "t/kit", "1.0.0");
    assert_eq!(kit["trust"]["status"], "not_verified", "{kit}");
    assert_eq!(kit["trust"]["key_ids"].as_array().map(Vec::len), Some(1), "{kit}");
    assert_eq!(
        (&kit["content"], &kit["usage"]),
        (&Value::Null, &Value::Null),
        "nothing is shown of its content"
    );
    let page = place.read(&format!("site/{}", kit["page"].as_str().unwrap()));
    assert!(page.contains("The publisher states, and nothing was verified:"), "{page}");
}

/// Writes the manifest of an artifact into a layout, under a name.
fn put(place: &Place, name: &str, manifest: &[u8]) {
    let digest = Digest::of_bytes(manifest);
    std::fs::write(place.path("out/blobs/sha256").join(digest.hex()), manifest).unwrap();
    let mut index: Value = serde_json::from_str(&place.read("out/index.json")).unwrap();
    index["manifests"].as_array_mut().unwrap().push(json!({
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "digest": digest,
        "size": manifest.len(),
        "annotations": { "org.opencontainers.image.ref.name": name },
    }));
    place.write("out/index.json", &index.to_string());
}

fn hostile(id: &str, description: &str) -> Vec<u8> {
    let empty = Digest::of_bytes(b"{}");
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": { "mediaType": "application/vnd.wasm.config.v0+json", "digest": empty, "size": 2 },
        "layers": [{ "mediaType": "application/wasm", "digest": empty, "size": 2 }],
        "annotations": {
            "dev.graph-host.item.id": id,
            "org.opencontainers.image.version": "1.0.0",
            "org.opencontainers.image.description": description,
            "org.opencontainers.image.source": "javascript:alert(1)",
        },
    });
    manifest.to_string().into_bytes()
}

#[test]
fn hostile_artifacts_end_up_on_a_page_as_text_or_not_at_all() {
    let place = published();
    std::fs::write(place.path("out/blobs/sha256").join(Digest::of_bytes(b"{}").hex()), b"{}").unwrap();
    put(&place, "x/hostile:1.0.0", &hostile("x/hostile", HOSTILE));
    put(&place, "x/Hostile:1.0.0", &hostile("x/Hostile", HOSTILE));
    put(&place, "x/long:1.0.0", &hostile("x/long", &"y".repeat(1 << 20)));
    put(&place, "x/markup:1.0.0", &hostile(HOSTILE, HOSTILE));
    // A version without content, and a tag that differs from the signed version.
    let flow =
        place.json(&["publish", "t/flow", "--with-items", "oci-layout:out"]).0["published"][1]["manifest"]
            .clone();
    let flow = flow.as_str().unwrap().strip_prefix("sha256:").unwrap().to_owned();
    let manifest = std::fs::read(place.path("out/blobs/sha256").join(flow)).unwrap();
    put(&place, "t/flow:9.0.0", &manifest);
    let note = document_of_note(&place);
    std::fs::remove_file(place.path("out/blobs/sha256").join(note)).unwrap();

    let (summary, code) = place.json(&["registry", "index", "oci-layout:out", "-o", "site"]);
    assert_eq!(code, 0, "{summary}");
    let reasons = |key: &str| -> Vec<String> {
        let list = summary[key].as_array().unwrap().iter();
        list.map(|one| format!("{} {}", one["reference"].as_str().unwrap(), one["reason"].as_str().unwrap()))
            .collect()
    };
    let unreadable = reasons("not_readable");
    assert!(unreadable.iter().any(|one| one.starts_with("oci-layout:out:t/note:2.0.0")), "{unreadable:?}");
    assert!(
        unreadable.iter().any(|one| one.contains("t/flow:9.0.0") && one.contains("its tag says another one")),
        "{unreadable:?}"
    );
    for (path, bytes) in files(&place.path("site")) {
        assert!(bytes.len() < 2 << 20, "{path} has {} bytes", bytes.len());
        let text = String::from_utf8(bytes).unwrap();
        assert!(!text.contains(graph_core::diagnostic::is_invisible), "{path}");
        if std::path::Path::new(&path).extension().is_some_and(|extension| extension == "html") {
            assert!(
                !text.contains("<script>alert")
                    && !text.contains("<img src=x")
                    && !text.contains("href=\"javascript"),
                "{path}"
            );
        }
    }
    crate::names::check_pages(&place, "site");
    let pages = names(&place.path("site/items"));
    let folded: std::collections::BTreeSet<_> = pages.iter().map(|name| name.to_lowercase()).collect();
    assert_eq!(folded.len(), pages.len());
}

/// Returns the digest of the text of `t/note` in the layout.
fn document_of_note(place: &Place) -> String {
    let text = place.read(".ai/knowledge/t/note.md");
    Digest::of_bytes(text.as_bytes()).hex()
}

#[test]
fn a_folder_of_other_things_is_left_alone() {
    let place = published();
    std::fs::create_dir_all(place.path("mine")).unwrap();
    place.write("mine/notes.txt", "mine");
    place.write("file", "mine");
    ok(&place.run(&["registry", "index", "oci-layout:out", "-o", "site"]));
    place.write("site/notes.txt", "mine");
    let refused = |args: &[&str], exit: i32, part: &str| {
        let (document, code) = place.json(&[&["registry", "index"], args].concat());
        assert_eq!(code, exit, "{document}");
        let message = document["error"]["message"].as_str().unwrap();
        assert!(message.contains(part), "{part}: {document}");
    };
    refused(&["oci-layout:out", "-o", "mine"], 2, "is not empty");
    refused(&["oci-layout:out", "-o", "file"], 2, "is not a folder");
    refused(&["oci-layout:out", "-o", "site"], 2, "does not belong to the catalogue in it, notes.txt");
    refused(&["oci-layout:out:t/kit:1.0.0", "-o", "new"], 2, "names one artifact");
    refused(&["oci-layout:nowhere", "-o", "new"], 9, "nowhere");
    refused(&["docker://x", "-o", "new"], 2, "is not a reference");
    assert!(!place.path("new").exists());
    // A catalogue of a newer program is not replaced by an older program.
    std::fs::remove_file(place.path("site/notes.txt")).unwrap();
    let newer = place.read("site/catalogue.json").replacen("\"version\": 1,", "\"version\": 2,", 1);
    place.write("site/catalogue.json", &newer);
    refused(&["oci-layout:out", "-o", "site"], 8, "has a catalogue of version 2");
    assert_eq!(names(&place.path("mine")), ["notes.txt"]);
}

#[test]
fn a_registry_that_does_not_answer_gives_no_catalogue() {
    let place = Place::new();
    // The registry lists a repository and a tag, and then refuses all requests.
    let choose = |request: &str| {
        let body = |text: &str| {
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                text.len()
            );
            Answer::Bytes((head + text).into_bytes())
        };
        if request.contains("/v2/_catalog") {
            body("{\"repositories\":[\"t/kit\"]}")
        } else if request.contains("/tags/list") {
            body("{\"name\":\"t/kit\",\"tags\":[\"1.0.0\"]}")
        } else {
            Answer::Silence(Vec::new())
        }
    };
    let server = Server::start(|_| Answer::Chosen(Choice(Arc::new(choose))));
    let reference = format!("oci://127.0.0.1:{}", server.port);
    let (refused, code) = place.json(&["registry", "index", &reference, "-o", "site", "--timeout", "1s"]);
    assert_eq!(code, 124, "{refused}");
    assert!(!place.path("site").exists());
}

#[test]
#[cfg(unix)]
fn ctrl_c_stops_it_and_nothing_is_written() {
    let place = Place::new();
    let server = Server::start(|_| Answer::Silence(Vec::new()));
    let reference = format!("oci://127.0.0.1:{}/t/kit", server.port);
    let child = place.command(&["registry", "index", &reference, "-o", "site"]).spawn().unwrap();
    let began = std::time::Instant::now();
    while server.heard().is_empty() {
        assert!(began.elapsed() < std::time::Duration::from_mins(1));
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    let ended = place.ran(&child.wait_with_output().unwrap());
    assert_eq!(ended.code, 130, "{}", ended.shown());
    assert!(ended.stderr.contains("nothing was written"), "{}", ended.shown());
    assert_eq!(
        names(&place.path("."))
            .iter()
            .filter(|name| name.contains("site") || name.contains("catalogue"))
            .count(),
        0
    );
}
