//! `graph-host runs`: look at runs.

use std::path::PathBuf;

use clap::Subcommand;
use graph_core::record::{ChainVerifier, Checkpoint, Record, Status};
use graph_core::time::Timestamp;
use graph_core::trust::VerifyingKey;
use graph_host::context::Context;
use graph_host::error::{Error, Result};
use graph_host::exit::Exit;
use graph_host::output::{self, printable, styled};
use graph_host::report::{self, one_line, short_number, step_line};
use graph_host::{project, runs};
use graph_store::{CheckpointStore, Holder, RunFilter, RunRow, Wanted};
use serde_json::{Map, Value, json};

/// Look at runs
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The project whose runs these are; without it, the one around the current folder
    #[arg(long, value_name = "DIR", global = true)]
    project: Option<PathBuf>,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List runs, the newest first
    List {
        /// Only runs with this status
        #[arg(long, value_parser = parse_status)]
        status: Option<Status>,
        /// Only runs of this graph
        #[arg(long, value_name = "ID")]
        graph: Option<String>,
        /// At most so many
        #[arg(long, short = 'n', default_value_t = 20)]
        limit: usize,
    },
    /// Show a run: its steps, its state, what it waits for
    Show {
        /// The run: its id, the beginning of it, or @last
        run: String,
    },
    /// Check every signature of a run, and that nothing was changed, added or left out
    Verify {
        /// The run: its id, the beginning of it, or @last
        run: String,
        /// The public key to check with, where another host made the run; without it, this host's
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
    },
}

const STATUSES: [Status; 8] = [
    Status::Running,
    Status::Completed,
    Status::CompletedWithErrors,
    Status::Interrupted,
    Status::Failed,
    Status::Limit,
    Status::Cancelled,
    Status::Killed,
];

fn parse_status(text: &str) -> Result<Status, String> {
    STATUSES.into_iter().find(|status| status.as_str() == text.replace('-', "_")).ok_or_else(|| {
        let known: Vec<_> = STATUSES.iter().map(|status| status.as_str()).collect();
        format!("a status is one of {}", known.join(", "))
    })
}

pub(crate) fn run(args: Args, context: &Context) -> Result<Exit> {
    let project = args.project.map_or_else(project::of_current_folder, Ok)?;
    let store = runs::open_to_read(&project)?;
    match args.action {
        Action::List { status, graph, limit } => {
            list(&*store, &RunFilter { status, graph_id: graph, root_id: None, limit: Some(limit) }, context)
        }
        Action::Show { run } => show(&*store, &run, context),
        Action::Verify { run, key } => verify(&*store, &run, key.as_deref(), context),
    }
}

fn list(store: &dyn CheckpointStore, filter: &RunFilter, context: &Context) -> Result<Exit> {
    let rows = store.runs(filter)?;
    if context.output.is_json() {
        let runs: Vec<_> = rows.iter().map(row_json).collect();
        context.output.document(&json!({ "runs": runs }))?;
        return Ok(Exit::Ok);
    }
    if rows.is_empty() {
        context.output.note("there are no such runs");
        return Ok(Exit::Ok);
    }
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(["RUN", "GRAPH", "STATUS", "STEPS", "FUEL", "STARTED"]);
    for row in &rows {
        let status = shown_status(store, row);
        table.add_row([
            row.run_id.clone(),
            one_line(&row.graph_id, 40),
            status,
            row.step.to_string(),
            short_number(row.fuel),
            time(row.created_at),
        ]);
    }
    for line in table.lines() {
        context.output.line(line.trim_end())?;
    }
    Ok(Exit::Ok)
}

/// The status, and that a run that says `running` is held by nobody.
fn shown_status(store: &dyn CheckpointStore, row: &RunRow) -> String {
    let status = row.status.as_str().replace('_', " ");
    let cut_short = row.status == Status::Running && store.holder(&row.run_id) == Ok(Holder::Nobody);
    if cut_short { format!("{status} (cut short)") } else { status }
}

fn time(at: Timestamp) -> String {
    let zoned = i64::try_from(at.0)
        .ok()
        .and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok())
        .map(|at| at.to_zoned(jiff::tz::TimeZone::system()));
    zoned.map_or_else(|| at.to_string(), |at| at.strftime("%Y-%m-%d %H:%M:%S").to_string())
}

