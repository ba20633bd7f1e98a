//! `graph-host runs diff`.

use std::collections::VecDeque;

use graph_core::diagnostic::printable;
use graph_core::record::{Checkpoint, ResultDigest, Source};
use graph_core::trust::VerifyingKey;
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{self, Output, styled};
use graph_host::terminal::run_report::{counted, nodes};
use graph_host::terminal::width::{one_line, width};
use graph_runtime::error::Result;
use graph_runtime::graph_store::{CheckpointStore, RunRow};
use graph_runtime::history::value_changes::{ValueChange, ValueChanges};
use graph_runtime::run::restore;
use graph_runtime::run::stores::Stores;
use serde_json::{Map, Value, json};

use super::row::{shown_status, text_json};
use super::run_view::{self, RunView};

/// Number of checkpoints that are read at a time.
const PAGE: usize = 256;
/// Number of differing values that are shown without `--all`.
pub(super) const SHOWN: usize = 20;

/// Show the differences between two runs: their graphs, inputs, steps, states and results
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The first run: its id, the beginning of it, or @last
    before: String,
    /// The second run
    after: String,
    /// Show all differing values; without it, the first ones
    #[arg(long)]
    all: bool,
}

/// A run to compare.
struct ComparedRun {
    store: std::sync::Arc<dyn CheckpointStore>,
    row: RunRow,
    view: RunView,
    inputs: Map<String, Value>,
    state: Map<String, Value>,
}

impl ComparedRun {
    fn read(name: &str, stores: &Stores, context: &Context) -> Result<Self> {
        let (_, store, mut row) = stores.find(name)?;
        restore::catch_up(&*store, &mut row)?;
        let view = run_view::newest(&*store, &row, context)?;
        let inputs = view.newest.as_ref().map_or(row.inputs, |newest| newest.inputs);
        let inputs = match restore::inputs(&*store, &inputs)? {
            Value::Object(inputs) => inputs,
            _ => Map::new(),
        };
        let state = view.state(&*store)?;
        Ok(Self { store, row, view, inputs, state })
    }

    fn steps(&self) -> StepReader<'_> {
        StepReader {
            store: &*self.store,
            run: &self.row.run_id,
            key: self.view.key(),
            after: None,
            page: VecDeque::new(),
        }
    }

    /// Returns the result as a mapping, so that it can be compared place by place.
    fn result(&self) -> Map<String, Value> {
        Map::from_iter([("result".to_owned(), text_json(self.row.result.as_deref()))])
    }

    fn summary(&self) -> Value {
        let newest = self.view.newest.as_ref();
        json!({
            "run_id": self.row.run_id,
            "graph": self.row.graph_id,
            "status": shown_status(&*self.store, &self.row),
            "steps": newest.map_or(0, |newest| newest.step),
            "fuel": self.view.fuel(),
        })
    }
}

/// A superstep or an edit of a run.
struct Step {
    number: u64,
    visited: Vec<String>,
    result: ResultDigest,
}

/// Reader of the steps of a run, the first one first.
struct StepReader<'a> {
    store: &'a dyn CheckpointStore,
    run: &'a str,
    key: Option<&'a VerifyingKey>,
    after: Option<u64>,
    page: VecDeque<Checkpoint>,
}

impl StepReader<'_> {
    fn next(&mut self) -> Result<Option<Step>> {
        if self.page.is_empty() {
            for record in self.store.checkpoints_alone(self.run, "", self.after, PAGE)? {
                self.after = Some(record.sequence);
                self.page.push_back(run_view::checkpoint(&record, self.key)?);
            }
        }
        Ok(self.page.pop_front().map(|Checkpoint { step, visited, result, source, .. }| Step {
            number: step,
            visited: if matches!(source, Source::Fork { .. }) { Vec::new() } else { visited },
            result,
        }))
    }
}

/// The first step that differs.
struct FirstDifference {
    /// Number of steps that are the same before it.
    same: u64,
    before: Option<Step>,
    after: Option<Step>,
}

fn first_difference(before: &ComparedRun, after: &ComparedRun) -> Result<Option<FirstDifference>> {
    let (mut earlier, mut later) = (before.steps(), after.steps());
    let mut same = 0;
    loop {
        match (earlier.next()?, later.next()?) {
            (None, None) => return Ok(None),
            (Some(before), Some(after))
                if before.result == after.result && before.visited == after.visited =>
            {
                same += 1;
            }
            (before, after) => return Ok(Some(FirstDifference { same, before, after })),
        }
    }
}

