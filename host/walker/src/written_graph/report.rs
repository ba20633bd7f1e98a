//! Report about a document: its problems, and its missing capabilities.

use serde_json::{Value, json};

use super::open::{OpenError, OpenedDocument, Refusal, checked, open};
use crate::graph::{Action, Graph};
use crate::hook::{HookAction, is_control_item};
use crate::host_item::HostItem;
use graph_core::capability::{DispatchPatterns, capability_name};
use graph_core::diagnostic::{Diagnostics, Severity, codes, one_line};
use graph_core::work::{Meter, rates};

/// Limit of the problems in a report, in bytes; further ones are counted.
const MOST_BYTES: usize = 24 << 10;
/// Limit of one message or help, in characters.
const LONGEST: usize = 600;
/// Limit of the capabilities that are listed as missing.
const MOST_MISSING: usize = 100;

/// The problems of a document as a result or the details of a failure, within bounds.
pub(super) struct ProblemReport {
    problems: Vec<Value>,
    text: String,
    omitted: usize,
    /// The first error, on one line.
    pub(super) first: String,
}

impl ProblemReport {
    pub(super) fn from_diagnostics(diagnostics: &Diagnostics) -> Self {
        let mut report = Self { problems: Vec::new(), text: String::new(), omitted: 0, first: String::new() };
        for problem in diagnostics.iter() {
            let (code, span) = (problem.code().id(), problem.span());
            let message = one_line(problem.message(), LONGEST);
            let help = problem.help_text().map(|help| one_line(help, LONGEST));
            let severity = json!(problem.severity());
            let said = severity.as_str().unwrap_or_default();
            let place =
                if span.is_known() { format!("{}:{}: ", span.line, span.column) } else { String::new() };
            let line = format!("{place}{said}[{code}]: {message}");
            if report.first.is_empty() && said == "error" {
                report.first.clone_from(&line);
            }
            if report.text.len() + line.len() + help.as_ref().map_or(0, String::len) > MOST_BYTES {
                report.omitted += 1;
                continue;
            }
            report.say(&line);
            if let Some(help) = &help {
                report.say(&format!("  help: {help}"));
            }
            report.problems.push(json!({
                "code": code,
                "severity": severity,
                "message": message,
                "line": span.line,
                "column": span.column,
                "help": help,
            }));
        }
        if report.omitted > 0 {
            report.say(&format!("and {} more", report.omitted));
        }
        report
    }

    /// Adds a problem that has no place in the document's text.
    fn refuse(&mut self, message: &str) {
        if self.text.len() + message.len() > MOST_BYTES {
            self.omitted += 1;
            return;
        }
        self.say(message);
        self.problems.push(json!({
            "code": codes::NOT_CARRIED_OUT.id(),
            "severity": Severity::Error,
            "message": message,
            "line": 0,
            "column": 0,
            "help": null,
        }));
    }

    fn say(&mut self, line: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(line);
    }

    pub(super) fn into_details(self) -> Value {
        json!({ "diagnostics": self.problems, "text": self.text, "omitted": self.omitted })
    }
}

/// Performs `graph/validate`: `{valid, id, diagnostics, missing, text, omitted}`. `dispatch` has the caller's permitted
/// dispatches. A document that cannot be used is a result like any other.
pub fn validate(params: &Value, dispatch: &DispatchPatterns, meter: &Meter) -> Result<Value, Refusal> {
    let params = checked(HostItem::Validate, params, meter)?;
    let (graph, diagnostics) = match open(params.get("graph").unwrap_or(&Value::Null), meter) {
        Ok(OpenedDocument { loaded, .. }) => (Some(loaded.graph), loaded.warnings),
        Err(OpenError::Invalid(problems)) => (None, *problems),
        Err(OpenError::Exhausted(exhausted)) => return Err(exhausted.into()),
        Err(OpenError::Costly(failure)) => return Err(Refusal::Failed(failure)),
    };
    let mut report = ProblemReport::from_diagnostics(&diagnostics);
    let mut valid = graph.is_some();
    let (mut missing, mut omits_missing) = (Vec::new(), false);
    for (node, action) in graph.iter().flat_map(actions) {
        // The rest of a long list costs less than reading the document, which is charged.
        if !omits_missing {
            meter.charge(rates::VISIT)?;
        }
        if let Some(refusal) = HostItem::refusal_of(action) {
            valid = false;
            let node = one_line(&node, LONGEST);
            report.refuse(&format!("`{node}` can never be performed: {refusal}"));
        }
        let Some(capability) = lacks(action, dispatch).filter(|_| !omits_missing) else { continue };
        omits_missing = missing.len() == MOST_MISSING;
        if omits_missing {
            continue;
        }
        let (node, capability) = (one_line(&node, LONGEST), one_line(&capability, LONGEST));
        report.say(&format!("`{node}` will be denied: this run does not have the capability `{capability}`"));
        missing.push(json!({ "node": node, "capability": capability }));
    }
    if report.text.is_empty() {
        report.say("no problems");
    }
    let ProblemReport { problems, text, omitted, .. } = report;
    Ok(json!({
        "valid": valid,
        "id": graph.map(|graph| graph.id),
        "diagnostics": problems,
        "missing": missing,
        "text": text,
        "omitted": omitted,
    }))
}

/// Returns the actions of nodes and hooks, each with the name of the node or hook.
fn actions(graph: &Graph) -> impl Iterator<Item = (String, &Action)> {
    let nodes = graph.nodes.iter().filter_map(|node| Some((node.name.clone(), node.action.as_ref()?)));
    nodes.chain(graph.hooks.iter().filter_map(|hook| match &hook.action {
        HookAction::Item(action) => Some((format!("hook:{}", hook.name), action)),
        HookAction::Control(_) | HookAction::Nothing => None,
    }))
}

/// Returns the capability that an action with a literal id needs and that the patterns do not permit, if any.
fn lacks(action: &Action, dispatch: &DispatchPatterns) -> Option<String> {
    let (operation, item_type) = (action.operation, action.item_type);
    let id = action.item_id.literal()?.as_str()?;
    let is_free = is_control_item(operation, item_type, id) || dispatch.permits(operation, item_type, id);
    (!is_free).then(|| capability_name(operation, item_type, id))
}
