//! Building a guest from C: clang compiles its sources, those of the SDK and bindings that are generated here to a module, which becomes a
//! component.
//!
//! clang, its linker and wasi-libc are installed by the author. Nothing is fetched here.

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

/// Where a project describes itself.
pub const MANIFEST: &str = "node.toml";
/// The folder of the sources, in the project and in the SDK.
const SOURCES: &str = "src";
/// The file that a folder with the SDK has.
pub const HEADER: &str = "include/graph_host_sdk.h";
/// What installs the tools.
pub const INSTALL: &str = "apt-get install clang lld wasi-libc libclang-rt-dev-wasm32";
/// The platform of C that components are compiled for.
const TARGET: &str = "--target=wasm32-wasi";
/// The folder of the WASI SDK, if one is to be used.
pub const WASI_SDK: &str = "WASI_SDK_PATH";
/// Variables with which clang would use other headers, libraries or options than those of the platform.
const FOREIGN: [&str; 4] = ["CPATH", "C_INCLUDE_PATH", "LIBRARY_PATH", "CCC_OVERRIDE_OPTIONS"];
/// Mistakes that a compiler for C only warns of, and that give a component other results than a test on the machine.
const REFUSED: [&str; 6] = [
    "-Wall",
    "-Werror=format",
    "-Werror=implicit-function-declaration",
    "-Werror=incompatible-pointer-types",
    "-Werror=int-conversion",
    "-Werror=return-type",
];
/// Dead code is left out, the same function declared in two ways is an error, and the stack, of 1 MiB, is below all data: where it
/// overflows, the call traps instead of changing data.
const LINKING: [&str; 6] = [
    "-mexec-model=reactor",
    "-Wl,--gc-sections",
    "-Wl,--strip-all",
    "-Wl,--fatal-warnings",
    "-Wl,--stack-first",
    "-Wl,-z,stack-size=1048576",
];

/// Why a node in C could not be built.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum CError {
    /// The project does not say what is needed of it.
    #[error("{}: {reason}", .path.display())]
    Project {
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A tool is not installed.
    #[error("{tool} was not found")]
    Missing { tool: &'static str },
    /// A program could not be started.
    #[error("{} could not be started: {source}", .program.display())]
    Start {
        program: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The compiler refused the sources.
    #[error("clang cannot build the sources in {}:\n{said}", .folder.display())]
    Failed {
        folder: PathBuf,
        /// What the compiler printed.
        said: String,
    },
    /// The tools for components refused what the compiler made.
    #[error("the sources in {} make no component: {reason}", .folder.display())]
    Component {
        folder: PathBuf,
        /// What the tools say.
        reason: String,
    },
    /// A file of the build could not be read or written.
    #[error("the build could not use {}: {source}", .path.display())]
    File {
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

/// A compiler for components.
#[derive(Debug)]
pub struct Compiler {
    program: PathBuf,
    /// Its name and version, as it prints them.
    pub version: String,
}

impl Compiler {
    /// The compiler of the WASI SDK that the environment names, or clang.
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
        // It answers with the name alone for what it does not find.
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

/// A project of C that is a node.
#[derive(Debug)]
pub struct Project {
    folder: PathBuf,
    /// Its name.
    pub name: String,
    /// Its version.
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

    /// Builds the component, which imports what its sources and the C library use.
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
        // From the folder, so that nothing of its path is in the component.
        command.current_dir(&self.folder);
        for name in FOREIGN {
            command.env_remove(name);
        }
        command.args([TARGET, "-std=c11", "-Oz", "-ffunction-sections", "-fdata-sections"]);
        command.args(REFUSED).args(LINKING);
        command.arg(mapped(&self.sdk, "sdk")).arg(mapped(&made, "build"));
        // Headers of the node are for its own sources, where they are included with quotes.
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

    /// Writes bindings of a world with all that the SDK offers.
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

/// The files in C below a folder, in order of their paths. Links to folders are not followed, as they may lead in circles.
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

/// The path of a folder from the root: the compiler works in another one.
fn whole(folder: &Path) -> Result<PathBuf, CError> {
    folder.canonicalize().map_err(|source| CError::File { path: folder.to_path_buf(), source })
}

/// An argument that replaces a folder's path in what the compiler writes.
fn mapped(folder: &Path, name: &str) -> OsString {
    let mut argument = OsString::from("-ffile-prefix-map=");
    argument.push(folder);
    argument.push("=");
    argument.push(name);
    argument
}

/// The bindings of the world in a folder.
fn generated(world: &Path) -> Result<Files, String> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(world).map_err(|error| format!("{error:#}"))?;
    let world = resolve.select_world(&[package], Some(wit::WORLD)).map_err(|error| format!("{error:#}"))?;
    let mut files = Files::default();
    let mut generator = wit_bindgen_c::Opts::default().build();
    generator.generate(&mut resolve, world, &mut files).map_err(|error| format!("{error:#}"))?;
    Ok(files)
}

/// The component of a module that uses the C library's interface of the system.
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
