//! Tests `graph-host bundle`: the files that it writes, its refusals, and its verification.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::place::{Place, Ran};

const EXAMPLES: [&str; 4] = ["etl", "map-reduce", "tool-router", "approval"];

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// Bundles an example, with further options.
fn bundle(place: &Place, example: &str, folder: &str, options: &[&str]) -> Ran {
    let file = |name: &str| examples().join(name).to_string_lossy().into_owned();
    let (graph, caps) = (file(&format!("{example}/graph.yaml")), file(&format!("{example}/caps.yaml")));
    let mut args = vec!["bundle", &graph, "--caps", &caps, "-o", folder];
    let trust = file("trust.yaml");
    args.extend(["--trust", &trust]);
    args.extend(options);
    place.run(&args)
}

/// Reads all files below a folder, by path.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![folder.to_path_buf()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                let bytes = fs::read(&path).unwrap();
                found.insert(path, bytes);
            }
        }
    }
    found
}

fn document(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("bundle.json")).unwrap()).unwrap()
}

#[test]
fn bundles_of_examples_load_back_and_are_the_same_twice() {
    let place = Place::new();
    for example in EXAMPLES {
        for folder in ["one", "two"] {
            let ran = bundle(&place, example, folder, &[]);
            assert_eq!(ran.code, 0, "{}", ran.stderr);
        }
        let (one, two) = (files(&place.path("one")), files(&place.path("two")));
        let relative = |folder: &str, files: &BTreeMap<PathBuf, Vec<u8>>| {
            let strip = |path: &PathBuf| path.strip_prefix(place.path(folder)).unwrap().to_path_buf();
            files.iter().map(|(path, bytes)| (strip(path), bytes.clone())).collect::<BTreeMap<_, _>>()
        };
        assert!(relative("one", &one) == relative("two", &two), "two bundles of {example} differ");
        let ran = place.run(&["bundle", "--verify", "one"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let document = document(&place.path("one"));
        assert!(!document["components"].as_array().unwrap().is_empty());
        assert!(!document["trust"].as_str().unwrap().contains("PRIVATE"));
    }
}

#[test]
fn a_flipped_byte_in_any_file_is_found() {
    let place = Place::new();
    assert_eq!(bundle(&place, "etl", "site", &[]).code, 0);
    for (path, bytes) in files(&place.path("site")) {
        if bytes.is_empty() {
            continue;
        }
        let mut changed = bytes.clone();
        let middle = changed.len() / 2;
        changed[middle] ^= 1;
        fs::write(&path, &changed).unwrap();
        let ran = place.run(&["bundle", "--verify", "site"]);
        assert_ne!(ran.code, 0, "{} was changed", path.display());
        fs::write(&path, &bytes).unwrap();
    }
    assert_eq!(place.run(&["bundle", "--verify", "site"]).code, 0);
    fs::remove_file(place.path("site/assets/walker.js")).unwrap();
    let ran = place.run(&["bundle", "--verify", "site"]);
    assert!(ran.stderr.contains("assets/walker.js is missing"), "{}", ran.stderr);
    assert_eq!(bundle(&place, "etl", "site", &[]).code, 0, "an older bundle is replaced, damaged or not");
    place.write("site/more.txt", "");
    let ran = place.run(&["bundle", "--verify", "site"]);
    assert!(ran.stderr.contains("more.txt does not belong to the bundle"), "{}", ran.stderr);
}

#[test]
fn a_bundle_of_another_key_is_told_apart() {
    let place = Place::new();
    let key = examples().join("keys/example-only.pem").to_string_lossy().into_owned();
    let public = examples().join("keys/example-only.pub.pem").to_string_lossy().into_owned();
    assert_eq!(bundle(&place, "etl", "theirs", &["--key", &key]).code, 0);
    assert_eq!(bundle(&place, "etl", "ours", &[]).code, 0);
    assert_eq!(place.run(&["bundle", "--verify", "theirs", "--key", &public]).code, 0);
    let ran = place.run(&["bundle", "--verify", "ours", "--key", &public]);
    assert!(ran.stderr.contains("was not signed with key"), "{}", ran.stderr);
    // The files of one bundle with the signature of another.
    fs::copy(place.path("theirs/manifest.json.dsse.json"), place.path("ours/manifest.json.dsse.json"))
        .unwrap();
    assert_ne!(place.run(&["bundle", "--verify", "ours"]).code, 0);
}

#[test]
fn a_folder_in_use_stays_as_it_is() {
    let place = Place::new();
    fs::create_dir(place.path("mine")).unwrap();
    place.write("mine/notes.txt", "mine");
    let ran = bundle(&place, "etl", "mine", &[]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("is not empty"), "{}", ran.stderr);
    assert_eq!(fs::read_dir(place.path("mine")).unwrap().count(), 1);
    // A bundle to which a file was added.
    assert_eq!(bundle(&place, "etl", "site", &[]).code, 0);
    place.write("site/notes.txt", "mine");
    let ran = bundle(&place, "etl", "site", &[]);
    assert!(ran.stderr.contains("notes.txt"), "{}", ran.stderr);
    assert_eq!(place.read("site/notes.txt"), "mine");
    place.write("file", "");
    assert!(bundle(&place, "etl", "file", &[]).stderr.contains("is not a folder"));
    let left = fs::read_dir(place.path(".")).unwrap().filter_map(Result::ok);
    let left = left.filter(|entry| entry.file_name().to_string_lossy().contains("bundle-")).count();
    assert_eq!(left, 0, "nothing is left next to a bundle");
}

#[test]
fn what_cannot_run_is_refused_before_anything_is_written() {
    let place = Place::with_compiled_testkit();
    place.graph("graph.yaml", "start: a\nnodes:\n  a: { action: { item_id: t/none } }\n");
    let ran = place.run(&["bundle", "graph.yaml", "--caps", "caps.yaml", "-o", "site"]);
    assert_eq!(ran.code, 9, "{}", ran.stderr);
    assert!(ran.stderr.contains("t/none"), "{}", ran.stderr);
    // The message of a native run for a component without a signature.
    place.graph("graph.yaml", "start: a\nnodes:\n  a: { action: { item_id: t/kit } }\n");
    let native = place.run(&["run", "graph.yaml", "--caps", "caps.yaml"]);
    let ran = place.run(&["bundle", "graph.yaml", "--caps", "caps.yaml", "-o", "site"]);
    assert_eq!((ran.code, &ran.stderr), (native.code, &native.stderr));
    // A page cannot sign.
    place.graph(
        "graph.yaml",
        "start: a\nnodes:\n  a: { action: { primary: sign, item_type: knowledge, item_id: t/x } }\n",
    );
    let ran = place.run(&["bundle", "graph.yaml", "-o", "site"]);
    assert_ne!(ran.code, 0);
    assert!(!place.path("site").exists());
}

#[test]
fn a_page_may_reach_what_the_manifest_permits_and_needs_no_secret_to_be_made() {
    let place = Place::new();
    fs::copy(crate::place::kit("testkit-net"), place.path(".ai/tools/t/net.wasm")).unwrap();
    place.graph(
        "graph.yaml",
        "start: a\nnodes:\n  a: { action: { item_id: t/net, params: { op: knowledge-get, key: t/a } } }\n",
    );
    place.write(
        "net.yaml",
        "dispatch: ['execute.tool.t.*']\nitems:\n  t/net:\n    http: [{ host: example.org, schemes: [https], ports: [443, 8443] }]\n    \
         knowledge: [{ scope: t/, access: rw }]\n    tools: true\n    \
         secrets: [{ name: token, from: { env: NOT_SET_ANYWHERE }, header: authorization, host: example.org }]\n",
    );
    let sources = ["graph.yaml", "--caps", "net.yaml", "--allow-unsigned"];
    let native = place.run(&[&["run"][..], &sources].concat());
    assert!(native.stderr.contains("NOT_SET_ANYWHERE"), "{}", native.stderr);
    let ran = place.run(&[&["bundle"][..], &sources, &["-o", "site"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let page = place.read("site/index.html");
    assert!(
        page.contains("connect-src 'self' https://example.org:443 https://example.org:8443; img-src"),
        "{page}"
    );
    let document = document(&place.path("site"));
    assert_eq!(document["needs_jspi"], serde_json::json!(["a"]));
    let named: Vec<_> = document["interfaces"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let imports = document["components"][0]["imports"].as_array().unwrap();
    let path = |name: &str| name.split_once('@').map_or(name, |(path, _)| path).to_owned();
    assert!(imports.iter().all(|name| named.contains(&path(name.as_str().unwrap()).as_str())));
    let checks = document["missing_checks"].to_string();
    for part in ["which address a request goes to", "where a redirect leads", "(CORS)"] {
        assert!(checks.contains(part), "{checks}");
    }
    let plain = place.run(&["bundle", "--verify", "site"]);
    assert_eq!(plain.code, 0, "{}", plain.stderr);
}

#[test]
fn what_a_hook_may_name_is_bundled() {
    let place = Place::with_compiled_testkit();
    let bundled = |hooks: &str| {
        place.graph("graph.yaml", &format!("start: a\nnodes:\n  a: {{}}\n{hooks}"));
        let args = ["bundle", "graph.yaml", "--caps", "caps.yaml", "--allow-unsigned", "-o", "site"];
        let ran = place.run(&args);
        assert_eq!(ran.code, 0, "{}", ran.shown());
        document(&place.path("site"))["components"].as_array().unwrap().len()
    };
    assert_eq!(bundled(""), 0);
    place.write("caps.yaml", "dispatch: ['execute.tool.t.*', 'search.tool.*']\n");
    let search = "{ id: look, event: after_step, action: { primary: search, item_type: tool, params: { query: kit } } }";
    assert_eq!(bundled(&format!("hooks:\n  - {search}\n")), 1);
    // A hook of the project is asked about every graph.
    place.write(".ai/hooks.yaml", &format!("hooks:\n  - {search}\n"));
    assert_eq!(bundled(""), 1);
}

#[test]
fn granted_files_are_packed_within_bounds() {
    let place = Place::new();
    fs::copy(crate::place::kit("testkit-io"), place.path(".ai/tools/t/io.wasm")).unwrap();
    place.graph("graph.yaml", "start: a\nnodes:\n  a: { action: { item_id: t/io, params: { op: now } } }\n");
    let caps = "dispatch: ['execute.tool.t.*']\nitems:\n  t/io:\n    clocks: true\n    random: true\n    filesystem: [{ path: data, as: /data }]\n";
    place.write("caps.yaml", caps);
    fs::create_dir_all(place.path("data/inner/empty")).unwrap();
    place.write("data/a.txt", "a");
    place.write("data/inner/b.txt", "b");
    let args = ["bundle", "graph.yaml", "--caps", "caps.yaml", "--allow-unsigned", "-o", "site"];
    let ran = place.run(&args);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("the page asks for the folder"), "{}", ran.stderr);
    assert_eq!(document(&place.path("site"))["files"].as_array().unwrap().len(), 0);
    let packing = [&args[..], &["--files"]].concat();
    let ran = place.run(&packing);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let document = document(&place.path("site"));
    let packed: Vec<_> =
        document["files"].as_array().unwrap().iter().map(|file| file["at"].as_str().unwrap()).collect();
    let ends = ["/data/a.txt", "/data/inner/b.txt", "/data/inner/empty/"];
    assert_eq!(packed.len(), ends.len());
    assert!(packed.iter().zip(ends).all(|(path, end)| path.ends_with(end)), "{packed:?}");
    fs::write(place.path("data/large"), vec![7; 12 << 20]).unwrap();
    let ran = place.run(&packing);
    assert!(ran.stderr.contains("more than 12 MiB"), "{}", ran.stderr);
    let ran = place.run(&["bundle", "--verify", "site"]);
    assert_eq!(ran.code, 0, "the older bundle is as it was: {}", ran.stderr);
}

/// Makes a component that exports functions of these names, which add two numbers.
fn adder(names: &[&str]) -> Vec<u8> {
    let function = |name: &&str| {
        format!(
            r#"(func (export "{name}") (param "a" u32) (param "b" u32) (result u32) (canon lift (core func $i "f")))"#
        )
    };
    let functions: String = names.iter().map(function).collect();
    let core = r#"(core module $m (func (export "f") (param i32 i32) (result i32) local.get 0 local.get 1 i32.add))"#;
    wat::parse_str(format!("(component {core} (core instance $i (instantiate $m)) {functions})")).unwrap()
}

#[test]
fn functions_of_components_are_bundled_with_their_types() {
    let place = Place::new();
    fs::create_dir_all(place.path(".ai/tools/t")).unwrap();
    let bundled = |names: &[&str], item: &str| {
        fs::write(place.path(".ai/tools/t/lib.wasm"), adder(names)).unwrap();
        let action = format!("item_id: \"{item}\", params: \"${{inputs.params}}\"");
        place.graph("graph.yaml", &format!("start: a\nnodes:\n  a: {{ action: {{ {action} }} }}\n"));
        place.run(&["bundle", "graph.yaml", "--caps", "caps.yaml", "--allow-unsigned", "-o", "site"])
    };
    place.write(
        "caps.yaml",
        "dispatch: ['execute.tool.t.*#add', 'execute.tool.t.lib#sum', 'execute.tool.t.*#none']\n",
    );
    let function = |name: &str| {
        let types = serde_json::json!({ "params": [["a", "u32"], ["b", "u32"]], "result": "u32" });
        serde_json::json!({ "name": name, "types": types })
    };
    // The function that a node names, and, if a run may name others, those that the manifest permits.
    for (item, functions) in [("t/lib#add", &["add"][..]), ("${inputs.item}", &["add", "sum"])] {
        let ran = bundled(&["add", "sum", "other"], item);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let is_told = ran.stderr.contains("`t/lib#none` is not in the bundle");
        assert_eq!(is_told, functions.len() == 2, "{}", ran.stderr);
        let document = document(&place.path("site"));
        assert_eq!(document["components"].as_array().unwrap().len(), 1);
        let functions: Vec<_> = functions.iter().map(|name| function(name)).collect();
        assert_eq!(document["components"][0]["functions"], Value::from(functions));
        assert_eq!(place.run(&["bundle", "--verify", "site"]).code, 0);
    }
    // Names that are equal in JavaScript, or have another meaning there.
    for (names, message) in [
        (
            &["add", "a1", "a-1"][..],
            "`t/lib#add` cannot run in a page: its names `a1` and `a-1` are one name",
        ),
        (&["add", "then"], "exports a function `then`"),
        (&["add", "arguments"], "`arguments`, which it exports, is no name of a function"),
    ] {
        let ran = bundled(names, "t/lib#add");
        assert_eq!(ran.code, 4, "{}", ran.stderr);
        let said = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(message), "{said}");
    }
    // The refusal of a run is repeated in the same words.
    place.write("caps.yaml", "dispatch: ['execute.tool.t.lib#ad']\n");
    let ran = bundled(&["add"], "t/lib#ad");
    let native = place.run(&["run", "graph.yaml", "--caps", "caps.yaml", "--allow-unsigned"]);
    assert_eq!((ran.code, &ran.stderr), (native.code, &native.stderr));
    assert!(ran.stderr.contains("did you mean `add`?"), "{}", ran.stderr);
}
