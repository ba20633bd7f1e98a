//! `graph-host sign oci://…`: signs a component in a registry, and attaches the signature there.

use std::sync::Arc;

use graph_core::capability::Ceiling;
use graph_core::diagnostic::printable;
use graph_core::id::ItemId;
use graph_core::trust::{SigningKey, TrustStore, VerifiedComponent};
use graph_host::context::Context;
use graph_runtime::authoring::signing::{Claims, component_envelope, describe};
use graph_runtime::error::{Error, Result};
use graph_runtime::graph_registry::attach::attach;
use graph_runtime::graph_registry::pull::unvouched;
use graph_runtime::items::locate::refused;
use graph_runtime::registry::pull::{Puller, reference};

use super::{Args, Report, component_report};
use crate::command::trust::kind_of_a_component;
use crate::command::uncallable;

/// Fetches a component, calls it for its description, and attaches the signed description to its artifact. The component stays in memory:
/// unsigned items are not written into any cache.
pub(super) fn sign(word: &str, args: &Args, key: &SigningKey, context: &Context) -> Result<Report> {
    if args.time.is_some() {
        return Err(Error::usage("`--time` goes with a text item; a component's statement has no time"));
    }
    if args.kind.is_some() {
        return Err(kind_of_a_component());
    }
    if args.add {
        return Err(Error::usage(
            "`--add` is about an envelope in a file: in a registry each signature is an artifact",
        )
        .help("leave `--add` out: signatures that are attached already are kept"));
    }
    let at = reference(word)?;
    if !at.names_one() {
        return Err(Error::usage(format!("{at} names no artifact"))
            .help("add a tag or a digest: `:1.0.0`, `@sha256:…`"));
    }
    let nobody = TrustStore::default();
    let home = &context.host.home;
    let options = args.network.network().options(home, std::slice::from_ref(&at));
    let puller = Puller { options, trust: &nobody, home };
    let transport = puller.open(&at)?;
    let found = unvouched(&*transport, &at)?;
    let given = match &args.id {
        Some(id) => Some(
            ItemId::parse(id)
                .map_err(|error| Error::usage(format!("`{}` is not an item id: {error}", printable(id))))?,
        ),
        None => None,
    };
    let given_version =
        args.version.as_deref().or_else(|| given.as_ref().and_then(ItemId::version)).map(str::to_owned);
    let id =
        agreed("id", given.as_ref().map(|id| id.path().to_owned()), found.id, word)?.ok_or_else(|| {
            Error::usage(format!("{at} does not state the id of its component"))
                .help("say it: --id acme/fetch")
        })?;
    let version = agreed("version", given_version, found.version, word)?.ok_or_else(|| {
        Error::usage("a component is signed with its version").help("say which: --version 1.2.3")
    })?;
    let bytes: Arc<[u8]> = found.bytes.into();
    let component =
        VerifiedComponent::under_development(bytes, &id, &nobody).map_err(|error| refused(&error))?;
    let described = context.block_on(describe(&component, &context.host))??;
    let description = described.description.clone();
    let ceiling = args.may.clone().map(Ceiling::from_kinds);
    let claims = Claims { id: &id, version: &version, ceiling, limits: None };
    let (statement, envelope) = component_envelope(&component, described, claims, key)?;
    let attached = attach(&*transport, found.subject, &envelope)?;
    uncallable::warn(&description, context.output);
    let mut report = component_report(
        at.to_string(),
        statement,
        Some(uncallable::uncallable_functions(&description)),
        key,
    );
    report.signature = Some(attached.signature.to_string());
    report.was_there = Some(attached.was_there);
    Ok(report)
}

/// Returns the value that the user gave, or else the one in the artifact. Different values are an error: a pull would reject the
/// signature.
fn agreed(what: &str, given: Option<String>, stated: Option<String>, word: &str) -> Result<Option<String>> {
    match (given, stated) {
        (Some(given), Some(stated)) if given != stated => Err(Error::usage(format!(
            "{} states the {what} `{}`, and `{}` was given: no pull would accept that signature",
            printable(word),
            printable(&stated),
            printable(&given)
        ))
        .help("publish the component with that one, or leave the option out")),
        (given, stated) => Ok(given.or(stated)),
    }
}
