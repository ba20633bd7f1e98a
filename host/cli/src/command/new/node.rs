//! `graph-host new node`.

use std::path::PathBuf;

use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{self, styled};
use graph_host::wants;
use graph_runtime::error::{Error, Result};
use serde_json::json;

use super::folder::{self, typed};

/// Create a node in Rust: a crate that `graph-host build` compiles to a component, with the SDK that it needs
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The name of the node, of its folder and of its crate
    name: String,
    /// The folder in which that folder is created
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// A folder with graph-sdk to build with; without it, a copy is written into the new folder
    #[arg(long, value_name = "DIR")]
    sdk: Option<PathBuf>,
    /// What the node uses: a kind of capability, such as filesystem, or an interface, such as wasi:filesystem/types
    #[arg(long, value_name = "INTERFACE", num_args = 1.., value_delimiter = ',', value_parser = wants::interface)]
    wants: Vec<String>,
}

/// A file of the SDK, by its path at the top of the project. `sdk` links to them, so that a package of this crate has them; a
/// manifest has another name there, since a package holds no other one.
macro_rules! files {
    ($($path:literal $(from $name:literal)?),* $(,)?) => {
        &[$(($path, files!(@text $path $($name)?))),*]
    };
    (@text $path:literal) => {
        include_str!(concat!("../../../sdk/", $path))
    };
    (@text $path:literal $name:literal) => {
        include_str!(concat!("../../../sdk/", $name))
    };
}

/// What a node is built with: the SDK and the contract.
const SDK: &[(&str, &str)] = files![
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
    "wit/host/README.md",
    "wit/host/events.wit",
    "wit/host/knowledge.wit",
    "wit/host/log.wit",
    "wit/host/secrets.wit",
    "wit/host/tools.wit",
    "wit/node/action.wit",
    "wit/node/types.wit",
    "wit/node/world.wit",
    "wit/wasi/README.md",
    "wit/wasi/cli.wit",
    "wit/wasi/clocks.wit",
    "wit/wasi/filesystem.wit",
    "wit/wasi/http.wit",
    "wit/wasi/io.wit",
    "wit/wasi/random.wit",
];

/// Where the copy of the SDK is in the new folder.
const COPY: &str = "graph-host";

pub(super) fn run(args: &Args, context: &Context) -> Result<Exit> {
    let name = &args.name;
    folder::check_name(name)
        .map_err(|why| Error::usage(format!("`{name}` cannot be the name of a node: {why}")))?;
    let place = args.dir.join(name);
    let sdk = match &args.sdk {
        None => format!("{COPY}/guest-sdk/rust"),
        Some(sdk) => {
            let absolute = sdk.canonicalize().map_err(|error| Error::read("the SDK", sdk, &error))?;
            if !absolute.join("Cargo.toml").is_file() {
                return Err(Error::usage(format!("{} has no Cargo.toml: it is not the SDK", sdk.display()))
                    .help("leave --sdk out for a copy inside the new folder"));
            }
            absolute.to_string_lossy().into_owned()
        }
    };
    // A path inside a TOML string.
    let sdk = sdk.replace('\\', "\\\\").replace('"', "\\\"");
    let mut files = vec![
        (
            "Cargo.toml".to_owned(),
            include_str!("../../../templates/node/Cargo.toml.txt")
                .replace("NAME", name)
                .replace("SDK", &sdk)
                .replace("REACH", &reach(&args.wants, &sdk)),
        ),
        (
            "src/lib.rs".to_owned(),
            include_str!("../../../templates/node/lib.rs.txt").replace("WANTS", &wants_of(&args.wants)),
        ),
        (".gitignore".to_owned(), "/target\n".to_owned()),
    ];
    if args.sdk.is_none() {
        files.extend(SDK.iter().map(|(path, text)| (format!("{COPY}/{path}"), (*text).to_owned())));
    }
    let listed: Vec<(&str, String)> =
        files.iter().map(|(path, text)| (path.as_str(), text.clone())).collect();
    folder::make(&place, &listed)?;
    let next = [
        "graph-host keys generate me".to_owned(),
        format!(
            "graph-host build {} --id me/{name} --out .ai/tools/me/{name}.wasm --sign-with me",
            typed(&place)
        ),
        "graph-host trust add me --key me --items 'me/*'".to_owned(),
        format!("graph-host publish me/{name} oci-layout:published:{name}"),
    ];
    let shown = || listed.iter().map(|(path, _)| *path).filter(|path| !path.starts_with(COPY));
    if context.output.is_json() {
        let made: Vec<_> = shown().map(|file| place.join(file).display().to_string()).collect();
        context.output.document(&json!({ "made": made, "sdk": sdk, "next": next }))?;
        return Ok(Exit::Ok);
    }
    for file in shown() {
        context.output.line(format_args!("{} {}", styled(output::GOOD, "+"), place.join(file).display()))?;
    }
    if args.sdk.is_none() {
        let copy = place.join(COPY);
        context.output.line(format_args!(
            "{} {}  the SDK and the contract",
            styled(output::GOOD, "+"),
            copy.display()
        ))?;
    }
    for command in next {
        context.output.line(styled(output::DIM, command))?;
    }
    Ok(Exit::Ok)
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    fn files(root: &Path, below: &str, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(root.join(below)).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{below}/{}", entry.file_name().to_str().unwrap());
            if entry.file_type().unwrap().is_dir() {
                files(root, &path, found);
            } else {
                found.insert(path);
            }
        }
    }

    #[test]
    fn the_copy_of_the_sdk_is_whole() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut found = BTreeSet::from(
            ["guest-sdk/rust/Cargo.toml", "guest-sdk/rust-reach/Cargo.toml"].map(str::to_owned),
        );
        let reach = ["guest-sdk/rust-reach/src", "guest-sdk/rust-reach/wit"];
        for below in ["guest-sdk/rust/src", "guest-sdk/rust/wit", "wit/host", "wit/node", "wit/wasi"]
            .into_iter()
            .chain(reach)
        {
            files(&root, below, &mut found);
        }
        let listed: BTreeSet<String> = SDK.iter().map(|(path, _)| (*path).to_owned()).collect();
        assert_eq!(listed, found);
    }
}
