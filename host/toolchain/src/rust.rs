//! Builds of guests from Rust: a crate becomes a component.
//!
//! Either of two toolchains is needed. With `rustup target add wasm32-unknown-unknown` the standard library is prebuilt. Otherwise
//! Debian's `rustc-web` and `rust-web-src` provide a compiler with the sources of the standard library, which cargo also builds. In
//! both cases the linker, `wasm-component-ld`, and its `rust-lld` come with the rustup toolchain. The same sources, lockfile and
//! toolchain give the same bytes in every folder.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use graph_core::json::{self, TreeLimit};
use serde_json::Value;

/// The target of guests: no operating system, so a component imports only what its code names.
pub const TARGET: &str = "wasm32-unknown-unknown";
/// Initial memory of a guest, in bytes: growing it is the most expensive part of a short call.
const INITIAL_MEMORY: u32 = 2 << 20;
/// Path of Debian's compiler.
const PACKAGED_RUSTC: &str = "/usr/bin/rustc";

/// Error of a build from Rust.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum GuestBuildError {
    /// No toolchain builds for the target.
    #[error(
        "no Rust toolchain here builds for {TARGET}: {why}. Run `rustup target add {TARGET}`, or on Debian install \
         `rustc-web` and `rust-web-src`"
    )]
    NoToolchain {
        /// The missing part of each toolchain.
        why: String,
    },
    /// The linker for components is missing.
    #[error("`wasm-component-ld` is not in {}: it comes with Rust 1.82 and later; update with `rustup update`", .folder.display())]
    NoLinker {
        /// The folder that was searched.
        folder: PathBuf,
    },
    /// A program could not be started.
    #[error("`{program}` could not be started: {source}")]
    Start {
        program: String,
        /// Error of the system.
        source: std::io::Error,
    },
    /// Cargo cannot read the crate's metadata.
    #[error("cargo cannot read the crate in {}:\n{message}", .folder.display())]
    Crate {
        /// The folder whose crate cannot be read.
        folder: PathBuf,
        /// The error that cargo printed.
        message: String,
    },
    /// The crate does not compile; cargo has printed its errors on stderr.
    #[error("the crate in {} does not build; cargo's messages are above", .folder.display())]
    Failed {
        /// The folder whose crate does not compile.
        folder: PathBuf,
    },
    /// The crate makes no component.
    #[error("the crate in {} makes no component: its Cargo.toml needs `[lib] crate-type = [\"cdylib\"]`", .folder.display())]
    NoComponent {
        /// The folder whose crate gave no component.
        folder: PathBuf,
    },
}

/// Origin of the standard library for the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Installed with rustup.
    Prebuilt,
    /// Built from Debian's sources.
    Packaged,
}

/// A toolchain that builds guests. Its `Display` is the line in the record of a build.
#[derive(Clone, Debug)]
pub struct Toolchain {
    source: Source,
    version: String,
    rustc: PathBuf,
    sysroot: PathBuf,
    tools: Vec<PathBuf>,
}

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source {
            Source::Prebuilt => write!(f, "{}, prebuilt {TARGET}", self.version),
            Source::Packaged => write!(f, "{}, std built for {TARGET}", self.version),
        }
    }
}

impl Toolchain {
    /// Finds the preferred toolchain, the first of [`Toolchain::candidates`]. The error names what is missing of each.
    pub fn detect() -> Result<Self, GuestBuildError> {
        let mut why = Vec::new();
        for source in [Source::Prebuilt, Source::Packaged] {
            match Self::find(source) {
                Ok(toolchain) => return Ok(toolchain),
                Err(GuestBuildError::NoToolchain { why: reason }) => why.push(reason),
                Err(error) => return Err(error),
            }
        }
        Err(GuestBuildError::NoToolchain { why: why.join("; ") })
    }

    /// Lists the installed toolchains that build guests, the preferred one first.
    pub fn candidates() -> Vec<Self> {
        [Source::Prebuilt, Source::Packaged]
            .into_iter()
            .filter_map(|source| Self::find(source).ok())
            .collect()
    }

