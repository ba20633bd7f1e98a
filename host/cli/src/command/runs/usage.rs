//! What the nodes of a run have used.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use graph_core::limits::{HostUse, ModelUse, written_cost};
use graph_core::record::{AttemptJournal, Checkpoint, Record, model_uses};
use graph_host::terminal::output::{self, styled};
use graph_host::terminal::run_report::{counted, name_in_column, short_number, short_span};
use serde::Serialize;
use serde_json::{Value, json};

/// What one node has used in the supersteps that have committed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Usage {
    /// How many tasks it had.
    tasks: u64,
    /// How often its items were dispatched.
    dispatches: u64,
    /// Fuel of all of them.
    fuel: u64,
    /// Fuel of the host's work for them.
    host_fuel: u64,
    /// Their calls of the host that reached the outside world.
    calls: u64,
    /// The bytes of these calls and of their answers.
    bytes: u64,
    /// What they have used of language models.
    #[serde(skip_serializing_if = "ModelUse::is_nothing")]
    model: ModelUse,
    /// Microseconds of all of them.
    micros: u64,
    /// Microseconds of the longest one.
    longest_micros: u64,
}

/// The most nodes that are counted separately: a graph has fewer.
const NODES: usize = 10_000;

/// What each node has used, those alone that have dispatched something.
#[derive(Debug, Default)]
pub(super) struct Usages {
    pub(super) by_node: BTreeMap<String, Usage>,
    /// What components have used of each language model, by its name in the manifest: those of the run and, once they were added, of
    /// its child runs. What components used that they called is in the figures of their nodes.
    pub(super) by_model: BTreeMap<String, ModelUse>,
}

impl Usages {
    /// Adds what the tasks of a checkpoint have used.
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

    /// Adds what the tasks of a checkpoint have used of each language model.
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

/// What tasks have used of language models whose superstep has not committed, by task.
#[derive(Debug, Default)]
pub(super) struct PendingModels(BTreeMap<String, Unsettled>);

/// What a task has used of language models, by their names.
#[derive(Debug, Default)]
struct Unsettled {
    /// The attempts in its journal.
    attempts: usize,
    used: ByModel,
    /// What is lost of it.
    lost: ByModel,
}

/// Figures by the name of a model in the manifest.
type ByModel = BTreeMap<String, ModelUse>;

impl PendingModels {
    /// Takes a record under the newest checkpoint. The longer journal of a task has what the shorter one has.
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
        // What is lost only grows, too.
        for (name, lost) in lost {
            let known = known.lost.entry(name.clone()).or_default();
            if known.above(*lost).is_none() {
                *known = *lost;
            }
        }
    }

    /// Adds it all to what committed supersteps have used.
    pub(super) fn add_to(&self, usages: &mut Usages) {
        for (name, used) in self.0.values().flat_map(|pending| pending.used.iter().chain(&pending.lost)) {
            usages.add_model(name, *used);
        }
    }
}

impl Usage {
    /// A line for people: `  count ×12    1.2M fuel    8.1 ms  longest 2.0 ms`.
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
        if self.calls > 0 {
            let _ = write!(line, "  {}", counted(self.calls, "call"));
        }
        if !self.model.is_nothing() {
            let _ = write!(line, "  {}", model_line(self.model));
        }
        line
    }
}

/// What was used of language models, for people: `3 model calls, 1.2k tokens in, 300 out, cost 0.0012`.
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

/// What was used of language models, for programs; the cost in millionths of the manifest's currency.
pub(super) fn model_document(used: ModelUse) -> Value {
    json!({ "calls": used.calls, "input_tokens": used.input, "output_tokens": used.output, "cost": used.cost })
}
