//! `graph-host new node`.

mod c;
mod javascript;
mod python;
mod rust;

use std::path::{Path, PathBuf};

use graph_core::capability::CapabilityKind;
use graph_core::diagnostic::shell_quoted;
use graph_core::trust::{TrustStore, VerifyingKey};
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{self, styled};
use graph_runtime::clock::now;
use graph_runtime::error::{Error, Result};
use graph_runtime::project::key_pairs::Pairs;
use graph_runtime::trust::trusted_keys;
use graph_toolchain::wants;
use serde_json::json;

use super::folder::{self, typed};

/// Create a node: a crate or a package that `graph-host build` compiles to a component, with the SDK that it needs
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The name of the node, of its folder and of its crate or package
    name: String,
    /// The language that it is written in
    #[arg(long, value_enum, default_value_t)]
    lang: Language,
    /// The folder in which that folder is created
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// A folder with the SDK of the language to build with; without it, a copy is written into the new folder
    #[arg(long, value_name = "DIR")]
    sdk: Option<PathBuf>,
    /// What the node uses: a kind of capability, such as filesystem, or an interface, such as wasi:filesystem/types
    #[arg(long, value_name = "INTERFACE", num_args = 1.., value_delimiter = ',', value_parser = wants::interface)]
    wants: Vec<String>,
}

/// A language with an SDK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Language {
    /// Rust
    #[default]
    Rust,
    /// JavaScript
    Js,
    /// TypeScript
    Ts,
    /// Python
    Python,
    /// C
    C,
}

impl Language {
    /// Folder of the SDK, relative to the top of the project.
    fn sdk(self) -> &'static str {
        match self {
            Self::Rust => "guest-sdk/rust",
            Self::Js | Self::Ts => "guest-sdk/js",
            Self::Python => "guest-sdk/python",
            Self::C => "guest-sdk/c",
        }
    }

    /// Files of the SDK, by path from the top of the project.
    fn sdk_files(self) -> Vec<(String, String)> {
        let files = match self {
            Self::Rust => return rust::sdk().map(|(path, text)| (path, text.to_owned())).collect(),
            Self::Js | Self::Ts => javascript::SDK,
            Self::Python => python::SDK,
            Self::C => c::SDK,
        };
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
    }

    /// File that identifies the folder of the SDK.
    fn manifest(self) -> &'static str {
        match self {
            Self::Rust => "Cargo.toml",
            Self::Js | Self::Ts => "package.json",
            Self::Python => "pyproject.toml",
            Self::C => c::HEADER,
        }
    }
}

/// Embeds the files of an SDK, by their paths from the top of the project. `sdk` links to them, so that a package of this crate contains
/// them; the manifest of cargo has another name there, since cargo packages only one.
macro_rules! sdk_files {
    ($($path:literal $(from $name:literal)?),* $(,)?) => {
        &[$(($path, super::sdk_files!(@text $path $($name)?))),*]
    };
    (@text $path:literal) => {
        include_str!(concat!("../../../../sdk/", $path))
    };
    (@text $path:literal $name:literal) => {
        include_str!(concat!("../../../../sdk/", $name))
    };
}
use sdk_files;

/// Folder of the SDK's copy in the new folder.
const COPY: &str = "graph-host";

