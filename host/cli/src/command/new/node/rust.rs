//! A node in Rust: a crate.

use super::sdk_files;

/// The SDK that a node is built with.
pub(super) const SDK: &[(&str, &str)] = sdk_files![
    "guest-sdk/rust/Cargo.toml" from "guest-sdk/rust/Cargo.toml.txt",
    "guest-sdk/rust/src/allocator.rs",
    "guest-sdk/rust/src/bindings.rs",
    "guest-sdk/rust/src/context.rs",
    "guest-sdk/rust/src/failure.rs",
    "guest-sdk/rust/src/files.rs",
    "guest-sdk/rust/src/host.rs",
    "guest-sdk/rust/src/lib.rs",
    "guest-sdk/rust/src/node.rs",
    "guest-sdk/rust/src/outcome.rs",
    "guest-sdk/rust/src/schema.rs",
    "guest-sdk/rust/wit/sdk.wit",
    "guest-sdk/rust-reach/Cargo.toml" from "guest-sdk/rust-reach/Cargo.toml.txt",
    "guest-sdk/rust-reach/src/bindings.rs",
    "guest-sdk/rust-reach/src/failure.rs",
    "guest-sdk/rust-reach/src/http.rs",
    "guest-sdk/rust-reach/src/knowledge.rs",
    "guest-sdk/rust-reach/src/lib.rs",
    "guest-sdk/rust-reach/src/secrets.rs",
    "guest-sdk/rust-reach/src/tools.rs",
    "guest-sdk/rust-reach/wit/reach.wit",
];

/// The files of the crate, with the SDK in that folder: a path as a string of TOML has it.
pub(super) fn made(name: &str, wants: &[String], sdk: &str) -> Vec<(String, String)> {
    vec![
        (
            "Cargo.toml".to_owned(),
            include_str!("../../../../templates/node/Cargo.toml.txt")
                .replace("NAME", name)
                .replace("SDK", sdk)
                .replace("REACH", &reach(wants, sdk)),
        ),
        (
            "src/lib.rs".to_owned(),
            include_str!("../../../../templates/node/lib.rs.txt").replace("WANTS", &wants_of(wants)),
        ),
        (".gitignore".to_owned(), "/target\n".to_owned()),
    ]
}

/// What the node wants, as a part of `node!`.
fn wants_of(wants: &[String]) -> String {
    if wants.is_empty() {
        return String::new();
    }
    let wants: Vec<_> = wants.iter().map(|name| format!("        \"{name}\": \"say what for\",\n")).collect();
    format!("\n    wants: [\n{}    ],\n   ", wants.concat())
}

/// The crate that a node reaches beyond files with, where it wants to.
fn reach(wants: &[String], sdk: &str) -> String {
    let beyond =
        ["wasi:http/", "graph-host:host/secrets", "graph-host:host/knowledge", "graph-host:host/tools"];
    if wants.iter().any(|name| beyond.iter().any(|start| name.starts_with(start))) {
        format!("graph-sdk-reach = {{ path = \"{sdk}-reach\" }}\n")
    } else {
        String::new()
    }
}
