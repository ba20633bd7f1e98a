//! `graph-host verify`: checks the signature of a component, a text item or a transcript, and whether its key is trusted.

mod transcript;

use std::fmt::Write as _;
use std::path::PathBuf;

use graph_core::capability::Ceiling;
use graph_core::diagnostic::{printable, shell_quoted};
use graph_core::id::ItemId;
use graph_core::trust::{
    ComponentStanding, KeyId, TextKind, TextStanding, TrustStore, VerifiedComponent, VerifyError, verify_text,
};
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{BOLD, DIM, GOOD, styled};
use graph_host::terminal::paths::shown;
use graph_host::terminal::remedies::sign_command;
use graph_runtime::authoring::signing::{Target, kind_of_text};
use graph_runtime::clock::now;
use graph_runtime::error::{Error, Result};
use graph_runtime::history::transcript::is_transcript;
use graph_runtime::items::locate::{envelope_path, refused};
use graph_runtime::remedy::Remedy;
use graph_runtime::trust::trusted_keys;
use serde::Serialize;

use super::trust::{TrustedReport, ceiling_text, kind_of_a_component, text_kind};

/// Check the signature of a component, a graph or another text item, or a transcript
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A component (`.wasm`, its envelope next to it), a text item, or a transcript that `runs transcript --out` has written
    file: PathBuf,
    /// The item id that it is used under; below `.ai/tools` it follows from the path
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// The kind of item that a text is used as; below `.ai` it follows from the path, elsewhere from the text
    #[arg(long, value_name = "KIND", value_parser = text_kind)]
    kind: Option<TextKind>,
    /// The envelope, if it is not next to the component or the transcript
    #[arg(long, value_name = "FILE")]
    envelope: Option<PathBuf>,
    /// Trust the keys of this file too
    #[arg(long, value_name = "FILE")]
    trust: Vec<PathBuf>,
}

