//! The graph as a whole: which nodes can be reached.

use crate::diagnostic::{Diagnostic, Problems, codes};
use crate::graph::Graph;
use crate::structure::reachable;
use crate::yaml::Entry;

/// Warns about what is doubtful in a graph whose parts are sound. `entries` are its nodes in the document.
pub(super) fn whole(graph: &Graph, entries: &[&Entry], problems: &Problems) {
    let reached = reachable(graph);
    for (entry, _) in entries.iter().zip(&reached).filter(|(_, reached)| !**reached) {
        let message = format!("nothing leads to the node `{}`", entry.key.name);
        let problem = Diagnostic::warning(codes::UNREACHABLE_NODE, entry.key.span, message);
        problems.push(
            problem.help("lead to it with `start`, `next`, `on_error` or `command.goto`, or remove it"),
        );
    }
}