fn row_json(row: &RunRow) -> Value {
    let text = |text: &Option<std::sync::Arc<str>>| {
        text.as_ref()
            .map_or(Value::Null, |text| serde_json::from_str(text).unwrap_or_else(|_| json!(&**text)))
    };
    let mut value = serde_json::to_value(row).unwrap_or_default();
    if let Value::Object(fields) = &mut value {
        fields.insert("result".to_owned(), text(&row.result));
        fields.insert("error".to_owned(), text(&row.error));
        fields.insert("created_at".to_owned(), json!(row.created_at.to_string()));
        fields.insert("updated_at".to_owned(), json!(row.updated_at.to_string()));
    }
    value
}

/// A run as its records tell it: what can be read is shown.
struct Story {
    steps: Vec<Checkpoint>,
    newest: Option<Checkpoint>,
    pending: Vec<Record>,
    trouble: Option<String>,
}

fn read(store: &dyn CheckpointStore, row: &RunRow, key: Option<&VerifyingKey>) -> Result<Story> {
    let mut steps = Vec::new();
    let mut trouble = None;
    let ended = runs::each_checkpoint(store, &row.run_id, |record| {
        let opened = match key {
            Some(key) => record.open(key),
            None => record.decode(),
        };
        match opened {
            Ok(Record::Checkpoint(checkpoint)) => {
                steps.push(*checkpoint);
                Ok(())
            }
            Ok(_) => Err(Error::integrity(format!("record {} is not a checkpoint", record.sequence))),
            Err(error) => Err(Error::integrity(error.to_string())),
        }
    });
    if let Err(error) = ended {
        trouble = Some(error.message().to_owned());
    }
    let mut pending = Vec::new();
    if trouble.is_none() {
        for record in store.pending(&row.run_id, "")? {
            match key.map_or_else(|| record.decode(), |key| record.open(key)) {
                Ok(record) => pending.push(record),
                Err(error) => trouble = Some(error.to_string()),
            }
        }
    }
    Ok(Story { newest: steps.last().cloned(), steps, pending, trouble })
}

fn state(store: &dyn CheckpointStore, run: &str, checkpoint: &Checkpoint) -> Result<Map<String, Value>> {
    let wanted: Vec<_> = checkpoint
        .channels
        .iter()
        .map(|(channel, stamp)| Wanted { channel, base: stamp.base, version: stamp.version })
        .collect();
    let mut state: Map<String, Value> = Map::new();
    for value in store.values(run, "", &wanted)? {
        let parsed: Value = serde_json::from_str(&value.json).map_err(|error| {
            Error::integrity(format!("channel `{}` cannot be read: {error}", value.channel))
        })?;
        match (value.kind, state.get_mut(&value.channel), parsed) {
            (graph_core::record::ValueKind::Segment, Some(Value::Array(list)), Value::Array(more)) => {
                list.extend(more);
            }
            (_, _, parsed) => {
                state.insert(value.channel, parsed);
            }
        }
    }
    Ok(state)
}

