//! The arrows between the crates point one way.

use std::collections::BTreeSet;

use cargo_metadata::{DependencyKind, MetadataCommand};

#[test]
fn crates_depend_on_each_other_one_way_only() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let metadata = MetadataCommand::new().manifest_path(manifest).no_deps().exec().unwrap();
    let members: BTreeSet<_> = metadata.packages.iter().map(|package| package.name.to_string()).collect();
    let mut edges = BTreeSet::new();
    for package in &metadata.packages {
        for dependency in
            package.dependencies.iter().filter(|dependency| dependency.kind == DependencyKind::Normal)
        {
            if members.contains(&dependency.name) {
                edges.insert((package.name.to_string(), dependency.name.clone()));
            }
            if dependency.name.starts_with("wasmtime") {
                assert_eq!(package.name.to_string(), "graph-engine", "wasmtime is named in one crate alone");
            }
        }
    }
    let allowed = [
        ("graph-engine", "graph-core"),
        ("graph-host", "graph-core"),
        ("graph-host", "graph-engine"),
        ("graph-host", "graph-registry"),
        ("graph-host", "graph-store"),
        ("graph-registry", "graph-core"),
        ("graph-store", "graph-core"),
    ];
    let allowed: BTreeSet<_> =
        allowed.into_iter().map(|(one, two)| (one.to_owned(), two.to_owned())).collect();
    assert_eq!(edges, allowed);
}
