//! `graph-host pull`: pulls items from a registry or a directory, verifies their signatures, and installs them in the
//! user's space.

use crate::command::args::NetworkArgs;
use crate::command::published_cases::unsigned;
use graph_host::context::current_project;
use std::path::{Path, PathBuf};

use graph_core::diagnostic::printable;
use graph_core::record::ErrorCode;
use graph_core::trust::Yank;
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{BOLD, DIM, GOOD, styled};
use graph_host::terminal::paths::{base_folder, shown};
use graph_runtime::error::{Error, Result};
use graph_runtime::graph_registry::artifact::Kind;
use graph_runtime::graph_registry::lock::AllowedDepartures;
use graph_runtime::graph_registry::reference::Reference;
use graph_runtime::items::installed::{self, Origin};
use graph_runtime::items::lock_file::LockFile;
use graph_runtime::registry::companions::{File, Folder};
use graph_runtime::registry::pull::{PulledItem, Puller, typed};
use graph_runtime::registry::yank::{self, Override, YankCheck};
use graph_runtime::trust::log::TrustLog;
use graph_runtime::trust::trusted_keys;
use serde_json::{Value, json};

/// Pull signed items from OCI registries or image-layout directories
///
/// Each item must be signed by a key that you trust for it. Items that were published with a graph are pulled with it.
/// `graph-host.lock` records what was pulled; without a REF, exactly what it locks is installed again.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// `oci://host/repository:tag`, or `oci-layout:DIR:name`; `@sha256:…` pins either, and `@RANGE` such as `@^1.2` in place
    /// of the version selects the greatest version in that range
    #[arg(value_name = "REF")]
    references: Vec<String>,
    /// Install into this folder, as DIR/tools/ID.wasm, instead of your own space
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
    /// Write the cases, the manifest and the picture of each pulled graph into this folder, as DIR/ID/…, with the graph; they
    /// are not covered by its signature, and files that exist are never overwritten
    #[arg(long, value_name = "DIR")]
    companions: Option<PathBuf>,
    /// Accept a version that is older than the one that is locked or installed
    #[arg(long)]
    allow_downgrade: bool,
    /// Accept a version that its publisher has yanked; what the lockfile names is restored in any case, with a warning
    #[arg(long)]
    allow_yanked: bool,
    /// Leave the lockfile unchanged
    #[arg(long)]
    no_lock: bool,
    /// Trust the keys of this file too
    #[arg(long, value_name = "FILE")]
    trust: Vec<PathBuf>,
    #[command(flatten)]
    network: NetworkArgs,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit> {
    let store = trusted_keys::load(&context.host.home, &args.trust, &*context.host.notices)?;
    let home = &context.host.home;
    let options = args.network.network().options(home, &typed(&args.references));
    let puller = Puller { options, trust: &store, home };
    let mut lock = LockFile::open(&current_project()?)?;
    let root = args.into.clone().unwrap_or_else(|| context.host.home.installed());
    let allowed = AllowedDepartures { downgrade: args.allow_downgrade, ..AllowedDepartures::default() };
    let check = YankCheck::new(&puller, Override::Option, &*context.host.notices);
    let (brought, yanks) = if args.references.is_empty() {
        restore(&lock, &puller, &check)?
    } else {
        let references: Vec<_> =
            args.references.iter().map(|text| puller.requested(text, &lock)).collect::<Result<_>>()?;
        bring(&references, &lock, &puller, allowed, |all| check.refuse(all, |_| args.allow_yanked))?
    };
    if args.into.is_none() || !args.references.is_empty() {
        for one in &brought {
            follows_installed(one, &root, allowed)?;
        }
    }
    let companions = companions_of(args, &brought, &puller, context)?;
    // Files are written only after all items were verified.
    if args.into.is_none() {
        installed::mark(&root)?;
    }
    let log = TrustLog::in_home(&context.host.home);
    let mut done = Vec::new();
    for (one, yank) in brought.iter().zip(&yanks) {
        log.accept_pulled(&one.pulled)?;
        done.push((one, installed::install(&root, home.base(), &one.pulled, &one.reference)?, yank.as_ref()));
        if !args.no_lock && !args.references.is_empty() {
            lock.insert(&one.pulled.id, one.locked());
        }
    }
    let mut files = Vec::new();
    if let Some((folder, graphs)) = &companions {
        for (id, of_graph) in graphs {
            files.extend(folder.write(id, of_graph)?);
        }
    }
    let locked = !args.no_lock && !args.references.is_empty() && lock.write()?;
    let items: Vec<_> =
        done.iter().map(|(one, placed, yank)| to_json(one, &placed.path, placed.was_there, *yank)).collect();
    let lockfile = locked.then(|| lock.path().display().to_string());
    let mut document = json!({ "pulled": items, "lockfile": lockfile });
    if args.companions.is_some() {
        document["companions"] = files
            .iter()
            .map(|file| json!({ "file": file.path.display().to_string(), "was_there": file.was_there }))
            .collect();
    }
    context.output.show(&document, || {
        let mut lines: Vec<_> =
            done.iter().map(|(one, placed, _)| render(one, &placed.path, placed.was_there)).collect();
        lines.extend(files.iter().map(|file| {
            let what = if file.was_there { "already there" } else { "wrote" };
            format!("{} {}", styled(GOOD, what), shown(&file.path))
        }));
        if locked {
            lines.push(format!("{} {}", styled(GOOD, "locked"), shown(lock.path())));
        }
        lines.join("\n")
    })?;
    Ok(Exit::Ok)
}

