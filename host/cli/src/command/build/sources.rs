//! The sources of a node, and their build.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use graph_core::capability::CapabilityKind;
use graph_core::diagnostic::printable;
use graph_core::json::{self, TreeLimit};
use graph_core::trust::{TrustStore, VerifiedComponent};
use graph_host::context::Context;
use graph_host::terminal::output::{self, styled};
use graph_host::terminal::paths::{base_folder, shown};
use graph_runtime::authoring::signing::describe;
use graph_runtime::error::{Error, Kind, Result};
use graph_runtime::items::locate::{read_component, refused};
use graph_toolchain::c::{self, CError, Compiler};
use graph_toolchain::documentation::{self, documented};
use graph_toolchain::javascript::{self, JavaScriptError, Package};
use graph_toolchain::narrow::{NarrowError, is_wanted, narrow};
use graph_toolchain::python::{self, Project, PythonError};
use graph_toolchain::rust::{GuestBuildError, Toolchain};
use graph_toolchain::wants;
use serde_json::Value;

use super::Args;

/// Sources of a node, by language.
pub(super) enum Sources {
    Rust { name: String, version: String },
    JavaScript(Package),
    Python(Project),
    C(c::Project),
}

impl Sources {
    /// Detects and reads the sources in a folder.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        if folder.join("Cargo.toml").is_file() {
            let (name, version) = package(folder)?;
            return Ok(Self::Rust { name, version });
        }
        if folder.join(javascript::MANIFEST).is_file() {
            return Package::read(folder).map(Self::JavaScript).map_err(|error| not_built(&error));
        }
        if folder.join(python::MANIFEST).is_file() {
            return Project::read(folder).map(Self::Python).map_err(|error| not_built_of_python(&error));
        }
        if folder.join(c::MANIFEST).is_file() {
            return c::Project::read(folder).map(Self::C).map_err(|error| not_built_of_c(&error));
        }
        let missing = "there is no Cargo.toml, no package.json, no pyproject.toml and no node.toml in";
        Err(Error::not_found(format!("{missing} {}", shown(folder)))
            .help("name the folder of a node, such as one that `graph-host new node` has made"))
    }

    /// Name and version of the package.
    pub(super) fn package(&self) -> (&str, &str) {
        match self {
            Self::Rust { name, version } => (name, version),
            Self::JavaScript(package) => (&package.name, &package.version),
            Self::Python(project) => (&project.name, &project.version),
            Self::C(project) => (&project.name, &project.version),
        }
    }

    /// Builds the component; returns it with the name of the toolchain.
    pub(super) fn build(&self, args: &Args, id: &str, context: &Context) -> Result<(Arc<[u8]>, String)> {
        let tell = |toolchain: &str| {
            context.output.note(format_args!("{} {toolchain}", styled(output::DIM, "toolchain:")));
        };
        // The runtime of a language imports more than the node wants.
        let with_runtime = |toolchain: String, build: &dyn Fn() -> Result<Vec<u8>>| {
            if !toolchain.is_empty() {
                tell(&toolchain);
            }
            Ok((narrowed(&build()?, id, context)?, toolchain))
        };
        match self {
            Self::Rust { .. } => {
                wants::check_crate(&args.folder, &base_folder())?;
                let toolchain = Toolchain::detect().map_err(|error| failed(&error))?;
                tell(&toolchain.to_string());
                let target = args.target_dir.clone().unwrap_or_else(|| context.host.home.built());
                let built =
                    toolchain.build(&args.folder, &target, args.locked).map_err(|error| failed(&error))?;
                let bytes = read_component(&built, &base_folder())?;
                let with_documentation = documented(&bytes, &args.folder.join(documentation::FOLDER));
                Ok((with_documentation.map_or(bytes, Into::into), toolchain.to_string()))
            }
            Self::JavaScript(package) => {
                with_runtime(package.toolchain(), &|| package.build().map_err(|error| not_built(&error)))
            }
            Self::Python(project) => with_runtime(project.toolchain(), &|| {
                project.build().map_err(|error| not_built_of_python(&error))
            }),
            Self::C(project) => {
                let compiler = Compiler::detect().map_err(|error| not_built_of_c(&error))?;
                with_runtime(compiler.version.clone(), &|| {
                    project.build(&compiler).map_err(|error| not_built_of_c(&error))
                })
            }
        }
    }
}

