//! `graph-host runs show`.

use std::collections::BTreeSet;
use std::time::Duration;

use graph_core::diagnostic::{block, printable};
use graph_core::limits::HostUse;
use graph_core::record::{Checkpoint, Source};
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::json_document::Document;
use graph_host::terminal::local_time::local_time;
use graph_host::terminal::output::{self, Output, styled};
use graph_host::terminal::run_report::{self, HookLines, short_number, short_span, step_line};
use graph_host::terminal::values::{Extent, ValueLines};
use graph_host::terminal::width::{one_line, width, wrapped};
use graph_runtime::clock::now;
use graph_runtime::error::Result;
use graph_runtime::graph_store::{CheckpointStore, Holder, RunRow};
use graph_runtime::history::run_document::RunDocument;
use graph_runtime::project::Project;
use graph_runtime::run::pins::Pins;
use graph_runtime::run::restore;
use graph_runtime::run::stores::Stores;
use serde_json::{Map, Value, json};

use super::accepted;
use super::failures;
use super::history::{made_by, nodes, origin};
use super::relations::{Relations, is_created};
use super::row::{bare_json, model_columns, shown_status, text_json};
use super::run_view::{self, RunView};
use super::tree::{self, ChildRun};
use super::usage::{self, model_document};
use crate::command::args::typed_run;

/// Show a run: its steps, its state, what it waits for
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its id, the beginning of it, or @last
    pub(super) run: String,
    /// Show values in full; without it, long ones are shortened
    #[arg(long)]
    all: bool,
    /// Show only the failures of tasks: all of them, those of child runs included
    #[arg(long, conflicts_with = "all")]
    failed: bool,
}

pub(super) fn run(args: &Args, stores: &Stores, project: &Project, context: &Context) -> Result<Exit> {
    let typed = typed_run(&args.run, project.folder());
    let (_, store, mut row) = stores.find(&args.run)?;
    let store = &*store;
    if context.output.is_json() {
        row = store.run(&row.run_id)?.unwrap_or(row);
    }
    restore::catch_up(store, &mut row)?;
    let view = run_view::whole(store, &row, context)?;
    let children = tree::read(store, &row, view.key())?;
    let exit = if view.trouble.is_some() { Exit::Integrity } else { Exit::Ok };
    if args.failed && !context.output.is_json() {
        failures::print(store, &row, &view, context.output)?;
        return Ok(exit);
    }
    if context.output.is_json() {
        // Printed as the stored text: it may be large.
        let result = row.result.take();
        let mut document = document(store, &row, &view, &children)?;
        let mut columns = Relations::read(stores)?.columns(store, &row)?;
        if !is_created(store, &row) {
            // The status from the records is more recent than that of the row.
            columns.remove("status");
        }
        document.extend(columns);
        let document = Document::new(document)
            .with_text("result", result)
            .with_list("visited", |give| view.each_visited(store, &mut |node| give(&Value::from(node))))
            .with_list("failures", |give| {
                failures::each(store, &row, &view, |failed| give(&failed.to_json()))
            })
            .with_list("history", |give| view.each_step(store, |step| give(&step_json(step))));
        context.output.document_in_pieces(document)?;
        return Ok(exit);
    }
    let next: Vec<_> =
        view.newest.iter().flat_map(|newest| &newest.next).map(|next| next.node.clone()).collect();
    let status = view.status();
    let interrupts = status.map(|status| status.interrupts.as_slice()).unwrap_or_default();
    let extent = if args.all { Extent::ALL } else { Extent::SHORT };
    print(store, &row, &view, &children, context)?;
    if !row.status.is_end() {
        failures::print_open(&view, &format!("graph-host runs show {typed} --failed"), context.output)?;
    }
    let is_shortened = print_values(&view, &view.state(store)?, extent, context.output)?;
    if !next.is_empty() {
        context.output.line(format_args!("{} {}", styled(output::BOLD, "next"), run_report::nodes(&next)))?;
    }
    if is_shortened {
        context.output.line(run_report::all_of_it(&format!("runs show {typed} --all")))?;
    }
    accepted::show(&view.accepted(), context.output)?;
    for warning in &view.warnings {
        let text = wrapped(&format!("warning: {}", one_line(warning, 1000)), width(), "  ");
        context.output.line(text.replacen("warning:", &styled(output::CAUTION, "warning:"), 1))?;
    }
    let below = tree::open(&children);
    for interrupt in interrupts.iter().chain(&below) {
        let run = (!args.all).then_some(typed.as_str());
        context.output.line(graph_host::terminal::prompt::question(interrupt, run))?;
    }
    if let Some(error) = status.and_then(|status| status.error.as_ref()) {
        context.output.line(run_report::error_lines(error))?;
    }
    if let Some(trouble) = &view.trouble {
        context.output.line(format_args!(
            "{} {}",
            styled(output::BAD, "unreadable:"),
            block(trouble, "  ")
        ))?;
    } else if !row.status.is_end() {
        let mut summary = view.summary(store, &row)?;
        summary.interrupts.extend(below);
        if let Some(line) = run_report::resume_line(&typed, &summary) {
            context.output.line(line)?;
        }
    }
    Ok(exit)
}

