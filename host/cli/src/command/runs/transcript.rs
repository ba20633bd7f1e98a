//! `graph-host runs transcript`.

mod lines;
mod search;

use std::path::{Path, PathBuf};

use graph_core::trust::VerifyingKey;
use graph_core::work::{Pattern, PatternError};
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::json_document::Document;
use graph_host::terminal::output::{self, styled};
use graph_host::terminal::paths::shown;
use graph_host::terminal::run_report::counted;
use graph_runtime::clock::now;
use graph_runtime::error::{Error, Result};
use graph_runtime::graph_store::{CheckpointStore, Holder, RunRow};
use graph_runtime::history::transcript::{
    self, Message, Totals, Transcript, Wanted, end_line, header_line, message_line,
};
use graph_runtime::history::verify::audit;
use graph_runtime::project::Project;
use graph_runtime::run::restore;
use graph_runtime::run::stores::Stores;
use serde_json::{Map, Value, json};

use self::lines::Lines;
use super::namespace;
use crate::command::number;

/// Limit of messages that are shown around a match.
const MOST_AROUND: usize = 1000;

/// Show what language models were asked and have answered in a run
///
/// Each message is shown once, with its superstep, node and model, and each answer with its tokens and cost. The messages come from the
/// signed records of the run and of its child runs. Of files, the type and the digest are shown. Components that other components
/// have called keep no record of their conversations.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its id, the beginning of it, or @last; a child run as RUN/NAMESPACE
    pub(super) run: String,
    /// Print one JSON object per line: a header, the messages, and an end with the totals
    #[arg(long)]
    jsonl: bool,
    /// Verify the run, and write these lines to a file with a signature of this host next to it, in FILE.dsse.json
    #[arg(long, value_name = "FILE", conflicts_with_all = ["jsonl", "tail", "search"])]
    out: Option<PathBuf>,
    /// Verify the run, and write the transcript as signed knowledge of the project, to .ai/knowledge/transcripts/RUN.md
    #[arg(long, conflicts_with_all = ["jsonl", "tail", "search", "out"])]
    knowledge: bool,
    /// Show the last messages only, this many
    #[arg(long, value_name = "N", value_parser = number::from_one::<u64>, allow_negative_numbers = true, conflicts_with = "search")]
    tail: Option<u64>,
    /// Show the messages that a regular expression matches, in this run and in the runs that it continues
    #[arg(long, value_name = "PATTERN")]
    search: Option<String>,
    /// Search for the pattern as plain text
    #[arg(long, requires = "search")]
    text: bool,
    /// With each message that matches, show this many before and after it
    #[arg(long, value_name = "N", value_parser = number::from_zero::<usize>, allow_negative_numbers = true, requires = "search")]
    around: Option<usize>,
}

pub(super) fn run(args: &Args, stores: &Stores, project: &Project, context: &Context) -> Result<Exit> {
    if args.jsonl && context.output.is_json() {
        return Err(Error::usage("--json prints one document and --jsonl many lines: give one of them"));
    }
    let wanted = args.search.as_deref().map(|pattern| wanted(pattern, args.text)).transpose()?;
    let (name, inside) = namespace::split(&args.run);
    let (_, store, mut row) = stores.find(name)?;
    let store = &*store;
    namespace::check(store, &row.run_id, inside)?;
    restore::catch_up(store, &mut row)?;
    // Records of an unknown host cannot be verified, but they can be shown.
    let key = context.host.home.known_key(row.key)?;
    let transcript = Transcript { store, run: &row.run_id, namespace: inside, key: key.as_ref() };
    if let Some(file) = &args.out {
        return save(&transcript, &row, file, context);
    }
    if args.knowledge {
        return write_item(&transcript, &row, project, context);
    }
    if key.is_none() {
        context.output.note(format_args!(
            "run {} is of another host, whose key is not known here: its signatures were not checked",
            row.run_id
        ));
    }
    match wanted {
        Some(wanted) => {
            let around = args.around.unwrap_or(0).min(MOST_AROUND);
            search::run(
                &search::Search { wanted: &wanted, around, jsonl: args.jsonl },
                stores,
                &transcript,
                &row,
                context,
            )
        }
        None => show(args, &transcript, &row, context),
    }
}

fn wanted(pattern: &str, is_text: bool) -> Result<Wanted> {
    if pattern.is_empty() {
        return Err(Error::usage("--search needs something to look for"));
    }
    if is_text {
        return Ok(Wanted::Text(pattern.to_owned()));
    }
    let compiled = Pattern::compile(pattern).map_err(|error| {
        let refused = Error::usage(format!("`{pattern}` is not a pattern: {error}"));
        match error {
            PatternError::Syntax(_) => refused.help("with --text it is searched for as it is"),
            _ => refused,
        }
    })?;
    Ok(Wanted::Pattern(Box::new(compiled)))
}

