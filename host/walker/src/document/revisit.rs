//! Reads `revisit` of a node: whether its last result is stored for the next visit.

use graph_core::diagnostic::Problems;
use graph_core::keys;
use graph_core::yaml::{Fields, Node, Yaml};

/// Reads `{feedback: true}`, or a single boolean.
pub(super) fn read(node: &Node, problems: &Problems) -> bool {
    match &node.value {
        Yaml::Null => false,
        Yaml::Bool(feedback) => *feedback,
        Yaml::Mapping(_) => {
            let Some(mut fields) = Fields::open(node, &keys::graph::REVISIT, "`revisit`", problems) else {
                return false;
            };
            let feedback = fields.bool("feedback");
            fields.finish();
            feedback.unwrap_or(false)
        }
        _ => {
            node.wrong_type("`revisit`", "a mapping `{feedback: true}`", problems);
            false
        }
    }
}
