//! Companions of a published graph, their display, and signatures of components in a registry.

use std::fmt::Write as _;
use std::path::Path;

use graph_core::digest::Digest;
use serde_json::{Value, json};

use crate::place::{Place, Ran};

const FLOW: &str = "start: a\nnodes:\n  a: { action: { item_id: t/kit, params: { op: echo, value: 1 } }, assign: { said: \"${result}\" } }";
const CASE: &str = "name: says one\ngraph_file: flow.yaml\nitems: { t/kit: { result: 1 } }\ncaps: [execute.tool.t.*]\n\
                    script:\n  - run: {}\n    expect: { status: completed, state: { said: 1 } }\n";
const AT: &str = "oci-layout:out:t/flow:1.0.0";

fn ok(ran: &Ran) {
    assert_eq!(ran.code, 0, "{}", ran.shown());
}

fn refused(place: &Place, args: &[&str], exit: i32, part: &str) {
    let (document, code) = place.json(args);
    assert_eq!(code, exit, "{document}");
    let message = document["error"]["message"].as_str().unwrap_or_else(|| panic!("{document}"));
    assert!(message.contains(part), "{part}: {document}");
}

/// Makes the graph `t/flow` 1.0.0 and the component `t/kit` 1.0.0, signed with `me`, with a case of the graph next to it.
fn signed() -> Place {
    let place = Place::with_compiled_testkit();
    ok(&place.run(&["keys", "generate", "me"]));
    ok(&place.run(&["trust", "add", "me", "--key", "me", "--items", "t/*"]));
    ok(&place.run(&["sign", ".ai/tools/t/kit.wasm", "--key", "me", "--version", "1.0.0"]));
    place.graph(".ai/tools/t/flow.yaml", FLOW);
    ok(&place.run(&["sign", ".ai/tools/t/flow.yaml", "--key", "me", "--time", "2026-01-01"]));
    place.write(".ai/tools/t/flow.case.yaml", CASE);
    place
}

fn published() -> Place {
    let place = signed();
    ok(&place.run(&["publish", "t/flow", "--with-items", "oci-layout:out"]));
    place
}

fn files(document: &Value) -> Vec<&str> {
    let companions = document["companions"].as_array().unwrap();
    companions.iter().map(|one| one["file"].as_str().unwrap()).collect()
}

/// Writes another manifest under the name of `t/flow`, as a stranger who can write to the registry does.
fn changed(place: &Place, change: impl FnOnce(&mut Value)) {
    let blobs = place.path("out/blobs/sha256");
    let mut index: Value = serde_json::from_str(&place.read("out/index.json")).unwrap();
    let listed = index["manifests"].as_array_mut().unwrap().iter_mut();
    let name = "org.opencontainers.image.ref.name";
    let listed = listed.into_iter().find(|one| one["annotations"][name] == "t/flow:1.0.0").unwrap();
    let hex = listed["digest"].as_str().unwrap().trim_start_matches("sha256:");
    let mut manifest: Value = serde_json::from_slice(&std::fs::read(blobs.join(hex)).unwrap()).unwrap();
    change(&mut manifest);
    let bytes = serde_json::to_vec(&manifest).unwrap();
    let digest = Digest::of_bytes(&bytes);
    std::fs::write(blobs.join(digest.hex()), &bytes).unwrap();
    listed["digest"] = json!(digest);
    listed["size"] = json!(bytes.len());
    place.write("out/index.json", &index.to_string());
}

/// Stores these bytes and describes them as a layer.
fn layer(place: &Place, media_type: &str, title: &str, bytes: &[u8]) -> Value {
    let digest = Digest::of_bytes(bytes);
    std::fs::write(place.path("out/blobs/sha256").join(digest.hex()), bytes).unwrap();
    json!({
        "mediaType": media_type, "digest": digest, "size": bytes.len(),
        "annotations": { "org.opencontainers.image.title": title },
    })
}

const CASE_TYPE: &str = "application/vnd.graph-host.case.v1+yaml";
const MANIFEST_TYPE: &str = "application/vnd.graph-host.suggested-manifest.v1+yaml";

