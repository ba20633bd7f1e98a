//! Rules of agents about calls of items: collects those that a run passes on to its dispatches, and checks the run's own dispatches.
//!
//! The `config_schema` of an agent marks its inputs ([`InputMarks`]): `format: approvals` those with its rules, `format:
//! tools` those with its tools, and `format: approvals-above` those in which the host gives it the rules of the agents above.

use std::sync::Arc;

use serde_json::Value;

use crate::graph::{Action, Graph, Node};
use crate::hook::Hook;
use crate::walker::Walker;
use crate::written_graph;
use graph_core::capability::{IdSource, ItemRules, Manifest, Verdict, check_rules};
use graph_core::hook_event::HookLayer;
use graph_core::item::{ItemOperation, ItemType};
use graph_core::node::Failure;
use graph_core::schema::InputMarks;
use graph_core::work::{FuelExhausted, Meter, size};

/// The built-in agent. It has asked about the dispatches of its node [`CALL`] itself, if the rules demand that.
const AGENT: &str = "rye/agent/agent";
const CALL: &str = "call";
/// The items of the agent itself, which dispatch each other. A model can reach none of them in this way.
const OF_AGENT: [&str; 3] = [AGENT, "rye/agent/turn", "rye/agent/threads/thread_directive"];

/// Reads the rules among the inputs of a graph. Each input with rules is a list of its own, and applies to each list of
/// tools. Rules that are marked where none are read deny everything.
fn rules_of(graph: &Graph, inputs: &Value) -> Vec<ItemRules> {
    let InputMarks { approvals, tools, elsewhere, .. } = &graph.marks;
    if elsewhere.is_some() {
        return vec![ItemRules::denying_all(
            "the schema of the graph marks them where none are read".to_owned(),
        )];
    }
    let mut tools: Vec<&Value> = tools.iter().filter_map(|name| inputs.get(name)).collect();
    if tools.is_empty() {
        tools.push(&Value::Null);
    }
    let approvals = approvals.iter().filter_map(|name| inputs.get(name));
    approvals.flat_map(|rules| tools.iter().filter_map(|tools| ItemRules::read(rules, tools))).collect()
}

/// Adds the rules among a run's inputs to its manifest, for its dispatches.
pub(in crate::walker) fn passed_on(graph: &Graph, inputs: &Value, manifest: &Arc<Manifest>) -> Arc<Manifest> {
    let rules = rules_of(graph, inputs).into_iter();
    rules.fold(Arc::clone(manifest), |manifest, rules| Arc::new(manifest.with_rules(rules)))
}

/// Sets the inputs of a child run that hold the rules of the agents above, whatever its caller has put there.
pub(in crate::walker) fn with_rules_above(
    graph: &Graph,
    mut inputs: Value,
    manifest: &Manifest,
    meter: &Meter,
) -> Result<Value, FuelExhausted> {
    let InputMarks { approvals, tools, above, .. } = &graph.marks;
    // Each rule may be compared with each tool.
    let tools = tools.iter().filter_map(|name| inputs.get(name)?.as_array());
    let tools = tools.map(|tools| tools.len().saturating_add(1)).fold(1, usize::saturating_add);
    for rules in approvals.iter().filter_map(|name| inputs.get(name)) {
        meter.charge_each(tools, size::of(rules))?;
    }
    let rules: Value = manifest.rules().iter().map(|rules| rules.to_value()).collect();
    for name in above {
        meter.charge(size::of(&rules))?;
        if let Some(inputs) = inputs.as_object_mut() {
            inputs.insert(name.clone(), rules.clone());
        }
    }
    Ok(inputs)
}

