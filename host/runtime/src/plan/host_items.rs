//! Checks before a run of the nodes whose items the walker performs: those that take a graph, and the one about threads.

use graph_core::capability::Manifest;
use graph_core::schema::InputSchema;
use graph_walker::graph::{Action, Graph, Node};
use graph_walker::host_item::HostItem;
use graph_walker::written_graph::{Refusal, RunCall};
use serde_json::json;

use super::work::PlanWork;
use super::{PlanProblem, PlannedNode};
use crate::error::Error;
use crate::remedy::Remedy;

/// Checks a node's entry: its written-out params, including a written-out document.
pub(super) fn check_node(
    item: HostItem,
    node: &Node,
    action: &Action,
    manifest: &Manifest,
    planned: &mut PlannedNode,
    work: &PlanWork,
) {
    let id = item.id();
    let problems = &mut planned.problems;
    let help = Remedy::InspectItem { id: id.to_owned() };
    let checked = work.step(|meter| {
        InputSchema::compile(&item.params_schema(), meter)
            .map(|schema| schema.check_literal(&action.params, meter))
    });
    match checked {
        Ok(Ok(unfit)) => {
            problems.extend(unfit.into_iter().map(|problem| {
                let message = format!("its params are not what `{id}` takes: {problem}");
                PlanProblem::from(Error::invalid(message).help(help.clone()))
            }));
        }
        Ok(Err(exhausted)) => {
            let message = format!("its params cannot be checked against what `{id}` takes: {exhausted}");
            problems.push(Error::limit(message).help(help).into());
        }
        Err(_) => {}
    }
    problems.extend(HostItem::refusal_of(action).map(refused));
    if item != HostItem::Run {
        return;
    }
    planned.is_graph = true;
    if let Some(reason) = manifest.refusal_of_written() {
        let refused = Error::integrity(format!("`{id}` is denied: {reason}"));
        problems.push(refused.help(Remedy::UseSignedGraphs).into());
    }
    if node.cache.is_some() {
        let refused = Error::invalid(
            "`cache` is on a node that runs a graph: the result of a run is not kept for others",
        );
        problems.push(refused.help("take `cache` out, or write it at the nodes inside that graph").into());
    }
    // If its params have templates, the node may handle its failure.
    if problems.is_empty() && action.params.literal().is_some() {
        problems.extend(problem_of_written(action, work));
    }
}

/// Checks a call of `graph/run`, as far as it is written out; values of templates are known only once the node runs.
fn problem_of_written(action: &Action, work: &PlanWork) -> Option<PlanProblem> {
    let params = match action.params.literal() {
        Some(params) => params.clone(),
        None => json!({ "graph": action.params.constant_field("graph")? }),
    };
    let read = work.step(|meter| RunCall::read(&params, meter).and_then(|call| call.load(meter)));
    let Err(Refusal::Failed(failure)) = read else { return None };
    let refused = Error::invalid(failure.message).details(failure.details.unwrap_or_default());
    Some(refused.help("correct the document among the params of the node").into())
}

/// Returns the nodes of a graph that can never be performed, whatever is permitted: known from the document alone.
pub fn refused_nodes(graph: &Graph) -> impl Iterator<Item = (&str, PlanProblem)> {
    let work = PlanWork::default();
    graph.nodes.iter().filter_map(move |node| {
        let action = node.action.as_ref()?;
        let is_run = HostItem::of_action(action) == Some(HostItem::Run);
        let problem = HostItem::refusal_of(action).map(refused);
        let problem = problem.or_else(|| is_run.then(|| problem_of_written(action, &work))?);
        Some((node.name.as_str(), problem?))
    })
}

fn refused(refusal: String) -> PlanProblem {
    Error::invalid(refusal).help("take the node out, or let it do something else").into()
}

/// Makes the problem of a hook that names an item for nodes only.
pub(super) fn not_in_hooks(item: HostItem) -> PlanProblem {
    let id = item.id();
    Error::invalid(format!("`{id}` is performed for a node, and not for a hook; name a component")).into()
}
