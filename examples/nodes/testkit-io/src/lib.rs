//! A node that uses what a graph may grant: time, randomness, files.

use graph_sdk::files::{self, Kind};
use graph_sdk::host;
use graph_sdk::prelude::*;

/// What to do.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "kebab-case", deny_unknown_fields)]
enum Params {
    /// Answers with the time: seconds since 1970, and the nanoseconds in it.
    Now {},
    /// Answers with random bytes, in hexadecimal.
    Random {
        /// How many.
        bytes: u64,
    },
    /// Answers with the text of a file.
    Read {
        /// The file.
        path: String,
    },
    /// Writes a text to a file.
    Write {
        /// The file.
        path: String,
        /// What to write.
        text: String,
    },
    /// Answers with the entries of a folder: `{name, kind}` each.
    List {
        /// The folder.
        path: String,
    },
}

graph_sdk::node! {
    summary: "Reads the time, random bytes and files, and writes files.",
    wants: [
        "wasi:clocks/wall-clock": "reads the time for `now`",
        "wasi:random/random": "draws bytes for `random`",
        "wasi:filesystem/types": "reads, writes and lists files for `read`, `write` and `list`",
        "wasi:filesystem/preopens": "finds the folders that it was granted",
        "wasi:io/streams": "comes with the file system",
        "wasi:io/error": "comes with the file system",
        "wasi:io/poll": "comes with the file system",
    ],
    run
}

fn run(params: Params, _ctx: &Context) -> Result<Value, Failure> {
    Ok(match params {
        Params::Now {} => {
            let now = host::now();
            json!({"seconds": now.as_secs(), "nanoseconds": now.subsec_nanos()})
        }
        Params::Random { bytes } => {
            json!(host::random_bytes(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>())
        }
        Params::Read { path } => json!(files::read_to_string(&path)?),
        Params::Write { path, text } => {
            files::write(&path, text.as_bytes())?;
            json!(text.len())
        }
        Params::List { path } => files::list(&path)?
            .into_iter()
            .map(|entry| json!({"name": entry.name, "kind": kind(entry.kind)}))
            .collect(),
    })
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "file",
        Kind::Folder => "folder",
        Kind::Link => "link",
        Kind::Other => "other",
    }
}
