//! The keys of `wait` nodes.

use super::scope::{DocumentReader, IN_ACTION};
use crate::graph::NodeKind;
use graph_core::diagnostic::{Diagnostic, Span, codes};
use graph_core::keys;
use graph_core::time::Timestamp;
use graph_core::wait::{MAX_NAME, is_event_name};
use graph_core::yaml::{Fields, Node, Yaml, parse_duration};

/// Reads `{for}`, `{until}`, or `{event, match, timeout, default}`.
pub(super) fn read_wait(node: &Node, reader: &DocumentReader<'_>) -> Option<NodeKind> {
    let problems = reader.problems;
    let mut fields = Fields::open(node, &keys::graph::WAIT, "`wait`", problems)?;
    let before = problems.len();
    let [span, until, event] = ["for", "until", "event"].map(|key| fields.filled(key));
    let [matched, timeout, default] = ["match", "timeout", "default"].map(|key| fields.entry(key));
    for (key, node) in [("`for`", span), ("`timeout`", timeout.map(|entry| &entry.value))] {
        if let Some(node) = node.filter(|node| !is_template(node)) {
            duration(key, node, reader);
        }
    }
    if let Some(until) = until.filter(|until| !is_template(until))
        && until.as_text().is_none_or(|text| text.parse::<Timestamp>().is_err())
    {
        until.wrong_type(
            "`until`",
            "a time as RFC 3339 writes it, such as 2026-12-24T18:00:00Z, or a template",
            problems,
        );
    }
    if let Some(event) = event.filter(|event| !is_template(event))
        && !event.as_text().is_some_and(is_event_name)
    {
        let kind = format!(
            "a name of letters, digits, `_`, `-`, `.` and `/`, at most {MAX_NAME} long, or a template"
        );
        event.wrong_type("`event`", &kind, problems);
    }
    if let Some(matched) = matched {
        match &matched.value.value {
            Yaml::Mapping(_) => {}
            _ if is_template(&matched.value) => {}
            _ => matched.value.wrong_type(
                "`match`",
                "a mapping of names to values, or a template that gives one",
                problems,
            ),
        }
    }
    let wrong = |place: Span, message: &str, help: &str| {
        problems.push(Diagnostic::error(codes::WRONG_TYPE, place.first_line(), message).help(help));
    };
    let ends = [span, until, event].into_iter().flatten().count();
    if ends != 1 && problems.len() == before {
        wrong(
            node.span,
            "a wait has one of `for`, `until` and `event`",
            "`{for: 10m}` waits for a time, `{until: …}` until a time, and `{event: NAME}` for an event, with `timeout` until a time at most",
        );
    }
    if event.is_none() && problems.len() == before {
        for (key, entry) in [("match", matched), ("timeout", timeout), ("default", default)] {
            if let Some(entry) = entry {
                let message = format!("`{key}` belongs to a wait for an event");
                wrong(entry.key.span, &message, "remove the key, or name the `event`");
            }
        }
    }
    if let (Some(default), None) = (default, timeout) {
        let message = "`default` is the result after `timeout`, and there is none";
        wrong(default.key.span, message, "add a `timeout`, or remove the key");
    }
    fields.finish();
    reader.template(node, IN_ACTION, None).map(NodeKind::Wait)
}

/// Checks whether a node is a text with a template, so that its value is not known.
fn is_template(node: &Node) -> bool {
    node.as_text().is_some_and(|text| text.contains("${"))
}

/// Reports a value that is not a duration.
fn duration(key: &str, node: &Node, reader: &DocumentReader<'_>) {
    let text = match &node.value {
        Yaml::Text(text) => text.value.clone(),
        _ => node.to_json().to_string(),
    };
    if let Err(error) = parse_duration(&text) {
        let message = format!("{key} is no time: {error}");
        reader.problems.push(Diagnostic::error(codes::WRONG_TYPE, node.span.first_line(), message));
    }
}
