//! Feedback: a node's results from its earlier visits. They are in a channel of the host's own, one element for each
//! visit, so that they are stored, digested, undone and forked with the rest of the state.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::graph::{Graph, Node, NodeIndex, WriteMode};
use crate::walker::Walker;
use crate::walker::nodes::routes::node_failure;
use crate::walker::state::reduce::Write;
use crate::walker::state::writes::node_result;
use crate::walker::tasks::superstep::Superstep;
use crate::walker::tasks::task::TaskState;
use graph_core::node::Outcome;
use graph_core::work::{FuelExhausted, Meter, rates, size};

/// Prefix of these channels' names. No graph can write such a channel, since its own keys have no dots.
pub(in crate::walker) const OUTPUTS: &str = "_outputs.";

/// Returns `true` if a channel is that of a node that reads its earlier results. Writes append to it.
pub(in crate::walker) fn is_channel(graph: &Graph, channel: &str) -> bool {
    let node = channel.strip_prefix(OUTPUTS).and_then(|name| graph.find(name));
    node.is_some_and(|index| graph.node(index).feedback)
}

fn channel(node: &Node) -> String {
    format!("{OUTPUTS}{}", node.name)
}

/// Returns the value of `node.feedback` from a node's second visit on.
pub(in crate::walker) fn feedback(node: &Node, visit: u64) -> Value {
    Value::from(format!(
        "Graph state '{}' visit #{visit}. Prior visit's output is provided above; refine your response based on it.",
        node.name
    ))
}

impl Walker {
    /// Returns the result of a node's last visit that had one, before the active superstep. While edges are evaluated,
    /// the result of that superstep has been written already.
    pub(in crate::walker) fn previous(
        &self,
        node: &Node,
        index: NodeIndex,
        meter: &Meter,
    ) -> Result<Option<Value>, FuelExhausted> {
        let committed = self.usage.node_counts().get(index).visits;
        let Some(outputs) = self.channels.get(&channel(node)).and_then(Value::as_array) else {
            return Ok(None);
        };
        for kept in outputs.iter().rev() {
            if kept.get("visit").and_then(Value::as_u64).is_some_and(|visit| visit <= committed) {
                return kept.get("output").map(|output| size::copy(output, meter)).transpose();
            }
            // Results of the active superstep are skipped.
            meter.charge(rates::LOOKUP)?;
        }
        Ok(None)
    }

    /// Stores the result of a node of a superstep. A node that fails, or answers with a command, has none.
    pub(in crate::walker) fn keep_output(
        &self,
        superstep: &Superstep,
        place: usize,
        writes: &mut BTreeMap<String, Vec<Write>>,
        meter: &Meter,
    ) -> Result<(), FuelExhausted> {
        let active = &superstep.activated()[place];
        let node = self.graph.node(active.node());
        if !node.feedback || node_failure(node, superstep, place).is_some() {
            return Ok(());
        }
        let is_command = superstep.tasks_of(active).iter().any(|task| match task.state() {
            TaskState::Done(answer) => matches!(&*answer.outcome, Outcome::Command { .. }),
            _ => false,
        });
        if is_command {
            return Ok(());
        }
        let output = node_result(node, superstep, place);
        meter.charge(size::of(&output))?;
        let output = output.into_owned();
        let value = Value::Array(vec![json!({ "visit": active.visit(), "output": output })]);
        writes.entry(channel(node)).or_default().push(Write {
            node: active.node(),
            value,
            mode: WriteMode::Fold,
        });
        Ok(())
    }
}
