//! A node in JavaScript or TypeScript: an npm package.

use super::sdk_files;

/// The SDK that a node is built with.
pub(super) const SDK: &[(&str, &str)] = sdk_files![
    "guest-sdk/js/bin/graph-host-node-test.mjs",
    "guest-sdk/js/package.json",
    "guest-sdk/js/src/base64.ts",
    "guest-sdk/js/src/chunks.ts",
    "guest-sdk/js/src/clocks.ts",
    "guest-sdk/js/src/command.ts",
    "guest-sdk/js/src/context.ts",
    "guest-sdk/js/src/failure.ts",
    "guest-sdk/js/src/files.ts",
    "guest-sdk/js/src/globals.ts",
    "guest-sdk/js/src/host.ts",
    "guest-sdk/js/src/http.ts",
    "guest-sdk/js/src/imports.d.ts",
    "guest-sdk/js/src/index.ts",
    "guest-sdk/js/src/json.ts",
    "guest-sdk/js/src/knowledge.ts",
    "guest-sdk/js/src/message.ts",
    "guest-sdk/js/src/model.ts",
    "guest-sdk/js/src/node.ts",
    "guest-sdk/js/src/random.ts",
    "guest-sdk/js/src/secrets.ts",
    "guest-sdk/js/src/tools.ts",
    "guest-sdk/js/src/utf8.ts",
    "guest-sdk/js/src/wit.ts",
    "guest-sdk/js/testing/answers.mjs",
    "guest-sdk/js/testing/disposable.mjs",
    "guest-sdk/js/testing/files.mjs",
    "guest-sdk/js/testing/graph-host-events.mjs",
    "guest-sdk/js/testing/graph-host-knowledge.mjs",
    "guest-sdk/js/testing/graph-host-log.mjs",
    "guest-sdk/js/testing/graph-host-model.mjs",
    "guest-sdk/js/testing/graph-host-secrets.mjs",
    "guest-sdk/js/testing/graph-host-tools.mjs",
    "guest-sdk/js/testing/index.d.ts",
    "guest-sdk/js/testing/index.mjs",
    "guest-sdk/js/testing/state.mjs",
    "guest-sdk/js/testing/wasi-http.mjs",
    "guest-sdk/js/testing/wasi-monotonic-clock.mjs",
    "guest-sdk/js/testing/wasi-preopens.mjs",
    "guest-sdk/js/testing/wasi-random.mjs",
    "guest-sdk/js/testing/wasi-wall-clock.mjs",
];

/// Returns the files of the package. `sdk` is the folder of the SDK, escaped for JSON. Types are checked in TypeScript only.
pub(super) fn made(name: &str, wants: &[String], sdk: &str, typed: bool) -> Vec<(String, String)> {
    let extension = if typed { "ts" } else { "js" };
    let (check, typescript) =
        if typed { (",\n    \"check\": \"tsc\"", ",\n    \"typescript\": \"5.9.3\"") } else { ("", "") };
    let mut files = vec![
        (
            "package.json".to_owned(),
            include_str!("../../../../templates/node-js/package.json.txt")
                .replace("NAME", name)
                .replace("EXT", extension)
                .replace("CHECK", check)
                .replace("TYPESCRIPT", typescript)
                .replace("SDK", sdk),
        ),
        (
            format!("src/node.{extension}"),
            include_str!("../../../../templates/node-js/node.txt").replace("WANTS", &wants_of(wants)),
        ),
        (
            format!("tests/node.test.{extension}"),
            include_str!("../../../../templates/node-js/test.txt").to_owned(),
        ),
        (".gitignore".to_owned(), "/node_modules\n".to_owned()),
    ];
    if typed {
        let config = include_str!("../../../../templates/node-js/tsconfig.json.txt");
        files.push(("tsconfig.json".to_owned(), config.to_owned()));
    }
    files
}

/// Renders the wanted interfaces as a part of the node's definition.
fn wants_of(wants: &[String]) -> String {
    if wants.is_empty() {
        return String::new();
    }
    let wants: Vec<_> = wants.iter().map(|name| format!("    '{name}': 'say what for',\n")).collect();
    format!("\n  wants: {{\n{}  }},", wants.concat())
}
