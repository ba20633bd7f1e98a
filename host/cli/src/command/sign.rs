//! `graph-host sign`: signs a component or a text item.

mod published;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use graph_core::capability::{CapabilityKind, Ceiling};
use graph_core::diagnostic::printable;
use graph_core::time::Timestamp;
use graph_core::trust::{
    CommentMark, ComponentStatement, SigningKey, TextFormatVersion, TextKind, TrustStore, VerifiedComponent,
    sign_text,
};
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{BOLD, DIM, GOOD, styled};
use graph_host::terminal::paths::shown;
use graph_runtime::authoring::signing::{
    Claims, Target, countersign, describe, kind_of_text, replace_text, sign_component_file,
};
use graph_runtime::clock::now;
use graph_runtime::error::{Error, Result};
use graph_runtime::graph_registry::reference::Reference;
use graph_runtime::graph_store::held::FilePlace;
use graph_runtime::items::locate::{envelope_path, refused};
use graph_runtime::project::key_pairs::signing_key;
use serde::Serialize;

use super::args::NetworkArgs;
use super::trust::{ceiling_text, kind, kind_of_a_component, text_kind};
use super::uncallable::{self, Uncallable};

/// Sign a component, a graph or another text item
// `--version` is that of the component.
#[derive(Debug, clap::Args)]
#[command(disable_version_flag = true)]
pub(crate) struct Args {
    /// A component (`.wasm`; the envelope is written next to it), a text item (a signature line is written into it), or the
    /// reference of a component in a registry (`oci://…`, `oci-layout:…`; the signature is attached to it there)
    file: PathBuf,
    /// The key to sign with: the name of one of yours, or a file
    #[arg(long, value_name = "KEY")]
    key: String,
    /// The item id; below `.ai/tools` it follows from the path
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// The kind of a text item; below `.ai` it follows from the path, elsewhere from the text
    #[arg(long, value_name = "KIND", value_parser = text_kind)]
    kind: Option<TextKind>,
    /// A component's version, as in 1.2.3
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// The kinds of capability that the component may be granted at most, besides logging; without it, those that it
    /// imports
    #[arg(long, value_name = "KIND", num_args = 1.., value_delimiter = ',', value_parser = kind)]
    may: Option<Vec<CapabilityKind>>,
    /// Add a signature to the existing envelope of a component, whose statement stays unchanged
    #[arg(long, conflicts_with_all = ["time", "version", "may", "kind"])]
    add: bool,
    /// The time that the signature line of a text item states, for reproducible signatures; without it, now
    #[arg(long, value_name = "TIME")]
    time: Option<Timestamp>,
    #[command(flatten)]
    network: NetworkArgs,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit> {
    let report = sign(args, context)?;
    context.output.show(&report, || report.render())?;
    Ok(Exit::Ok)
}

#[derive(Debug, Serialize)]
struct Report {
    /// File with the signature.
    file: String,
    item: String,
    kind: &'static str,
    /// The format of a text's signature line.
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interfaces: Option<Vec<String>>,
    /// Functions in the statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    functions: Option<Vec<String>>,
    /// Functions that the statement leaves out; `None` with `--add`, which only reads the statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    uncallable: Option<Vec<Uncallable>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ceiling: Option<Ceiling>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signed_at: Option<String>,
    /// The digest of the signature's artifact, in a registry.
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
    /// `true` if the same signature was attached before.
    #[serde(skip_serializing_if = "Option::is_none")]
    was_there: Option<bool>,
    key_id: String,
}

fn sign(args: &Args, context: &Context) -> Result<Report> {
    let key = signing_key(&context.host.home, &args.key)?;
    if let Some(word) = args.file.to_str().filter(|word| Reference::is_meant(word)) {
        return published::sign(word, args, &key, context);
    }
    match Target::read(&args.file, context.host.home.base())? {
        Target::Component { bytes } => {
            if args.time.is_some() {
                return Err(Error::usage(
                    "`--time` goes with a text item; a component's statement has no time",
                ));
            }
            if args.kind.is_some() {
                return Err(kind_of_a_component());
            }
            let envelope = envelope_path(&args.file);
            if !args.add {
                return component(args, bytes, &envelope, &key, context);
            }
            let statement = countersign(&envelope, &bytes, args.id.as_deref(), &key)?;
            let file = shown(&envelope);
            Ok(component_report(file, statement, None, &key))
        }
        Target::Text { text, mark } => text_item(args, &text, mark, &key),
    }
}

/// Calls a component for its description, and signs that with its digest.
fn component(
    args: &Args,
    bytes: Arc<[u8]>,
    envelope: &Path,
    key: &SigningKey,
    context: &Context,
) -> Result<Report> {
    let id = Target::id(args.id.as_deref(), &args.file)?;
    let version = args.version.as_deref().or(id.version()).ok_or_else(|| {
        Error::usage("a component is signed with its version").help("say which: --version 1.2.3")
    })?;
    let component = VerifiedComponent::under_development(bytes, id.path(), &TrustStore::default())
        .map_err(|error| refused(&error))?;
    let described = context.block_on(describe(&component, &context.host))??;
    let ceiling = args.may.clone().map(Ceiling::from_kinds);
    let claims = Claims { id: id.path(), version, ceiling, limits: None };
    let description = described.description.clone();
    let statement = sign_component_file(envelope, &component, described, claims, key)?;
    uncallable::warn(&description, context.output);
    Ok(component_report(
        shown(envelope),
        statement,
        Some(uncallable::uncallable_functions(&description)),
        key,
    ))
}

fn component_report(
    file: String,
    statement: ComponentStatement,
    uncallable: Option<Vec<Uncallable>>,
    key: &SigningKey,
) -> Report {
    let predicate = statement.predicate;
    Report {
        file,
        item: predicate.id,
        kind: "component",
        format: None,
        version: Some(predicate.version),
        digest: Some(statement.subject.to_string()),
        summary: Some(predicate.description.summary),
        interfaces: Some(predicate.interfaces),
        functions: Some(predicate.functions.into_iter().map(|function| function.name).collect()),
        uncallable,
        ceiling: Some(predicate.ceiling),
        signed_at: None,
        signature: None,
        was_there: None,
        key_id: key.id().to_string(),
    }
}

fn text_item(args: &Args, text: &str, mark: CommentMark, key: &SigningKey) -> Result<Report> {
    if args.add {
        return Err(Error::usage("`--add` goes with a component; a text item has one signature line"));
    }
    let id = Target::id(args.id.as_deref(), &args.file)?;
    let at = args.time.unwrap_or_else(now);
    let kind = args.kind.unwrap_or_else(|| kind_of_text(&args.file, text));
    let signed = sign_text(kind, id.path(), text, mark, key, at);
    replace_text(&FilePlace::at(&args.file), &signed)?;
    Ok(Report {
        file: shown(&args.file),
        item: id.path().to_owned(),
        kind: kind.as_str(),
        format: Some(TextFormatVersion::OfKind.number()),
        version: None,
        digest: None,
        summary: None,
        interfaces: None,
        functions: None,
        uncallable: None,
        ceiling: None,
        signed_at: Some(at.to_string()),
        signature: None,
        was_there: None,
        key_id: key.id().to_string(),
    })
}

impl Report {
    fn render(&self) -> String {
        let version =
            self.version.as_ref().map(|version| format!("@{}", printable(version))).unwrap_or_default();
        let mut lines = vec![format!(
            "{} {}{version} {}",
            styled(GOOD, if self.was_there == Some(true) { "signed already" } else { "signed" }),
            styled(BOLD, printable(&self.item)),
            styled(DIM, printable(&self.file))
        )];
        let mut field = |name: &str, value: &str| {
            lines.push(format!("  {} {}", styled(DIM, format_args!("{name:<10}")), printable(value)));
        };
        let interfaces = self.interfaces.as_ref().map(|interfaces| match interfaces.as_slice() {
            [] => "nothing".to_owned(),
            some => some.join(", "),
        });
        let functions =
            self.functions.as_ref().filter(|names| !names.is_empty()).map(|names| names.join(", "));
        let ceiling = self.ceiling.as_ref().map(ceiling_text);
        let fields = [
            ("says", &self.summary),
            ("digest", &self.digest),
            ("imports", &interfaces),
            ("functions", &functions),
            ("at most", &ceiling),
            ("signed at", &self.signed_at),
            ("signature", &self.signature),
        ];
        if self.format.is_some() {
            field("kind", self.kind);
        }
        for (name, value) in fields {
            if let Some(value) = value {
                field(name, value);
            }
        }
        field("key", &self.key_id);
        lines.join("\n")
    }
}
