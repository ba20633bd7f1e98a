//! `graph-host lock`: locks the artifacts of a project by digest.

use crate::command::args::NetworkArgs;
use graph_host::context::current_project;
use graph_host::terminal::remedies;
use graph_runtime::error::Kind;
use std::path::PathBuf;

use graph_core::diagnostic::{block, printable};
use graph_core::trust::{PublishedVersion, Yank};
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{BAD, BOLD, DIM, GOOD, styled};
use graph_host::terminal::paths::shown;
use graph_runtime::error::{Error, Result};
use graph_runtime::graph_registry::artifact::Kind as ArtifactKind;
use graph_runtime::graph_registry::lock::{AllowedDepartures, LockedItem};
use graph_runtime::graph_registry::reference::Reference;
use graph_runtime::items::installed::{self, Origin};
use graph_runtime::items::lock_file::LockFile;
use graph_runtime::notice::Notice;
use graph_runtime::registry::pull::{PulledItem, Puller, typed};
use graph_runtime::registry::yank::{self, Override, YankCheck};
use graph_runtime::trust::trusted_keys;
use serde_json::{Value, json};

/// Lock references to their current digests
///
/// The digests are written to `graph-host.lock`. Without a REF, every reference in that file is resolved again, and a tag
/// that now names a higher version is locked to it. Nothing is installed; `graph-host pull` installs what is locked.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Args {
    /// `oci://host/repository:tag`, or `oci-layout:DIR:name`; with `@RANGE` such as `@^1.2` in place of the version, the
    /// greatest version in that range, also of a locked item: `acme/fetch@^1.2`
    #[arg(value_name = "REF", conflicts_with = "check")]
    references: Vec<String>,
    /// Change nothing; the exit code is 8 if a tag no longer names what is locked, or if something else is installed
    #[arg(long)]
    check: bool,
    /// Accept a tag that now names other bytes of the same version
    #[arg(long)]
    accept_moved: bool,
    /// Accept a version that is older than the locked one
    #[arg(long)]
    allow_downgrade: bool,
    /// Accept a version that its publisher has yanked; without a REF, one that is locked already is kept, with a warning
    #[arg(long)]
    allow_yanked: bool,
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
    let lock = LockFile::open(&current_project()?)?;
    if args.references.is_empty() {
        lock.has_entries().map_err(|reason| {
            Error::usage(format!("nothing is named to be locked, and {reason}"))
                .help("name what to lock: graph-host lock oci://host/repository:tag")
        })?;
    }
    if args.check { check(&lock, &puller, context) } else { update(args, lock, &puller, context) }
}

fn update(args: &Args, mut lock: LockFile, puller: &Puller<'_>, context: &Context) -> Result<Exit> {
    let allowed =
        AllowedDepartures { downgrade: args.allow_downgrade, higher: true, moved: args.accept_moved };
    let references: Vec<Reference> = if args.references.is_empty() {
        lock.lock.iter().map(|(_, locked)| lock.resolved(locked).reference).collect()
    } else {
        args.references.iter().map(|text| puller.requested(text, &lock)).collect::<Result<_>>()?
    };
    let before = lock.lock.clone();
    let mut changes = Vec::new();
    let check = YankCheck::new(puller, Override::Option, &*context.host.notices);
    // An entry of the lockfile is kept even if it is yanked; a reference on the command line is a new selection.
    let is_allowed =
        |one: &PulledItem| args.allow_yanked || (args.references.is_empty() && yank::is_locked(&before, one));
    for reference in references {
        let brought = puller.with_items(&reference)?;
        let yanks = check.refuse(&brought, is_allowed)?;
        for (one, yank) in brought.into_iter().zip(yanks) {
            let held = lock.get(one.pulled.kind.item_type(), &one.pulled.id);
            if let Some(held) = &held {
                one.follows(held, "locked", allowed)?;
            }
            lock.insert(&one.pulled.id, one.locked());
            changes.push((one, held, yank));
        }
    }
    changes.sort_by(|(one, ..), (other, ..)| one.pulled.id.cmp(&other.pulled.id));
    changes.dedup_by(|(one, ..), (other, ..)| {
        (one.pulled.kind, &one.pulled.id) == (other.pulled.kind, &other.pulled.id)
    });
    let written = lock.write()?;
    let document = json!({
        "lockfile": lock.path().display().to_string(),
        "changed": written,
        "locked": changes
            .iter()
            .map(|(one, held, yank)| to_json(one, held.as_ref(), yank.as_ref()))
            .collect::<Vec<_>>(),
    });
    context.output.show(&document, || {
        let mut lines: Vec<_> = changes.iter().map(|(one, held, _)| render(one, held.as_ref())).collect();
        let what = if written { "locked" } else { "unchanged" };
        lines.push(format!("{} {}", styled(GOOD, what), shown(lock.path())));
        lines.join("\n")
    })?;
    Ok(Exit::Ok)
}

