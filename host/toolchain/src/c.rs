//! Builds of guests from C: clang compiles the sources of the node, those of the SDK and generated bindings to a module, which is
//! encoded as a component.
//!
//! The author installs clang, its linker and wasi-libc. Nothing is downloaded here.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use graph_core::diagnostic::printable;
use graph_runtime::project::text_file;
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wit_bindgen_core::Files;
use wit_component::ComponentEncoder;
use wit_parser::Resolve;

use super::wit;

/// Manifest of a project.
pub const MANIFEST: &str = "node.toml";
/// The folder of the sources, in the project and in the SDK.
const SOURCES: &str = "src";
/// Header that identifies a folder as the SDK.
pub const HEADER: &str = "include/graph_host_sdk.h";
/// Command that installs the tools.
pub const INSTALL: &str = "apt-get install clang lld wasi-libc libclang-rt-dev-wasm32";
/// Target triple of components.
const TARGET: &str = "--target=wasm32-wasi";
/// Environment variable that names the folder of the WASI SDK.
pub const WASI_SDK: &str = "WASI_SDK_PATH";
/// Environment variables that would change the headers, libraries or options of clang.
const FOREIGN: [&str; 4] = ["CPATH", "C_INCLUDE_PATH", "LIBRARY_PATH", "CCC_OVERRIDE_OPTIONS"];
/// Errors that C compilers only warn of by default, and that make a component behave otherwise than a native test.
const REFUSED: [&str; 6] = [
    "-Wall",
    "-Werror=format",
    "-Werror=implicit-function-declaration",
    "-Werror=incompatible-pointer-types",
    "-Werror=int-conversion",
    "-Werror=return-type",
];
/// Options of the linker: dead code is dropped, two different declarations of a function are an error, and the stack of 1 MiB is below
/// all data, so that an overflow traps instead of changing data.
const LINKING: [&str; 6] = [
    "-mexec-model=reactor",
    "-Wl,--gc-sections",
    "-Wl,--strip-all",
    "-Wl,--fatal-warnings",
    "-Wl,--stack-first",
    "-Wl,-z,stack-size=1048576",
];

