//! Deciding conditions.

use std::cmp::Ordering;

use serde_json::Value;

use super::{Condition, Node, Op, Test};
use crate::json::{compare_numbers, equal};
use crate::template::{Path, Scope, kind};

impl Condition {
    /// Whether the condition holds. A path that leads nowhere is null. A comparison that makes no sense for the types
    /// it meets is false and adds a warning.
    pub fn evaluate(&self, scope: &Scope<'_>, warnings: &mut Vec<String>) -> bool {
        holds(&self.node, scope, warnings)
    }
}

fn holds(node: &Node, scope: &Scope<'_>, warnings: &mut Vec<String>) -> bool {
    match node {
        Node::Always => true,
        Node::All(nodes) => nodes.iter().all(|node| holds(node, scope, warnings)),
        Node::Any(nodes) => nodes.iter().any(|node| holds(node, scope, warnings)),
        Node::Not(node) => !holds(node, scope, warnings),
        Node::Test(path, test) => {
            let found = scope.resolve(path);
            passes(path, test, found.as_deref().unwrap_or(&Value::Null), warnings)
        }
    }
}

fn passes(path: &Path, test: &Test, actual: &Value, warnings: &mut Vec<String>) -> bool {
    match test {
        Test::Exists => !actual.is_null(),
        Test::In(values) => values.iter().any(|value| equal(actual, value)),
        Test::Regex(regex) => match actual {
            Value::String(subject) => regex.is_match(subject),
            other => {
                warn(path, "regex", other, "text", warnings);
                false
            }
        },
        Test::Compare(Op::Eq, value) => equal(actual, value),
        Test::Compare(Op::Ne, value) => !equal(actual, value),
        Test::Compare(Op::Contains, value) => contains(path, actual, value, warnings),
        Test::Compare(op, value) => {
            let Some(order) = order(actual, value) else {
                warn(path, op.as_str(), actual, kind(value), warnings);
                return false;
            };
            match op {
                Op::Gt => order == Ordering::Greater,
                Op::Gte => order != Ordering::Less,
                Op::Lt => order == Ordering::Less,
                Op::Lte => order != Ordering::Greater,
                // Decided above, or held as another kind of test.
                Op::Eq | Op::Ne | Op::In | Op::Contains | Op::Regex | Op::Exists => false,
            }
        }
    }
}

/// Numbers by value, text by code points; nothing else has an order.
fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => Some(compare_numbers(a, b)),
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

fn contains(path: &Path, actual: &Value, part: &Value, warnings: &mut Vec<String>) -> bool {
    match (actual, part) {
        (Value::Array(items), part) => items.iter().any(|item| equal(item, part)),
        (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
        (Value::Object(fields), Value::String(key)) => fields.contains_key(key),
        // Null holds nothing, which is no mistake: the value may not be there yet.
        (Value::Null, _) => false,
        (Value::String(_) | Value::Object(_), part) => {
            warn(path, "contains", actual, kind(part), warnings);
            false
        }
        (actual, _) => {
            warn(path, "contains", actual, "text, a list or an object", warnings);
            false
        }
    }
}

fn warn(path: &Path, op: &str, actual: &Value, wanted: &str, warnings: &mut Vec<String>) {
    let warning = match op {
        "regex" => format!("`regex` is false: `{path}` is {}, not {wanted}", kind(actual)),
        "contains" if matches!(actual, Value::String(_) | Value::Object(_)) => {
            format!("`contains` is false: `{path}` is {}, which cannot contain {wanted}", kind(actual))
        }
        "contains" => format!("`contains` is false: `{path}` is {}, not {wanted}", kind(actual)),
        op => format!("`{op}` is false: `{path}` is {}, which has no order with {wanted}", kind(actual)),
    };
    if !warnings.contains(&warning) {
        warnings.push(warning);
    }
}
