//! `graph-host yank`: marks a published version so that it is no longer selected.

use std::path::PathBuf;

use crate::command::args::NetworkArgs;
use graph_core::diagnostic::printable;
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{BOLD, DIM, GOOD, styled};
use graph_runtime::error::Result;
use graph_runtime::graph_registry::reference::Reference;
use graph_runtime::project::key_pairs::signing_key;
use graph_runtime::registry::pull::{Puller, reference};
use graph_runtime::registry::yank::{YankOutcome, YankRequest, named, reason_text, to_json};
use graph_runtime::trust::trusted_keys;
use serde_json::{Value, json};

/// Yank a published version, so that it is no longer selected
///
/// The yank is a signed statement, which is stored next to the version; nothing is deleted. For users who trust the key for
/// the item, ranges skip a yanked version, and `pull` and `lock` refuse it with the reason. A project that has locked it
/// keeps working, with a warning.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The version: `oci://host/repository:1.2.3` or `oci-layout:DIR:name:1.2.3`; `@sha256:…` names any published item
    #[arg(value_name = "REF")]
    reference: String,
    /// The key to sign with: the name of one of yours, or a file; it has to be trusted for the item
    #[arg(long, value_name = "KEY")]
    key: String,
    /// The reason, which users are shown
    #[arg(long, value_name = "TEXT", required_unless_present = "undo")]
    reason: Option<String>,
    /// Take the yank back: the version is selected again
    #[arg(long)]
    undo: bool,
    /// Trust the keys of this file too
    #[arg(long, value_name = "FILE")]
    trust: Vec<PathBuf>,
    #[command(flatten)]
    network: NetworkArgs,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit> {
    let at = reference(&args.reference)?;
    let store = trusted_keys::load(&context.host.home, &args.trust, &*context.host.notices)?;
    let key = signing_key(&context.host.home, &args.key)?;
    let home = &context.host.home;
    let options = args.network.network().options(home, std::slice::from_ref(&at));
    let puller = Puller { options, trust: &store, home };
    let reason = args.reason.as_deref().unwrap_or_default();
    let request = YankRequest { reference: &at, reason, is_yanked: !args.undo };
    let outcome = puller.yank(request, &key, &*context.host.notices)?;
    if let Some(yank) = outcome.yanked.as_ref().filter(|_| args.undo) {
        context.output.warn(format_args!(
            "{} is still {}: the trust store requires more keys to take the yank back",
            named(&outcome.about),
            reason_text(yank)
        ));
    }
    context.output.show(&to_document(&outcome, &at), || render(&outcome, &at, args.undo))?;
    Ok(Exit::Ok)
}

fn to_document(outcome: &YankOutcome, at: &Reference) -> Value {
    json!({
        "id": outcome.about.id,
        "kind": outcome.kind,
        "version": outcome.about.version,
        "reference": at.to_string(),
        "manifest": outcome.about.manifest,
        "changed": outcome.is_changed,
        "yanked": to_json(outcome.yanked.as_ref()),
    })
}

fn render(outcome: &YankOutcome, at: &Reference, undo: bool) -> String {
    let what = match (undo, outcome.is_changed) {
        (false, true) => "yanked",
        (false, false) => "already yanked",
        (true, true) => "took back the yank of",
        (true, false) => "not yanked",
    };
    format!(
        "{} {} {} {}\n  {} {}",
        styled(GOOD, what),
        outcome.kind.as_str(),
        styled(BOLD, printable(&outcome.about.id)),
        printable(&outcome.about.version),
        printable(&at.to_string()),
        styled(DIM, outcome.about.manifest),
    )
}
