//! The arrows between the crates point one way, and tests change nothing of what the product is built from.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// What `cargo` prints. Nothing is fetched.
fn cargo(args: &[&str]) -> String {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let mut command = Command::new(cargo);
    let output =
        command.args(args).args(["--locked", "--offline", "--manifest-path", manifest]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn crates_depend_on_each_other_one_way_only() {
    let metadata: Value =
        serde_json::from_str(&cargo(&["metadata", "--no-deps", "--format-version", "1"])).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let name = |value: &Value| value["name"].as_str().unwrap().to_owned();
    let members: BTreeSet<_> = packages.iter().map(name).collect();
    let mut edges = BTreeSet::new();
    for package in packages {
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        // A dependency of the kind `null` is neither for tests nor for build scripts.
        for dependency in dependencies.filter(|dependency| dependency["kind"].is_null()).map(name) {
            if dependency.starts_with("wasmtime") {
                assert_eq!(name(package), "graph-engine", "wasmtime is named in one crate alone");
            }
            if members.contains(&dependency) {
                edges.insert((name(package), dependency));
            }
        }
    }
    let allowed = [
        ("graph-cases", "graph-core"),
        ("graph-cases", "graph-driver"),
        ("graph-cases", "graph-runtime"),
        ("graph-cases", "graph-store"),
        ("graph-driver", "graph-core"),
        ("graph-driver", "graph-store"),
        ("graph-engine", "graph-core"),
        ("graph-engine", "graph-http"),
        ("graph-host", "graph-cases"),
        ("graph-host", "graph-core"),
        ("graph-host", "graph-runtime"),
        ("graph-registry", "graph-core"),
        ("graph-registry", "graph-http"),
        ("graph-runtime", "graph-core"),
        ("graph-runtime", "graph-driver"),
        ("graph-runtime", "graph-engine"),
        ("graph-runtime", "graph-http"),
        ("graph-runtime", "graph-registry"),
        ("graph-runtime", "graph-store"),
        ("graph-store", "graph-core"),
    ];
    let allowed: BTreeSet<_> =
        allowed.into_iter().map(|(one, two)| (one.to_owned(), two.to_owned())).collect();
    assert_eq!(edges, allowed);
}

/// The features that each dependency is built with, by its name and version: once, or once for the target and once for
/// macros and build scripts.
fn features(args: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let tree = cargo(&[&["tree", "--prefix", "none", "--format", "{p}|{f}"][..], args].concat());
    let mut found = BTreeMap::<_, BTreeSet<_>>::new();
    // An empty line is between the trees of two crates.
    for line in tree.lines().filter(|line| !line.is_empty()) {
        let (package, features) = line.split_once('|').unwrap_or_else(|| panic!("{line}"));
        let package: Vec<_> = package.split(' ').take(2).collect();
        let features = features.trim_end_matches(" (*)");
        found.entry(package.join(" ")).or_default().insert(features.to_owned());
    }
    found.retain(|package, _| !package.starts_with("graph-"));
    found
}

/// Otherwise `cargo test` and `cargo bench` would build much of it a second time, wasmtime first of all, and test something
/// else than what users get.
#[test]
fn tests_are_built_with_the_dependencies_of_the_product() {
    let product = features(&["--package", "graph-host", "--edges", "normal,build"]);
    assert!(product.keys().any(|package| package.starts_with("wasmtime v")), "{product:?}");
    for scope in [&["--workspace"][..], &["--package", "graph-host"]] {
        let tested = features(&[scope, &["--edges", "normal,build,dev"]].concat());
        let differing: Vec<_> = product
            .iter()
            .filter(|(package, features)| tested.get(*package) != Some(*features))
            .map(|(package, features)| format!("{package}: {features:?}, in tests {:?}", tested.get(package)))
            .collect();
        assert!(differing.is_empty(), "{}", differing.join("\n"));
    }
}
