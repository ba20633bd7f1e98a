//! How the writes of one superstep fold into a channel.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde_json::{Number, Value};

use crate::graph::{NodeIndex, Reducer};
use crate::json;

/// A task's write to a channel.
#[derive(Clone, Debug)]
pub(super) struct Write {
    /// The node that wrote, for messages.
    pub(super) node: NodeIndex,
    /// What it wrote.
    pub(super) value: Value,
}

impl Write {
    /// Whether it is `{overwrite: v}`, which wins alone over the superstep's other writes to a reducer channel.
    pub(super) fn overwrites(&self) -> bool {
        self.value.as_object().is_some_and(|map| map.len() == 1 && map.contains_key("overwrite"))
    }
}

/// What a fold does to the channel.
#[derive(Debug, PartialEq)]
pub(super) enum Change {
    /// The value becomes this.
    Set(Value),
    /// The list gains these at its end.
    Extend(Vec<Value>),
}

/// The writes do not fold.
#[derive(Debug, PartialEq)]
pub(super) enum FoldError {
    /// Two tasks want the channel for themselves.
    Conflict(NodeIndex, NodeIndex),
    /// A value is not one that the reducer takes.
    Invalid {
        /// Who wrote it.
        node: NodeIndex,
        /// Why it cannot be taken.
        reason: String,
    },
}

/// Folds writes, in task order, into the channel's current value.
pub(super) fn fold(
    reducer: Reducer,
    current: Option<&Value>,
    mut writes: Vec<Write>,
) -> Result<Change, FoldError> {
    if matches!(reducer, Reducer::LastValue | Reducer::Ephemeral | Reducer::Untracked) {
        if let [first, second, ..] = &writes[..] {
            return Err(FoldError::Conflict(first.node, second.node));
        }
        return Ok(Change::Set(writes.swap_remove(0).value));
    }
    if let Some(change) = overwrite(reducer, &mut writes)? {
        return Ok(change);
    }
    match reducer {
        Reducer::Append => Ok(Change::Extend(flatten(writes))),
        Reducer::Topic => Ok(Change::Set(Value::Array(flatten(writes)))),
        Reducer::Union => Ok(union(current, writes)),
        Reducer::Messages => Ok(messages(current, writes)),
        Reducer::Min => numeric(current, writes, |a, b| Ok(if smaller(&b, &a) { b } else { a })),
        Reducer::Max => numeric(current, writes, |a, b| Ok(if smaller(&a, &b) { b } else { a })),
        Reducer::Sum => numeric(current, writes, |a, b| add(&a, &b)),
        Reducer::Merge => merge(current, writes),
        Reducer::LastValue | Reducer::Ephemeral | Reducer::Untracked => {
            Ok(Change::Set(writes.swap_remove(0).value))
        }
    }
}

/// Finds `{overwrite: v}`, which wins alone over the superstep's other writes.
fn overwrite(reducer: Reducer, writes: &mut Vec<Write>) -> Result<Option<Change>, FoldError> {
    let mut found = writes.iter().enumerate().filter(|(_, write)| write.overwrites()).map(|(at, _)| at);
    let (Some(first), second) = (found.next(), found.next()) else { return Ok(None) };
    if let Some(second) = second {
        return Err(FoldError::Conflict(writes[first].node, writes[second].node));
    }
    let mut write = writes.swap_remove(first);
    let value = write.value.get_mut("overwrite").map(Value::take).unwrap_or_default();
    let (fits, wanted) = match reducer {
        Reducer::Append | Reducer::Union | Reducer::Messages | Reducer::Topic => (value.is_array(), "a list"),
        Reducer::Min | Reducer::Max | Reducer::Sum => (value.is_number(), "a number"),
        Reducer::Merge => (value.is_object(), "an object"),
        Reducer::LastValue | Reducer::Ephemeral | Reducer::Untracked => (true, "any value"),
    };
    if !fits {
        let reason =
            format!("`overwrite` of a `{}` channel takes {wanted}, not {}", reducer.as_str(), kind(&value));
        return Err(FoldError::Invalid { node: write.node, reason });
    }
    Ok(Some(Change::Set(value)))
}

fn flatten(writes: Vec<Write>) -> Vec<Value> {
    let mut items = Vec::with_capacity(writes.len());
    for write in writes {
        match write.value {
            Value::Array(list) => items.extend(list),
            value => items.push(value),
        }
    }
    items
}

fn union(current: Option<&Value>, writes: Vec<Write>) -> Change {
    let mut seen: BTreeSet<String> =
        current.and_then(Value::as_array).into_iter().flatten().map(json::canonical_string).collect();
    Change::Extend(
        flatten(writes).into_iter().filter(|item| seen.insert(json::canonical_string(item))).collect(),
    )
}

