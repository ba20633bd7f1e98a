//! A node in Python.

use graph_toolchain::python::COMPONENTIZE;
pub(super) use graph_toolchain::python::INSTALL;

use super::sdk_files;

/// The SDK that a node is built with.
pub(super) const SDK: &[(&str, &str)] = sdk_files![
    "guest-sdk/python/README.md",
    "guest-sdk/python/pyproject.toml",
    "guest-sdk/python/src/graph_host_sdk/__init__.py",
    "guest-sdk/python/src/graph_host_sdk/bindings.py",
    "guest-sdk/python/src/graph_host_sdk/clocks.py",
    "guest-sdk/python/src/graph_host_sdk/command.py",
    "guest-sdk/python/src/graph_host_sdk/component.py",
    "guest-sdk/python/src/graph_host_sdk/context.py",
    "guest-sdk/python/src/graph_host_sdk/failure.py",
    "guest-sdk/python/src/graph_host_sdk/files.py",
    "guest-sdk/python/src/graph_host_sdk/host.py",
    "guest-sdk/python/src/graph_host_sdk/http.py",
    "guest-sdk/python/src/graph_host_sdk/knowledge.py",
    "guest-sdk/python/src/graph_host_sdk/loading.py",
    "guest-sdk/python/src/graph_host_sdk/model.py",
    "guest-sdk/python/src/graph_host_sdk/node.py",
    "guest-sdk/python/src/graph_host_sdk/py.typed",
    "guest-sdk/python/src/graph_host_sdk/randomness.py",
    "guest-sdk/python/src/graph_host_sdk/schema.py",
    "guest-sdk/python/src/graph_host_sdk/secrets.py",
    "guest-sdk/python/src/graph_host_sdk/testing.py",
    "guest-sdk/python/src/graph_host_sdk/testing_models.py",
    "guest-sdk/python/src/graph_host_sdk/text.py",
    "guest-sdk/python/src/graph_host_sdk/tools.py",
];

/// Returns the files of the project. `sdk` is the folder of the SDK, absolute or relative to the project.
pub(super) fn made(name: &str, wants: &[String], sdk: &str) -> Vec<(String, String)> {
    // With a separator, pip takes it for a path, not for a package of PyPI.
    let sdk = if sdk.starts_with('/') || sdk.contains(':') { sdk.to_owned() } else { format!("./{sdk}") };
    vec![
        (
            "pyproject.toml".to_owned(),
            include_str!("../../../../templates/node-python/pyproject.toml.txt").replace("NAME", name),
        ),
        (
            "requirements.txt".to_owned(),
            include_str!("../../../../templates/node-python/requirements.txt.txt")
                .replace("COMPONENTIZE", COMPONENTIZE)
                .replace("SDK", &sdk),
        ),
        (
            "src/node.py".to_owned(),
            include_str!("../../../../templates/node-python/node.py.txt").replace("WANTS", &wants_of(wants)),
        ),
        (
            "tests/test_node.py".to_owned(),
            include_str!("../../../../templates/node-python/test_node.py.txt").to_owned(),
        ),
        (
            ".gitignore".to_owned(),
            "/.venv\n__pycache__\n*.egg-info\n/graph-host/guest-sdk/python/build\n".to_owned(),
        ),
    ]
}

/// Renders the wanted interfaces as an argument of the node's decorator.
fn wants_of(wants: &[String]) -> String {
    if wants.is_empty() {
        return String::new();
    }
    let wants: Vec<_> = wants.iter().map(|name| format!("\"{name}\": \"say what for\"")).collect();
    format!(", wants={{{}}}", wants.join(", "))
}