/// Returns a step of the run's history for programs.
fn step_json(step: &Checkpoint) -> Value {
    json!({
        "checkpoint": step.sequence,
        "step": step.step,
        "at": step.at.to_string(),
        "source": step.source.as_str(),
        "origin": origin(&step.source),
        "nodes": nodes(step),
        "tasks": step.tasks,
        "fuel": step.fuel,
        "micros": step.micros,
        "hooks": step.hooked,
        "result_digest": step.result,
        "warnings": step.warnings,
    })
}

/// Returns the document that `run` prints, with further data of the store. For a damaged run, the readable part.
fn document(
    store: &dyn CheckpointStore,
    row: &RunRow,
    view: &RunView,
    children: &[ChildRun],
) -> Result<Map<String, Value>> {
    let mut document = bare_json(row.clone());
    document.insert("error".to_owned(), text_json(row.error.as_deref()));
    let graph = document.remove("graph");
    document.insert("graph_digest".to_owned(), graph.unwrap_or_default());
    let inputs = document.remove("inputs");
    document.insert("inputs_digest".to_owned(), inputs.unwrap_or_default());
    match view.summary(store, row).and_then(|summary| Ok((summary, view.state(store)?))) {
        Ok((mut summary, state)) => {
            summary.interrupts.extend(tree::open(children));
            // The visited nodes are read while they are printed.
            let visited = Box::new(|_: &mut dyn FnMut(&str) -> Result<()>| Ok(()));
            let as_run = RunDocument::new(&row.run_id, &row.graph_id, &summary, visited).at(now());
            if let Value::Object(as_run) = as_run.to_value()? {
                document.extend(as_run);
            }
            document.insert("state".to_owned(), Value::Object(state));
        }
        // Damage is reported in addition to what can be read.
        Err(error) if view.trouble.is_none() => return Err(error),
        Err(_) => {}
    }
    let HostUse { calls, bytes, fuel, stored, model } = view.host();
    document.insert("asked".to_owned(), json!({ "calls": calls, "bytes": bytes }));
    document.insert("host_fuel".to_owned(), json!(fuel));
    document.insert("stored".to_owned(), json!(stored));
    document.insert("model".to_owned(), model_document(model));
    document.insert("last_model".to_owned(), json!(row.model));
    document.extend(model_columns(model));
    let by_model: Map<String, Value> =
        view.usage().by_model.iter().map(|(name, used)| (name.clone(), model_document(*used))).collect();
    document.insert("models".to_owned(), Value::Object(by_model));
    document.insert("nodes".to_owned(), json!(view.usage().by_node));
    let removed = view.begins.as_ref().map_or(0, |begins| begins.removed);
    document.insert("removed_checkpoints".to_owned(), json!(removed));
    let children: Vec<_> = children.iter().map(|child| child.to_json(row)).collect();
    document.insert("child_runs".to_owned(), json!(children));
    document.insert("accepted".to_owned(), accepted::document(&view.accepted()));
    document.insert("unsandboxed".to_owned(), json!(unsandboxed(store, row)));
    // The results of hooks since the newest checkpoint.
    document.insert("hooks".to_owned(), json!(view.hooked()));
    document.insert("unreadable".to_owned(), json!(view.trouble));
    let holder = match store.holder(&row.run_id) {
        Ok(Holder::Known(owner)) => json!(owner),
        Ok(Holder::Unknown) => json!({}),
        Ok(Holder::Nobody) | Err(_) => Value::Null,
    };
    document.insert("holder".to_owned(), holder);
    Ok(document)
}

/// Returns the items of the graph that were functions of the program that ran it; empty if the run's pins cannot be read.
fn unsandboxed(store: &dyn CheckpointStore, row: &RunRow) -> BTreeSet<String> {
    let text = restore::snapshot(store, &row.pins, "what it is pinned to");
    text.and_then(|text| Pins::read(&text)).map(|pins| pins.unsandboxed).unwrap_or_default()
}