impl Walker {
    /// Checks that the rules of the agents above permit a dispatch of a node.
    pub(in crate::walker) fn check_rules(
        &self,
        node: &Node,
        action: &Action,
        item_id: &str,
    ) -> Result<(), Failure> {
        let manifest = &self.setup.manifest;
        if manifest.rules().is_empty()
            || (action.operation, action.item_type) != (ItemOperation::Execute, ItemType::Tool)
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
        let has_asked = self.graph.id == AGENT && node.name == CALL && !self.graph.marks.above.is_empty();
        if has_asked && manifest.verdict(item_id, source) == Verdict::Ask {
            return Ok(());
        }
        check_rules(manifest, item_id, source)
    }

    /// Checks that the rules of the agents above and of this graph permit a hook's item.
    pub(in crate::walker) fn check_rules_of_hook(
        &self,
        hook: &Hook,
        action: &Action,
        item_id: &str,
    ) -> Result<(), Failure> {
        if (action.operation, action.item_type) != (ItemOperation::Execute, ItemType::Tool) {
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

    /// Returns the work of checking the rules for a dispatch of that item.
    pub(in crate::walker) fn work_of_rules(&self, item_id: &str) -> u64 {
        let rules = self.setup.manifest.rules().iter().map(|rules| rules.work());
        rules.fold(0, u64::saturating_add).saturating_mul(item_id.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn graph(properties: &str) -> Graph {
        let text = format!(
            "tool_type: graph\nconfig_schema: {{ type: object, properties: {properties}, $defs: {{ rules: {{ format: approvals }} }} }}\n\
             config: {{ start: a, nodes: {{ a: {{ type: return }} }} }}\n"
        );
        crate::document::load("a.yaml", &text, "t/a").unwrap().graph
    }

    fn verdict(graph: &Graph, inputs: &Value, item: &str) -> Verdict {
        passed_on(graph, inputs, &Arc::new(Manifest::default())).verdict(item, IdSource::Run)
    }

    #[test]
    fn all_marked_inputs_count() {
        let rules = "{ one: { $ref: \"#/$defs/rules\" }, two: { anyOf: [{ type: \"null\" }, { $ref: \"#/$defs/rules\" }] }, \
             tools: { oneOf: [{ format: tools }] }, more: { format: tools } }";
        let graph = graph(rules);
        let inputs = json!({
            "one": [{ "tool": "delete", "then": "deny" }, { "tool": "x/send", "then": "ask" }],
            "two": [{ "tool": "x/send", "then": "deny" }, { "tool": "wipe", "then": "ask" }],
            "tools": [{ "item": "x/delete", "name": "delete" }],
            "more": [{ "item": "x/wipe", "name": "wipe" }],
        });
        let verdict = |item: &str| verdict(&graph, &inputs, item);
        assert_eq!(
            [verdict("x/delete"), verdict("x/send"), verdict("x/wipe"), verdict("x/other")],
            [Verdict::Deny, Verdict::Deny, Verdict::Ask, Verdict::Allow]
        );
    }

    #[test]
    fn what_is_marked_where_nothing_is_read_denies_everything() {
        let mut graph = graph("{ one: { $ref: \"#/$defs/rules\" } }");
        assert_eq!(verdict(&graph, &json!({}), "x/other"), Verdict::Allow);
        graph.marks.elsewhere = Some(vec!["properties".to_owned()]);
        assert_eq!(verdict(&graph, &json!({}), "x/other"), Verdict::Deny);
    }

    #[test]
    fn each_marked_input_is_told_the_rules_above() {
        let graph = graph(
            "{ one: { $ref: \"#/$defs/rules\" }, above: { format: approvals-above }, other: { allOf: [{ format: approvals-above }] } }",
        );
        let rules = ItemRules::read(&json!([{ "tool": "x", "then": "deny" }]), &Value::Null).unwrap();
        let manifest = Manifest::default().with_rules(rules);
        let inputs = json!({ "above": [], "other": [[{ "tool": "*", "then": "allow" }]] });
        let inputs = with_rules_above(&graph, inputs, &manifest, &Meter::new(1 << 20)).unwrap();
        let expected = json!([[{ "tool": "x", "then": "deny" }]]);
        assert_eq!((&inputs["above"], &inputs["other"]), (&expected, &expected));
    }
}
