//! Costs of some pieces of work, which are the same on every target.
//!
//! Tests of the crate compare [`FUEL`] with [`measured`], and so do other targets: a figure that depends on the width
//! of a pointer or on the order of a hash map would differ.

use serde_json::{Value, json};

use super::{Meter, Pattern};
use crate::condition::Condition;
use crate::graph::{Reducer, TemplateMode};
use crate::json::{MAX_DEPTH, canonical_length, parse_strict_metered};
use crate::template::{Root, Scope, ValueTemplate};
use crate::text_item::Directive;

/// The fuel of each piece of work, in the order of [`measured`].
pub const FUEL: [(&str, u64); 27] = [
    ("template: a literal", 834),
    ("template: a value", 818),
    ("template: the whole state", 2_887),
    ("template: text", 719),
    ("template: an object", 1_759),
    ("template: json", 458),
    ("template: from_json", 1_197),
    ("template: upper", 275),
    ("template: lower, not ASCII", 262),
    ("template: keys and length", 399),
    ("template: alternatives", 206),
    ("template: what is missing", 226),
    ("condition: always", 32),
    ("condition: a number is greater", 108),
    ("condition: values are equal", 370),
    ("condition: one of a list", 202),
    ("condition: a part of a text", 131),
    ("condition: a pattern", 7_300),
    ("condition: groups", 408),
    ("fold: append", 320),
    ("fold: union", 938),
    ("fold: messages", 3_005),
    ("fold: merge", 1_095),
    ("json: a length", 1_210),
    ("json: a text that is read", 1_050),
    ("directive: a text that is filled in", 734),
    ("pattern: its states", 409),
];

/// Does each piece of work, and returns its cost.
pub fn measured() -> Vec<(&'static str, u64)> {
    let state = json!({
        "text": "a text of some length",
        "other": "Straße, ΑΣ",
        "number": 12.5,
        "list": [1, "two", {"three": 3}, null, true],
        "json": "{\"a\": [1, 2.5, \"x\\n\"]}",
        "object": {"b": "\u{1}\"", "a": -7, "c": []},
    });
    let messages = json!([{"id": "a", "text": "one"}, {"id": 2, "text": "two"}, {"text": "three"}]);
    let directive = json!({"who": "you", "what": {"deep": [1, 2]}});
    let inputs = directive.as_object().cloned().unwrap_or_default();
    let text = "{input:who}: {input:what} {input:what}{input:no:?}";
    let condition_of = |path: &str, op: &str, value: Value| json!({"path": path, "op": op, "value": value});
    vec![
        ("template: a literal", template(&json!({"a": [1, "b"]}), &state)),
        ("template: a value", template(&json!("${state.list[2]}"), &state)),
        ("template: the whole state", template(&json!("${state}"), &state)),
        ("template: text", template(&json!("<${state.text}> and ${state.list}"), &state)),
        ("template: an object", template(&json!({"x": "${state.number}", "y": ["${state.object}"]}), &state)),
        ("template: json", template(&json!("${state.object | json}"), &state)),
        ("template: from_json", template(&json!("${state.json | from_json}"), &state)),
        ("template: upper", template(&json!("${state.text | upper}"), &state)),
        ("template: lower, not ASCII", template(&json!("${state.other | lower}"), &state)),
        ("template: keys and length", template(&json!("${state.object | keys | length}"), &state)),
        ("template: alternatives", template(&json!("${state.none || null || 'some'}"), &state)),
        ("template: what is missing", template(&json!("${state.none.at.all}"), &state)),
        ("condition: always", condition(&json!({}), &state)),
        ("condition: a number is greater", condition(&condition_of("state.number", "gt", json!(12)), &state)),
        (
            "condition: values are equal",
            condition(&condition_of("state.list", "eq", state["list"].clone()), &state),
        ),
        (
            "condition: one of a list",
            condition(&condition_of("state.text", "in", json!(["x", 1, null])), &state),
        ),
        (
            "condition: a part of a text",
            condition(&condition_of("state.text", "contains", json!("some")), &state),
        ),
        (
            "condition: a pattern",
            condition(&condition_of("state.text", "regex", json!("^a \\w+ of")), &state),
        ),
        (
            "condition: groups",
            condition(
                &json!({"any": [{"not": {}}, {"all": [{}, condition_of("state.number", "lt", json!("x"))]}]}),
                &state,
            ),
        ),
        ("fold: append", fold(Reducer::Append, Some(&messages), vec![json!([1, 2]), json!("x")])),
        ("fold: union", fold(Reducer::Union, Some(&state["list"]), vec![json!([1.0, {"three": 3}, "new"])])),
        (
            "fold: messages",
            fold(Reducer::Messages, Some(&messages), vec![json!([{"id": 2}, {"id": [1], "text": "x"}])]),
        ),
        ("fold: merge", fold(Reducer::Merge, Some(&state["object"]), vec![json!({"d": 1}), json!({"a": 2})])),
        ("json: a length", spent(|meter| canonical_length(&state, meter).is_ok())),
        (
            "json: a text that is read",
            spent(|meter| parse_strict_metered("{\"a\": [1, \"b\", {}]}", MAX_DEPTH, meter).is_ok()),
        ),
        ("directive: a text that is filled in", spent(|meter| Directive::fill(text, &inputs, meter).is_ok())),
        (
            "pattern: its states",
            Pattern::compile("(?i)[\\w.-]+@straße|\\d{3}").map_or(0, |pattern| pattern.states()),
        ),
    ]
}

/// Returns the cost of folding values into a channel's current value. The result is dropped.
pub fn fold(reducer: Reducer, current: Option<&Value>, values: Vec<Value>) -> u64 {
    crate::walker::fold_fuel(reducer, current, values)
}

fn spent(work: impl FnOnce(&Meter) -> bool) -> u64 {
    let meter = Meter::of_one_step();
    work(&meter);
    meter.spent()
}

fn template(template: &Value, state: &Value) -> u64 {
    let Ok(template) = ValueTemplate::parse(template) else { return 0 };
    let scope = Scope::new().with("state", Root::Value(state));
    spent(|meter| template.evaluate(&scope, TemplateMode::Lenient, &mut Vec::new(), meter).is_ok())
}

fn condition(condition: &Value, state: &Value) -> u64 {
    let Ok(condition) = Condition::from_json(condition) else { return 0 };
    let scope = Scope::new().with("state", Root::Value(state));
    spent(|meter| condition.evaluate(&scope, &mut Vec::new(), meter).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_those_of_every_target() {
        assert_eq!(measured(), FUEL);
    }
}