/// Returns the advice to sign a text.
fn sign_it(file: &str, args: &Args) -> String {
    let kind = args.kind.map(|kind| format!(" --kind {}", kind.as_str()));
    let id = args.id.as_ref().map(|id| format!(" --id {}", shell_quoted(id)));
    format!("sign it: {}", sign_command(file, &[kind, id].map(Option::unwrap_or_default).concat()))
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit> {
    let report = verify(args, context)?;
    context.output.show(&report, || report.render())?;
    Ok(Exit::Ok)
}

/// Report on a file whose signature is valid.
#[derive(Debug, Serialize)]
struct Report {
    file: String,
    item: String,
    kind: &'static str,
    /// Format of a text's signature line; format 1 does not cover the kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signed_at: Option<String>,
    /// The graph of a transcript's run.
    #[serde(skip_serializing_if = "Option::is_none")]
    graph: Option<String>,
    /// Number of messages of a transcript.
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<u64>,
    signer: TrustedReport,
    /// Limit of the component's grants, by its statement and its key.
    #[serde(skip_serializing_if = "Option::is_none")]
    ceiling: Option<Ceiling>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interfaces: Option<Vec<String>>,
}

fn verify(args: &Args, context: &Context) -> Result<Report> {
    let store = trusted_keys::load(&context.host.home, &args.trust, &*context.host.notices)?;
    if is_transcript(&args.file) {
        return transcript::verified(args, &store, context);
    }
    let target = Target::read(&args.file, context.host.home.base())?;
    match target {
        Target::Component { bytes } => {
            if args.kind.is_some() {
                return Err(kind_of_a_component());
            }
            let beside = envelope_path(&args.file);
            let envelope = Target::read_envelope(args.envelope.as_ref().unwrap_or(&beside))?;
            if let (Some(named), None) = (&args.envelope, &envelope) {
                return Err(Error::not_found(format!("the envelope {} does not exist", shown(named))));
            }
            let id = Target::id(args.id.as_deref(), &args.file)?;
            let verified =
                VerifiedComponent::verify(bytes, envelope.as_deref(), &store, &id.to_string(), now());
            component(args, &store, &id, &verified.map_err(|error| refused(&error))?)
        }
        Target::Text { text, .. } => {
            if args.envelope.is_some() {
                return Err(Error::usage(
                    "`--envelope` goes with a component; a text carries its signature itself",
                ));
            }
            let id = Target::id(args.id.as_deref(), &args.file)?;
            text_item(args, &store, &id, &text)
        }
    }
}

fn component(args: &Args, store: &TrustStore, id: &ItemId, verified: &VerifiedComponent) -> Result<Report> {
    let ComponentStanding::Signed { key, .. } = verified.standing() else {
        return Err(refused(&VerifyError::Unsigned { id: id.to_string() }));
    };
    Ok(Report {
        file: shown(&args.file),
        item: verified.id().to_owned(),
        kind: "component",
        format: None,
        version: verified.version().map(str::to_owned),
        digest: Some(verified.digest().to_string()),
        signed_at: None,
        graph: None,
        messages: None,
        signer: signer(store, key.id, id)?,
        ceiling: Some(verified.ceiling()),
        interfaces: verified.statement().map(|statement| statement.predicate.interfaces.clone()),
    })
}

fn text_item(args: &Args, store: &TrustStore, id: &ItemId, text: &str) -> Result<Report> {
    let name = shown(&args.file);
    let kind = args.kind.unwrap_or_else(|| kind_of_text(&args.file, text));
    match verify_text(kind, id.path(), text, store, now()) {
        TextStanding::Signed { key, time, format, .. } => Ok(Report {
            file: name,
            item: id.path().to_owned(),
            kind: kind.as_str(),
            format: Some(format.number()),
            version: None,
            digest: None,
            signed_at: Some(time.to_string()),
            graph: None,
            messages: None,
            signer: signer(store, key.id, id)?,
            ceiling: None,
            interfaces: None,
        }),
        TextStanding::Unsigned | TextStanding::BuiltIn => {
            Err(Error::integrity(format!("{name} is not signed")).help(sign_it(&name, args)))
        }
        TextStanding::Legacy { fingerprint } => Err(Error::integrity(format!(
            "{name} carries a signature line of Rye's, by `{fingerprint}`; it does not cover the whole file and proves nothing here"
        ))
        .help(sign_it(&name, args))),
        TextStanding::Invalid(refusal) => {
            let error = Error::integrity(format!("{name}: {refusal}"));
            Err(match refusal.wanted() {
                Some(wanted) => error.help(Remedy::SignText { file: name, wanted }),
                None => error,
            })
        }
    }
}

/// Returns the entry of the trust store that accepts the signature.
fn signer(store: &TrustStore, key: KeyId, item: &ItemId) -> Result<TrustedReport> {
    let at = now();
    match store.allow(key, item.path(), at) {
        Some(Ok(entry)) => Ok(TrustedReport::of(entry, at)),
        _ => Err(Error::integrity(format!("the key {key} ceased to count while it was checked"))),
    }
}

impl Report {
    fn render(&self) -> String {
        let version =
            self.version.as_ref().map(|version| format!("@{}", printable(version))).unwrap_or_default();
        let mut text = format!(
            "{} {}{version} {}\n",
            styled(GOOD, "verified"),
            styled(BOLD, printable(&self.item)),
            styled(DIM, printable(&self.file)),
        );
        let mut field = |name: &str, value: &str| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {} {}", styled(DIM, format_args!("{name:<10}")), printable(value));
        };
        match self.format {
            Some(1) => field(
                "kind",
                &format!("{} (the line is of the first format and does not cover that)", self.kind),
            ),
            Some(_) => field("kind", self.kind),
            None => {}
        }
        if let Some(digest) = &self.digest {
            field("digest", digest);
        }
        if let Some(time) = &self.signed_at {
            field("signed at", time);
        }
        if let Some(graph) = &self.graph {
            field("graph", graph);
        }
        if let Some(messages) = self.messages {
            field("messages", &messages.to_string());
        }
        if let Some(interfaces) = self.interfaces.as_ref().filter(|interfaces| !interfaces.is_empty()) {
            field("imports", &interfaces.join(", "));
        }
        if let Some(ceiling) = &self.ceiling {
            field("at most", &ceiling_text(ceiling));
        }
        text.push_str("signed by ");
        text.push_str(&self.signer.render());
        text
    }
}
