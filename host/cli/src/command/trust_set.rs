//! `graph-host trust set` and `trust remove`: change or remove a trusted key.

use std::path::PathBuf;

use graph_core::capability::CapabilityKind;
use graph_core::diagnostic::{printable, shell_quoted};
use graph_core::time::Timestamp;
use graph_core::trust::{EditError, KeyChange, LogEvent, TrustStore, TrustedKey};
use graph_host::context::Context;
use graph_host::terminal::paths::shown;
use graph_runtime::clock::now;
use graph_runtime::error::{Error, Result};
use graph_runtime::trust::log::TrustLog;
use graph_runtime::trust::trusted_keys;
use serde_json::json;

use super::trust::{TrustedReport, kind, patterns};

#[derive(Debug, clap::Args)]
pub(super) struct Set {
    /// The key: its name, its id, or the beginning of its id, at least twelve digits
    key: String,
    /// The items that it may sign from now on, instead of those before
    #[arg(long, value_name = "PATTERN", num_args = 1..)]
    items: Vec<String>,
    /// The kinds of capability that its components may be granted at most from now on, besides logging, instead of those
    /// before; `none` for logging only
    #[arg(long, value_name = "KIND", num_args = 1.., value_delimiter = ',', value_parser = kind_or_none, conflicts_with = "also_may")]
    may: Vec<Option<CapabilityKind>>,
    /// Kinds of capability to add to those that its components may be granted
    #[arg(long, value_name = "KIND", num_args = 1.., value_delimiter = ',', value_parser = kind)]
    also_may: Vec<CapabilityKind>,
    /// The time from which it is valid; `always` removes this bound
    #[arg(long, value_name = "TIME", value_parser = time_or_always)]
    not_before: Option<Moment>,
    /// The time after which it is no longer valid; `never` removes this bound
    #[arg(long, value_name = "TIME", value_parser = time_or_never)]
    not_after: Option<Moment>,
    /// Edit this trust store instead of your own
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(super) struct Remove {
    /// The key: its name, its id, or the beginning of its id, at least twelve digits
    key: String,
    /// Edit this trust store instead of your own
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// A bound of a key's validity; `None` for no bound.
#[derive(Clone, Copy, Debug)]
struct Moment(Option<Timestamp>);

fn time_or_always(text: &str) -> Result<Moment, String> {
    bound(text, "always")
}

fn time_or_never(text: &str) -> Result<Moment, String> {
    bound(text, "never")
}

fn bound(text: &str, none: &str) -> Result<Moment, String> {
    if text == none {
        return Ok(Moment(None));
    }
    text.parse().map(|time| Moment(Some(time))).map_err(|error| format!("{error}, or `{none}`"))
}

fn kind_or_none(text: &str) -> Result<Option<CapabilityKind>, String> {
    if text == "none" { Ok(None) } else { kind(text).map(Some) }
}

pub(super) fn set(args: Set, context: &Context) -> Result<()> {
    let Set { key: name, items, may, also_may, not_before, not_after, file } = args;
    let changes_nothing = items.is_empty()
        && may.is_empty()
        && also_may.is_empty()
        && not_before.is_none()
        && not_after.is_none();
    if changes_nothing {
        return Err(Error::usage("nothing is said of the key").help(format!(
            "such as: graph-host trust set {} --also-may filesystem,http",
            shell_quoted(&name)
        )));
    }
    let items = if items.is_empty() { None } else { Some(patterns(&items)?) };
    let change = |source: &str, text: &str| {
        let (store, _) = TrustStore::from_yaml(source, text).map_err(EditError::Invalid)?;
        let present = store.find(&name).ok_or_else(|| EditError::NotFound(printable(&name).into_owned()))?;
        let kinds = if !may.is_empty() {
            Some(may.iter().copied().flatten().collect())
        } else if !also_may.is_empty() {
            Some(present.ceiling.kinds.iter().copied().chain(also_may.iter().copied()).collect())
        } else {
            None
        };
        let change = KeyChange {
            items: items.clone(),
            kinds,
            not_before: not_before.map(|moment| moment.0),
            not_after: not_after.map(|moment| moment.0),
        };
        let edited = TrustStore::set(source, text, &name, &change)?;
        let (store, _) = TrustStore::from_yaml(source, &edited).map_err(EditError::Invalid)?;
        let key = store.find(&name).cloned();
        Ok((edited, key))
    };
    let (file, key) = edit(file, LogEvent::KeyChanged, change, context)?;
    let report = TrustedReport::of(&key, now());
    context
        .output
        .show(&json!({ "file": file, "key": report }), || format!("changed in {file}\n{}", report.render()))
}

pub(super) fn remove(args: &Remove, context: &Context) -> Result<()> {
    let change = |source: &str, text: &str| {
        let (store, _) = TrustStore::from_yaml(source, text).map_err(EditError::Invalid)?;
        let key = store.find(&args.key).cloned();
        Ok((TrustStore::remove(source, text, &args.key)?, key))
    };
    let (file, key) = edit(args.file.clone(), LogEvent::KeyRemoved, change, context)?;
    let report = TrustedReport::of(&key, now());
    context.output.show(&json!({ "file": file, "removed": report }), || {
        format!("removed from {file}\n{}\nWhat it has signed is refused from now on.", report.render())
    })
}

/// Edits a trust store; a change of the user's own store is also logged.
fn edit(
    file: Option<PathBuf>,
    event: LogEvent,
    change: impl FnOnce(&str, &str) -> Result<(String, Option<TrustedKey>), EditError>,
    context: &Context,
) -> Result<(String, TrustedKey)> {
    let own = file.is_none();
    let log = TrustLog::in_home(&context.host.home);
    if own {
        // Fails before the change if the change could not be logged.
        log.read()?;
    }
    let file = file.unwrap_or_else(|| context.host.home.trust_file());
    let key = trusted_keys::edit(&file, context.host.home.base(), change, |key| match key {
        Some(key) if own => log.key(event, &key.name, vec![key.id()], None),
        _ => Ok(()),
    })?;
    let missing = || Error::storage(format!("{} does not have the key that was changed", shown(&file)));
    Ok((shown(&file), key.ok_or_else(missing)?))
}
