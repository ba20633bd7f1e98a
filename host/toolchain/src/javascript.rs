//! Builds of guests from JavaScript or TypeScript: esbuild bundles the sources to one module, and componentize-qjs embeds it in a
//! component with the engine `QuickJS`.
//!
//! Both are npm packages that the author installs in the project's folder. Nothing is downloaded here.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use graph_core::diagnostic::printable;
use graph_core::json::{self, TreeLimit};
use graph_runtime::project::text_file;
use serde_json::Value;

use super::{stand_in, wit};
use crate::wants::offered;

/// The oldest version of Node.js that runs the tools.
pub const OLDEST_NODE: u32 = 20;

/// Returns the version of the installed Node.js, and whether it is at least [`OLDEST_NODE`].
pub fn node_version() -> Option<(String, bool)> {
    let ran = Command::new("node").arg("--version").output().ok().filter(|ran| ran.status.success())?;
    let version = printable(String::from_utf8_lossy(&ran.stdout).trim()).trim_start_matches('v').to_owned();
    let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    Some((version, major.is_some_and(|major| major >= OLDEST_NODE)))
}

/// Manifest of a package.
pub const MANIFEST: &str = "package.json";
/// Interface of the log, which is always granted.
const LOG: &str = "graph-host:host/log@0.1.0";

/// Error of a build from JavaScript.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum JavaScriptError {
    /// The manifest of the package is invalid.
    #[error("{}: {reason}", .path.display())]
    Package {
        path: PathBuf,
        /// Reason why it is invalid.
        reason: String,
    },
    /// A tool is not installed.
    #[error("{tool} is not installed for {}", .folder.display())]
    Missing {
        tool: &'static str,
        /// The folder of the package.
        folder: PathBuf,
    },
    /// Node.js, which runs the tools, is missing or too old.
    #[error("{}", .found.as_ref().map_or_else(|| "Node.js was not found".to_owned(), |found| format!("Node.js {found} is too old")))]
    Node {
        /// The installed version; `None` if Node.js was not found.
        found: Option<String>,
    },
    /// A program could not be started.
    #[error("`{program}` could not be started: {source}")]
    Start {
        program: String,
        /// Error of the system.
        source: std::io::Error,
    },
    /// A tool rejected the sources.
    #[error("{tool} cannot build the sources in {}:\n{said}", .folder.display())]
    Failed {
        tool: &'static str,
        /// The folder of the package.
        folder: PathBuf,
        /// Output of the tool.
        said: String,
    },
    /// The sources import an interface that the host does not offer to nodes.
    #[error("the sources in {} import what no node can have: {}", .folder.display(), .names.join("; "))]
    Imports {
        folder: PathBuf,
        /// A reason for each rejected import.
        names: Vec<String>,
    },
    /// The interfaces of the built component cannot be linked.
    #[error("the component of the sources in {} cannot be completed: {source}", .folder.display())]
    StandIn {
        folder: PathBuf,
        /// Error of the composition.
        source: stand_in::StandInError,
    },
    /// A file of the build could not be read or written.
    #[error("the build could not use {}: {source}", .path.display())]
    File {
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
}

/// A node's npm package.
#[derive(Debug)]
pub struct Package {
    folder: PathBuf,
    /// Name of the node, without the scope of npm.
    pub name: String,
    /// Version of the node.
    pub version: String,
    main: PathBuf,
}

impl Package {
    /// Reads the description of the package in a folder.
    pub fn read(folder: &Path) -> Result<Self, JavaScriptError> {
        let path = folder.join(MANIFEST);
        let wrong = |reason: String| JavaScriptError::Package { path: path.clone(), reason };
        let text =
            text_file::read(&path).map_err(|source| JavaScriptError::File { path: path.clone(), source })?;
        let manifest: Value =
            json::read(&text, TreeLimit::DOCUMENT).map_err(|error| wrong(error.to_string()))?;
        let field = |key: &str| {
            manifest[key].as_str().map(str::to_owned).ok_or_else(|| wrong(format!("it needs a text `{key}`")))
        };
        let name = field("name")?;
        let name = name.rsplit('/').next().unwrap_or_default().to_owned();
        let main = folder.join(field("main")?);
        if !main.is_file() {
            let why = format!("`main` names {}, which is no file", printable(&main.display().to_string()));
            return Err(wrong(why));
        }
        Ok(Self { folder: folder.to_owned(), name, version: field("version")?, main })
    }