    /// Finds the toolchain of one kind.
    pub fn find(source: Source) -> Result<Self, GuestBuildError> {
        let missing = |why: String| GuestBuildError::NoToolchain { why };
        // The tools come with the toolchain that cargo runs under, whichever compiler is used.
        let default = PathBuf::from(output("rustc", &["--print", "sysroot"])?.trim());
        let host = field(&output("rustc", &["-vV"])?, "host").unwrap_or_default();
        let bin = default.join("lib/rustlib").join(host).join("bin");
        let (rustc, sysroot) = match source {
            Source::Prebuilt => {
                let library = default.join("lib/rustlib").join(TARGET).join("lib");
                if !holds_core(&library) {
                    return Err(missing(format!("{} holds no standard library", library.display())));
                }
                (PathBuf::from("rustc"), default)
            }
            Source::Packaged => {
                let sysroot = output(PACKAGED_RUSTC, &["--print", "sysroot"])
                    .map_err(|error| missing(error.to_string()))?;
                let sysroot = PathBuf::from(sysroot.trim());
                let sources = sysroot.join("lib/rustlib/src/rust/library/std");
                if !sources.is_dir() {
                    return Err(missing(format!("{} is missing", sources.display())));
                }
                (PathBuf::from(PACKAGED_RUSTC), sysroot)
            }
        };
        if !bin.join(format!("wasm-component-ld{}", std::env::consts::EXE_SUFFIX)).is_file() {
            return Err(GuestBuildError::NoLinker { folder: bin });
        }
        let version = output(&rustc.to_string_lossy(), &["--version"])?.trim().to_owned();
        let tools = vec![bin.join("gcc-ld"), bin];
        Ok(Self { source, version, rustc, sysroot, tools })
    }

    /// Returns the origin of the standard library.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Builds the crate in a folder in release mode into `target`; returns the path of the component. With `locked`, the crate's
    /// lockfile must exist and is not changed. Cargo's messages go to stderr.
    pub fn build(&self, folder: &Path, target: &Path, locked: bool) -> Result<PathBuf, GuestBuildError> {
        let manifest = folder.join("Cargo.toml");
        let mut command = self.cargo("build")?;
        command
            .args(["--release", "--target", TARGET, "--message-format", "json-render-diagnostics"])
            .arg("--manifest-path")
            .arg(&manifest)
            .arg("--target-dir")
            .arg(target)
            .env("CARGO_ENCODED_RUSTFLAGS", self.flags(folder, &manifest)?)
            .stderr(Stdio::inherit());
        if self.source == Source::Packaged {
            command.arg("-Zbuild-std=std,panic_abort");
        }
        name_crates_by_name(&mut command, target)
            .map_err(|source| GuestBuildError::Start { program: "rustc".to_owned(), source })?;
        if locked {
            command.arg("--locked");
        }
        let built = command
            .output()
            .map_err(|source| GuestBuildError::Start { program: "cargo".to_owned(), source })?;
        if !built.status.success() {
            return Err(GuestBuildError::Failed { folder: folder.to_owned() });
        }
        component(&built.stdout).ok_or_else(|| GuestBuildError::NoComponent { folder: folder.to_owned() })
    }

    /// Returns a cargo command that uses this toolchain, without the environment's settings for other builds.
    fn cargo(&self, subcommand: &str) -> Result<Command, GuestBuildError> {
        let own = std::env::var_os("PATH").unwrap_or_default();
        let folders = self.tools.iter().cloned().chain(std::env::split_paths(&own));
        let path = std::env::join_paths(folders)
            .map_err(|error| GuestBuildError::NoToolchain { why: error.to_string() })?;
        let mut command = Command::new("cargo");
        command
            .arg(subcommand)
            .env("PATH", path)
            .env("RUSTC", &self.rustc)
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_BUILD_TARGET")
            .env_remove("CARGO_TARGET_DIR")
            .env_remove("CARGO_INCREMENTAL")
            .env_remove("RUSTC_WRAPPER")
            .env_remove("RUSTC_WORKSPACE_WRAPPER");
        if self.source == Source::Packaged {
            command.env("RUSTC_BOOTSTRAP", "1");
        }
        Ok(command)
    }