/// Replaces the companions of the graph.
fn with_layers(place: &Place, layers: Vec<Value>) {
    changed(place, |manifest| {
        let all = manifest["layers"].as_array_mut().unwrap();
        all.truncate(1);
        all.extend(layers);
    });
}

#[test]
fn an_id_with_a_version_is_no_file() {
    let place = signed();
    let (shown, code) = place.json(&["inspect", "t/kit@1.0.0"]);
    assert_eq!((code, &shown["version"]), (0, &json!("1.0.0")), "{shown}");
    let (shown, _) = place.json(&["inspect", "t/kit@2.0.0"]);
    assert_eq!((&shown["trusted"], &shown["id"]), (&json!(false), &json!("t/kit")), "{shown}");
    for (missing, exit) in [("t/none@1.2.0", 9), ("t/none.wasm", 9), ("none@1.2.yaml", 9)] {
        assert_eq!(place.json(&["inspect", missing]).1, exit, "{missing}");
    }
    // A file of such a name is the file.
    std::fs::create_dir_all(place.path("t")).unwrap();
    std::fs::copy(place.path(".ai/tools/t/flow.yaml"), place.path("t/flow@1.0.0")).unwrap();
    refused(&place, &["inspect", "t/flow@1.0.0"], 2, "neither a component");
    std::fs::remove_file(place.path("t/flow@1.0.0")).unwrap();
    // The graph is found; its signature line is for the id without a version.
    assert_eq!(place.json(&["inspect", "t/flow@1.0.0"]).1, 8);
    assert_eq!(place.json(&["run", "t/flow@1.0.0", "--caps", "caps.yaml"]).1, 8);
    refused(&place, &["run", "t/flow@1.0.yaml", "--caps", "caps.yaml"], 9, "t/flow@1.0.yaml");
    // What is published is the version that was named.
    refused(&place, &["publish", "t/kit@2.0.0", "oci-layout:out"], 8, "2.0.0");
    refused(&place, &["publish", "t/flow@2.0.0", "oci-layout:out"], 2, "not 2.0.0");
    assert_eq!(place.json(&["publish", "t/kit@1.0.0", "t/flow@1.0.0", "oci-layout:out"]).1, 0);
}

