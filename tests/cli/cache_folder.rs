//! Compiled components and fetched items in the user's space, and their removal by `cache`.

use std::fs::File;
use std::io::Write as _;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::place::{Place, Ran};

fn ok(ran: &Ran) {
    assert_eq!(ran.code, 0, "{}", ran.shown());
}

/// Runs `t/kit` once, with further environment variables.
fn run(place: &Place, variables: &[(&str, &str)]) -> Ran {
    let mut command = place.command(&["run", "g.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--quiet"]);
    command.envs(variables.iter().copied());
    place.ran(&command.output().unwrap())
}

fn place() -> Place {
    let place = Place::with_testkit();
    place.graph(
        "g.yaml",
        "start: a\nnodes: { a: { action: { item_id: t/kit, params: { op: echo, value: 1 } } } }",
    );
    place
}

/// Makes another component of `t/kit` with the same behaviour: an empty section is added.
fn other_component(place: &Place) {
    let file = place.path(".ai/tools/t/kit.wasm");
    File::options().append(true).open(file).unwrap().write_all(&[0, 2, 1, b'x']).unwrap();
}

fn list(place: &Place) -> Value {
    let (listed, code) = place.json(&["cache", "list"]);
    assert_eq!(code, 0, "{listed}");
    listed
}

fn count(listed: &Value, what: &str) -> usize {
    listed[what].as_array().unwrap_or_else(|| panic!("{listed}")).len()
}

fn make_old(path: &std::path::Path) {
    let file = File::open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_hours(48)).unwrap();
}

#[test]
fn compiled_components_are_listed_and_removed() {
    let place = place();
    assert_eq!(count(&list(&place), "compiled"), 0);
    ok(&run(&place, &[]));
    other_component(&place);
    ok(&run(&place, &[]));
    let listed = list(&place);
    assert_eq!((count(&listed, "compiled"), &listed["limit"]), (2, &json!(2_147_483_648_u64)), "{listed}");
    let digest =
        listed["compiled"][0]["component"].as_str().unwrap().trim_start_matches("sha256:").to_owned();
    let cache = place.path("home/cache");
    let files: Vec<_> = std::fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().path()).collect();
    let first = files.iter().find(|path| path.to_string_lossy().contains(&digest)).unwrap();
    make_old(first);
    let (would, _) = place.json(&["cache", "prune", "--older-than", "1d", "--dry-run"]);
    assert_eq!(would["removed"]["compiled"][0]["component"], listed["compiled"][0]["component"], "{would}");
    assert!(first.exists());
    let removed = place.run(&["cache", "prune", "--older-than", "1d"]);
    ok(&removed);
    assert!(
        removed.stdout.contains("removed 1 compiled component, 0 fetched items, "),
        "{}",
        removed.shown()
    );
    assert!(!first.exists() && count(&list(&place), "compiled") == 1);
    // Without options, everything within the limit is kept.
    ok(&place.run(&["cache", "prune"]));
    assert_eq!(count(&list(&place), "compiled"), 1);
    ok(&place.run(&["cache", "prune", "--max-size", "1B"]));
    assert_eq!(count(&list(&place), "compiled"), 0);
    ok(&run(&place, &[]));
    assert_eq!(
        place.json(&["cache", "prune", "--all"]).0["removed"]["compiled"].as_array().unwrap().len(),
        1
    );
    assert!(cache.join("key").exists(), "the key stays");
}

#[test]
fn the_cache_stays_within_its_limit_by_itself() {
    let place = place();
    let limit = "GRAPH_HOST_CACHE_LIMIT";
    ok(&run(&place, &[(limit, "none")]));
    let first = list(&place)["compiled"][0]["component"].clone();
    other_component(&place);
    ok(&run(&place, &[(limit, "1KiB")]));
    let listed = list(&place);
    assert_eq!(count(&listed, "compiled"), 1, "{listed}");
    assert_ne!(listed["compiled"][0]["component"], first, "what was just added stays");
    let refused = run(&place, &[(limit, "lots")]);
    assert_eq!(refused.code, 2, "{}", refused.shown());
    assert!(refused.stderr.contains("GRAPH_HOST_CACHE_LIMIT is no size"), "{}", refused.shown());
}

