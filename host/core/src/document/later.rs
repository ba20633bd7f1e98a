//! What is part of the document format but carried out by later releases: its shape is checked, and it is named in a
//! warning, so that nobody relies on it.

use super::scope::Reader;
use crate::diagnostic::{Diagnostic, Problems, Span, codes};
use crate::yaml::{Entry, Yaml};

/// Warns that something is not carried out.
pub(super) fn warn(span: Span, what: &str, help: Option<&str>, problems: &Problems) {
    let message = format!("not carried out by this version: {what}");
    let problem = Diagnostic::warning(codes::NOT_CARRIED_OUT, span, message);
    problems.push(match help {
        Some(help) => problem.help(help),
        None => problem,
    });
}

/// `hooks`: a list of `{event, condition, action}`.
pub(super) fn hooks(entry: &Entry, reader: &Reader<'_>) {
    let problems = reader.problems;
    for hook in entry.value.list("`hooks`", problems).into_iter().flatten() {
        let Some(mapping) = hook.mapping("a hook", problems) else { continue };
        match mapping.get("event") {
            Some(event) => {
                event.text("`event`", problems);
            }
            None => problems.push(Diagnostic::error(
                codes::MISSING_KEY,
                hook.span.first_line(),
                "a hook lacks `event`",
            )),
        }
        if let Some(condition) = mapping.get("condition").filter(|node| !node.is_null()) {
            reader.condition(condition, None);
        }
        if let Some(action) = mapping.get("action") {
            action.mapping("a hook's `action`", problems);
        }
    }
    if entry.value.as_list().is_some_and(|hooks| !hooks.is_empty()) {
        warn(entry.key.span, "`hooks`", None, problems);
    }
}

/// `cache` and `revisit` of a node: a switch or a mapping.
pub(super) fn switch(entry: &Entry, problems: &Problems) {
    let name = format!("`{}`", entry.key.name);
    match &entry.value.value {
        Yaml::Null | Yaml::Bool(false) => {}
        Yaml::Bool(true) | Yaml::Mapping(_) | Yaml::Text(_) => warn(entry.key.span, &name, None, problems),
        _ => entry.value.wrong_type(&name, "a mapping", problems),
    }
}
