//! Rules of agents about calls of items: which a run passes on to what it dispatches, and what they say of its own dispatches.
//!
//! The `config_schema` of an agent marks its inputs: `format: approvals` those with its rules, `format: tools` those with its tools, and
//! `format: approvals-above` the one in which the host gives it the rules of the agents above.

use std::sync::Arc;

use serde_json::Value;

use super::Walker;
use crate::capability::{IdSource, ItemRules, Manifest, Verdict, check_rules};
use crate::graph::{Action, Graph, ItemType, Node, Primary};
use crate::hook::{Hook, HookLayer};
use crate::node::Failure;
use crate::work::{Exhausted, Meter, size};
use crate::written_graph;

const APPROVALS: &str = "approvals";
const TOOLS: &str = "tools";
const ABOVE: &str = "approvals-above";
/// The agent that is built in. What its node [`CALL`] dispatches, it has asked about, if the rules say so.
const AGENT: &str = "rye/agent/agent";
const CALL: &str = "call";
/// The items of the agent itself, of which one dispatches another. A model reaches none of them in this way.
const OF_AGENT: [&str; 3] = [AGENT, "rye/agent/turn", "rye/agent/threads/thread_directive"];

/// The input that the schema of a graph marks with a format.
fn marked<'g>(graph: &'g Graph, format: &str) -> Option<&'g str> {
    let properties = graph.input_schema.as_ref()?.get("properties")?.as_object()?;
    let has_format = |schema: &Value| schema.get("format").and_then(Value::as_str) == Some(format);
    properties.iter().find(|(_, schema)| has_format(schema)).map(|(name, _)| name.as_str())
}

/// The rules among the inputs of a graph.
fn rules_of(graph: &Graph, inputs: &Value) -> Option<ItemRules> {
    let approvals = inputs.get(marked(graph, APPROVALS)?)?;
    let tools = marked(graph, TOOLS).and_then(|name| inputs.get(name)).unwrap_or(&Value::Null);
    ItemRules::read(approvals, tools)
}

/// The manifest for what a run of the graph dispatches: with the rules among its inputs.
pub(super) fn passed_on(graph: &Graph, inputs: &Value, manifest: &Arc<Manifest>) -> Arc<Manifest> {
    match rules_of(graph, inputs) {
        Some(rules) => Arc::new(manifest.with_rules(rules)),
        None => Arc::clone(manifest),
    }
}

/// The inputs of a child run, with the rules of the agents above in the place of what its caller says of them.
pub(super) fn with_rules_above(
    graph: &Graph,
    mut inputs: Value,
    manifest: &Manifest,
    meter: &Meter,
) -> Result<Value, Exhausted> {
    // Each rule may be compared with each tool.
    if let Some(approvals) = marked(graph, APPROVALS).and_then(|name| inputs.get(name)) {
        let tools = marked(graph, TOOLS).and_then(|name| inputs.get(name)).and_then(Value::as_array);
        meter.charge_each(tools.map_or(0, Vec::len).saturating_add(1), size::of(approvals))?;
    }
    let Some(name) = marked(graph, ABOVE) else { return Ok(inputs) };
    let above: Vec<Value> = manifest.rules().iter().map(ItemRules::to_value).collect();
    meter.charge(above.iter().map(size::of).fold(0, u64::saturating_add))?;
    if let Some(inputs) = inputs.as_object_mut() {
        inputs.insert(name.to_owned(), Value::Array(above));
    }
    Ok(inputs)
}

impl Walker {
    /// Whether the rules of the agents above permit a dispatch of a node.
    pub(super) fn check_rules(&self, node: &Node, action: &Action, item_id: &str) -> Result<(), Failure> {
        let manifest = &self.setup.manifest;
        if manifest.rules().is_empty()
            || (action.primary, action.item_type) != (Primary::Execute, ItemType::Tool)
        {
            return Ok(());
        }
        let is_written_out = action.item_id.literal().is_some();
        if is_written_out && [self.graph.id.as_str(), item_id].iter().all(|id| OF_AGENT.contains(id)) {
            return Ok(());
        }
        let source = if is_written_out && !written_graph::is_written(&self.graph.id) {
            IdSource::Document
        } else {
            IdSource::Run
        };
        let has_asked = self.graph.id == AGENT && node.name == CALL && marked(&self.graph, ABOVE).is_some();
        if has_asked && manifest.verdict(item_id, source) == Verdict::Ask {
            return Ok(());
        }
        check_rules(manifest, item_id, source)
    }

    /// The same for the item of a hook.
    pub(super) fn check_rules_of_hook(
        &self,
        hook: &Hook,
        action: &Action,
        item_id: &str,
    ) -> Result<(), Failure> {
        if (action.primary, action.item_type) != (Primary::Execute, ItemType::Tool) {
            return Ok(());
        }
        let is_written = hook.layer == HookLayer::Graph && written_graph::is_written(&self.graph.id);
        let is_of_document = action.item_id.literal().is_some() && !is_written;
        check_rules(
            &self.setup.manifest,
            item_id,
            if is_of_document { IdSource::Document } else { IdSource::Run },
        )
    }

    /// The work of checking a dispatch of that item.
    pub(super) fn work_of_rules(&self, item_id: &str) -> u64 {
        let rules = self.setup.manifest.rules().iter().map(ItemRules::work);
        rules.fold(0, u64::saturating_add).saturating_mul(item_id.len() as u64)
    }
}
