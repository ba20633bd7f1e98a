//! Use of resources by the nodes of a run.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use graph_core::limits::{HostUse, ModelUse, written_cost};
use graph_core::record::{AttemptJournal, Checkpoint, Record, model_uses};
use graph_host::terminal::output::{self, styled};
use graph_host::terminal::run_report::{counted, name_in_column, short_number, short_span};
use serde::Serialize;
use serde_json::{Value, json};

/// Use by one node in the supersteps that have committed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Usage {
    /// Number of tasks that were dispatched.
    tasks: u64,
    /// Number of tasks whose failure was handled.
    failed: u64,
    /// Number of dispatches.
    dispatches: u64,
    /// Fuel of all tasks.
    fuel: u64,
    /// Fuel of the host's work for the tasks.
    host_fuel: u64,
    /// Calls of the host that reached the outside world.
    calls: u64,
    /// Bytes of these calls and of their answers.
    bytes: u64,
    /// Use of language models.
    #[serde(skip_serializing_if = "ModelUse::is_nothing")]
    model: ModelUse,
    /// Duration of all tasks, in microseconds.
    micros: u64,
    /// Duration of the longest task, in microseconds.
    longest_micros: u64,
}

/// Limit of nodes, and of models, that are counted separately: a graph has fewer.
const NODES: usize = 10_000;

/// Use by each node that has dispatched something, and of each language model.
#[derive(Debug, Default)]
pub(super) struct Usages {
    pub(super) by_node: BTreeMap<String, Usage>,
    /// Use of each language model, by its name in the manifest: by components of the run and, once added, of its child runs. Use by
    /// components that they called is only in the figures of their nodes.
    pub(super) by_model: BTreeMap<String, ModelUse>,
}

impl Usages {
    /// Adds the use by the tasks of a checkpoint.
    pub(super) fn add(&mut self, step: &Checkpoint) {
        for task in step.tasks.iter().filter(|task| task.dispatches > 0) {
            let usage = if let Some(usage) = self.by_node.get_mut(&task.node) {
                usage
            } else if self.by_node.len() < NODES {
                self.by_node.entry(task.node.clone()).or_default()
            } else {
                continue;
            };
            usage.tasks += 1;
            usage.failed += u64::from(task.failure.is_some());
            usage.dispatches += u64::from(task.dispatches);
            usage.fuel = usage.fuel.saturating_add(task.fuel);
            let HostUse { calls, bytes, fuel, model, .. } = task.host;
            usage.model = usage.model.plus(model);
            usage.host_fuel = usage.host_fuel.saturating_add(fuel);
            usage.calls = usage.calls.saturating_add(calls);
            usage.bytes = usage.bytes.saturating_add(bytes);
            usage.micros = usage.micros.saturating_add(task.micros);
            usage.longest_micros = usage.longest_micros.max(task.micros);
        }
        self.add_models(step);
    }

    /// Adds the use of each language model by the tasks of a checkpoint.
    pub(super) fn add_models(&mut self, step: &Checkpoint) {
        for task in &step.tasks {
            for (name, used) in model_uses(&task.journal, &task.lost_models) {
                self.add_model(&name, used);
            }
        }
    }

    fn add_model(&mut self, name: &str, used: ModelUse) {
        if let Some(known) = self.by_model.get_mut(name) {
            *known = known.plus(used);
        } else if self.by_model.len() < NODES {
            self.by_model.insert(name.to_owned(), used);
        }
    }
}

/// Use of language models by tasks whose superstep has not committed, by task.
#[derive(Debug, Default)]
pub(super) struct PendingModels(BTreeMap<String, TaskModelUse>);

/// Use of language models by a task, by their names.
#[derive(Debug, Default)]
struct TaskModelUse {
    /// Number of attempts in its journal.
    attempts: usize,
    used: ByModel,
    /// Use by lost attempts.
    lost: ByModel,
}

/// Use by the name of a model in the manifest.
type ByModel = BTreeMap<String, ModelUse>;

impl PendingModels {
    /// Adds a pending record. A task may have several; the longest journal contains the others.
    pub(super) fn take(&mut self, record: &Record) {
        match record {
            Record::Task(task) => self.take_task(&task.task, &task.journal, &task.lost_models),
            Record::Status(status) => {
                for (task, used) in &status.tasks {
                    self.take_task(task, &used.journal, &used.lost_models);
                }
            }
            Record::Answers(_) | Record::Hook(_) | Record::Checkpoint(_) => {}
        }
    }

    fn take_task(&mut self, task: &str, journal: &[AttemptJournal], lost: &ByModel) {
        let known = self.0.entry(task.to_owned()).or_default();
        if known.attempts < journal.len() {
            known.attempts = journal.len();
            known.used = model_uses(journal, &ByModel::new());
        }
        // The lost use only grows, too.
        for (name, lost) in lost {
            let known = known.lost.entry(name.clone()).or_default();
            if known.above(*lost).is_none() {
                *known = *lost;
            }
        }
    }

    /// Adds all of it to the use by committed supersteps.
    pub(super) fn add_to(&self, usages: &mut Usages) {
        for (name, used) in self.0.values().flat_map(|pending| pending.used.iter().chain(&pending.lost)) {
            usages.add_model(name, *used);
        }
    }
}

impl Usage {
    /// Renders a line for people: `  count ×12    1.2M fuel    8.1 ms  longest 2.0 ms`.
    pub(super) fn line(&self, node: &str) -> String {
        let span = |micros| short_span(Duration::from_micros(micros));
        let name = if self.tasks == 1 { node.to_owned() } else { format!("{node} ×{}", self.tasks) };
        let mut line = format!(
            "      {} {:>7} {} {:>9}",
            name_in_column(&name),
            short_number(self.fuel),
            styled(output::DIM, "fuel"),
            span(self.micros)
        );
        if self.tasks > 1 {
            let _ = write!(line, "  {} {}", styled(output::DIM, "longest"), span(self.longest_micros));
        }
        if self.failed > 0 {
            let done = self.tasks - self.failed;
            let _ = write!(line, "  {done} of {} done, {} failed", self.tasks, self.failed);
        }
        if self.calls > 0 {
            let _ = write!(line, "  {}", counted(self.calls, "call"));
        }
        if !self.model.is_nothing() {
            let _ = write!(line, "  {}", model_line(self.model));
        }
        line
    }
}

/// Renders the use of language models for people: `3 model calls, 1.2k tokens in, 300 out, cost 0.0012`.
pub(super) fn model_line(used: ModelUse) -> String {
    let mut line = format!(
        "{}, {} tokens in, {} out",
        counted(used.calls, "model call"),
        short_number(used.input),
        short_number(used.output)
    );
    if used.cost > 0 {
        let _ = write!(line, ", cost {}", written_cost(used.cost));
    }
    line
}

/// Returns the use of language models for programs; the cost is in millionths of the manifest's currency.
pub(super) fn model_document(used: ModelUse) -> Value {
    json!({ "calls": used.calls, "input_tokens": used.input, "output_tokens": used.output, "cost": used.cost })
}
