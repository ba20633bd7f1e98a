//! `graph-host build`: from the sources of a node to a component that is described and signed.

mod sources;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use graph_core::capability::{CapabilityKind, Ceiling};
use graph_core::diagnostic::printable;
use graph_core::id::ItemId;
use graph_core::trust::{TrustStore, VerifiedComponent};
use graph_host::context::Context;
use graph_host::file_watch::FileWatcher;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{self, styled};
use graph_host::terminal::paths::shown;
use graph_runtime::authoring::signing::{Claims, describe, sign_component_file};
use graph_runtime::error::{Error, Result};
use graph_runtime::items::locate::{envelope_path, id_of_file, refused};
use graph_runtime::project::key_pairs::signing_key;
use graph_runtime::project::user_home::write_atomic;
use serde_json::json;

use self::sources::Sources;
use super::trust::kind;
use super::uncallable;

/// Compile a node to a component and sign it
///
/// The folder holds a crate of Rust, a package of npm in JavaScript or TypeScript, or a project of Python or C. The new component is called once to describe
/// itself; its signature covers this description, with its id, its version and its interfaces.
// `--version` is that of the component.
#[derive(Debug, clap::Args)]
#[command(disable_version_flag = true)]
pub(crate) struct Args {
    /// The folder of the crate, package or project
    folder: PathBuf,
    /// The component's file; without it, NAME.wasm in that folder
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The key to sign with: the name of one of yours, or a file; without it, nothing is signed
    #[arg(long, value_name = "KEY")]
    sign_with: Option<String>,
    /// The item id of the component; without it, the id that follows from the path of its file
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// The version of the component; without it, that of the crate, package or project
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// The kinds of capability that the component may be granted at most, besides logging; without it, those that it
    /// imports
    #[arg(long, value_name = "KIND", num_args = 1.., value_delimiter = ',', value_parser = kind)]
    may: Option<Vec<CapabilityKind>>,
    /// The target folder of cargo; without it, one that all nodes of a user share
    #[arg(long, value_name = "DIR")]
    target_dir: Option<PathBuf>,
    /// Refuse to change the crate's lockfile
    #[arg(long)]
    locked: bool,
    /// Build again whenever a file of the sources changes, until Ctrl-C
    #[arg(long)]
    watch: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit> {
    if args.watch && args.folder.is_dir() {
        let watching = FileWatcher::sources(&args.folder, &written(args))?;
        return super::watch::again(watching, context.output, || build(args, context));
    }
    build(args, context)
}

/// Lists the files and folders that a build writes, which may be in the folder of the sources.
fn written(args: &Args) -> Vec<PathBuf> {
    // Without --out, the component is named after the crate or package, whose name may change while it is watched.
    let beside = std::fs::read_dir(&args.folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let built = beside.filter(|path| path.extension().is_some_and(|end| end == "wasm"));
    let named = Sources::read(&args.folder)
        .ok()
        .map(|sources| args.folder.join(format!("{}.wasm", sources.package().0)));
    let components: Vec<PathBuf> = args.out.clone().into_iter().chain(named).chain(built).collect();
    let envelopes: Vec<PathBuf> = components.iter().map(|component| envelope_path(component)).collect();
    components.into_iter().chain(envelopes).chain(args.target_dir.clone()).collect()
}

fn build(args: &Args, context: &Context) -> Result<Exit> {
    let output = context.output;
    let sources = Sources::read(&args.folder)?;
    let key = args.sign_with.as_deref().map(|name| signing_key(&context.host.home, name)).transpose()?;
    let (name, own_version) = sources.package();
    // The command line is checked before the compilation, which may take minutes.
    let out = args.out.clone().unwrap_or_else(|| args.folder.join(format!("{name}.wasm")));
    let id = args.id.clone().unwrap_or_else(|| id_of_file(&out));
    let version = args.version.clone().unwrap_or_else(|| own_version.to_owned());
    check(&id, &version, &out)?;
    let (bytes, toolchain) = sources.build(args, &id, context)?;

    let component = VerifiedComponent::under_development(Arc::clone(&bytes), &id, &TrustStore::default())
        .map_err(|error| refused(&error))?;
    let described = context.block_on(describe(&component, &context.host))??;
    if let Some(folder) = out.parent() {
        std::fs::create_dir_all(folder).map_err(|error| Error::write("the folder", folder, &error))?;
    }
    let envelope = envelope_path(&out);
    let interfaces = described.interfaces.clone();
    let description = described.description.clone();
    let summary = &description.description.summary;
    if let Some(key) = &key {
        let ceiling = args.may.clone().map(Ceiling::from_kinds);
        let claims = Claims { id: &id, version: &version, ceiling, limits: None };
        sign_component_file(&envelope, &component, described, claims, key)?;
    } else if envelope.exists() {
        output.warn(format_args!("{} is about what was built before: sign again", shown(&envelope)));
    }
    // Written after the signature: a build that is cut short leaves no new component without one.
    write_atomic(&out, &bytes, false).map_err(|error| Error::write("the component", &out, &error))?;
    uncallable::warn(&description, output);
    if output.is_json() {
        output.document(&json!({
            "component": out.display().to_string(),
            "digest": component.digest(),
            "size": bytes.len(),
            "id": id,
            "version": version,
            "toolchain": toolchain,
            "summary": summary,
            "interfaces": interfaces,
            "functions": description.functions.iter().map(|function| &function.name).collect::<Vec<_>>(),
            "uncallable": uncallable::uncallable_functions(&description),
            "envelope": key.as_ref().map(|_| envelope.display().to_string()),
            "key_id": key.as_ref().map(graph_core::trust::SigningKey::id),
        }))?;
    } else {
        output.line(format_args!(
            "{} {}@{}  {} ({} bytes)",
            styled(output::GOOD, "built"),
            styled(output::BOLD, printable(&id)),
            printable(&version),
            shown(&out),
            bytes.len()
        ))?;
        output.line(format_args!("  {}", printable(summary)))?;
        output.line(format_args!("  digest   {}", component.digest()))?;
        let needs = if interfaces.is_empty() { "nothing".to_owned() } else { interfaces.join(", ") };
        output.line(format_args!("  needs    {}", printable(&needs)))?;
        match &key {
            Some(key) => {
                output.line(format_args!("  signed   {} by {}", shown(&envelope), key.id().short()))?;
            }
            None => output.line(format_args!(
                "  {}",
                styled(output::CAUTION, "not signed: add --sign-with KEY, or run it with --allow-unsigned")
            ))?,
        }
    }
    Ok(Exit::Ok)
}

/// Checks that the id and the version are valid, and that the file can be written.
fn check(id: &str, version: &str, out: &Path) -> Result<()> {
    let id_error = match id.parse::<ItemId>() {
        Ok(parsed) if parsed.version().is_some() => Some("the version is named with --version".to_owned()),
        Ok(_) => None,
        Err(error) => Some(error.to_string()),
    };
    if let Some(error) = id_error {
        return Err(Error::usage(format!("`{}` cannot be the id of an item: {error}", printable(id)))
            .help("name it with --id, for example --id me/greet"));
    }
    if let Err(error) = format!("{id}@{version}").parse::<ItemId>() {
        return Err(Error::usage(format!("`{}` cannot be a version: {error}", printable(version)))
            .help("name it with --version, for example --version 0.1.0"));
    }
    if out.is_dir() {
        return Err(Error::usage(format!("{} is a folder, a file is needed", shown(out)))
            .help("name the component's file with --out, for example --out .ai/tools/me/greet.wasm"));
    }
    let in_file = out.ancestors().skip(1).find(|above| above.exists() && !above.is_dir());
    if let Some(file) = in_file.filter(|file| !file.as_os_str().is_empty()) {
        return Err(Error::usage(format!("{} is a file, and a folder would have to be there", shown(file)))
            .help("name another place with --out"));
    }
    Ok(())
}