/// Error of a build from C.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum CError {
    /// The manifest of the project is invalid.
    #[error("{}: {reason}", .path.display())]
    Project {
        path: PathBuf,
        /// Reason why it is invalid.
        reason: String,
    },
    /// A tool is not installed.
    #[error("{tool} was not found")]
    Missing { tool: &'static str },
    /// A program could not be started.
    #[error("{} could not be started: {source}", .program.display())]
    Start {
        program: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The compiler rejected the sources.
    #[error("clang cannot build the sources in {}:\n{said}", .folder.display())]
    Failed {
        folder: PathBuf,
        /// Output of the compiler.
        said: String,
    },
    /// The module cannot be encoded as a component.
    #[error("the sources in {} make no component: {reason}", .folder.display())]
    Component {
        folder: PathBuf,
        /// Error of the encoder.
        reason: String,
    },
    /// A file of the build could not be read or written.
    #[error("the build could not use {}: {source}", .path.display())]
    File {
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
}

/// A compiler for components.
#[derive(Debug)]
pub struct Compiler {
    program: PathBuf,
    /// Name and version, as printed by the compiler.
    pub version: String,
}

impl Compiler {
    /// Finds the compiler of the WASI SDK that the environment names, else clang on the `PATH`.
    pub fn detect() -> Result<Self, CError> {
        let sdk = std::env::var_os(WASI_SDK).filter(|folder| !folder.is_empty());
        let is_named = sdk.is_some();
        let program =
            sdk.map_or_else(|| PathBuf::from("clang"), |folder| Path::new(&folder).join("bin/clang"));
        let missing = |tool| CError::Missing { tool };
        let asked = |argument: &str| {
            let ran = Command::new(&program).args([TARGET, argument]).output()?;
            Ok(ran.status.success().then(|| String::from_utf8_lossy(&ran.stdout).trim().to_owned()))
        };
        let said = asked("--version").map_err(|source: std::io::Error| match source.kind() {
            ErrorKind::NotFound if !is_named => missing("clang"),
            _ => CError::Start { program: program.clone(), source },
        })?;
        let said = said.ok_or_else(|| missing("clang"))?;
        let version = printable(said.lines().next().unwrap_or_default()).into_owned();
        // If clang does not find a file, it prints the bare name.
        let has = |question: &str| matches!(asked(question), Ok(Some(path)) if Path::new(&path).is_file());
        for (question, tool) in [
            ("-print-prog-name=wasm-ld", "the linker `wasm-ld`"),
            ("-print-file-name=libc.a", "wasi-libc"),
            ("-print-libgcc-file-name", "clang's runtime library for WebAssembly"),
        ] {
            if !has(question) {
                return Err(missing(tool));
            }
        }
        Ok(Self { program, version })
    }
}

/// A node's project in C.
#[derive(Debug)]
pub struct Project {
    folder: PathBuf,
    /// Name of the node.
    pub name: String,
    /// Version of the node.
    pub version: String,
    /// The folder of the SDK.
    sdk: PathBuf,
}

impl Project {
    /// Reads the description of the project in a folder.
    pub fn read(folder: &Path) -> Result<Self, CError> {
        let path = folder.join(MANIFEST);
        let wrong = |reason: String| CError::Project { path: path.clone(), reason };
        let text = text_file::read(&path).map_err(|source| CError::File { path: path.clone(), source })?;
        let manifest: toml::Table =
            text.parse().map_err(|error: toml::de::Error| wrong(error.to_string()))?;
        let text = |key: &str| {
            let text = manifest.get(key).and_then(toml::Value::as_str).map(str::to_owned);
            text.ok_or_else(|| wrong(format!("it needs a text `{key}`")))
        };
        let (name, version, sdk) = (text("name")?, text("version")?, text("sdk")?);
        if name.is_empty() || name.contains(['/', '\\']) || name.starts_with('.') {
            return Err(wrong(format!("`name`: `{}` cannot be the name of a file", printable(&name))));
        }
        let sdk = folder.join(sdk);
        if !sdk.join(HEADER).is_file() {
            let named = sdk.display().to_string();
            return Err(wrong(format!("`sdk` names {}, which is not the SDK for C", printable(&named))));
        }
        let sdk = whole(&sdk)?;
        if sdk.starts_with(whole(folder)?.join(SOURCES)) {
            return Err(wrong(format!("`sdk` is below `{SOURCES}`, whose files are those of the node")));
        }
        if sdk.as_os_str().as_encoded_bytes().contains(&b'=') {
            return Err(wrong("`sdk`: a path with `=` cannot be given to the compiler".to_owned()));
        }
        Ok(Self { folder: folder.to_owned(), name, version, sdk })
    }

    /// Builds the component. It imports the interfaces that its sources and the C library use.
    pub fn build(&self, compiler: &Compiler) -> Result<Vec<u8>, CError> {
        let place = self.folder.join(SOURCES);
        let own = if place.is_dir() { sources(&place)? } else { Vec::new() };
        if own.is_empty() {
            let reason = format!("there is no file `{SOURCES}/*.c` next to it");
            return Err(CError::Project { path: self.folder.join(MANIFEST), reason });
        }
        let scratch = tempfile::Builder::new()
            .prefix("graph-host-build-")
            .tempdir()
            .map_err(|source| CError::File { path: std::env::temp_dir(), source })?;
        let made = whole(scratch.path())?;
        self.bindings(&made)?;
        let out = made.join("node.wasm");
        let mut command = Command::new(&compiler.program);
        // Relative paths keep the path of the folder out of the component.
        command.current_dir(&self.folder);
        for name in FOREIGN {
            command.env_remove(name);
        }
        command.args([TARGET, "-std=c11", "-Oz", "-ffunction-sections", "-fdata-sections"]);
        command.args(REFUSED).args(LINKING);
        command.arg(mapped(&self.sdk, "sdk")).arg(mapped(&made, "build"));
        // Only includes with quotes find the node's own headers.
        command.args(["-iquote", SOURCES]);
        for place in [&made, &self.sdk.join("include")] {
            command.arg("-I").arg(place);
        }
        command.args(own.iter().filter_map(|path| path.strip_prefix(&self.folder).ok()));
        command.args(sources(&self.sdk.join(SOURCES))?);
        for generated in ["built.c", "built_component_type.o"] {
            command.arg(made.join(generated));
        }
        command.arg("-o").arg(&out);
        let ran =
            command.output().map_err(|source| CError::Start { program: compiler.program.clone(), source })?;
        if !ran.status.success() {
            let said = String::from_utf8_lossy(ran.stderr.trim_ascii()).into_owned();
            return Err(CError::Failed { folder: self.folder.clone(), said });
        }
        let module = fs::read(&out).map_err(|source| CError::File { path: out, source })?;
        component(&module).map_err(|reason| CError::Component { folder: self.folder.clone(), reason })
    }

    /// Writes bindings for a world with all interfaces that the SDK offers.
    fn bindings(&self, folder: &Path) -> Result<(), CError> {
        let world = folder.join("wit");
        wit::write(&world, wit::IMPORTS.into_iter().chain([wit::MODEL]))
            .map_err(|source| CError::File { path: world.clone(), source })?;
        let files =
            generated(&world).map_err(|reason| CError::Component { folder: self.folder.clone(), reason })?;
        for (name, bytes) in files.iter() {
            let path = folder.join(name);
            fs::write(&path, bytes).map_err(|source| CError::File { path, source })?;
        }
        Ok(())
    }
}

/// Lists the C files below a folder, sorted by path. Links to folders are not followed: they may form cycles.
fn sources(folder: &Path) -> Result<Vec<PathBuf>, CError> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        let file = |source| CError::File { path: folder.clone(), source };
        for entry in fs::read_dir(&folder).map_err(file)? {
            let entry = entry.map_err(file)?;
            let (kind, path) = (entry.file_type().map_err(file)?, entry.path());
            if kind.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "c") && path.is_file() {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the absolute path of a folder: the compiler runs in another one.
fn whole(folder: &Path) -> Result<PathBuf, CError> {
    folder.canonicalize().map_err(|source| CError::File { path: folder.to_path_buf(), source })
}

/// Returns the argument that replaces a folder's path in the output of the compiler.
fn mapped(folder: &Path, name: &str) -> OsString {
    let mut argument = OsString::from("-ffile-prefix-map=");
    argument.push(folder);
    argument.push("=");
    argument.push(name);
    argument
}

/// Generates C bindings for the world in a folder.
fn generated(world: &Path) -> Result<Files, String> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(world).map_err(|error| format!("{error:#}"))?;
    let world = resolve.select_world(&[package], Some(wit::WORLD)).map_err(|error| format!("{error:#}"))?;
    let mut files = Files::default();
    let mut generator = wit_bindgen_c::Opts::default().build();
    generator.generate(&mut resolve, world, &mut files).map_err(|error| format!("{error:#}"))?;
    Ok(files)
}

/// Encodes a module that uses WASI preview 1, as wasi-libc does, as a component.
fn component(module: &[u8]) -> Result<Vec<u8>, String> {
    ComponentEncoder::default()
        .module(module)
        .and_then(|encoder| {
            encoder.adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER)
        })
        .and_then(|encoder| encoder.validate(true).encode())
        .map_err(|error| format!("{error:#}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_project_names_what_it_is_built_with() {
        let folder = tempfile::tempdir().unwrap();
        let read = |text: &str| {
            fs::write(folder.path().join(MANIFEST), text).unwrap();
            Project::read(folder.path()).map(|project| project.name).map_err(|error| error.to_string())
        };
        let whole = "name = \"greet\"\nversion = \"0.1.0\"\nsdk = \"sdk\"\n";
        assert!(read(whole).is_err_and(|told| told.contains("which is not the SDK for C")));
        fs::create_dir_all(folder.path().join("sdk/include")).unwrap();
        fs::write(folder.path().join("sdk").join(HEADER), "").unwrap();
        assert_eq!(read(whole).as_deref(), Ok("greet"));
        for (text, told) in [
            ("name = 1\n", "it needs a text `name`"),
            ("name = \"../x\"\nversion = \"1\"\nsdk = \"sdk\"\n", "cannot be the name of a file"),
            ("name\n", "TOML parse error"),
        ] {
            assert!(read(text).is_err_and(|reason| reason.contains(told)), "{text}");
        }
    }

    #[test]
    fn bindings_are_generated_for_all_that_the_sdk_offers() {
        let folder = tempfile::tempdir().unwrap();
        wit::write(folder.path(), wit::IMPORTS.into_iter().chain([wit::MODEL])).unwrap();
        let files = generated(folder.path()).unwrap();
        let names: Vec<_> = files.iter().map(|(name, _)| name.to_owned()).collect();
        assert_eq!(names, ["built.c", "built.h", "built_component_type.o"]);
    }
}
