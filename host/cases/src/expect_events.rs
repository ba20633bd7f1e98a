//! Expectations about the events that a step adds to the history: some events in order, or the kinds of all events.

use std::borrow::Cow;

use graph_core::diagnostic::Problems;
use graph_core::yaml::{Fields, Node};
use graph_runtime::history::events::{KINDS, LINE_KEYS};
use serde_json::{Map, Value, json};

use crate::expect::{Mismatch, subset};
use crate::keys;

/// `events` and `event_kinds` of a step.
#[derive(Debug, Default)]
pub(crate) struct ExpectEvents {
    /// Expected events. Each has to match an event after the one that the entry before it has matched.
    in_order: Option<Vec<Map<String, Value>>>,
    /// Kinds of all events.
    kinds: Option<Vec<String>>,
}

impl ExpectEvents {
    /// Reads both keys of `expect`.
    pub(crate) fn read(fields: &mut Fields<'_>, problems: &Problems) -> Self {
        let in_order = fields.get("events").and_then(|node| node.list("`events`", problems));
        let kinds = fields.get("event_kinds").and_then(|node| node.list("`event_kinds`", problems));
        Self {
            in_order: in_order.map(|list| list.iter().filter_map(|node| event(node, problems)).collect()),
            kinds: kinds.map(|list| list.iter().filter_map(|node| kind(node, problems)).collect()),
        }
    }

    /// Reports whether the step has expectations about events.
    pub(crate) const fn is_wanted(&self) -> bool {
        self.in_order.is_some() || self.kinds.is_some()
    }

    /// Returns the first expected event that does not occur after the ones before it.
    pub(crate) fn compare_order(&self, actual: &[Value]) -> Option<Mismatch> {
        let mut rest = actual.iter();
        for (at, expected) in self.in_order.iter().flatten().enumerate() {
            let left = rest.clone();
            let wanted = Value::Object(expected.clone());
            if !rest.any(|line| subset(&wanted, line)) {
                let shown: Value = left.map(|line| brief(line, expected)).collect();
                let key = Cow::Owned(format!("events[{at}]"));
                return Some(Mismatch { key, expected: wanted, actual: shown });
            }
        }
        None
    }

    /// Returns the kinds of all events, if they are not the expected ones.
    pub(crate) fn compare_kinds(&self, actual: &[Value]) -> Option<Mismatch> {
        let expected = self.kinds.as_ref()?;
        let kinds: Vec<&str> = actual.iter().filter_map(|line| line["kind"].as_str()).collect();
        (*expected != kinds).then(|| Mismatch {
            key: "event_kinds".into(),
            expected: json!(expected),
            actual: json!(kinds),
        })
    }
}

/// Returns the keys of a line that identify the event, and those that were compared.
fn brief(line: &Value, expected: &Map<String, Value>) -> Value {
    let shown = |key: &&String| ["kind", "node"].contains(&key.as_str()) || expected.contains_key(*key);
    let fields = line.as_object().into_iter().flatten().filter(|(key, _)| shown(key));
    Value::Object(fields.map(|(key, value)| (key.clone(), value.clone())).collect())
}

/// Reads an entry of `events`: some keys of the event's line, or only its kind.
fn event(node: &Node, problems: &Problems) -> Option<Map<String, Value>> {
    if node.as_text().is_some() {
        return Some(Map::from_iter([("kind".to_owned(), Value::from(kind(node, problems)?))]));
    }
    let mut fields = Fields::open(node, &keys::EVENT, "an event", problems)?;
    if let Some(word) = fields.get("kind") {
        kind(word, problems)?;
    }
    fields.also_known(LINE_KEYS);
    fields.finish();
    match node.to_json() {
        Value::Object(fields) => Some(fields),
        _ => None,
    }
}

fn kind(node: &Node, problems: &Problems) -> Option<String> {
    let choices = KINDS.map(|kind| (kind, kind));
    node.choice("the kind of an event", &choices, problems).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn read(text: &str) -> Result<ExpectEvents, Vec<String>> {
        let problems = Problems::new();
        let node = graph_core::yaml::parse(text, &problems).unwrap();
        let mut fields = Fields::open(&node, &keys::EXPECT, "`expect`", &problems).unwrap();
        let events = ExpectEvents::read(&mut fields, &problems);
        fields.finish();
        problems
            .finish("a.case.yaml", text, Some(events))
            .map(|(events, _)| events)
            .map_err(|all| all.to_lines())
    }

    fn wrong(text: &str) -> Vec<String> {
        let lines = [
            json!({ "kind": "superstep", "step": 1, "nodes": ["a"] }),
            json!({ "kind": "task", "step": 1, "node": "a", "failure": null }),
            json!({ "kind": "commit", "step": 1 }),
        ];
        let expected = read(text).unwrap();
        let found = expected.compare_order(&lines).into_iter().chain(expected.compare_kinds(&lines));
        found.map(|mismatch| mismatch.key.into_owned()).collect()
    }

    #[test]
    fn events_are_found_in_order() {
        assert!(
            wrong("{ events: [superstep, { kind: task, node: a }, { kind: commit, step: 1 }] }").is_empty()
        );
        assert!(wrong("{ events: [{ node: a, failure: null }, commit] }").is_empty());
        assert!(wrong("{ event_kinds: [superstep, task, commit], events: [] }").is_empty());
        assert_eq!(wrong("{ events: [commit, { kind: task, node: a }] }"), ["events[1]"]);
        assert_eq!(wrong("{ events: [task, task] }"), ["events[1]"]);
        assert_eq!(wrong("{ events: [{ kind: task, node: b }, { kind: end }] }"), ["events[0]"]);
        assert_eq!(wrong("{ event_kinds: [superstep, commit] }"), ["event_kinds"]);
        assert_eq!(wrong("{ event_kinds: [] }"), ["event_kinds"]);
    }

    #[test]
    fn what_no_event_has_is_refused() {
        let text = "events: [{ kind: tsak, node: a }, { nodee: a }, comit]\nevent_kinds: [superstp, 1]\n";
        insta::assert_snapshot!(read(text).unwrap_err().join("\n"));
    }
}
