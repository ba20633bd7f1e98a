//! Lists the files below a folder, grouped by language.

use std::collections::BTreeMap;

use graph_sdk::files::{self, Kind};
use graph_sdk::prelude::*;

/// Which files to list.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// The folder to begin at.
    folder: String,
    /// Names of folders that are left out, wherever they are.
    #[serde(default)]
    leave_out: Vec<String>,
}

/// The files of one language.
#[derive(Serialize, JsonSchema)]
struct Group {
    /// The language.
    language: &'static str,
    /// Their paths, sorted.
    files: Vec<String>,
}

/// What was found.
#[derive(Serialize, JsonSchema)]
struct Listing {
    /// How many regular files there are, of whatever kind.
    files: u64,
    /// Those in a known language, by language.
    groups: Vec<Group>,
}

graph_sdk::node! {
    summary: "Lists the files below a folder, grouped by language.",
    wants: [
        "wasi:filesystem/types": "lists the folders that it is given",
        "wasi:filesystem/preopens": "finds the folders that it was granted",
    ],
    run
}

fn run(params: Params, _ctx: &Context) -> Result<Listing, Failure> {
    let mut found = Vec::new();
    let mut folders = vec![params.folder.trim_end_matches('/').to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in files::list(&folder)? {
            let path = format!("{folder}/{}", entry.name);
            match entry.kind {
                Kind::File => found.push(path),
                Kind::Folder if !params.leave_out.contains(&entry.name) => folders.push(path),
                Kind::Folder | Kind::Link | Kind::Other => {}
            }
        }
    }
    found.sort();
    let files = found.len() as u64;
    let mut groups: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    for path in found {
        if let Some(language) = language(&path) {
            groups.entry(language).or_default().push(path);
        }
    }
    let groups = groups.into_iter().map(|(language, files)| Group { language, files }).collect();
    Ok(Listing { files, groups })
}

/// The language that a file's ending stands for.
fn language(path: &str) -> Option<&'static str> {
    let (_, ending) = path.rsplit('/').next()?.rsplit_once('.')?;
    Some(match ending {
        "c" | "h" => "C",
        "js" | "mjs" => "JavaScript",
        "json" => "JSON",
        "md" => "Markdown",
        "py" => "Python",
        "rs" => "Rust",
        "sh" => "Shell",
        "toml" => "TOML",
        "ts" => "TypeScript",
        "wat" => "WebAssembly text",
        "wit" => "WIT",
        "yaml" | "yml" => "YAML",
        _ => return None,
    })
}
