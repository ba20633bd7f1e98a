//! Expected outcome of a step, and its comparison with the actual one.

use std::borrow::Cow;
use std::collections::BTreeMap;

use graph_core::diagnostic::Problems;
use graph_core::record::StopLimit;
use graph_core::yaml::{Fields, Node};
use serde_json::{Map, Value, json};

use crate::expect_events::ExpectEvents;
use crate::expect_state::ExpectState;
use crate::keys;

/// Expected outcome of a step. Keys that are left out are not compared.
#[derive(Debug, Default)]
pub struct Expect {
    status: Option<String>,
    ended_by: Option<String>,
    state: Option<Value>,
    state_has: Option<Value>,
    output: Option<Value>,
    steps: Option<u64>,
    visited: Option<Value>,
    executions: Option<Map<String, Value>>,
    interrupts: Option<Value>,
    next: Option<Value>,
    checkpoints: Option<u64>,
    error: Option<ExpectError>,
    warnings: Option<Vec<String>>,
    result: Option<Value>,
    parts: ExpectState,
    events: ExpectEvents,
}

#[derive(Debug)]
enum ExpectError {
    /// `error: null`: the step must have no error.
    None,
    Like {
        code: Option<String>,
        contains: Vec<String>,
    },
}

/// Actual outcome of a step.
#[derive(Debug)]
pub struct Actual {
    /// JSON that `run --json` prints.
    pub result: Value,
    /// Number of dispatches of each node since the case started.
    pub executions: BTreeMap<String, u64>,
    /// Number of checkpoints in the store.
    pub checkpoints: u64,
    /// Error of the run, or the refusal of the operation.
    pub error: Option<ActualError>,
    /// Events that the operation added to the history of the run, as lines of a stream. They are read only if the step
    /// has expectations about events.
    pub events: Vec<Value>,
}

/// Error of a run or of an operation.
#[derive(Debug, Clone)]
pub struct ActualError {
    /// Code of the error, as in `run --json`.
    pub code: String,
    /// Message, as in `run --json`.
    pub message: String,
    /// True if a budget of the run is used up.
    pub used_up: bool,
    /// The limit at which the run stopped, where that is no budget.
    pub limit: Option<StopLimit>,
    /// The operation was refused, and the run is unchanged.
    pub refused: bool,
}

/// Difference from the expected outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct Mismatch {
    /// Key under `expect`.
    pub key: Cow<'static, str>,
    /// Value that the case expects.
    pub expected: Value,
    /// Value of the run.
    pub actual: Value,
}

impl Expect {
    /// Reads the expectations of a step.
    pub(crate) fn read(node: &Node, problems: &Problems) -> Option<Self> {
        let mut fields = Fields::open(node, &keys::EXPECT, "`expect`", problems)?;
        let mapping = |key: &'static str, fields: &mut Fields<'_>| {
            fields
                .get(key)
                .and_then(|node| node.mapping(format!("`{key}`"), problems).map(|_| node.to_json()))
        };
        let state = mapping("state", &mut fields);
        let state_has = mapping("state_has", &mut fields);
        let result = mapping("result", &mut fields);
        let executions = match mapping("executions", &mut fields) {
            Some(Value::Object(counts)) => Some(counts),
            _ => None,
        };
        let list = |key: &'static str, fields: &mut Fields<'_>| {
            fields.get(key).and_then(|node| node.list(format!("`{key}`"), problems).map(|_| node.to_json()))
        };
        let visited = list("visited", &mut fields);
        let interrupts = list("interrupts", &mut fields);
        let next = list("next", &mut fields);
        let expect = Self {
            status: fields.text("status").map(str::to_owned),
            ended_by: fields.text("ended_by").map(str::to_owned),
            state,
            state_has,
            output: fields.get("output").map(Node::to_json),
            steps: fields.u64("steps", 0..=u64::MAX),
            visited,
            executions,
            interrupts,
            next,
            checkpoints: fields.u64("checkpoints", 0..=u64::MAX),
            error: fields.get("error").and_then(|node| read_error(node, problems)),
            warnings: fields
                .texts("warnings")
                .map(|texts| texts.into_iter().map(|(text, _)| text.to_owned()).collect()),
            result,
            parts: ExpectState::read(&mut fields, problems),
            events: ExpectEvents::read(&mut fields, problems),
        };
        fields.finish();
        Some(expect)
    }

    /// Reports whether the step has expectations about events.
    pub const fn wants_events(&self) -> bool {
        self.events.is_wanted()
    }

    /// Returns the differences, in a fixed order of keys.
    pub fn compare(&self, actual: &Actual) -> Vec<Mismatch> {
        let mut found = self.compare_resumed(actual);
        found.extend(self.events.compare_kinds(&actual.events));
        found
    }

