//! Shell scripts in written-out params: the params that a schema gives the format `shell`.
//!
//! A template in a script is filled in before the shell reads it, so its value is read as script, too. That is a
//! warning: components take values in other params. A template that was meant for the shell is an error.

use graph_core::diagnostic::printable;
use graph_core::schema::every_text_of_format;
use graph_core::template::script_templates;
use graph_walker::graph::{Action, Graph};
use graph_walker::hook::HookAction;
use serde_json::Value;

use super::PlanProblem;
use super::work::PlanWork;
use crate::error::Error;
use crate::items::built_in;

/// The format of a param that is a shell script.
const SHELL_FORMAT: &str = "shell";

/// Problems and warnings about the scripts of a node.
#[derive(Debug, Default)]
pub struct ScriptReport {
    /// Templates that were meant for the shell.
    pub problems: Vec<PlanProblem>,
    /// Templates whose values become parts of a script.
    pub warnings: Vec<String>,
}

/// Checks the scripts in the params of an action, whose schema is `schema`.
pub(super) fn check(schema: &Value, action: &Action, work: &PlanWork) -> ScriptReport {
    let mut report = ScriptReport::default();
    let scripts =
        work.step(|meter| every_text_of_format(schema, action.params.source(), SHELL_FORMAT, meter));
    for script in scripts {
        for template in script_templates(script) {
            let written = printable(template.written);
            if template.is_parameter {
                let message = format!(
                    "`{written}` in a shell script is a template of the graph, and was meant for the shell"
                );
                let help = format!("for what the shell has, write `${written}`");
                report.problems.push(Error::invalid(message).help(help).into());
            } else {
                report.warnings.push(format!(
                    "the value of `{written}` becomes part of a shell script, and what it says is done: pass it in `args`, `env` or \
                     `stdin`, and read it there as \"$1\" or \"$NAME\""
                ));
            }
        }
    }
    report
}

/// Checks the scripts that nodes and hooks of a graph pass to built-in items. Returns for each its subject in messages,
/// its name and its report. No item is looked up.
pub fn of_built_in(graph: &Graph) -> Vec<(String, &str, ScriptReport)> {
    let nodes = graph.nodes.iter().filter_map(|node| Some(("node", &*node.name, node.action.as_ref()?)));
    let hooks = graph.hooks.iter().filter_map(|hook| match &hook.action {
        HookAction::Item(action) => Some(("hook", &*hook.name, action)),
        _ => None,
    });
    let work = PlanWork::default();
    let checked = nodes.chain(hooks).filter_map(|(kind, name, action)| {
        let schema = built_in::params_schema(action.item_id.literal()?.as_str()?)?;
        Some((format!("{kind} `{}`", printable(name)), name, check(&schema, action, &work)))
    });
    checked.filter(|(.., report)| !report.problems.is_empty() || !report.warnings.is_empty()).collect()
}