    /// Returns the compiler's flags: options of the linker, and replacements for folders of this machine whose paths would be in the
    /// bytes. Folders of crates are replaced by [`WRAPPER`] instead: cargo rebuilds dependencies if the flags differ, and all nodes
    /// that are built into one folder share their dependencies.
    fn flags(&self, folder: &Path, manifest: &Path) -> Result<OsString, GuestBuildError> {
        let mut flags = vec![
            OsString::from("-Clinker=wasm-component-ld"),
            OsString::from(format!("-Clink-arg=--initial-memory={INITIAL_MEMORY}")),
        ];
        let mut remap = |from: &Path, to: &str| {
            let mut flag = OsString::from("--remap-path-prefix=");
            flag.push(from);
            flag.push("=");
            flag.push(to);
            flags.push(flag);
        };
        let described = self
            .cargo("metadata")?
            .args(["--format-version", "1", "--manifest-path"])
            .arg(manifest)
            .output()
            .map_err(|source| GuestBuildError::Start { program: "cargo".to_owned(), source })?;
        let metadata: Value = json::read(&described.stdout, TreeLimit::DOCUMENT).unwrap_or(Value::Null);
        if !described.status.success() || metadata.is_null() {
            let message = String::from_utf8_lossy(&described.stderr).trim().to_owned();
            return Err(GuestBuildError::Crate { folder: folder.to_owned(), message });
        }
        let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
        let (local, of_registry): (Vec<_>, Vec<_>) =
            packages.iter().partition(|package| package["source"].is_null());
        let manifest_of = |package: &'_ Value| package["manifest_path"].as_str().map(PathBuf::from);
        let folders: BTreeSet<PathBuf> = of_registry
            .into_iter()
            .filter_map(|package| Some(manifest_of(package)?.ancestors().nth(2)?.to_owned()))
            .collect();
        for registry in folders {
            remap(&registry, "/registry");
        }
        // Without a shell there is no wrapper that replaces these paths.
        for package in local.into_iter().filter(|_| cfg!(not(unix))) {
            if let (Some(name), Some(manifest)) = (package["name"].as_str(), manifest_of(package))
                && let Some(folder) = manifest.parent()
            {
                remap(folder, &format!("/{name}"));
            }
        }
        remap(&self.sysroot.join("lib/rustlib/src/rust"), "/rust");
        let mut joined = OsString::new();
        for (i, flag) in flags.iter().enumerate() {
            if i > 0 {
                joined.push("\u{1f}");
            }
            joined.push(flag);
        }
        Ok(joined)
    }
}