fn messages(current: Option<&Value>, writes: Vec<Write>) -> Change {
    let items = flatten(writes);
    let current = current.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let replaces = |list: &[Value], item: &Value| {
        let id = item.get("id").filter(|id| !id.is_null())?;
        list.iter().position(|other| other.get("id") == Some(id))
    };
    let mut added: Vec<Value> = Vec::with_capacity(items.len());
    let mut rewritten: Option<Vec<Value>> = None;
    for item in items {
        if let Some(list) = &mut rewritten {
            match replaces(list, &item) {
                Some(at) => list[at] = item,
                None => list.push(item),
            }
        } else if let Some(at) = replaces(current, &item) {
            let mut list = current.to_vec();
            list.append(&mut added);
            list[at] = item;
            rewritten = Some(list);
        } else if let Some(at) = replaces(&added, &item) {
            added[at] = item;
        } else {
            added.push(item);
        }
    }
    rewritten.map_or(Change::Extend(added), |list| Change::Set(Value::Array(list)))
}

fn numeric(
    current: Option<&Value>,
    writes: Vec<Write>,
    combine: impl Fn(Number, Number) -> Result<Number, String>,
) -> Result<Change, FoldError> {
    let mut total = match current {
        Some(Value::Number(number)) => Some(number.clone()),
        _ => None,
    };
    for write in writes {
        let node = write.node;
        let invalid = |reason| FoldError::Invalid { node, reason };
        let Value::Number(number) = write.value else {
            return Err(invalid(format!("it takes a number, not {}", kind(&write.value))));
        };
        total = Some(match total {
            None => number,
            Some(before) => combine(before, number).map_err(invalid)?,
        });
    }
    Ok(Change::Set(total.map_or(Value::Null, Value::Number)))
}

fn smaller(a: &Number, b: &Number) -> bool {
    json::compare_numbers(a, b) == Ordering::Less
}

fn add(a: &Number, b: &Number) -> Result<Number, String> {
    let integer = |number: &Number| number.as_i128();
    if let (Some(a), Some(b)) = (integer(a), integer(b)) {
        // Both fit 65 bits, so their sum fits 128.
        return Number::from_i128(a + b).ok_or_else(|| "the sum does not fit 64 bits".to_owned());
    }
    let sum = a.as_f64().zip(b.as_f64()).map(|(a, b)| a + b);
    sum.and_then(Number::from_f64).ok_or_else(|| "the sum is not a finite number".to_owned())
}

fn merge(current: Option<&Value>, writes: Vec<Write>) -> Result<Change, FoldError> {
    let mut merged = current.and_then(Value::as_object).cloned().unwrap_or_default();
    for write in writes {
        let Value::Object(map) = write.value else {
            let reason = format!("it takes an object, not {}", kind(&write.value));
            return Err(FoldError::Invalid { node: write.node, reason });
        };
        merged.extend(map);
    }
    Ok(Change::Set(Value::Object(merged)))
}

/// A value's type, for messages.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn writes(values: &[Value]) -> Vec<Write> {
        (0..).zip(values).map(|(at, value)| Write { node: NodeIndex(at), value: value.clone() }).collect()
    }

    #[test]
    fn integers_stay_exact_in_a_sum() {
        let big = json!(9_007_199_254_740_993_u64);
        let change = fold(Reducer::Sum, Some(&big), writes(&[json!(2)])).unwrap();
        assert_eq!(change, Change::Set(json!(9_007_199_254_740_995_u64)));
        let over = fold(Reducer::Sum, Some(&json!(u64::MAX)), writes(&[json!(1)]));
        assert!(matches!(over, Err(FoldError::Invalid { .. })));
    }

    #[test]
    fn union_sees_equal_numbers_however_they_are_written() {
        let change = fold(Reducer::Union, Some(&json!([3])), writes(&[json!([3.0, 4]), json!(4)])).unwrap();
        assert_eq!(change, Change::Extend(vec![json!(4)]));
    }

    #[test]
    fn a_message_with_a_known_id_takes_its_place() {
        let current = json!([{"id": 1, "t": "a"}, {"id": 2, "t": "b"}]);
        let change =
            fold(Reducer::Messages, Some(&current), writes(&[json!({"id": 3}), json!({"id": 1, "t": "c"})]))
                .unwrap();
        assert_eq!(change, Change::Set(json!([{"id": 1, "t": "c"}, {"id": 2, "t": "b"}, {"id": 3}])));
        let change =
            fold(Reducer::Messages, None, writes(&[json!([{"id": 1}, {"id": 1, "t": "x"}])])).unwrap();
        assert_eq!(change, Change::Extend(vec![json!({"id": 1, "t": "x"})]));
    }

    #[test]
    fn overwrite_wins_alone() {
        let change =
            fold(Reducer::Append, Some(&json!([1])), writes(&[json!(2), json!({"overwrite": [9]})])).unwrap();
        assert_eq!(change, Change::Set(json!([9])));
        let two = fold(Reducer::Sum, None, writes(&[json!({"overwrite": 1}), json!({"overwrite": 2})]));
        assert_eq!(two, Err(FoldError::Conflict(NodeIndex(0), NodeIndex(1))));
    }
}