    /// Returns the differences of a step that was aborted and resumed. `event_kinds` is not compared, because the
    /// history also has the events of the resume.
    pub fn compare_resumed(&self, actual: &Actual) -> Vec<Mismatch> {
        let mut found = Vec::new();
        let mut check =
            |key: &'static str, expected: Option<Value>, actual: Value, fits: fn(&Value, &Value) -> bool| {
                if let Some(expected) = expected
                    && !fits(&expected, &actual)
                {
                    found.push(Mismatch { key: key.into(), expected, actual });
                }
            };
        let result = |key: &str| actual.result.get(key).cloned().unwrap_or_default();
        check("status", self.status.clone().map(Value::from), result("status"), equal);
        check("ended_by", self.ended_by.clone().map(Value::from), result("ended_by"), equal);
        check("state", self.state.clone(), without_private(result("state")), equal);
        check("state_has", self.state_has.clone(), result("state"), subset);
        check("output", self.output.clone(), result("output"), equal);
        check("steps", self.steps.map(Value::from), result("steps"), equal);
        check("visited", self.visited.clone(), result("visited"), equal);
        check("interrupts", self.interrupts.clone(), result("interrupts"), subset);
        check("next", self.next.clone(), result("next"), equal);
        check("checkpoints", self.checkpoints.map(Value::from), Value::from(actual.checkpoints), equal);
        check("result", self.result.clone(), actual.result.clone(), subset);
        if let Some(expected) = &self.executions {
            let counts: Map<_, _> = expected
                .keys()
                .map(|node| (node.clone(), Value::from(actual.executions.get(node).copied().unwrap_or(0))))
                .collect();
            check("executions", Some(Value::Object(expected.clone())), Value::Object(counts), equal);
        }
        if let Some(expected) = &self.warnings {
            let warnings = result("warnings");
            let texts: Vec<_> = warnings.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            if !expected.iter().all(|text| texts.iter().any(|warning| warning.contains(text.as_str()))) {
                found.push(Mismatch { key: "warnings".into(), expected: json!(expected), actual: warnings });
            }
        }
        found.extend(self.parts.compare(&result("state")));
        found.extend(self.events.compare_order(&actual.events));
        let ends_otherwise = found.iter().any(|mismatch| mismatch.key == "status");
        found.extend(self.compare_error(actual, ends_otherwise));
        found
    }

    /// Compares the error. `ends_otherwise` is true if the status is not the expected one: an unexpected error, which
    /// may be the reason, is then reported, too.
    fn compare_error(&self, actual: &Actual, ends_otherwise: bool) -> Option<Mismatch> {
        let shown = || match &actual.error {
            Some(error) => json!({ "code": error.code, "message": error.message }),
            None => Value::Null,
        };
        match &self.error {
            // A refusal that is not expected is always a difference.
            None if actual.error.as_ref().is_some_and(|error| error.refused || ends_otherwise) => {
                Some(Mismatch { key: "error".into(), expected: Value::Null, actual: shown() })
            }
            None => None,
            Some(ExpectError::None) => actual.error.is_some().then(|| Mismatch {
                key: "error".into(),
                expected: Value::Null,
                actual: shown(),
            }),
            Some(ExpectError::Like { code, contains }) => {
                let fits = actual.error.as_ref().is_some_and(|error| {
                    code.as_ref().is_none_or(|code| *code == error.code)
                        && contains.iter().all(|text| error.message.contains(text.as_str()))
                });
                let mut expected = Map::new();
                expected.extend(code.as_ref().map(|code| ("code".to_owned(), Value::from(code.as_str()))));
                expected.insert("contains".to_owned(), json!(contains));
                (!fits).then(|| Mismatch {
                    key: "error".into(),
                    expected: Value::Object(expected),
                    actual: shown(),
                })
            }
        }
    }
}

fn read_error(node: &Node, problems: &Problems) -> Option<ExpectError> {
    if node.is_null() {
        return Some(ExpectError::None);
    }
    let mut fields = Fields::open(node, &keys::ERROR, "`error`", problems)?;
    let code = fields.text("code").map(str::to_owned);
    let contains = match fields.get("contains") {
        // One text, or several texts that all have to occur.
        Some(node) if node.as_list().is_some() => {
            node.texts("`contains`", problems)?.into_iter().map(|(text, _)| text.to_owned()).collect()
        }
        Some(node) => vec![node.text("`contains`", problems)?.to_owned()],
        None => Vec::new(),
    };
    fields.finish();
    Some(ExpectError::Like { code, contains })
}

/// Returns the state without keys that begin with `_`.
fn without_private(state: Value) -> Value {
    match state {
        Value::Object(state) => {
            Value::Object(state.into_iter().filter(|(key, _)| !key.starts_with('_')).collect())
        }
        other => other,
    }
}

