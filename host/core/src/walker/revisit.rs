//! Feedback: what a node gave at its earlier visits. It is kept in a channel of the host's own, one element a visit, so
//! that it is stored, digested, taken back and forked with the rest of the state.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Walker;
use super::reduce::Write;
use super::routes::node_failure;
use super::superstep::{Superstep, TaskState};
use super::writes::node_result;
use crate::graph::{Channel, Graph, Node, Reducer, WriteMode};
use crate::node::Outcome;
use crate::work::{Exhausted, Meter, size};

/// What the names of these channels begin with. No graph can write one: its own keys have no dots.
pub(super) const OUTPUTS: &str = "_outputs.";

/// The channels of the nodes that read what they gave before.
pub(super) fn channels(graph: &Graph) -> impl Iterator<Item = Channel> + '_ {
    graph.nodes.iter().filter(|node| node.feedback).map(|node| Channel {
        name: channel(node),
        reducer: Reducer::Append,
        default: None,
    })
}

fn channel(node: &Node) -> String {
    format!("{OUTPUTS}{}", node.name)
}

impl Walker {
    /// What a node gave at its last visit that gave anything; null before.
    pub(super) fn previous(&self, node: &Node, meter: &Meter) -> Result<Value, Exhausted> {
        let outputs = self.channels.get(&channel(node)).and_then(Value::as_array);
        let last = outputs.and_then(|outputs| outputs.last()).and_then(|visit| visit.get("output"));
        let Some(last) = last else { return Ok(Value::Null) };
        meter.charge(size::of(last))?;
        Ok(last.clone())
    }

    /// Keeps what a node of a superstep gives. One that fails, or answers with a command, gives nothing.
    pub(super) fn keep_output(
        &self,
        superstep: &Superstep,
        place: usize,
        writes: &mut BTreeMap<String, Vec<Write>>,
        meter: &Meter,
    ) -> Result<(), Exhausted> {
        let active = &superstep.activated[place];
        let node = self.graph.node(active.node);
        if !node.feedback || node_failure(node, superstep, place).is_some() {
            return Ok(());
        }
        let is_command = superstep.tasks[active.tasks.clone()].iter().any(|task| match &task.state {
            TaskState::Done(answer) => matches!(&*answer.outcome, Outcome::Command { .. }),
            _ => false,
        });
        if is_command {
            return Ok(());
        }
        let output = node_result(node, superstep, place);
        meter.charge(size::of(&output))?;
        let output = output.into_owned();
        let value = Value::Array(vec![json!({ "visit": active.visit, "output": output })]);
        writes.entry(channel(node)).or_default().push(Write {
            node: active.node,
            value,
            mode: WriteMode::Fold,
        });
        Ok(())
    }
}