pub(super) fn run(args: &Args, stores: &Stores, context: &Context) -> Result<Exit> {
    let before = ComparedRun::read(&args.before, stores, context)?;
    let after = ComparedRun::read(&args.after, stores, context)?;
    let most = if args.all || context.output.is_json() { usize::MAX } else { SHOWN };
    let results = (before.result(), after.result());
    let inputs = ValueChanges::between(&before.inputs, &after.inputs, most);
    let state = ValueChanges::between(&before.state, &after.state, most);
    let result = ValueChanges::between(&results.0, &results.1, most);
    // The result digests of the steps cover the graph and the inputs, so that no step is the same if these differ.
    let is_comparable = before.row.graph == after.row.graph && before.inputs == after.inputs;
    let steps = if is_comparable { first_difference(&before, &after)? } else { None };
    let out = context.output;
    if out.is_json() {
        let step = |step: &Option<Step>| {
            step.as_ref().map(
                |step| json!({ "step": step.number, "nodes": step.visited, "result_digest": step.result }),
            )
        };
        let first = steps.as_ref().map(
            |found| json!({ "same": found.same, "before": step(&found.before), "after": step(&found.after) }),
        );
        out.document(&json!({
            "before": before.summary(),
            "after": after.summary(),
            "same_graph": before.row.graph == after.row.graph,
            "inputs": document(&inputs),
            "first_difference": first,
            "state": document(&state),
            "result": document(&result),
        }))?;
        return Ok(Exit::Ok);
    }
    for (mark, run) in [("-", &before), ("+", &after)] {
        let summary = run.summary();
        out.line(format_args!(
            "{mark} {} {}  {}: {}",
            styled(output::BOLD, printable(&run.row.graph_id)),
            styled(output::DIM, format_args!("run {}", run.row.run_id)),
            shown_status(&*run.store, &run.row),
            counted(summary["steps"].as_u64().unwrap_or_default(), "step"),
        ))?;
    }
    if before.row.graph != after.row.graph {
        let digests = (before.row.graph.short(), after.row.graph.short());
        out.line(format_args!("{}: {} → {}", styled(output::BOLD, "graph"), digests.0, digests.1))?;
    }
    print_changes("inputs", &inputs, out)?;
    match &steps {
        None if is_comparable => out.line("the steps are the same")?,
        None => {}
        Some(FirstDifference { same, before, after }) => {
            out.line(format_args!("{} the same, then", counted(*same, "checkpoint")))?;
            for (mark, step) in [("-", before), ("+", after)] {
                match step {
                    Some(step) => {
                        out.line(format_args!("{mark} step {}: {}", step.number, nodes(&step.visited)))?;
                    }
                    None => out.line(format_args!("{mark} nothing"))?,
                }
            }
        }
    }
    print_changes("state", &state, out)?;
    print_changes("result", &result, out)?;
    Ok(Exit::Ok)
}

/// Prints differing values under a heading; nothing if there are none.
pub(super) fn print_changes(heading: &str, found: &ValueChanges<'_>, out: Output) -> Result<()> {
    if found.changes.is_empty() && !found.has_more {
        return Ok(());
    }
    out.line(styled(output::BOLD, heading))?;
    for ValueChange { path, before, after } in &found.changes {
        let shown = |value: &Value| one_line(&value.to_string(), (width() / 2).max(40));
        let path = one_line(path, width() / 2);
        match (before, after) {
            (Some(before), Some(after)) => {
                out.line(format_args!("  ~ {path}: {} → {}", shown(before), shown(after)))?;
            }
            (Some(before), None) => {
                out.line(format_args!("  {} {path}: {}", styled(output::BAD, "-"), shown(before)))?;
            }
            (None, Some(after)) => {
                out.line(format_args!("  {} {path}: {}", styled(output::GOOD, "+"), shown(after)))?;
            }
            (None, None) => {}
        }
    }
    if found.has_more {
        out.line(styled(output::DIM, "  … and more, which --all shows"))?;
    }
    Ok(())
}

/// Returns differing values for programs.
pub(super) fn document(found: &ValueChanges<'_>) -> Value {
    let change = |ValueChange { path, before, after }: &ValueChange<'_>| {
        let mut change = Map::from_iter([("path".to_owned(), json!(path))]);
        change.extend(before.map(|before| ("before".to_owned(), before.clone())));
        change.extend(after.map(|after| ("after".to_owned(), after.clone())));
        Value::Object(change)
    };
    found.changes.iter().map(change).collect()
}