fn show(store: &dyn CheckpointStore, name: &str, context: &Context) -> Result<Exit> {
    let row = runs::find(store, name)?;
    let key = context.home.identity()?.verifying_key();
    // What another host has signed cannot be checked here; it can be shown.
    let told = read(store, &row, (row.key == key.id()).then_some(&key))?;
    let status = told.pending.iter().find_map(|record| match record {
        Record::Status(status) => Some(status),
        _ => None,
    });
    let state = match &told.newest {
        Some(newest) => state(store, &row.run_id, newest)?,
        None => Map::new(),
    };
    let next: Vec<_> =
        told.newest.iter().flat_map(|newest| &newest.next).map(|next| next.node.clone()).collect();
    let interrupts = status.map(|status| status.interrupts.as_slice()).unwrap_or_default();
    let warnings: Vec<_> = told
        .steps
        .iter()
        .flat_map(|step| &step.warnings)
        .chain(status.iter().flat_map(|status| &status.warnings))
        .collect();
    let exit = if told.trouble.is_some() { Exit::Integrity } else { Exit::Ok };
    if context.output.is_json() {
        let steps: Vec<_> = told
            .steps
            .iter()
            .map(|step| {
                json!({
                    "checkpoint": step.sequence,
                    "step": step.step,
                    "at": step.at.to_string(),
                    "source": step.source,
                    "nodes": step.visited,
                    "tasks": step.tasks,
                    "fuel": step.fuel,
                    "result_digest": step.result,
                    "warnings": step.warnings,
                })
            })
            .collect();
        let mut document = row_json(&row);
        if let Value::Object(document) = &mut document {
            document.insert("steps".to_owned(), json!(steps));
            document.insert("state".to_owned(), Value::Object(state));
            document.insert("next".to_owned(), json!(next));
            let open: Vec<_> = interrupts
                .iter()
                .map(|open| json!({ "id": open.id, "node": open.node, "payload": *open.payload.0 }))
                .collect();
            document.insert("interrupts".to_owned(), json!(open));
            document.insert("warnings".to_owned(), json!(warnings));
            document.insert("unreadable".to_owned(), json!(told.trouble));
        }
        context.output.document(&document)?;
        return Ok(exit);
    }
    print(store, &row, &told, &state, &next, context)?;
    for warning in warnings {
        context.output.line(format_args!(
            "{} {}",
            styled(output::CAUTION, "warning:"),
            one_line(warning, 300)
        ))?;
    }
    for interrupt in interrupts {
        context.output.line(graph_host::answers::question(interrupt))?;
    }
    if let Some(error) = status.and_then(|status| status.error.as_ref()) {
        context.output.line(report::error_line(error))?;
    }
    if let Some(trouble) = &told.trouble {
        context.output.line(format_args!("{} {}", styled(output::BAD, "unreadable:"), printable(trouble)))?;
    } else if !row.status.is_end() {
        context.output.line(format_args!(
            "{} graph-host resume {}",
            styled(output::DIM, "go on with:"),
            row.run_id
        ))?;
    }
    Ok(exit)
}

fn print(
    store: &dyn CheckpointStore,
    row: &RunRow,
    told: &Story,
    state: &Map<String, Value>,
    next: &[String],
    context: &Context,
) -> Result<()> {
    let out = context.output;
    out.line(format_args!(
        "{} {}  {}",
        styled(output::BOLD, printable(&row.graph_id)),
        styled(output::DIM, format_args!("run {}", row.run_id)),
        shown_status(store, row)
    ))?;
    out.line(format_args!(
        "{}",
        styled(
            output::DIM,
            format_args!(
                "started {}, changed {}, durability {}, {} fuel",
                time(row.created_at),
                time(row.updated_at),
                serde_json::to_value(row.durability)
                    .ok()
                    .and_then(|mode| mode.as_str().map(str::to_owned))
                    .unwrap_or_default(),
                short_number(row.fuel)
            )
        )
    ))?;
    if let Ok(Holder::Known(owner)) = store.holder(&row.run_id) {
        out.line(format_args!("held by {owner}"))?;
    }
    let mut fuel = 0;
    for step in told.steps.iter().filter(|step| !step.visited.is_empty()) {
        let changed: Vec<_> = step
            .channels
            .iter()
            .filter(|(_, stamp)| stamp.version == step.sequence)
            .map(|(channel, _)| channel.as_str())
            .collect();
        let line = step_line(
            step.step,
            &step.visited,
            step.fuel.saturating_sub(fuel),
            None,
            &one_line(&changed.join(", "), 60),
        );
        fuel = step.fuel;
        out.line(line)?;
        for task in &step.tasks {
            if let Some(failure) = &task.failure {
                out.line(format_args!(
                    "      {} {} {}: {}",
                    styled(output::BAD, "✗"),
                    printable(&task.node),
                    failure.category,
                    one_line(&failure.message, 200)
                ))?;
            }
        }
    }
    if !state.is_empty() {
        out.line(styled(output::BOLD, "state"))?;
        for (channel, value) in state {
            out.line(format_args!("  {}: {}", printable(channel), one_line(&value.to_string(), 300)))?;
        }
    }
    if let Some(end) = told.newest.as_ref().and_then(|newest| newest.end.as_ref()) {
        out.line(styled(output::BOLD, "output"))?;
        out.line(report::pretty(&end.output.0))?;
    }
    if !next.is_empty() {
        out.line(format_args!("{} {}", styled(output::BOLD, "next"), report::nodes(next)))?;
    }
    Ok(())
}

