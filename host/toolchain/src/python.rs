//! Builds of guests from Python: componentize-py embeds modules in a component with `CPython`.
//!
//! The author installs it from `PyPI` in `.venv` in the project's folder. Nothing is downloaded here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use graph_core::diagnostic::printable;
use graph_runtime::project::text_file;

use super::wit;
use crate::wants;

/// Manifest of a project.
pub const MANIFEST: &str = "pyproject.toml";
/// Virtual environment with the project's packages, in its folder.
const ENVIRONMENT: &str = ".venv";
/// The folder of the node's modules.
const SOURCES: &str = "src";
/// Name of the generated module that is the entry of the component.
const COMPONENT: &str = "graph_host_component";
/// Name of the interface of language models in a node's sources.
const MODEL: &str = "graph-host:host/model";
/// The version of componentize-py that `new node` asks for.
pub const COMPONENTIZE: &str = "0.25.1";
/// Command that installs the tools and packages of a project, typed in its folder.
pub const INSTALL: &str = "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt";

/// Returns the version of the installed Python.
pub fn python_version() -> Option<String> {
    let ran = Command::new("python3").arg("--version").output().ok().filter(|ran| ran.status.success())?;
    Some(printable(String::from_utf8_lossy(&ran.stdout).trim()).trim_start_matches("Python ").to_owned())
}

