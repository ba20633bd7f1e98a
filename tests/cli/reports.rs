//! Reports of commands: nothing is left out of them.

use serde_json::json;

use crate::place::Place;

#[test]
fn a_file_that_cannot_be_fetched_is_reported_with_the_others() {
    let place = Place::new();
    place.graph("good.yaml", "start: a\nnodes:\n  a: {}\n");
    place.graph("wrong.yaml", "start: a\nnodes:\n  b: {}\n");
    let files = ["validate", "good.yaml", "oci-layout:none:t/x:1.0.0", "wrong.yaml", "none.yaml"];
    let (told, code) = place.json(&files);
    let valid: Vec<_> = told["files"].as_array().unwrap().iter().map(|file| file["valid"].clone()).collect();
    assert_eq!(valid, [json!(true), json!(false), json!(false), json!(false)], "{told}");
    assert_eq!(told["files"][1]["file"], "oci-layout:none:t/x:1.0.0");
    let alone = place.run(&files[..3]);
    assert_eq!(code, alone.code, "the first problem decides: {}", alone.shown());
    let shown = place.run(&files);
    assert!(shown.stdout.contains("good.yaml") && shown.stdout.contains("wrong.yaml"), "{}", shown.shown());
    assert!(shown.stderr.contains("none.yaml"), "{}", shown.shown());
}

#[test]
fn all_files_of_a_trust_store_without_keys_are_named() {
    let place = Place::new();
    place.write("one.yaml", "version: 1\nkeys: []\n");
    place.write("two.yaml", "version: 1\nkeys: []\n");
    let listed = place.run(&["trust", "list", "--trust", "one.yaml", "--trust", "two.yaml"]);
    assert_eq!(listed.code, 0, "{}", listed.shown());
    assert!(listed.stdout.contains("no key is trusted in"), "{}", listed.shown());
    for file in ["trust.yaml", "one.yaml", "two.yaml"] {
        assert!(listed.stdout.contains(file), "{file}: {}", listed.shown());
    }
}

#[test]
fn an_import_to_nowhere_is_refused_before_the_file_is_read() {
    let place = Place::new();
    for file in ["none.jsonl", "-"] {
        let ran = place.run(&["runs", "import", file, "--store", "memory"]);
        assert_eq!(ran.code, 2, "{file}: {}", ran.shown());
        assert!(ran.stderr.contains("cannot be used with import"), "{file}: {}", ran.shown());
    }
}

#[test]
fn a_run_that_is_too_large_for_a_page_is_not_cut() {
    let place = Place::new();
    place.graph("g.yaml", "start: a\nnodes:\n  a: {}\n");
    std::fs::File::create(place.path("run.jsonl")).unwrap().set_len((64 << 20) + 1).unwrap();
    let ran = place.run(&["bundle", "g.yaml", "-o", "site", "--replay", "run.jsonl"]);
    assert_eq!(ran.code, 3, "{}", ran.shown());
    assert!(ran.stderr.contains("the run run.jsonl is larger than 64 MiB"), "{}", ran.shown());
    assert!(!place.path("site").exists());
}

#[test]
fn a_file_of_a_bundle_is_refused_for_what_it_is() {
    let place = Place::new();
    let manifest = "site/manifest.json";
    std::fs::create_dir(place.path("site")).unwrap();
    let refused = |exit: i32, reason: &str| {
        let ran = place.run(&["bundle", "--verify", "site"]);
        assert_eq!(ran.code, exit, "{}", ran.shown());
        assert!(ran.stderr.contains(reason), "{reason}: {}", ran.shown());
    };
    std::fs::File::create(place.path(manifest)).unwrap().set_len((128 << 20) + 1).unwrap();
    refused(3, "manifest.json is larger than 128 MiB");
    std::fs::remove_file(place.path(manifest)).unwrap();
    std::os::unix::fs::symlink("/dev/zero", place.path(manifest)).unwrap();
    refused(2, "manifest.json is not a regular file");
    std::fs::remove_file(place.path(manifest)).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(place.path(manifest)).status().unwrap().success());
    refused(2, "manifest.json is not a regular file");
}