/// The companions of graphs, by the ids of the graphs, and the folder for them.
type ToWrite = (Folder, Vec<(String, Vec<File>)>);

/// Fetches the companions of the pulled graphs, and checks that all of them can be written.
fn companions_of(
    args: &Args,
    brought: &[PulledItem],
    puller: &Puller<'_>,
    context: &Context,
) -> Result<Option<ToWrite>> {
    let Some(folder) = &args.companions else { return Ok(None) };
    let folder = Folder::at(folder, context.host.home.base());
    let mut graphs = Vec::new();
    for one in brought.iter().filter(|one| one.pulled.kind == Kind::Graph) {
        let files = puller.files(one)?;
        if let Some(unsigned) = unsigned(&one.pulled.companions, None) {
            context.output.warn(format_args!(
                "{unsigned}: anyone who may write to {} can have written that",
                printable(&one.reference.to_string())
            ));
        }
        folder.check(&one.pulled.id, &files)?;
        if !files.is_empty() {
            graphs.push((one.pulled.id.clone(), files));
        }
    }
    if graphs.is_empty() {
        return Err(Error::not_found("none of the pulled items has cases, a manifest or a picture")
            .help("leave --companions out: nothing was written"));
    }
    Ok(Some((folder, graphs)))
}

/// The pulled items, and the yank of each.
type WithYanks = (Vec<PulledItem>, Vec<Option<Yank>>);

/// Pulls references; fails if an item does not follow its locked version, or if `yanks` rejects it.
fn bring(
    references: &[Reference],
    lock: &LockFile,
    puller: &Puller<'_>,
    allowed: AllowedDepartures,
    yanks: impl Fn(&[PulledItem]) -> Result<Vec<Option<Yank>>>,
) -> Result<WithYanks> {
    let (mut all, mut yanked) = (Vec::new(), Vec::new());
    for reference in references {
        let brought = puller.with_items(reference)?;
        yanked.extend(yanks(&brought)?);
        for one in brought {
            if let Some(held) = lock.get(one.pulled.kind.item_type(), &one.pulled.id) {
                one.follows(&held, "locked", allowed)?;
            }
            all.push(one);
        }
    }
    Ok((all, yanked))
}

/// Pulls the locked manifests by digest, whatever the tags name now. A yanked version is still restored, with a warning.
fn restore(lock: &LockFile, puller: &Puller<'_>, check: &YankCheck<'_>) -> Result<WithYanks> {
    lock.has_entries().map_err(|reason| {
        Error::usage(format!("nothing is named to be pulled, and {reason}"))
            .help("name what to pull: graph-host pull oci://host/repository:tag")
    })?;
    let mut all = Vec::new();
    for (id, locked) in lock.lock.iter() {
        let locked = lock.resolved(locked);
        let mut one = puller.one(&locked.reference.pinned(locked.manifest), Some(id))?;
        one.reference = locked.reference.clone();
        one.follows(&locked, "locked", AllowedDepartures::default())?;
        if locked != one.locked() {
            return Err(Error::of_run(
                ErrorCode::Integrity,
                format!(
                    "`{id}` is locked as the {} {} with the digest {}, and its manifest is that of the {} {} with {}",
                    locked.kind.as_str(),
                    locked.version,
                    locked.digest,
                    one.pulled.kind.as_str(),
                    one.pulled.version,
                    one.pulled.digest,
                ),
            )
            .help("the lockfile does not hold together: take the entry out and pull the item again"));
        }
        all.push(one);
    }
    let yanks = check.refuse(&all, |_| true)?;
    Ok((all, yanks))
}

fn follows_installed(one: &PulledItem, root: &Path, allowed: AllowedDepartures) -> Result<()> {
    let there = installed::origin(root, &base_folder(), one.pulled.kind.item_type(), &one.pulled.id)?;
    // Another project may have locked the installed version: a higher version may replace it, a lower one may not.
    let allowed = AllowedDepartures { higher: true, ..allowed };
    match there.as_ref().and_then(Origin::locked) {
        Some(held) => one.follows(&held, "installed", allowed),
        None => Ok(()),
    }
}

fn to_json(one: &PulledItem, path: &Path, was_there: bool, yank: Option<&Yank>) -> Value {
    json!({
        "id": one.pulled.id,
        "kind": one.pulled.kind,
        "version": one.pulled.version,
        "reference": one.reference.to_string(),
        "manifest": one.pulled.manifest,
        "digest": one.pulled.digest,
        "signer": { "name": one.pulled.key.name, "key_id": one.pulled.key.id },
        "file": path.display().to_string(),
        "was_there": was_there,
        "yanked": yank::to_json(yank),
    })
}

fn render(one: &PulledItem, path: &Path, was_there: bool) -> String {
    let what = if was_there { "already there" } else { "pulled" };
    format!(
        "{} {} {} {}\n  {}\n  {} {}",
        styled(GOOD, what),
        one.pulled.kind.as_str(),
        styled(BOLD, printable(&one.pulled.id)),
        printable(&one.pulled.version),
        styled(DIM, one.pulled.manifest),
        shown(path),
        styled(DIM, format_args!("signed by {}", printable(&one.pulled.key.to_string()))),
    )
}