fn verify(
    store: &dyn CheckpointStore,
    name: &str,
    key: Option<&std::path::Path>,
    context: &Context,
) -> Result<Exit> {
    let row = runs::find(store, name)?;
    let key = match key {
        Some(path) => {
            let text = graph_host::text_file::read_as("the key file", path)?;
            VerifyingKey::parse(&text)
                .map_err(|error| Error::invalid(format!("{}: {error}", project::shown(path))))?
        }
        None => context.home.identity()?.verifying_key(),
    };
    if row.key != key.id() {
        return Err(Error::integrity(format!(
            "run {} was signed by the key {}, and this is {}",
            row.run_id,
            row.key.short(),
            key.id().short()
        ))
        .help("another host made this run: check it with --key and the public key of that host"));
    }
    let run = &row.run_id;
    let mut verifier = ChainVerifier::new(key);
    let mut newest = None;
    let (mut count, mut signatures) = (0_u64, 0_u64);
    runs::each_checkpoint(store, run, |record| {
        let checkpoint =
            verifier.checkpoint(record).map_err(|error| runs::broken(run, record.sequence, &error))?;
        count += 1;
        newest = Some((checkpoint, record.digest));
        Ok(())
    })?;
    for record in store.pending(run, "")? {
        let opened = record.open(&key).map_err(|error| Error::integrity(error.to_string()))?;
        let under = match &opened {
            Record::Task(task) => task.checkpoint,
            Record::Answers(answers) => answers.checkpoint,
            Record::Status(status) => status.checkpoint,
            Record::Checkpoint(_) => record.digest,
        };
        if newest.as_ref().map(|(_, digest)| *digest) != Some(under) {
            return Err(Error::integrity(format!(
                "a {} record of run {run} is not under its newest checkpoint",
                record.kind.as_str()
            )));
        }
        signatures += 1;
    }
    check_row(&row, newest.as_ref().map(|(checkpoint, _)| checkpoint), store)?;
    if context.output.is_json() {
        context.output.document(&json!({
            "run_id": run,
            "intact": true,
            "checkpoints": count,
            "records": signatures,
            "key_id": key.id(),
            "digest": newest.as_ref().map(|(_, digest)| digest),
            "result_digest": newest.as_ref().map(|(checkpoint, _)| checkpoint.result),
        }))?;
    } else {
        let records = if signatures == 0 {
            String::new()
        } else {
            format!(" and {}", report::counted(signatures, "record"))
        };
        context.output.line(format_args!(
            "{} run {run} is intact: {}{records}, signed by {}",
            styled(output::GOOD, "✓"),
            report::counted(count, "checkpoint"),
            key.id().short()
        ))?;
    }
    Ok(Exit::Ok)
}

/// What the row claims, against what is signed; and the texts that the records name.
fn check_row(row: &RunRow, newest: Option<&Checkpoint>, store: &dyn CheckpointStore) -> Result<()> {
    let Some(newest) = newest else { return Ok(()) };
    let run = &row.run_id;
    let ended = newest.end.as_ref().map(|end| end.status);
    if row.step != newest.step
        || ended.is_some_and(|ended| ended != row.status)
        || (row.status.is_end() && ended.is_none())
    {
        return Err(Error::integrity(format!(
            "the row of run {run} says {} after {} steps, its newest checkpoint does not: the row, or the checkpoints after it, were changed",
            row.status, row.step
        )));
    }
    let inputs: Value = serde_json::from_str(&runs::snapshot(store, &newest.inputs, "the inputs")?)
        .map_err(|error| Error::integrity(format!("the inputs of run {run} cannot be read: {error}")))?;
    if graph_core::walker::inputs_digest(&inputs) != newest.inputs {
        return Err(Error::integrity(format!("the inputs that run {run} keeps were changed")));
    }
    let pins = graph_host::pins::Pins::read(&runs::snapshot(store, &newest.pins, "what it is pinned to")?)?;
    if pins.text()?.0 != newest.pins {
        return Err(Error::integrity(format!("what run {run} is pinned to was changed")));
    }
    for (digest, what) in [(&pins.graph_text, "the graph"), (&pins.manifest_text, "the manifest")] {
        if graph_core::digest::Digest::of_bytes(runs::snapshot(store, digest, what)?.as_bytes()) != *digest {
            return Err(Error::integrity(format!("{what} that run {run} keeps was changed")));
        }
    }
    Ok(())
}
