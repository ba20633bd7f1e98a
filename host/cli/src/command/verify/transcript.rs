//! Verification of a signed transcript.

use graph_core::capability::{Ceiling, ItemPattern};
use graph_core::trust::{KeyId, TrustStore, TrustedKey, VerifyingKey};
use graph_host::context::Context;
use graph_host::terminal::paths::shown;
use graph_runtime::clock::now;
use graph_runtime::error::{Error, Result};
use graph_runtime::history::transcript::{VerifiedTranscript, verify};
use graph_runtime::project::host_identity::TRANSCRIPT_ITEMS;

use super::super::trust::TrustedReport;
use super::{Args, Report};

/// Verifies a transcript. Its key must be allowed for `transcripts/RUN` by the trust store, as this host's own key is and others that the
/// user has added; the key of a host whose runs are trusted is accepted too.
pub(super) fn verified(args: &Args, store: &TrustStore, context: &Context) -> Result<Report> {
    if args.id.is_some() || args.kind.is_some() {
        return Err(Error::usage("`--id` and `--kind` go with items; a transcript is none"));
    }
    let home = &context.host.home;
    let known = |id: KeyId| -> Option<VerifyingKey> {
        let trusted = store.keys().iter().find(|entry| entry.id() == id).map(|entry| entry.key);
        trusted.or_else(|| home.known_key(id).ok().flatten())
    };
    let VerifiedTranscript { statement, key, graph } =
        verify(&args.file, args.envelope.as_deref(), context.host.home.base(), known)?;
    let run = statement.run.split('/').next().unwrap_or_default();
    let at = now();
    let signer = match (store.allow(key, &format!("transcripts/{run}"), at), home.known_key(key)?) {
        (Some(Ok(entry)), _) => TrustedReport::of(entry, at),
        (Some(Err(refusal)), _) => {
            return Err(Error::integrity(format!("{}: {refusal}", shown(&args.file))));
        }
        (None, Some(key)) => TrustedReport::of(&known_host(key)?, at),
        (None, None) => {
            return Err(Error::integrity(format!("{}: the key {key} is not trusted", shown(&args.file))));
        }
    };
    Ok(Report {
        file: shown(&args.file),
        item: statement.run,
        kind: "transcript",
        format: None,
        version: None,
        digest: Some(statement.digest.to_string()),
        signed_at: Some(statement.at.to_string()),
        graph: Some(graph),
        messages: Some(statement.messages),
        signer,
        ceiling: None,
        interfaces: None,
    })
}

/// Returns the key of a host that the user trusted when a run of it was imported.
fn known_host(key: VerifyingKey) -> Result<TrustedKey> {
    let items = ItemPattern::parse(TRANSCRIPT_ITEMS).map_err(|error| Error::invalid(error.to_string()))?;
    Ok(TrustedKey {
        name: "a known host".to_owned(),
        key,
        items: vec![items],
        ceiling: Ceiling::from_kinds([]),
        not_before: None,
        not_after: None,
        revoked: None,
        succeeds: None,
    })
}