#[test]
fn fetched_items_are_removed_unless_something_needs_them() {
    let place = place();
    place.write("other.md", "");
    ok(&place.run(&["keys", "generate", "me"]));
    ok(&place.run(&["trust", "add", "me", "--key", "me", "--items", "t/*"]));
    ok(&place.run(&["sign", ".ai/tools/t/kit.wasm", "--key", "me", "--version", "1.0.0"]));
    ok(&place.run(&["publish", "t/kit", "oci-layout:out"]));
    let fetch = || ok(&place.run(&["inspect", "oci-layout:out:t/kit:1.0.0"]));
    fetch();
    let listed = list(&place);
    assert_eq!(count(&listed, "fetched"), 1, "{listed}");
    assert!(listed["fetched"][0]["item"].as_str().unwrap().ends_with("t/kit.wasm"), "{listed}");
    assert!(listed["fetched"][0]["bytes"].as_u64() > Some(10_000), "{listed}");
    let manifest =
        listed["fetched"][0]["manifest"].as_str().unwrap().trim_start_matches("sha256:").to_owned();
    // A folder that was not made for this purpose is left alone, and so is the target of a link.
    let digest = |digit: &str| place.path(&format!("home/pulled/{}", digit.repeat(64)));
    std::fs::create_dir_all(digest("b")).unwrap();
    std::fs::write(digest("b").join("item"), "mine").unwrap();
    #[cfg(unix)]
    {
        std::fs::create_dir_all(place.path("outside")).unwrap();
        for file in [".pulled", "item"] {
            std::fs::write(place.path("outside").join(file), "x").unwrap();
        }
        std::os::unix::fs::symlink(place.path("outside"), digest("c")).unwrap();
    }
    assert_eq!(count(&list(&place), "fetched"), 1);
    // A locked item is kept.
    ok(&place.run(&["lock", "oci-layout:out:t/kit:1.0.0"]));
    assert!(list(&place)["fetched"][0]["needed_by"].as_str().unwrap().ends_with("graph-host.lock"));
    assert_eq!(count(&place.json(&["cache", "prune", "--all"]).0["removed"], "fetched"), 0);
    std::fs::remove_file(place.path("graph-host.lock")).unwrap();
    let unused = place.json(&["cache", "prune", "--older-than", "1d"]).0;
    assert_eq!(count(&unused["removed"], "fetched"), 0, "it was used just now: {unused}");
    make_old(&place.path(&format!("home/pulled/{manifest}/item")));
    let removed = place.json(&["cache", "prune", "--older-than", "1d"]).0;
    assert_eq!(count(&removed["removed"], "fetched"), 1, "{removed}");
    assert!(!place.path(&format!("home/pulled/{manifest}")).exists());
    assert!(digest("b").join("item").exists());
    #[cfg(unix)]
    assert!(digest("c").is_symlink() && place.path("outside/item").exists());
    fetch();
    assert_eq!(count(&list(&place), "fetched"), 1);
}

#[test]
fn a_fetched_item_stays_that_a_run_can_be_resumed_with() {
    let place = place();
    place.graph(
        ".ai/tools/t/asks.yaml",
        "start: a\nnodes: { a: { action: { item_id: t/kit, params: { op: interrupt, payload: 1 } } } }",
    );
    ok(&place.run(&["keys", "generate", "me"]));
    ok(&place.run(&["trust", "add", "me", "--key", "me", "--items", "t/*"]));
    ok(&place.run(&["sign", ".ai/tools/t/kit.wasm", "--key", "me", "--version", "1.0.0"]));
    ok(&place.run(&["sign", ".ai/tools/t/asks.yaml", "--key", "me"]));
    ok(&place.run(&["publish", "t/asks", "--version", "1.0.0", "--with-items", "oci-layout:out"]));
    let asked = place.run(&["run", "oci-layout:out:t/asks:1.0.0", "--caps", "caps.yaml", "--run-id", "r"]);
    assert_eq!(asked.code, 6, "{}", asked.shown());
    assert_eq!(list(&place)["fetched"][0]["needed_by"], "run r");
    ok(&place.run(&["cache", "prune", "--all"]));
    ok(&place.run(&["resume", "r", "--answer", "1"]));
    ok(&place.run(&["cache", "prune", "--all"]));
    assert_eq!(count(&list(&place), "fetched"), 0);
}