#[test]
fn what_is_built_in_is_not_taken_along() {
    let place = Place::with_compiled_testkit();
    ok(&place.run(&["keys", "generate", "me"]));
    ok(&place.run(&["trust", "add", "me", "--key", "me", "--items", "*"]));
    ok(&place.run(&["sign", ".ai/tools/t/kit.wasm", "--key", "me", "--version", "1.0.0"]));
    let node = |item: &str| format!("{{ action: {{ item_id: {item}, params: {{ op: echo, value: 1 }} }} }}");
    let nodes = format!("a: {}\n  b: {}", node("t/kit"), node("rye/bash/bash"));
    let hook = "hooks:\n  - { id: h, event: after_step, action: { item_id: rye/bash/bash } }";
    place.graph(".ai/tools/t/flow.yaml", &format!("start: [a, b]\n{hook}\nnodes:\n  {nodes}\n"));
    ok(&place.run(&["sign", ".ai/tools/t/flow.yaml", "--key", "me", "--time", "2026-01-01"]));
    let ids = |document: &Value| {
        let published = document["published"].as_array().unwrap_or_else(|| panic!("{document}"));
        published.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (document, code) = place.json(&["publish", "t/flow", "--with-items", "oci-layout:out"]);
    assert_eq!((code, ids(&document)), (0, vec!["t/kit".to_owned(), "t/flow".to_owned()]), "{document}");
    refused(&place, &["publish", "rye/bash/bash", "oci-layout:out"], 2, "is built into graph-host");
}

#[test]
fn a_graph_takes_along_its_cases_its_manifest_and_its_picture() {
    let place = signed();
    let (document, code) = place.json(&["publish", "t/flow", "--with-items", "oci-layout:out"]);
    assert_eq!(code, 0, "{document}");
    let flow = &document["published"][1];
    assert_eq!(files(flow), ["flow.case.yaml", "flow.caps.yaml", "flow.svg"], "{document}");
    assert_eq!(files(&document["published"][0]), [""; 0], "a component takes nothing along: {document}");
    let again = place.json(&["publish", "t/flow", "--with-items", "oci-layout:out"]).0;
    assert_eq!(again["published"][1]["was_there"], true, "{again}");
    assert_eq!(again["published"][1]["manifest"], flow["manifest"]);

    let found = place.json(&["search", "oci-layout:out"]).0;
    let cases: Vec<_> = found["items"].as_array().unwrap().iter().map(|it| it["cases"].clone()).collect();
    assert_eq!(cases, [json!(1), json!(0)], "{found}");
    let listed = place.run(&["search", "oci-layout:out"]);
    assert!(listed.stdout.contains("graph, 1 case"), "{}", listed.shown());

    let (shown, code) = place.json(&["inspect", AT]);
    assert_eq!(code, 0, "{shown}");
    let about = &shown["published"];
    assert_eq!(about["cases"][0]["file"], "flow.case.yaml", "{shown}");
    assert_eq!(about["manifest"]["as_suggested_here"], true, "{shown}");
    assert_eq!(about["picture"]["as_drawn_here"], true, "{shown}");
    assert_eq!(about["uses"], json!([{ "kind": "tool", "id": "t/kit", "version": "1.0.0" }]));
    assert!(about["asks_for"]["manifest"].as_str().unwrap().contains("execute.tool.t.kit"), "{shown}");
    assert_eq!(shown["signature"]["signer"]["name"], "me", "{shown}");
    let text = place.run(&["inspect", AT]);
    for part in ["cases     1 case", "flow.svg", "as drawn here", "as suggested here", "tool t/kit 1.0.0"] {
        assert!(text.stdout.contains(part), "{part}: {}", text.shown());
    }

    // The same from the cache, without the directory.
    std::fs::rename(place.path("out"), place.path("away")).unwrap();
    let pinned = format!("oci-layout:out@{}", flow["manifest"].as_str().unwrap());
    let (offline, code) = place.json(&["inspect", &pinned]);
    assert_eq!((code, &offline["published"]["cases"]), (0, &about["cases"]), "{offline}");
}

#[test]
fn the_published_files_are_what_the_commands_print() {
    let place = published();
    let (pulled, code) = place.json(&["pull", AT, "--companions", "looked"]);
    assert_eq!(code, 0, "{pulled}");
    let read = |name: &str| place.read(&format!("looked/t/flow/{name}"));
    assert_eq!(read("flow.yaml"), place.read(".ai/tools/t/flow.yaml"));
    assert_eq!(read("flow.case.yaml"), CASE);
    let printed = |args: &[&str]| String::from_utf8(place.command(args).output().unwrap().stdout).unwrap();
    assert_eq!(read("flow.svg"), printed(&["graph", "show", AT, "--format", "svg"]));
    assert_eq!(read("flow.caps.yaml"), printed(&["caps", "suggest", AT]));
    ok(&place.run(&["run", "t/flow", "--caps", "looked/t/flow/flow.caps.yaml"]));
    ok(&place.run(&["test", "looked"]));
    // A second pull changes nothing; another file of that name is kept.
    let again = place.json(&["pull", AT, "--companions", "looked"]).0;
    assert!(again["companions"].as_array().unwrap().iter().all(|one| one["was_there"] == true), "{again}");
    place.write("looked/t/flow/flow.svg", "mine");
    refused(&place, &["pull", AT, "--companions", "looked"], 4, "it is not overwritten");
    assert_eq!(read("flow.svg"), "mine");
    refused(
        &place,
        &["pull", "oci-layout:out:t/kit:1.0.0", "--companions", "x"],
        9,
        "none of the pulled items",
    );
}

#[test]
fn cases_are_found_next_to_the_graph_and_by_name() {
    let place = signed();
    std::fs::create_dir_all(place.path(".ai/tools/t/cases")).unwrap();
    std::fs::create_dir_all(place.path("more")).unwrap();
    place.write(".ai/tools/t/cases/deeper.case.yaml", &CASE.replace("flow.yaml", "../flow.yaml"));
    place.write(".ai/tools/t/other.case.yaml", &CASE.replace("flow.yaml", "other.yaml"));
    place.write(".ai/tools/t/broken.case.yaml", "{");
    place.write("more/named.case.yaml", &CASE.replace("flow.yaml", "../.ai/tools/t/flow.yaml # the graph"));
    let (document, code) = place.json(&["publish", "t/flow", "oci-layout:out", "--cases", "more"]);
    assert_eq!(code, 0, "{document}");
    assert_eq!(
        files(&document["published"][0]),
        ["deeper.case.yaml", "flow.case.yaml", "named.case.yaml", "flow.caps.yaml", "flow.svg"]
    );
    // They run from the registry, without being written.
    ok(&place.run(&["test", AT]));
    let (tested, _) = place.json(&["test", AT]);
    assert_eq!(tested["passed"], 3, "{tested}");

    // Another set of cases needs another version.
    refused(&place, &["publish", "t/flow", "oci-layout:out"], 8, "already");
    refused(&place, &["publish", "t/flow", "oci-layout:out", "--bare"], 8, "already");
    // A named case has to be of a published graph, and an invalid one is not published.
    refused(
        &place,
        &["publish", "t/flow", "oci-layout:new", "--cases", ".ai/tools/t/other.case.yaml"],
        2,
        "does not name a graph that is published",
    );
    assert!(!place.path("new").exists());
    place.write("more/named.case.yaml", "graph_file: ../.ai/tools/t/flow.yaml\nscrpt: []\n");
    assert_ne!(place.json(&["publish", "t/flow", "oci-layout:new", "--cases", "more"]).1, 0);
    place.write("more/named.case.yaml", &CASE.replace("flow.yaml", "../.ai/tools/t/flow.yaml\nitems_dir: ."));
    refused(&place, &["publish", "t/flow", "oci-layout:new", "--cases", "more"], 2, "has `items_dir`");
    assert!(!place.path("new").exists());

    let (bare, code) = place.json(&["publish", "t/flow", "oci-layout:bare", "--bare"]);
    assert_eq!((code, files(&bare["published"][0]).len()), (0, 0), "{bare}");
    refused(&place, &["test", "oci-layout:bare:t/flow:1.0.0"], 9, "has no cases");
}

#[test]
fn published_cases_run_with_doubles_only() {
    let place = published();
    ok(&place.run(&["test", AT]));
    ok(&place.run(&["test", AT, "--crash"]));
    refused(&place, &["test", AT, "--record"], 2, "run with doubles only");
    let of = |text: &str| {
        with_layers(&place, vec![layer(&place, CASE_TYPE, "flow.case.yaml", text.as_bytes())]);
    };
    // The component exists, and a manifest would grant it; the stranger's case does not reach it.
    of(&CASE.replace("items: { t/kit: { result: 1 } }\n", ""));
    let (tested, code) = place.json(&["test", AT]);
    assert_eq!((code, &tested["failed"]), (5, &json!(1)), "{tested}");
    assert!(tested.to_string().contains("published cases run with doubles only"), "{tested}");
    // Other files of this machine are not used as the stranger's graphs.
    for (graph, part) in [
        ("graph_file: ../../../../etc/passwd", "names another graph"),
        ("graph: { start: a, nodes: { a: {} } }", "has a graph of its own"),
        ("graph_file: flow.yaml\nitems_dir: /", "has `items_dir`"),
    ] {
        of(&CASE.replace("graph_file: flow.yaml", graph));
        refused(&place, &["test", AT], 8, part);
    }
    of("{ this is no case");
    let (tested, code) = place.json(&["test", AT]);
    assert_eq!((code, &tested["failed"]), (5, &json!(1)), "{tested}");
    // A case with another expected outcome than the graph's fails.
    of(&CASE.replace("said: 1", "said: 2"));
    assert_eq!(place.run(&["test", AT]).code, 5);
}

#[test]
fn what_a_stranger_adds_is_bounded_and_never_shown_as_ours() {
    let place = published();
    let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>";
    with_layers(
        &place,
        vec![
            layer(
                &place,
                MANIFEST_TYPE,
                "flow.caps.yaml",
                b"dispatch: ['*']\nitems: { '*': { filesystem: all } }\n",
            ),
            layer(&place, "image/svg+xml", "flow.svg", svg.as_bytes()),
        ],
    );
    let (shown, code) = place.json(&["inspect", AT]);
    assert_eq!(code, 0, "{shown}");
    assert_eq!(shown["published"]["picture"]["as_drawn_here"], false, "{shown}");
    assert_eq!(shown["published"]["manifest"]["as_suggested_here"], false, "{shown}");
    assert!(!shown.to_string().contains("<script"), "{shown}");
    let text = place.run(&["inspect", AT]);
    assert!(text.stdout.contains("not as drawn here"), "{}", text.shown());
    assert!(text.stderr.contains("graph show --format svg"), "{}", text.shown());
    let drawn = place.run(&["graph", "show", AT, "--format", "svg"]);
    assert!(drawn.stdout.contains("<svg") && !drawn.stdout.contains("<script"), "{}", drawn.shown());
    // The grants of the stranger's manifest do not apply.
    assert_ne!(place.run(&["run", AT]).code, 0);

    // An invalid manifest is written as a file, and refused where it is used.
    with_layers(&place, vec![layer(&place, MANIFEST_TYPE, "flow.caps.yaml", b"\0not a manifest")]);
    ok(&place.run(&["pull", AT, "--companions", "odd", "--no-lock", "--into", "odd-items"]));
    assert_ne!(place.run(&["run", "t/flow", "--caps", "odd/t/flow/flow.caps.yaml"]).code, 0);

    let case = |title: &str| layer(&place, CASE_TYPE, title, CASE.as_bytes());
    let commands: [&[&str]; 3] = [&["inspect", AT], &["test", AT], &["pull", AT, "--companions", "away"]];
    let everywhere = |part: &str| {
        for args in commands {
            refused(&place, args, 8, part);
        }
        assert!(!place.path("away").exists());
    };
    with_layers(&place, vec![case("../x.case.yaml")]);
    everywhere("layer 1 of oci-layout:out:t/flow:1.0.0");
    with_layers(&place, vec![case("x.case.yaml"), case("X.case.yaml")]);
    everywhere("layer 2 of");
    with_layers(
        &place,
        (0..9_000)
            .map(|at| json!({ "mediaType": "a/b", "digest": Digest::of_bytes(b""), "size": at }))
            .collect(),
    );
    everywhere("9000 layers besides its graph");
    let mut lying = case("x.case.yaml");
    lying["size"] = json!(1_u64 << 30);
    with_layers(&place, vec![lying.clone()]);
    everywhere("has 1073741824 bytes, 1048576 at most");
    // The layer states less than its size: 4 MiB of spaces.
    let spaces = " ".repeat(4 << 20);
    lying = layer(&place, CASE_TYPE, "x.case.yaml", spaces.as_bytes());
    lying["size"] = json!(7);
    with_layers(&place, vec![lying]);
    refused(&place, &["test", AT], 8, "layer 1 (`x.case.yaml`)");
    refused(&place, &["pull", AT, "--companions", "away"], 8, "layer 1 (`x.case.yaml`)");
    assert!(!place.path("away").exists());
    // The bytes differ from those that the manifest lists.
    let honest = case("x.case.yaml");
    let hex = honest["digest"].as_str().unwrap().trim_start_matches("sha256:").to_owned();
    with_layers(&place, vec![honest]);
    std::fs::write(place.path("out/blobs/sha256").join(hex), CASE.replace("one", "two")).unwrap();
    refused(&place, &["test", AT], 8, "has the digest");
}

#[test]
fn the_layers_of_later_versions_are_left_alone() {
    let place = published();
    with_layers(&place, vec![layer(&place, "application/vnd.graph-host.notes.v7", "../notes", b"x")]);
    let (shown, code) = place.json(&["inspect", AT]);
    assert_eq!((code, &shown["published"]["unknown_layers"]), (0, &json!(1)), "{shown}");
    ok(&place.run(&["run", AT, "--caps", "caps.yaml"]));
}

/// Writes a component into the directory as other tools do, without a signature, and returns its reference.
fn pushed(place: &Place, tag: &str) -> String {
    let wasm = std::fs::read(place.path(".ai/tools/t/kit.wasm")).unwrap();
    let blobs = place.path("out/blobs/sha256");
    std::fs::create_dir_all(&blobs).unwrap();
    let put = |bytes: &[u8]| {
        let digest = Digest::of_bytes(bytes);
        std::fs::write(blobs.join(digest.hex()), bytes).unwrap();
        digest
    };
    let config = br#"{"architecture":"wasm","os":"wasip2"}"#;
    let mut manifest = String::new();
    write!(
        manifest,
        "{{\n \"schemaVersion\": 2,\n \"mediaType\": \"application/vnd.oci.image.manifest.v1+json\",\n \"config\": {},\n \"layers\": [{}] }}",
        json!({ "mediaType": "application/vnd.wasm.config.v0+json", "digest": put(config), "size": config.len() }),
        json!({ "mediaType": "application/wasm", "digest": put(&wasm), "size": wasm.len() }),
    )
    .unwrap();
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [{
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "digest": put(manifest.as_bytes()), "size": manifest.len(),
            "annotations": { "org.opencontainers.image.ref.name": tag },
        }],
    });
    place.write("out/oci-layout", r#"{"imageLayoutVersion":"1.0.0"}"#);
    place.write("out/index.json", &index.to_string());
    format!("oci-layout:out:{tag}")
}

