//! Renaming of params of Rye's own items that have later names in Rye.

use serde_json::{Map, Value};

use crate::graph::{Action, Graph};
use graph_core::item::{ItemOperation, ItemType};
use graph_core::template::ValueTemplate;

/// The item that carries a directive out with a language model.
const THREAD_DIRECTIVE: &str = "rye/agent/threads/thread_directive";

/// Replaces the other names that Rye's tools accept by those of the built-in items, in each node that names such an item.
pub(crate) fn take_other_names(graph: &mut Graph) {
    let actions = graph.nodes.iter_mut().filter_map(|node| node.action.as_mut());
    for action in actions.filter(|action| is_thread(action)) {
        let Value::Object(mut params) = action.params.source().clone() else { continue };
        let mut is_other = rename(&mut params, "directive_id", "directive_name");
        if let Some(Value::Object(limits)) = params.get_mut("limit_overrides") {
            is_other |= rename(limits, "duration_seconds", "duration");
        }
        // The value was a valid template before, and stays one under another key.
        if let Some(params) = is_other.then(|| ValueTemplate::parse(&Value::Object(params)).ok()).flatten() {
            action.params = params;
        }
    }
}

fn is_thread(action: &Action) -> bool {
    (action.operation, action.item_type) == (ItemOperation::Execute, ItemType::Tool)
        && action.item_id.literal().and_then(Value::as_str) == Some(THREAD_DIRECTIVE)
}

/// Renames a key, unless the known one is present. Returns `true` if there was a value to rename.
fn rename(params: &mut Map<String, Value>, other: &str, known: &str) -> bool {
    if params.contains_key(known) {
        return false;
    }
    match params.remove(other) {
        Some(value) => {
            params.insert(known.to_owned(), value);
            true
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn params(dialect: &str, item: &str, params: &str) -> Value {
        let text = format!(
            "tool_type: graph\nexecutor_id: {dialect}\nconfig:\n  start: a\n  nodes:\n    a: {{ action: {{ item_id: {item}, params: {params} }} }}\n"
        );
        let graph = crate::document::load("g.yaml", &text, "t/g").unwrap().graph;
        let action = graph.nodes[0].action.as_ref().unwrap();
        let mut paths: Vec<_> = action.params.paths().map(|used| used.path.to_string()).collect();
        paths.sort();
        serde_json::json!([action.params.source(), paths])
    }

    #[test]
    fn a_thread_takes_the_names_that_rye_gave_later() {
        const RYE: &str = "rye/core/runtimes/state_graph_runtime";
        let inputs =
            "{ directive_id: \"${inputs.which}\", limit_overrides: { turns: 3, duration_seconds: 60 } }";
        let known = serde_json::json!([
            { "directive_name": "${inputs.which}", "limit_overrides": { "turns": 3, "duration": 60 } },
            ["inputs.which"],
        ]);
        assert_eq!(params(RYE, THREAD_DIRECTIVE, inputs), known);
        for (dialect, item) in [(RYE, "acme/own"), ("graph-host", THREAD_DIRECTIVE)] {
            assert_eq!(
                params(dialect, item, inputs)[0]["directive_id"],
                "${inputs.which}",
                "{dialect} {item}"
            );
        }
        // If both are given, the item itself refuses them.
        let both = params(RYE, THREAD_DIRECTIVE, "{ directive_id: a, directive_name: b }");
        assert_eq!(both[0], serde_json::json!({ "directive_id": "a", "directive_name": "b" }));
    }
}