/// Removes the imports of a language's runtime that the node does not want.
fn narrowed(built: &[u8], id: &str, context: &Context) -> Result<Arc<[u8]>> {
    let refuse = |error: NarrowError| Error::invalid(format!("`{}`: {error}", printable(id)));
    // Interfaces that this host does not offer are removed before the component describes itself.
    let described = narrow(built, |name| wants::offered(name).is_ok()).map_err(refuse)?;
    let component = VerifiedComponent::under_development(described.into(), id, &TrustStore::default())
        .map_err(|error| refused(&error))?;
    let described = context.block_on(describe(&component, &context.host))??;
    let wanted = described.description.description.interfaces;
    let unknown = wanted.iter().filter(|wanted| CapabilityKind::parse(&wanted.name).is_none());
    let reasons: Vec<String> = unknown
        .filter_map(|wanted| wants::offered(&wanted.name).err())
        .map(|reason| format!("`wants`: {reason}"))
        .collect();
    if !reasons.is_empty() {
        return Err(Error::invalid(reasons.join("\n")).help("name what the node uses in `wants`"));
    }
    Ok(narrow(built, |name| is_wanted(name, &wanted)).map_err(refuse)?.into())
}

fn not_built(error: &JavaScriptError) -> Error {
    let message = error.to_string();
    match error {
        JavaScriptError::Missing { folder, .. } => {
            Error::not_found(message).help(format!("in {}, type: npm install", shown(folder)))
        }
        JavaScriptError::Start { .. } | JavaScriptError::Node { .. } => {
            Error::not_found(message).help(format!("install Node.js, version {} or later", javascript::OLDEST_NODE))
        }
        JavaScriptError::Package { .. } => Error::invalid(message).help(
            "a node's package.json has a `name`, a `version`, and as `main` the file that exports `action`",
        ),
        JavaScriptError::Imports { .. } => Error::invalid(message)
            .help("a node imports interfaces of the host through `@graph-host/sdk`; there are no modules of Node.js"),
        JavaScriptError::Failed { .. } => Error::new(Kind::Failed, "build_failed", message),
        JavaScriptError::StandIn { .. } => Error::new(Kind::Failed, "build_failed", message)
            .help("install the versions of esbuild and componentize-qjs that `graph-host new node` names"),
        JavaScriptError::File { .. } => Error::storage(message),
    }
}

fn not_built_of_python(error: &PythonError) -> Error {
    let message = error.to_string();
    match error {
        PythonError::Missing { folder, .. } | PythonError::Start { folder, .. } => {
            Error::not_found(message).help(format!("in {}, type: {}", shown(folder), python::INSTALL))
        }
        PythonError::Project { .. } => Error::invalid(message).help(
            "a node's pyproject.toml has `project.name` and `project.version`, and as `tool.graph-host.module` the module with `action`",
        ),
        PythonError::Failed { .. } => Error::new(Kind::Failed, "build_failed", message),
        PythonError::File { .. } => Error::storage(message),
    }
}

fn not_built_of_c(error: &CError) -> Error {
    let message = error.to_string();
    match error {
        CError::Missing { .. } => Error::not_found(message).help(format!("on Debian, type: {}", c::INSTALL)),
        CError::Start { .. } => Error::not_found(message)
            .help(format!("`{}` names the folder of a WASI SDK, with `bin/clang`; without it, clang is used", c::WASI_SDK)),
        CError::Project { .. } => Error::invalid(message).help(
            "a node's node.toml has a `name`, a `version`, and as `sdk` the folder of the SDK for C; its sources are in `src`",
        ),
        CError::Failed { .. } | CError::Component { .. } => Error::new(Kind::Failed, "build_failed", message),
        CError::File { .. } => Error::storage(message),
    }
}

fn failed(error: &GuestBuildError) -> Error {
    let message = error.to_string();
    match error {
        GuestBuildError::NoToolchain { .. }
        | GuestBuildError::NoLinker { .. }
        | GuestBuildError::Start { .. } => Error::not_found(message),
        GuestBuildError::Crate { .. } | GuestBuildError::NoComponent { .. } => Error::invalid(message),
        GuestBuildError::Failed { .. } => Error::new(Kind::Failed, "build_failed", message),
    }
}

/// Returns the name and the version of the crate in a folder.
fn package(folder: &Path) -> Result<(String, String)> {
    let manifest = folder.join("Cargo.toml");
    let read = Command::new("cargo")
        .args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path"])
        .arg(&manifest)
        .output()
        .map_err(|error| {
            Error::not_found(format!("cargo could not be started: {error}")).help("install Rust")
        })?;
    if !read.status.success() {
        let said = String::from_utf8_lossy(&read.stderr);
        return Err(Error::invalid(format!("cargo cannot read {}:\n{}", shown(&manifest), said.trim())));
    }
    let metadata: Value = json::read(&read.stdout, TreeLimit::DOCUMENT).map_err(|error| {
        Error::invalid(format!("what cargo says of {} is no JSON: {error}", shown(&manifest)))
    })?;
    let wanted = manifest.canonicalize().unwrap_or(manifest.clone());
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let package = packages
        .iter()
        .find(|package| package["manifest_path"].as_str().is_some_and(|path| Path::new(path) == wanted))
        .or(packages.first());
    let field = |key: &str| package.and_then(|package| package[key].as_str()).map(str::to_owned);
    field("name")
        .zip(field("version"))
        .ok_or_else(|| Error::invalid(format!("{} names no package", shown(&manifest))))
}