    /// Builds the component. It still imports all interfaces that its engine could use.
    pub fn build(&self) -> Result<Vec<u8>, JavaScriptError> {
        match node_version() {
            Some((_, true)) => {}
            found => return Err(JavaScriptError::Node { found: found.map(|(version, _)| version) }),
        }
        let esbuild = self.installed("esbuild", "bin/esbuild")?;
        let componentize = self.installed("componentize-qjs", "bin/componentize-qjs")?;
        let scratch = tempfile::Builder::new()
            .prefix("graph-host-build-")
            .tempdir()
            .map_err(|source| JavaScriptError::File { path: std::env::temp_dir(), source })?;
        let bundle = scratch.path().join("node.js");
        let mut imports = self.bundle(&esbuild, &bundle, &scratch.path().join("meta.json"))?;
        // With the log, a component can report which interface was missing.
        imports.insert(LOG.to_owned());
        let wit = scratch.path().join("wit");
        wit::write(&wit, imports.iter().map(String::as_str))
            .map_err(|source| JavaScriptError::File { path: wit.clone(), source })?;
        let out = scratch.path().join("node.wasm");
        let mut command = Command::new(&componentize);
        command
            .args(["--sync", "--opt-size", "--world", wit::WORLD, "--wit"])
            .arg(&wit)
            .arg("--js")
            .arg(&bundle);
        command.arg("--module-root").arg(scratch.path()).arg("--output").arg(&out);
        self.run(command, "componentize-qjs")?;
        let built = fs::read(&out).map_err(|source| JavaScriptError::File { path: out, source })?;
        stand_in::put_back(built)
            .map_err(|source| JavaScriptError::StandIn { folder: self.folder.clone(), source })
    }

    /// Names the tools with their versions, for the record of a build.
    pub fn toolchain(&self) -> String {
        let versions = ["componentize-qjs", "esbuild"].map(|tool| {
            let text = text_file::read(&self.module(tool)?.join(MANIFEST)).ok()?;
            let manifest: Value = json::read(&text, TreeLimit::DOCUMENT).ok()?;
            manifest["version"].as_str().map(|version| format!("{tool} {}", printable(version)))
        });
        versions.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// Bundles all sources to one module; returns the interfaces of the host that it imports.
    fn bundle(&self, esbuild: &Path, out: &Path, meta: &Path) -> Result<BTreeSet<String>, JavaScriptError> {
        let mut command = Command::new(esbuild);
        command.arg(self.main.strip_prefix(&self.folder).unwrap_or(&self.main)).current_dir(&self.folder);
        command.args([
            "--bundle",
            "--format=esm",
            "--platform=neutral",
            "--main-fields=module,main",
            "--target=es2022",
            "--external:wasi:*",
            "--external:stand-in:*",
            "--external:graph-host:*",
            // External, so that they are rejected with their names.
            "--external:node:*",
            "--legal-comments=none",
            "--log-level=warning",
            "--minify-whitespace",
            "--minify-syntax",
        ]);
        for package in stand_in::PACKAGES {
            let name = format!("wasi:{package}");
            command.arg(format!("--alias:{name}={}", stand_in::renamed(&name)));
        }
        command.arg(argument("--outfile=", out)).arg(argument("--metafile=", meta));
        self.run(command, "esbuild")?;
        let text = fs::read_to_string(meta)
            .map_err(|source| JavaScriptError::File { path: meta.to_owned(), source })?;
        let meta: Value = json::read(&text, TreeLimit::DOCUMENT)
            .map_err(|error| JavaScriptError::Package { path: meta.to_owned(), reason: error.to_string() })?;
        let outputs = meta["outputs"].as_object().into_iter().flatten();
        let imports: BTreeSet<String> = outputs
            .filter_map(|(_, output)| output["imports"].as_array())
            .flatten()
            .filter_map(|import| import["path"].as_str().map(str::to_owned))
            .collect();
        let wrong: Vec<String> = imports.iter().filter_map(|name| refused(name)).collect();
        if wrong.is_empty() {
            Ok(imports)
        } else {
            Err(JavaScriptError::Imports { folder: self.folder.clone(), names: wrong })
        }
    }

    /// Runs a tool; its output is part of the error if it fails.
    fn run(&self, mut command: Command, tool: &'static str) -> Result<(), JavaScriptError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let ran = command.output().map_err(|source| JavaScriptError::Start { program, source })?;
        if ran.status.success() {
            return Ok(());
        }
        let said = if ran.stderr.trim_ascii().is_empty() { ran.stdout } else { ran.stderr };
        let said = String::from_utf8_lossy(said.trim_ascii()).into_owned();
        Err(JavaScriptError::Failed { tool, folder: self.folder.clone(), said })
    }

    /// Returns the folder of an installed package, in `node_modules` of this package's folder or of a parent, as Node.js resolves it.
    fn module(&self, name: &str) -> Option<PathBuf> {
        let folder = self.folder.canonicalize().ok()?;
        folder.ancestors().map(|above| above.join("node_modules").join(name)).find(|module| module.is_dir())
    }

    fn installed(&self, tool: &'static str, program: &str) -> Result<PathBuf, JavaScriptError> {
        self.module(tool)
            .map(|module| module.join(program))
            .filter(|program| program.is_file())
            .ok_or_else(|| JavaScriptError::Missing { tool, folder: self.folder.clone() })
    }
}

/// Returns an argument whose value is a path.
fn argument(name: &str, path: &Path) -> std::ffi::OsString {
    let mut argument = std::ffi::OsString::from(name);
    argument.push(path);
    argument
}

/// Returns the reason why a node cannot import an interface, if there is one.
fn refused(name: &str) -> Option<String> {
    let name = stand_in::original(name).unwrap_or_else(|| name.to_owned());
    match offered(&name) {
        Err(reason) => Some(reason),
        Ok(_) if name.contains('@') => None,
        Ok(_) => Some(format!("`{}` needs its version: import it through the SDK", printable(&name))),
    }
}
