//! A node in Rust: a crate.

use graph_toolchain::wit;

use super::sdk_files;

/// The SDK that a node is built with, without the WIT of the contract.
const SDK: &[(&str, &str)] = sdk_files![
    "guest-sdk/rust/Cargo.toml" from "guest-sdk/rust/Cargo.toml.txt",
    "guest-sdk/rust/src/allocator.rs",
    "guest-sdk/rust/src/bindings.rs",
    "guest-sdk/rust/src/context.rs",
    "guest-sdk/rust/src/failure.rs",
    "guest-sdk/rust/src/files.rs",
    "guest-sdk/rust/src/host.rs",
    "guest-sdk/rust/src/http.rs",
    "guest-sdk/rust/src/imports/component/http.rs",
    "guest-sdk/rust/src/imports/component/mod.rs",
    "guest-sdk/rust/src/imports/double/filesystem.rs",
    "guest-sdk/rust/src/imports/double/http.rs",
    "guest-sdk/rust/src/imports/double/mod.rs",
    "guest-sdk/rust/src/imports/double/model.rs",
    "guest-sdk/rust/src/imports/double/model_rules.rs",
    "guest-sdk/rust/src/imports/mod.rs",
    "guest-sdk/rust/src/knowledge.rs",
    "guest-sdk/rust/src/lib.rs",
    "guest-sdk/rust/src/model/convert.rs",
    "guest-sdk/rust/src/model/message.rs",
    "guest-sdk/rust/src/model/mod.rs",
    "guest-sdk/rust/src/model/request.rs",
    "guest-sdk/rust/src/model/response.rs",
    "guest-sdk/rust/src/node.rs",
    "guest-sdk/rust/src/outcome.rs",
    "guest-sdk/rust/src/schema.rs",
    "guest-sdk/rust/src/secrets.rs",
    "guest-sdk/rust/src/testing/host.rs",
    "guest-sdk/rust/src/testing/mod.rs",
    "guest-sdk/rust/src/testing/models.rs",
    "guest-sdk/rust/src/testing/state.rs",
    "guest-sdk/rust/src/testing/tree.rs",
    "guest-sdk/rust/src/tools.rs",
    "guest-sdk/rust/wit/model.wit",
    "guest-sdk/rust/wit/sdk.wit",
];

/// Returns all files that a node is built with, by path. The contract is below the SDK, where its sources expect it.
pub(super) fn sdk() -> impl Iterator<Item = (String, &'static str)> {
    let contract = wit::FILES.iter().map(|(path, text)| (format!("guest-sdk/rust/{path}"), *text));
    SDK.iter().map(|(path, text)| ((*path).to_owned(), *text)).chain(contract)
}

/// Returns the files of the crate. `sdk` is the folder of the SDK, escaped for TOML.
pub(super) fn made(name: &str, wants: &[String], sdk: &str) -> Vec<(String, String)> {
    let features = if wants.iter().any(|want| is_model(want)) { ", features = [\"model\"]" } else { "" };
    vec![
        (
            "Cargo.toml".to_owned(),
            include_str!("../../../../templates/node/Cargo.toml.txt")
                .replace("NAME", name)
                .replace("FEATURES", features)
                .replace("SDK", sdk),
        ),
        (
            "src/lib.rs".to_owned(),
            include_str!("../../../../templates/node/lib.rs.txt").replace("WANTS", &wants_of(wants)),
        ),
        (".gitignore".to_owned(), "/target\n".to_owned()),
    ]
}

/// Checks whether an interface is that of language models, which is a feature of the SDK.
fn is_model(interface: &str) -> bool {
    interface.split('@').next() == Some("graph-host:host/model")
}

/// Renders the wanted interfaces as a part of `node!`.
fn wants_of(wants: &[String]) -> String {
    if wants.is_empty() {
        return String::new();
    }
    let wants: Vec<_> = wants.iter().map(|name| format!("        \"{name}\": \"say what for\",\n")).collect();
    format!("\n    wants: [\n{}    ],\n   ", wants.concat())
}