/// Wrapper of the compiler that makes the bytes independent of the crates' folders. Cargo distinguishes crates of the same name by
/// their folder, and the compiler orders code by that. For crates from a folder, name and version replace it, and in paths of files the
/// name replaces the folder. The flags for a parent folder come later and take precedence.
#[cfg(unix)]
const WRAPPER: &str = r#"#!/bin/sh
case "$CARGO_MANIFEST_DIR" in
*/registry/src/* | "") ;;
*)
    left=$#
    while [ "$left" -gt 0 ]; do
        argument=$1
        shift
        case "$argument" in metadata=*) argument="metadata=$CARGO_PKG_NAME-$CARGO_PKG_VERSION" ;; esac
        set -- "$@" "$argument"
        left=$((left - 1))
    done
    compiler=$1
    shift
    set -- "$compiler" "--remap-path-prefix=$CARGO_MANIFEST_DIR=/$CARGO_PKG_NAME" "$@"
    ;;
esac
exec "$@"
"#;

#[cfg(unix)]
fn name_crates_by_name(command: &mut Command, target: &Path) -> std::io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;

    std::fs::create_dir_all(target)?;
    let target = target.canonicalize()?;
    let path = target.join("rustc-by-name.sh");
    let mut file = tempfile::NamedTempFile::new_in(&target)?;
    file.write_all(WRAPPER.as_bytes())?;
    file.as_file().set_permissions(std::fs::Permissions::from_mode(0o755))?;
    file.persist(&path).map_err(|error| error.error)?;
    command.env("RUSTC_WRAPPER", path);
    Ok(())
}

/// Does nothing: without a shell, the bytes depend on the folders of path dependencies outside of the crate's folder.
#[cfg(not(unix))]
fn name_crates_by_name(_: &mut Command, _: &Path) -> std::io::Result<()> {
    Ok(())
}

/// Returns the last `.wasm` file among the artifacts in cargo's messages.
fn component(messages: &[u8]) -> Option<PathBuf> {
    messages
        .split(|byte| *byte == b'\n')
        .filter_map(|line| json::read::<Value>(line, TreeLimit::DOCUMENT).ok())
        .filter(|message| message["reason"] == "compiler-artifact")
        .filter_map(|message| {
            let files = message["filenames"].as_array()?;
            files
                .iter()
                .filter_map(Value::as_str)
                .map(PathBuf::from)
                .find(|file| file.extension().is_some_and(|extension| extension == "wasm"))
        })
        .next_back()
}

fn holds_core(library: &Path) -> bool {
    std::fs::read_dir(library).is_ok_and(|mut entries| {
        entries.any(|entry| {
            entry.is_ok_and(|entry| {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                name.starts_with("libcore-") && name.ends_with(".rlib")
            })
        })
    })
}

fn output(program: &str, arguments: &[&str]) -> Result<String, GuestBuildError> {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|source| GuestBuildError::Start { program: program.to_owned(), source })?;
    if !output.status.success() {
        return Err(GuestBuildError::NoToolchain {
            why: format!(
                "`{program} {}` failed: {}",
                arguments.join(" "),
                String::from_utf8_lossy(&output.stderr).trim()
            ),
        });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn field(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ").map(str::to_owned))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_component_is_what_cargo_made_last() {
        let messages = br#"{"reason":"compiler-artifact","filenames":["/t/a.rlib"]}
not json
{"reason":"compiler-artifact","filenames":["/t/a.wasm"]}
{"reason":"build-finished","success":true}"#;
        assert_eq!(component(messages), Some(PathBuf::from("/t/a.wasm")));
        assert_eq!(component(b"{}"), None);
    }

    #[test]
    fn a_toolchain_names_itself() {
        for toolchain in Toolchain::candidates() {
            let name = toolchain.to_string();
            assert!(name.starts_with("rustc ") && name.contains(TARGET), "{name}");
        }
    }

    /// Builds a small crate with a path dependency in two folders of different length. Needs a toolchain for guests.
    #[test]
    fn the_bytes_do_not_depend_on_the_folder() {
        let Some(toolchain) = Toolchain::candidates().into_iter().find(|t| t.source() == Source::Prebuilt)
        else {
            return;
        };
        let build = |folder: &Path| {
            let write = |path: &str, text: &str| {
                let path = folder.join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            };
            write("sdk/Cargo.toml", "[package]\nname='sdk'\nversion='0.1.0'\nedition='2024'\n");
            write(
                "sdk/src/lib.rs",
                "pub fn place() -> &'static str { file!() }\n#[inline(never)] pub fn f(i: usize) -> u8 { place().as_bytes()[i] }",
            );
            write(
                "nodes/n/Cargo.toml",
                "[package]\nname='n'\nversion='0.1.0'\nedition='2024'\n[lib]\ncrate-type=['cdylib']\n\
                 [dependencies]\nsdk={path='../../sdk'}\n[profile.release]\nstrip=true\nlto=true\n[workspace]\n",
            );
            write(
                "nodes/n/src/lib.rs",
                "#[unsafe(no_mangle)] pub extern \"C\" fn g(i: usize) -> u8 { sdk::f(i) ^ file!().as_bytes()[i] }",
            );
            let node = folder.join("nodes/n");
            std::fs::read(toolchain.build(&node, &folder.join("target"), false).unwrap()).unwrap()
        };
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let deep = other.path().join("a/deeper/folder");
        std::fs::create_dir_all(&deep).unwrap();
        let bytes = build(one.path());
        assert_eq!(bytes, build(&deep));
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(!text.contains(&*one.path().to_string_lossy()), "a path of this machine got into the bytes");
    }
}
