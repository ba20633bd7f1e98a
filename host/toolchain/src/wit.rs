//! The interfaces that nodes are built against, as WIT text.

use std::fs;
use std::io;
use std::path::Path;

use super::stand_in;

/// Embeds files of the project by their paths. `sdk` links to them, so that a package of this crate contains them.
macro_rules! texts {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../sdk/", $path)))),*]
    };
}

/// Files of the node contract, the host's interfaces and WASI, by path.
pub const FILES: &[(&str, &str)] = texts![
    "wit/host/README.md",
    "wit/host/events.wit",
    "wit/host/knowledge.wit",
    "wit/host/log.wit",
    "wit/host/model.wit",
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

/// The name of the world that [`write()`] writes.
pub const WORLD: &str = "built";

/// Interfaces that a node may import, in addition to [`MODEL`]. Bindings offer all of them; a component imports those that the node
/// calls.
pub const IMPORTS: [&str; 11] = [
    "graph-host:host/log@0.1.0",
    "graph-host:host/events@0.1.0",
    "graph-host:host/knowledge@0.1.0",
    "graph-host:host/secrets@0.1.0",
    "graph-host:host/tools@0.1.0",
    "wasi:http/outgoing-handler@0.2.12",
    "wasi:clocks/wall-clock@0.2.12",
    "wasi:clocks/monotonic-clock@0.2.12",
    "wasi:random/random@0.2.12",
    "wasi:filesystem/types@0.2.12",
    "wasi:filesystem/preopens@0.2.12",
];

/// Interface of language models. Python bindings contain it only for a node that names it: there every import of the world is in the
/// component and takes space.
pub const MODEL: &str = "graph-host:host/model@0.1.0";

/// Writes the world of a node that imports these interfaces, and its dependencies, in the folder layout of WIT tools.
pub fn write<'n>(folder: &Path, imports: impl Iterator<Item = &'n str>) -> io::Result<()> {
    for (path, text) in FILES {
        let name = path.strip_prefix("wit/").unwrap_or(path);
        // A folder of `deps` holds one package; each file of `wasi` is one.
        let name = name.strip_prefix("wasi/").map_or_else(|| name.to_owned(), |file| format!("wasi-{file}"));
        if Path::new(&name).extension().is_none_or(|extension| extension != "wit") {
            continue;
        }
        let path = folder.join("deps").join(name);
        if let Some(around) = path.parent() {
            fs::create_dir_all(around)?;
        }
        fs::write(path, text)?;
    }
    for package in stand_in::PACKAGES {
        let of = format!("wit/wasi/{package}.wit");
        if let Some((_, text)) = FILES.iter().find(|(path, _)| *path == of) {
            fs::write(folder.join(format!("deps/stand-in-{package}.wit")), stand_in::renamed(text))?;
        }
    }
    let imports: Vec<String> = imports.map(|name| format!("    import {name};\n")).collect();
    let imports = imports.concat();
    let world = format!(
        "package graph-host:build;\n\nworld {WORLD} {{\n    include graph-host:node/node@0.1.0;\n{imports}}}\n"
    );
    fs::write(folder.join("world.wit"), world)
}