pub(super) fn run(args: &Args, context: &Context) -> Result<Exit> {
    let name = &args.name;
    folder::check_name(name)
        .map_err(|why| Error::usage(format!("`{name}` cannot be the name of a node: {why}")))?;
    let place = args.dir.join(name);
    let sdk = match &args.sdk {
        None => format!("{COPY}/{}", args.lang.sdk()),
        Some(sdk) => own_sdk(sdk, args.lang)?,
    };
    // Escaped for a string: TOML and JSON escape alike.
    let written = sdk.replace('\\', "\\\\").replace('"', "\\\"");
    let mut files = match args.lang {
        Language::Rust => rust::made(name, &args.wants, &written),
        Language::Js => javascript::made(name, &args.wants, &written, false),
        Language::Ts => javascript::made(name, &args.wants, &written, true),
        Language::Python => python::made(name, &args.wants, &sdk),
        Language::C => c::made(name, &args.wants, &sdk, &written),
    };
    let case = include_str!("../../../templates/node/case.yaml").replace("NAME", name);
    files.push((format!("tests/{name}.case.yaml"), case));
    if args.sdk.is_none() {
        files.extend(args.lang.sdk_files().into_iter().map(|(path, text)| (format!("{COPY}/{path}"), text)));
    }
    let listed: Vec<(&str, String)> =
        files.iter().map(|(path, text)| (path.as_str(), text.clone())).collect();
    folder::make(&place, &listed)?;
    let mut next = Vec::new();
    match args.lang {
        Language::Rust | Language::C => {}
        Language::Js | Language::Ts => {
            // npm does not install the dependencies of a linked package.
            next.extend(args.sdk.iter().map(|sdk| format!("npm install --prefix {}", typed(sdk))));
            next.push(format!("npm install --prefix {}", typed(&place)));
        }
        // pip resolves paths from the current folder.
        Language::Python => next.push(format!("(cd {} && {})", typed(&place), python::INSTALL)),
    }
    let key = Pairs::in_home(&context.host.home).get(KEY).ok().map(|pair| pair.public);
    if key.is_none() {
        next.push(format!("graph-host keys generate {KEY}"));
    }
    next.push(format!(
        "graph-host build {} --id me/{name} --out .ai/tools/me/{name}.wasm --sign-with {KEY}",
        typed(&place)
    ));
    let store = trusted_keys::read_store(&context.host.home.trust_file(), context.host.home.base())?;
    next.extend(trust(&store, key.as_ref(), &format!("me/{name}"), &args.wants));
    // The case of a node with `wants` needs a manifest that grants them.
    if args.wants.is_empty() {
        next.push(format!("graph-host test {}", typed(&place)));
    }
    next.push(format!("graph-host publish me/{name} oci-layout:published:{name}"));
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

/// Name of the key with which the printed commands sign.
const KEY: &str = "me";

/// Returns the command that lets a key sign an item with these interfaces, if one is needed.
fn trust(store: &TrustStore, key: Option<&VerifyingKey>, item: &str, wants: &[String]) -> Option<String> {
    let mut kinds: Vec<CapabilityKind> =
        wants.iter().filter_map(|interface| wants::kind(interface)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let listed =
        |kinds: &[CapabilityKind]| kinds.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(",");
    if let Some(Ok(trusted)) = key.and_then(|key| store.allow(key.id(), item, now())) {
        kinds.retain(|kind| !trusted.ceiling.kinds.contains(kind));
        let also =
            || format!("graph-host trust set {} --also-may {}", shell_quoted(&trusted.name), listed(&kinds));
        return (!kinds.is_empty()).then(also);
    }
    // The name may be taken by another key: one that was rotated, or one of another person.
    let free = (1..).map(|n| if n == 1 { KEY.to_owned() } else { format!("{KEY}-{n}") });
    let name = free.into_iter().find(|name| store.keys().iter().all(|key| key.name != *name))?;
    let may = if kinds.is_empty() { String::new() } else { format!(" --may {}", listed(&kinds)) };
    Some(format!("graph-host trust add {name} --key {KEY} --items 'me/*'{may}"))
}

/// Returns the absolute path of a folder with an SDK of the language.
fn own_sdk(sdk: &Path, language: Language) -> Result<String> {
    let absolute = sdk.canonicalize().map_err(|error| Error::read("the SDK", sdk, &error))?;
    if !absolute.join(language.manifest()).is_file() {
        let missing = format!("{} has no {}: it is not the SDK", sdk.display(), language.manifest());
        return Err(Error::usage(missing).help("leave --sdk out for a copy inside the new folder"));
    }
    Ok(absolute.to_string_lossy().into_owned())
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
            // Links to the contract are followed.
            if root.join(&path).is_dir() {
                files(root, &path, found);
            } else {
                found.insert(path);
            }
        }
    }

    #[test]
    fn the_copy_of_the_sdk_is_whole() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut found = BTreeSet::from(["guest-sdk/rust/Cargo.toml".to_owned()]);
        for below in ["rust/src", "rust/wit", "js/bin", "js/src", "js/testing"] {
            files(&root, &format!("guest-sdk/{below}"), &mut found);
        }
        found.insert("guest-sdk/js/package.json".to_owned());
        files(&root, "guest-sdk/python/src/graph_host_sdk", &mut found);
        found.retain(|path| !path.contains("/__pycache__/"));
        found.extend(["README.md", "pyproject.toml"].map(|name| format!("guest-sdk/python/{name}")));
        for below in ["include", "src", "testing", "vendor"] {
            files(&root, &format!("guest-sdk/c/{below}"), &mut found);
        }
        found.insert("guest-sdk/c/README.md".to_owned());
        let sdks = [Language::Rust, Language::Js, Language::Python, Language::C];
        let listed: BTreeSet<String> =
            sdks.into_iter().flat_map(Language::sdk_files).map(|(path, _)| path).collect();
        assert_eq!(listed, found);
    }
}
