//! Counts the lines of a group of files.

use graph_sdk::files;
use graph_sdk::prelude::*;

/// The group.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// What the group is called.
    language: String,
    /// The files.
    files: Vec<String>,
}

/// What was counted.
#[derive(Serialize, JsonSchema)]
struct Count {
    /// What the group is called.
    language: String,
    /// How many files it has.
    files: u64,
    /// How many line ends they hold, as `wc -l` counts.
    lines: u64,
    /// How many bytes they hold.
    bytes: u64,
}

graph_sdk::node! {
    summary: "Counts the lines of a group of files, as `wc -l` does.",
    wants: [
        "wasi:filesystem/types": "reads the files that it counts",
        "wasi:filesystem/preopens": "finds the folders that it was granted",
        "wasi:io/streams": "reads the files as streams",
    ],
    run
}

fn run(params: Params, _ctx: &Context) -> Result<Count, Failure> {
    let mut count = Count { language: params.language, files: 0, lines: 0, bytes: 0 };
    for path in &params.files {
        let text = files::read(path).map_err(|error| Failure::permanent(format_args!("{path}: {error}")))?;
        count.files += 1;
        count.lines += text.iter().filter(|byte| **byte == b'\n').count() as u64;
        count.bytes += text.len() as u64;
    }
    Ok(count)
}
