//! What the nodes of a run have used.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use graph_core::limits::HostUse;
use graph_core::record::Checkpoint;
use graph_host::terminal::output::{self, styled};
use graph_host::terminal::run_report::{counted, name_in_column, short_number, short_span};
use serde::Serialize;

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
            let HostUse { calls, bytes, fuel, .. } = task.host;
            usage.host_fuel = usage.host_fuel.saturating_add(fuel);
            usage.calls = usage.calls.saturating_add(calls);
            usage.bytes = usage.bytes.saturating_add(bytes);
            usage.micros = usage.micros.saturating_add(task.micros);
            usage.longest_micros = usage.longest_micros.max(task.micros);
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
        line
    }
}
