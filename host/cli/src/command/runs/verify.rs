//! `graph-host runs verify`.

use std::path::{Path, PathBuf};

use graph_core::trust::VerifyingKey;
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{self, styled};
use graph_host::terminal::paths::shown;
use graph_host::terminal::run_report;
use graph_host::terminal::typed::in_named_project;
use graph_runtime::error::{Error, Result};
use graph_runtime::graph_store::CheckpointStore;
use graph_runtime::history::verify::audit;
use graph_runtime::run::restore;
use graph_runtime::run::stop_notes;
use serde_json::json;

/// Check every signature and digest of a run
///
/// This finds everything that was changed, added or left out since the host signed it.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its id, the beginning of it, or @last
    pub(super) run: String,
    /// The public key to verify with if another host made the run; without it, this host's, or that of a host that was trusted
    /// when a run of it was imported
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
}

pub(super) fn run(args: &Args, store: &dyn CheckpointStore, context: &Context) -> Result<Exit> {
    let row = restore::find(store, &args.run)?;
    let key = match &args.key {
        Some(path) => read_key(path)?,
        None => match context.host.home.known_key(row.key)? {
            Some(key) => key,
            None => context.host.home.identity()?.verifying_key(),
        },
    };
    let last = stop_notes::last(&context.host.home, store, &row.run_id)?;
    let found = audit(store, &row, &key, last.as_ref())?;
    let run = &row.run_id;
    if context.output.is_json() {
        context.output.document(&json!({
            "run_id": run,
            "intact": true,
            "checkpoints": found.checkpoints,
            "records": found.records,
            "entries": found.entries,
            "child_runs": found.child_runs,
            "accepted": found.accepted,
            "key_id": key.id(),
            "digest": found.newest.map(|(digest, _)| digest),
            "result_digest": found.newest.map(|(_, result)| result),
            "begins": found.begins.as_ref().map(|begins| json!({
                "checkpoint": begins.first_sequence,
                "digest": begins.first,
                "removed": begins.removed,
                "at": begins.at.to_string(),
            })),
        }))?;
        return Ok(Exit::Ok);
    }
    let records = if found.records == 0 {
        String::new()
    } else {
        format!(" and {}", run_report::counted(found.records, "record"))
    };
    let below = match found.child_runs {
        0 => String::new(),
        count => format!(" of it and {}", run_report::counted(count, "child run")),
    };
    context.output.line(format_args!(
        "{} run {run} is intact: {}{below}{records}, signed by {}",
        styled(output::GOOD, "✓"),
        run_report::counted(found.checkpoints, "checkpoint"),
        key.id().short()
    ))?;
    if found.accepted > 0 {
        let changes = run_report::counted(found.accepted, "change");
        let text = format!(
            "  {changes} of what it is pinned to, each accepted by its host: graph-host runs history {run}"
        );
        context.output.line(in_named_project(&text))?;
    }
    if let Some(begins) = &found.begins {
        context.output.line(format_args!(
            "  its history begins with checkpoint {}: its host removed {} before it at {}",
            begins.first_sequence,
            run_report::counted(begins.removed, "checkpoint"),
            begins.at
        ))?;
    }
    Ok(Exit::Ok)
}

/// Reads a public key from a file.
pub(in crate::command) fn read_key(path: &Path) -> Result<VerifyingKey> {
    let text = graph_runtime::project::text_file::read_named_as("the key file", path)?;
    VerifyingKey::parse(&text).map_err(|error| Error::invalid(format!("{}: {error}", shown(path))))
}