/// Reports whether two values are equal. A floating-point number equals an integer of the same value; two integers are
/// compared exactly.
pub(crate) fn equal(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::Number(one), Value::Number(two)) => {
            one == two || ((one.is_f64() || two.is_f64()) && one.as_f64() == two.as_f64())
        }
        (Value::Array(one), Value::Array(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(a, b)| equal(a, b))
        }
        (Value::Object(one), Value::Object(two)) => {
            one.len() == two.len() && one.iter().all(|(key, a)| two.get(key).is_some_and(|b| equal(a, b)))
        }
        (one, two) => one == two,
    }
}

/// Reports whether the actual value has all of the expected one: objects may have further keys, at any depth;
/// everything else must be equal.
pub(crate) fn subset(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::Array(one), Value::Array(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(a, b)| subset(a, b))
        }
        (Value::Object(one), Value::Object(two)) => {
            one.iter().all(|(key, a)| two.get(key).map_or(a.is_null(), |b| subset(a, b)))
        }
        (one, two) => equal(one, two),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn expect(text: &str) -> Expect {
        let problems = Problems::new();
        let node = graph_core::yaml::parse(text, &problems).unwrap();
        let expect = Expect::read(&node, &problems).unwrap();
        assert!(problems.is_empty(), "{problems:?}");
        expect
    }

    fn actual() -> Actual {
        Actual {
            result: json!({
                "status": "failed",
                "state": { "n": 3, "big": 9_007_199_254_740_993_u64, "_last_error": { "node": "a", "more": 1 } },
                "interrupts": [{ "id": "1.0/0", "node": "a", "payload": null }],
                "warnings": ["something is wrong"],
                "visited": ["a"],
                "steps": 1,
            }),
            executions: BTreeMap::from([("a".to_owned(), 2)]),
            checkpoints: 2,
            error: Some(ActualError {
                code: "node_failed".into(),
                message: "node `a` failed: boom".into(),
                used_up: false,
                limit: None,
                refused: false,
            }),
            events: Vec::new(),
        }
    }

    fn wrong(text: &str, actual: &Actual) -> Vec<String> {
        expect(text).compare(actual).into_iter().map(|mismatch| mismatch.key.into_owned()).collect()
    }

    #[test]
    fn what_holds_is_no_mismatch() {
        let held = "{ status: failed, state: { n: 3.0, big: 9007199254740993 }, state_has: { _last_error: { node: a } }, \
                    interrupts: [{ node: a, payload: null }], warnings: [wrong], visited: [a], steps: 1, executions: { a: 2, b: 0 }, \
                    checkpoints: 2, error: { code: node_failed, contains: [a, boom] }, result: { state: { n: 3 } } }";
        assert!(wrong(held, &actual()).is_empty());
    }

    #[test]
    fn each_expectation_can_fail() {
        let actual = actual();
        for (text, key) in [
            ("{ ended_by: end }", "ended_by"),
            ("{ state: { n: 3 } }", "state"),
            ("{ state: { n: 3, big: 9007199254740992 } }", "state"),
            ("{ state_has: { _last_error: { node: b } } }", "state_has"),
            ("{ output: {} }", "output"),
            ("{ steps: 2 }", "steps"),
            ("{ visited: [a, a] }", "visited"),
            ("{ executions: { b: 1 } }", "executions"),
            ("{ interrupts: [] }", "interrupts"),
            ("{ interrupts: [{ node: b }] }", "interrupts"),
            ("{ next: [b] }", "next"),
            ("{ checkpoints: 1 }", "checkpoints"),
            ("{ error: null }", "error"),
            ("{ error: { code: denied } }", "error"),
            ("{ error: { contains: bang } }", "error"),
            ("{ warnings: [other] }", "warnings"),
            ("{ result: { steps: 3 } }", "result"),
            ("{ state._last_error.more: 2 }", "state._last_error.more"),
            ("{ events: [commit] }", "events[0]"),
            ("{ event_kinds: [commit] }", "event_kinds"),
        ] {
            assert_eq!(wrong(text, &actual), [key], "{text}");
        }
    }

    #[test]
    fn a_status_that_is_not_expected_comes_with_the_error() {
        assert_eq!(wrong("{ status: completed }", &actual()), ["status", "error"]);
        let without = Actual { error: None, ..actual() };
        assert_eq!(wrong("{ status: completed }", &without), ["status"]);
    }

    #[test]
    fn a_refusal_must_be_expected() {
        let mut actual = actual();
        actual.error = Some(ActualError {
            code: "finished".into(),
            message: "it has ended".into(),
            used_up: false,
            limit: None,
            refused: true,
        });
        assert_eq!(wrong("{ status: failed }", &actual), ["error"]);
        assert!(wrong("{ error: { code: finished } }", &actual).is_empty());
    }
}