/// Checks whether every tag still names the locked version, and whether the installed items are the locked ones.
fn check(lock: &LockFile, puller: &Puller<'_>, context: &Context) -> Result<Exit> {
    let root = context.host.home.installed();
    let mut rows = Vec::new();
    for (id, locked) in lock.lock.iter() {
        let locked = lock.resolved(locked);
        let mut problems = Vec::new();
        match puller.one(&locked.reference, Some(id)) {
            Ok(one) => {
                if let Err(error) = one.follows(&locked, "locked", AllowedDepartures::default()) {
                    problems.push(remedies::message(&error));
                } else if one.pulled.manifest != locked.manifest {
                    problems.push(format!(
                        "{} is {} now, locked is {}",
                        locked.reference, one.pulled.manifest, locked.manifest
                    ));
                }
            }
            Err(error) if matches!(error.kind(), Kind::Integrity | Kind::NotFound) => {
                problems.push(remedies::message(&error));
            }
            Err(error) => return Err(error),
        }
        let there = installed::origin(&root, context.host.home.base(), locked.kind.item_type(), id)?;
        if let Some(there) =
            there.as_ref().and_then(Origin::locked).filter(|it| it.manifest != locked.manifest)
        {
            problems.push(format!(
                "{} {} is installed, locked is {} {}",
                there.version, there.manifest, locked.version, locked.manifest
            ));
        }
        let yank = yank_of_locked(id, &locked, puller, context)?;
        rows.push((id.to_owned(), problems, yank));
    }
    let holds = rows.iter().all(|(_, problems, _)| problems.is_empty());
    let items: Vec<_> = rows
        .iter()
        .map(|(id, problems, yank)| {
            json!({ "id": id, "problems": problems, "yanked": yank::to_json(yank.as_ref()) })
        })
        .collect();
    let document = json!({ "lockfile": lock.path().display().to_string(), "holds": holds, "items": items });
    context.output.show(&document, || {
        let line = |(id, problems, _): &(String, Vec<String>, _)| {
            if problems.is_empty() {
                return format!("{} {}", styled(GOOD, "✓"), printable(id));
            }
            let parts: Vec<_> =
                problems.iter().map(|problem| format!("\n  {}", block(problem, "    "))).collect();
            format!("{} {}{}", styled(BAD, "✗"), printable(id), parts.concat())
        };
        rows.iter().map(line).collect::<Vec<_>>().join("\n")
    })?;
    Ok(if holds { Exit::Ok } else { Exit::Integrity })
}

/// Returns the yank of a locked version, and warns about it: the lockfile stays in effect.
fn yank_of_locked(
    id: &str,
    locked: &LockedItem,
    puller: &Puller<'_>,
    context: &Context,
) -> Result<Option<Yank>> {
    let about = PublishedVersion {
        id: id.to_owned(),
        version: locked.version.clone(),
        manifest: locked.manifest,
        content: None,
        has_signed_version: locked.kind == ArtifactKind::Component,
    };
    let notices = &*context.host.notices;
    let yank = puller.yank_of(&locked.reference, &about, notices)?;
    if let Some(yank) = &yank {
        notices.notice(Notice::Yanked { item: &yank::named(&about), yank });
    }
    Ok(yank)
}

fn to_json(one: &PulledItem, before: Option<&LockedItem>, yank: Option<&Yank>) -> Value {
    json!({
        "id": one.pulled.id,
        "kind": one.pulled.kind,
        "version": one.pulled.version,
        "reference": one.reference.to_string(),
        "manifest": one.pulled.manifest,
        "digest": one.pulled.digest,
        "key_id": one.pulled.key.id,
        "before": before.map(|held| json!({ "version": held.version, "manifest": held.manifest })),
        "yanked": yank::to_json(yank),
    })
}

fn render(one: &PulledItem, before: Option<&LockedItem>) -> String {
    let before = before.filter(|held| held.manifest != one.pulled.manifest);
    let before =
        before.map(|held| format!(", before {} {}", printable(&held.version), held.manifest.short()));
    format!(
        "{} {} {}{}",
        styled(BOLD, printable(&one.pulled.id)),
        printable(&one.pulled.version),
        styled(DIM, one.pulled.manifest),
        before.unwrap_or_default()
    )
}
