//! A node in C.

pub(super) use graph_toolchain::c::HEADER;

use super::sdk_files;

/// The SDK that a node is built with.
pub(super) const SDK: &[(&str, &str)] = sdk_files![
    "guest-sdk/c/README.md",
    "guest-sdk/c/include/graph_host_model.h",
    "guest-sdk/c/include/graph_host_sdk.h",
    "guest-sdk/c/include/graph_host_testing.h",
    "guest-sdk/c/src/component/action.c",
    "guest-sdk/c/src/component/bound.h",
    "guest-sdk/c/src/component/files.c",
    "guest-sdk/c/src/component/host.c",
    "guest-sdk/c/src/component/http.c",
    "guest-sdk/c/src/component/model.c",
    "guest-sdk/c/src/internal.h",
    "guest-sdk/c/src/json.c",
    "guest-sdk/c/src/memory.c",
    "guest-sdk/c/src/model.c",
    "guest-sdk/c/src/node.c",
    "guest-sdk/c/src/schema.c",
    "guest-sdk/c/src/yyjson.c",
    "guest-sdk/c/src/yyjson_names.h",
    "guest-sdk/c/testing/double.h",
    "guest-sdk/c/testing/files.c",
    "guest-sdk/c/testing/model.c",
    "guest-sdk/c/testing/model_rules.c",
    "guest-sdk/c/testing/testing.c",
    "guest-sdk/c/vendor/yyjson/LICENSE",
    "guest-sdk/c/vendor/yyjson/README.md",
    "guest-sdk/c/vendor/yyjson/yyjson.c",
    "guest-sdk/c/vendor/yyjson/yyjson.h",
];

/// Returns the files of the project. `sdk` is the folder of the SDK, absolute or relative to the project; `written` is the same, escaped
/// for TOML.
pub(super) fn made(name: &str, wants: &[String], sdk: &str, written: &str) -> Vec<(String, String)> {
    vec![
        (
            "node.toml".to_owned(),
            include_str!("../../../../templates/node-c/node.toml.txt")
                .replace("NAME", name)
                .replace("SDK_FOLDER", written),
        ),
        (
            "src/node.c".to_owned(),
            include_str!("../../../../templates/node-c/node.c.txt").replace("WANTS", &wants_of(wants)),
        ),
        (
            "tests/test_node.c".to_owned(),
            include_str!("../../../../templates/node-c/test_node.c.txt").to_owned(),
        ),
        (
            "Makefile".to_owned(),
            include_str!("../../../../templates/node-c/Makefile.txt")
                .replace("SDK_FOLDER", &in_makefile(sdk)),
        ),
        (".gitignore".to_owned(), "/target\n".to_owned()),
    ]
}

/// Quotes a path for `make` and its shell.
fn in_makefile(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+".contains(c);
    if path.chars().all(is_plain) {
        return path.to_owned();
    }
    format!("'{}'", path.replace('\'', "'\\''")).replace('$', "$$").replace('#', "\\#")
}

/// Renders the wanted interfaces as an initializer of the node's definition.
fn wants_of(wants: &[String]) -> String {
    if wants.is_empty() {
        return String::new();
    }
    let wants: Vec<_> = wants.iter().map(|name| format!("{{\"{name}\", \"say what for\"}}")).collect();
    format!(",\n        .wants = GH_WANTS({})", wants.join(", "))
}