fn show(args: &Args, transcript: &Transcript<'_>, row: &RunRow, context: &Context) -> Result<Exit> {
    let out = context.output;
    // The totals are known only after all messages were read: they are read twice, and not held.
    let counted =
        if args.tail.is_some() || out.is_json() { Some(transcript.read(&mut |_| Ok(()))?) } else { None };
    let first = match (args.tail, &counted) {
        (Some(tail), Some(totals)) => totals.messages.saturating_sub(tail),
        _ => 0,
    };
    let is_shown = |message: &Message| message.number > first;
    if let Some(totals) = counted.as_ref().filter(|_| out.is_json()) {
        let document = Document::new(members(transcript, row, totals)).with_list("messages", |give| {
            let shown = &mut |message: &Message| {
                if is_shown(message) { give(&message.to_json()) } else { Ok(()) }
            };
            transcript.read(shown).map(|_| ())
        });
        out.document_in_pieces(document)?;
        return Ok(Exit::Ok);
    }
    if args.jsonl {
        out.json_line(&header_line(row, transcript.namespace))?;
        let totals = transcript.read(&mut |message| {
            if is_shown(message) { out.json_line(&message_line(message)) } else { Ok(()) }
        })?;
        out.json_line(&end_line(&totals))?;
        return Ok(Exit::Ok);
    }
    let mut lines = Lines::new(out);
    lines.heading(&row.graph_id, &namespace::join(&row.run_id, transcript.namespace), row)?;
    if first > 0 {
        lines.gap(Some(first))?;
    }
    let totals = transcript
        .read(&mut |message| if is_shown(message) { lines.message(message, None) } else { Ok(()) })?;
    lines.totals(&totals)?;
    Ok(Exit::Ok)
}

/// Returns the members of the document apart from the messages.
fn members(transcript: &Transcript<'_>, row: &RunRow, totals: &Totals) -> Map<String, Value> {
    let mut members = Map::new();
    if let Value::Object(header) = header_line(row, transcript.namespace) {
        members.extend(header.into_iter().filter(|(name, _)| name != "kind"));
    }
    members.insert("verified".to_owned(), transcript.key.is_some().into());
    members.insert("totals".to_owned(), totals.to_json());
    members
}

/// Verifies the run's records: this host signs only transcripts that it has verified.
fn check(transcript: &Transcript<'_>, row: &RunRow) -> Result<()> {
    let run = &row.run_id;
    if transcript.store.holder(run)? != Holder::Nobody {
        return Err(Error::storage(format!("run {run} is under way: wait until it has stopped, or stop it")));
    }
    let Some(key) = transcript.key else { return Err(unknown_host(run)) };
    audited(transcript.store, row, key)
}

fn audited(store: &dyn CheckpointStore, row: &RunRow, key: &VerifyingKey) -> Result<()> {
    audit(store, row, key, None).map(|_| ())
}

fn unknown_host(run: &str) -> Error {
    Error::denied(format!(
        "run {run} is of another host, whose key is not known here: this host signs no transcript that it cannot check"
    ))
    .help("the lines without a signature: --jsonl; or import the run on a terminal, and trust the key of its host")
}

fn save(transcript: &Transcript<'_>, row: &RunRow, file: &Path, context: &Context) -> Result<Exit> {
    check(transcript, row)?;
    let key = context.host.home.identity()?;
    let saved = transcript::save(transcript, row, file, context.host.home.base(), &key, now())?;
    let key = key.verifying_key().id();
    if context.output.is_json() {
        let mut document = written(transcript, row, file, &saved.totals);
        document["bytes"] = saved.bytes.into();
        document["digest"] = json!(saved.digest);
        document["key_id"] = json!(key);
        context.output.document(&document)?;
    } else {
        context.output.line(format_args!(
            "{} wrote {} to {}: {} bytes, signed by {}",
            styled(output::GOOD, "✓"),
            counted(saved.totals.messages, "message"),
            shown(file),
            saved.bytes,
            key.short()
        ))?;
    }
    Ok(Exit::Ok)
}

fn write_item(
    transcript: &Transcript<'_>,
    row: &RunRow,
    project: &Project,
    context: &Context,
) -> Result<Exit> {
    if !transcript.namespace.is_empty() {
        return Err(Error::usage("a knowledge item has the transcript of a whole run")
            .help(format!("graph-host runs transcript {} --knowledge", row.run_id)));
    }
    check(transcript, row)?;
    let key = context.host.home.identity()?;
    let (file, totals) = transcript::write_item(transcript, row, project, &key, now())?;
    if context.output.is_json() {
        context.output.document(&written(transcript, row, &file, &totals))?;
    } else {
        context.output.line(format_args!(
            "{} wrote {} to {}",
            styled(output::GOOD, "✓"),
            counted(totals.messages, "message"),
            shown(&file)
        ))?;
    }
    Ok(Exit::Ok)
}

/// Returns the report of a written transcript, for programs.
fn written(transcript: &Transcript<'_>, row: &RunRow, file: &Path, totals: &Totals) -> Value {
    json!({
        "run_id": row.run_id,
        "namespace": transcript.namespace,
        "file": file.display().to_string(),
        "totals": totals.to_json(),
    })
}