/// Error of a build from Python.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum PythonError {
    /// The manifest of the project is invalid.
    #[error("{}: {reason}", .path.display())]
    Project {
        path: PathBuf,
        /// Reason why it is invalid.
        reason: String,
    },
    /// A tool is not installed.
    #[error("{tool} is not installed in {}", .folder.join(ENVIRONMENT).display())]
    Missing {
        tool: &'static str,
        /// The folder of the project.
        folder: PathBuf,
    },
    /// A program could not be started.
    #[error("`{program}` could not be started: {source}")]
    Start {
        program: String,
        /// The folder of the project.
        folder: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// componentize-py rejected the sources.
    #[error("componentize-py cannot build the sources in {}:\n{said}", .folder.display())]
    Failed {
        folder: PathBuf,
        /// Output of the tool.
        said: String,
    },
    /// A file of the build could not be read or written.
    #[error("the build could not use {}: {source}", .path.display())]
    File {
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
}

/// A node's project in Python.
#[derive(Debug)]
pub struct Project {
    folder: PathBuf,
    /// Name of the node.
    pub name: String,
    /// Version of the node.
    pub version: String,
    /// Module that defines `action`.
    module: String,
}

impl Project {
    /// Reads the description of the project in a folder.
    pub fn read(folder: &Path) -> Result<Self, PythonError> {
        let path = folder.join(MANIFEST);
        let wrong = |reason: String| PythonError::Project { path: path.clone(), reason };
        let text =
            text_file::read(&path).map_err(|source| PythonError::File { path: path.clone(), source })?;
        let manifest: toml::Table =
            text.parse().map_err(|error: toml::de::Error| wrong(error.to_string()))?;
        let text = |keys: &[&str]| {
            let mut value = manifest.get(keys[0]);
            for key in &keys[1..] {
                value = value.and_then(|value| value.get(key));
            }
            let text = value.and_then(toml::Value::as_str).map(str::to_owned);
            text.ok_or_else(|| wrong(format!("it needs a text `{}`", keys.join("."))))
        };
        let module = text(&["tool", "graph-host", "module"])?;
        let is_name = |part: &str| {
            let mut characters = part.chars();
            characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
                && characters.all(|other| other.is_ascii_alphanumeric() || other == '_')
        };
        if !module.split('.').all(is_name) {
            return Err(wrong(format!(
                "`tool.graph-host.module`: `{}` is no name of a module",
                printable(&module)
            )));
        }
        let (name, version) = (text(&["project", "name"])?, text(&["project", "version"])?);
        Ok(Self { folder: folder.to_owned(), name, version, module })
    }

    /// Builds the component. It still imports all interfaces that Python could use.
    pub fn build(&self) -> Result<Vec<u8>, PythonError> {
        let environment = self.folder.join(ENVIRONMENT);
        let missing = |tool| PythonError::Missing { tool, folder: self.folder.clone() };
        let programs =
            [environment.join("bin/componentize-py"), environment.join("Scripts/componentize-py.exe")];
        let componentize = programs
            .into_iter()
            .find(|program| program.is_file())
            .ok_or_else(|| missing("componentize-py"))?;
        let packages = packages(&environment).ok_or_else(|| missing("graph-host-sdk"))?;
        if !packages.join("graph_host_sdk").is_dir() {
            return Err(missing("graph-host-sdk"));
        }
        let scratch = tempfile::Builder::new()
            .prefix("graph-host-build-")
            .tempdir()
            .map_err(|source| PythonError::File { path: std::env::temp_dir(), source })?;
        let file = |path: &Path| {
            let path = path.to_owned();
            move |source| PythonError::File { path, source }
        };
        let world = scratch.path().join("wit");
        let model = wants::is_named(&self.folder.join(SOURCES), "py", MODEL).then_some(wit::MODEL);
        wit::write(&world, wit::IMPORTS.into_iter().chain(model)).map_err(file(&world))?;
        let modules = scratch.path().join("modules");
        let component = modules.join(format!("{COMPONENT}.py"));
        fs::create_dir(&modules).map_err(file(&modules))?;
        let load = if model.is_some() { "bindings.imported(\"model\")\n" } else { "" };
        let text =
            include_str!("component.py.txt").replace("MODULE", &self.module).replace("LOAD_MODEL\n", load);
        fs::write(&component, text).map_err(file(&component))?;
        let out = scratch.path().join("node.wasm");
        let mut command = Command::new(&componentize);
        command.arg("--wit-path").arg(&world).args(["--world", wit::WORLD, "componentize"]);
        for place in [&modules, &self.folder.join(SOURCES), &packages] {
            command.arg("--python-path").arg(place);
        }
        command.arg(COMPONENT).arg("--output").arg(&out);
        let program = componentize.display().to_string();
        let ran = command.output().map_err(|source| PythonError::Start {
            program,
            folder: self.folder.clone(),
            source,
        })?;
        if !ran.status.success() {
            let said = if ran.stderr.trim_ascii().is_empty() { ran.stdout } else { ran.stderr };
            let said = String::from_utf8_lossy(said.trim_ascii()).into_owned();
            return Err(PythonError::Failed { folder: self.folder.clone(), said });
        }
        fs::read(&out).map_err(file(&out))
    }

    /// Names componentize-py with its version, for the record of a build.
    pub fn toolchain(&self) -> String {
        let installed = |packages: PathBuf| {
            let names = fs::read_dir(packages).ok()?.filter_map(Result::ok).map(|entry| entry.file_name());
            names.filter_map(|name| name.into_string().ok()).find_map(|name| {
                let version = name.strip_prefix("componentize_py-")?.strip_suffix(".dist-info")?;
                Some(format!("componentize-py {}", printable(version)))
            })
        };
        packages(&self.folder.join(ENVIRONMENT)).and_then(installed).unwrap_or_default()
    }
}

/// Returns the folder of an environment's packages, for the Python of its `pyvenv.cfg`.
fn packages(environment: &Path) -> Option<PathBuf> {
    let about = text_file::read(&environment.join("pyvenv.cfg")).ok()?;
    let version = about.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim().starts_with("version")).then(|| value.trim())
    })?;
    let mut parts = version.split('.');
    let (major, minor) = (parts.next()?.parse::<u32>().ok()?, parts.next()?.parse::<u32>().ok()?);
    let own = environment.join("lib").join(format!("python{major}.{minor}")).join("site-packages");
    [own, environment.join("Lib").join("site-packages")].into_iter().find(|place| place.is_dir())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn packages_are_those_of_the_python_that_made_the_environment() {
        let environment = tempfile::tempdir().unwrap();
        let place = |version: &str| environment.path().join(format!("lib/python{version}/site-packages"));
        for version in ["3.9", "3.11", "3.13"] {
            fs::create_dir_all(place(version)).unwrap();
        }
        assert_eq!(packages(environment.path()), None, "nobody says which Python it is of");
        for (about, expected) in [
            ("home = /usr/bin\nversion = 3.11.7\n", Some(place("3.11"))),
            ("version_info = 3.13.0.final.0\n", Some(place("3.13"))),
            ("version = 3.12.1\n", None),
            ("version = three\n", None),
        ] {
            fs::write(environment.path().join("pyvenv.cfg"), about).unwrap();
            assert_eq!(packages(environment.path()), expected, "{about}");
        }
    }
}