#[test]
fn a_component_in_a_registry_is_signed_in_place() {
    let place = signed();
    let at = pushed(&place, "kit:1.2.0");
    refused(&place, &["pull", &at, "--no-lock"], 8, "is not signed");
    refused(&place, &["sign", &at, "--key", "me"], 2, "does not state the id");
    refused(
        &place,
        &["sign", &at, "--key", "me", "--id", "t/kit", "--version", "1.3.0"],
        2,
        "states the version `1.2.0`",
    );
    refused(
        &place,
        &["sign", &at, "--key", "me", "--id", "t/kit", "--add"],
        2,
        "each signature is an artifact",
    );
    refused(&place, &["sign", "oci-layout:out", "--key", "me", "--id", "t/kit"], 2, "names no artifact");
    let (signed, code) = place.json(&["sign", &at, "--key", "me", "--id", "t/kit"]);
    assert_eq!(code, 0, "{signed}");
    assert_eq!((&signed["version"], &signed["was_there"]), (&json!("1.2.0"), &json!(false)), "{signed}");
    // The statement is that of `sign` of the file, byte for byte.
    std::fs::create_dir_all(place.path("alone")).unwrap();
    std::fs::copy(place.path(".ai/tools/t/kit.wasm"), place.path("alone/kit.wasm")).unwrap();
    let of_file =
        place.json(&["sign", "alone/kit.wasm", "--key", "me", "--id", "t/kit", "--version", "1.2.0"]).0;
    for key in ["digest", "interfaces", "ceiling", "summary", "functions"] {
        assert_eq!(signed[key], of_file[key], "{key}");
    }
    let again = place.json(&["sign", &at, "--key", "me", "--id", "t/kit"]).0;
    assert_eq!((&again["was_there"], &again["signature"]), (&json!(true), &signed["signature"]), "{again}");
    let (pulled, code) = place.json(&["pull", &at, "--into", "fetched", "--no-lock"]);
    assert_eq!((code, &pulled["pulled"][0]["version"]), (0, &json!("1.2.0")), "{pulled}");
    let same =
        |one: &Path, other: &Path| assert_eq!(std::fs::read(one).unwrap(), std::fs::read(other).unwrap());
    same(&place.path("fetched/tools/t/kit.wasm.dsse.json"), &place.path("alone/kit.wasm.dsse.json"));
    // No unsigned component has been left in the cache of pulled items.
    assert!(!place.path("home/pulled").exists());
}

#[test]
fn a_text_in_a_registry_is_not_signed_in_place() {
    let place = published();
    let (document, code) = place.json(&["sign", AT, "--key", "me"]);
    assert_eq!(code, 2, "{document}");
    assert!(document["error"]["message"].as_str().unwrap().contains("a line in its text"), "{document}");
    assert!(
        document["error"]["help"].as_str().unwrap().contains("graph-host publish FILE REF"),
        "{document}"
    );
}
