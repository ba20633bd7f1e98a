//! Graph documents, inputs and manifests, before a run.

use graph_core::capability::{Manifest, capability_name};
use graph_core::diagnostic::{Diagnostics, codes};
use graph_core::work::Meter;
use graph_walker::graph::{Graph, Node};
use graph_walker::parameters::InputsError;
use graph_walker::structure::{findings, findings_of};
use graph_walker::topology::{Topology, TopologyReport};
use graph_walker::{document, parameters};
use serde_json::{Value, json};

use crate::{Problem, VERSION, read};

/// Parses a graph document; returns a report with all its problems, as JSON.
pub fn check_graph(name: &str, id: &str, text: &str) -> String {
    let report = match document::load(name, text, id) {
        Ok(loaded) => {
            let mut report = report(&loaded.warnings);
            report["graph"] = described(&loaded.graph);
            report
        }
        Err(problems) => report(&problems),
    };
    report.to_string()
}

fn described(graph: &Graph) -> Value {
    json!({
        "id": graph.id,
        "digest": graph.digest,
        "description": graph.description,
        "input_schema": graph.input_schema,
        "durability": graph.durability,
        "nodes": graph.nodes.iter().map(node).collect::<Vec<_>>(),
        "findings": findings(graph),
    })
}

/// Describes a node with its dispatch. The item of a template is known only at run time.
fn node(node: &Node) -> Value {
    let action = node.action.as_ref().map(|action| {
        let id = action.item_id.literal().and_then(Value::as_str);
        json!({
            "primary": action.operation,
            "item_type": action.item_type,
            "item_id": action.item_id.source(),
            "capability": id.map(|id| capability_name(action.operation, action.item_type, id)),
        })
    });
    json!({ "name": node.name, "action": action, "cached": node.cache.is_some() })
}

/// Returns the topology of a graph, the document that `graph-host graph show --format json` prints.
pub fn topology(name: &str, id: &str, text: &str) -> Result<String, Problem> {
    let loaded = document::load(name, text, id)?;
    let report = Some(TopologyReport::from_warnings(findings_of(&loaded)));
    Ok(json!(Topology { report, ..Topology::of(&loaded.graph) }).to_string())
}

/// Draws a topology as a Mermaid flowchart.
pub fn to_mermaid(topology: &str) -> Result<String, Problem> {
    Ok(read::document::<Topology>("topology", topology)?.to_mermaid())
}

/// Draws a topology in the DOT language.
pub fn to_dot(topology: &str) -> Result<String, Problem> {
    Ok(read::document::<Topology>("topology", topology)?.to_dot())
}

/// Checks inputs against the graph's `config_schema`; returns them with defaults filled in.
pub fn check_inputs(name: &str, id: &str, text: &str, inputs: &str) -> Result<String, Problem> {
    let graph = read::graph(name, id, text)?;
    let inputs = read::document("inputs", inputs)?;
    let checked = parameters::check_inputs(&graph, inputs, &Meter::of_one_step()).map_err(|error| {
        let code = if matches!(error, InputsError::Exhausted(_)) { "limit" } else { "invalid_document" };
        let mut problem = Problem::new(code, format!("the inputs do not fit the graph: {error}"));
        if let InputsError::Unfit { unfit, parameters } = &error {
            let each = unfit.iter().chain(parameters);
            let each: Vec<_> =
                each.map(|unfit| json!({ "path": unfit.path, "message": unfit.message })).collect();
            problem = problem.details(json!({ "inputs": each }));
        }
        problem
    })?;
    Ok(checked.inputs.to_string())
}

/// Parses a capability manifest; returns a report with all its problems, as JSON.
pub fn check_manifest(name: &str, folder: &str, text: &str) -> String {
    let report = match Manifest::parse(text, name, folder) {
        Ok((manifest, warnings)) => {
            let mut report = report(&warnings);
            report["digest"] = json!(manifest.digest());
            report["manifest"] = manifest.to_json();
            report
        }
        Err(problems) => report(&problems),
    };
    report.to_string()
}

/// Returns the title of a code of a problem; `None` for an unknown code.
pub fn explain(code: &str) -> Option<String> {
    codes::find(code).map(|code| code.title().to_owned())
}

/// Returns the report on a document: its problems, and whether it can be used.
pub(crate) fn report(problems: &Diagnostics) -> Value {
    let mut report = problems.to_json();
    report["version"] = json!(VERSION);
    report["ok"] = json!(!problems.has_errors());
    report
}