/// Prints a line for each superstep and each edit, with the failures below it.
fn print_steps(store: &dyn CheckpointStore, view: &RunView, out: Output) -> Result<()> {
    let mut fuel = 0;
    view.each_step(store, |step| {
        if matches!(step.source, Source::Update { .. } | Source::Fork { .. }) {
            out.line(format_args!(
                "{}  {}",
                styled(output::DIM, format_args!("{:>4}", step.step)),
                styled(output::DIM, printable(&made_by(&step.source)))
            ))?;
        }
        if nodes(step).is_empty() {
            fuel = step.fuel;
            return Ok(());
        }
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
            (step.micros > 0).then(|| short_span(Duration::from_micros(step.micros))).as_deref(),
            &one_line(&changed.join(", "), 60),
        );
        fuel = step.fuel;
        out.line(line)?;
        for line in HookLines::of(&step.hooked) {
            out.line(line)?;
        }
        let labels = run_report::task_labels(step.tasks.iter().map(|task| (&*task.task, &*task.node)));
        for task in &step.tasks {
            let label = labels.get(task.task.as_str()).unwrap_or(&task.node);
            if let Some(hit) = &task.cached {
                let from = format!("as task {} of run {} at {}", hit.task, hit.run, local_time(hit.at));
                out.line(run_report::cached_line(label, &from))?;
            }
            if let Some(failure) = &task.failure {
                out.line(run_report::failure_line(label, failure))?;
            }
        }
        Ok(())
    })
}

fn print(
    store: &dyn CheckpointStore,
    row: &RunRow,
    view: &RunView,
    children: &[ChildRun],
    context: &Context,
) -> Result<()> {
    let out = context.output;
    out.line(format_args!(
        "{} {}  {}",
        styled(output::BOLD, printable(&row.graph_id)),
        styled(output::DIM, format_args!("run {}", row.run_id)),
        shown_status(store, row)
    ))?;
    let durability = serde_json::to_value(row.durability).ok();
    let times = format!(
        "started {}, changed {}, durability {}, {} fuel of components, {} of the host",
        local_time(row.created_at),
        local_time(row.updated_at),
        durability.as_ref().and_then(Value::as_str).unwrap_or_default(),
        short_number(view.fuel()),
        short_number(view.host().fuel)
    );
    // Wrapped for a terminal only.
    let times = if out.is_read_by_people() { wrapped(&times, width(), "  ") } else { times };
    out.line(styled(output::DIM, times))?;
    let HostUse { calls, bytes, model, .. } = view.host();
    if calls > 0 {
        let text = format!(
            "{} from components, {} bytes",
            run_report::counted(calls, "host call"),
            short_number(bytes)
        );
        out.line(styled(output::DIM, text))?;
    }
    if !model.is_nothing() {
        out.line(styled(output::DIM, usage::model_line(model)))?;
    }
    let unsandboxed = unsandboxed(store, row);
    if !unsandboxed.is_empty() {
        let named: Vec<_> = unsandboxed.iter().map(|id| format!("`{}`", printable(id))).collect();
        let text = format!("functions of the program that ran it: {}", named.join(", "));
        out.line(format_args!("{} {text}", styled(output::CAUTION, "no sandbox:")))?;
    }
    if let Ok(Holder::Known(owner)) = store.holder(&row.run_id) {
        out.line(format_args!("held by {owner}"))?;
    }
    if let Some(begins) = &view.begins {
        out.line(styled(
            output::DIM,
            format_args!("{} before this were removed", run_report::counted(begins.removed, "checkpoint")),
        ))?;
    }
    print_steps(store, view, out)?;
    if !children.is_empty() {
        out.line(styled(output::BOLD, "child runs"))?;
        for child in children {
            child.show(out)?;
        }
    }
    if !view.usage().by_node.is_empty() {
        out.line(styled(output::BOLD, "nodes"))?;
        for (node, usage) in &view.usage().by_node {
            out.line(usage.line(node))?;
        }
    }
    if view.usage().by_model.len() > 1 {
        out.line(styled(output::BOLD, "models"))?;
        for (name, used) in &view.usage().by_model {
            out.line(format_args!(
                "      {} {}",
                run_report::name_in_column(name),
                usage::model_line(*used)
            ))?;
        }
    }
    for line in HookLines::of(view.hooked()) {
        out.line(line)?;
    }
    Ok(())
}

/// Prints the state and the output; returns whether something was left out.
fn print_values(view: &RunView, state: &Map<String, Value>, extent: Extent, out: Output) -> Result<bool> {
    let mut is_shortened = false;
    if !state.is_empty() {
        let mut lines = ValueLines::new(extent, width());
        // Every channel is shown: their number is bounded by the graph.
        for (channel, value) in state {
            lines.member(channel, value, 2);
        }
        let (text, left_out) = lines.finish();
        is_shortened |= left_out;
        out.line(styled(output::BOLD, "state"))?;
        out.line(text)?;
    }
    if let Some(end) = view.newest.as_ref().and_then(|newest| newest.end.as_ref()) {
        let mut lines =
            ValueLines::new(if extent.lines == Extent::SHORT.lines { Extent::LONG } else { extent }, width());
        lines.value(&end.output.0, 2);
        let (text, left_out) = lines.finish();
        is_shortened |= left_out;
        out.line(styled(output::BOLD, "output"))?;
        out.line(text)?;
    }
    Ok(is_shortened)
}
