//! Folds the writes of one superstep into a channel.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Number, Value};

use crate::graph::{NodeIndex, WriteMode};
use graph_core::json;
use graph_core::policy::Reducer;
use graph_core::work::rates::{BYTE, LOOKUP, VALUE};
use graph_core::work::{FuelExhausted, Meter, size};

/// A task's write to a channel.
#[derive(Clone, Debug)]
pub(in crate::walker) struct Write {
    /// The node that wrote, for messages.
    pub node: NodeIndex,
    pub value: Value,
    /// Mode of the write. It follows from the write's origin and not from the value.
    pub mode: WriteMode,
}

impl Write {
    /// Returns `true` if the write replaces the superstep's other writes to a reducer channel.
    pub(in crate::walker) fn overwrites(&self) -> bool {
        self.mode == WriteMode::Overwrite
    }
}

/// Returns the `v` of `{overwrite: v}`. Only where overwriting a channel is allowed does this form have that meaning;
/// elsewhere it is data.
pub(in crate::walker) fn overwritten(value: &Value) -> Option<&Value> {
    value.as_object().filter(|map| map.len() == 1)?.get("overwrite")
}

/// The effect of a fold on the channel.
#[derive(Debug, PartialEq)]
pub(in crate::walker) enum Change {
    /// Replaces the value.
    Set(Value),
    /// Appends items to the list.
    Extend(Vec<Value>),
}

impl Change {
    /// The size of the written value, as [`size`](graph_core::work::size) measures it.
    pub(in crate::walker) fn size(&self) -> u64 {
        match self {
            Self::Set(value) => graph_core::work::size::of(value),
            Self::Extend(items) => items.iter().map(graph_core::work::size::of).fold(0, u64::saturating_add),
        }
    }
}

/// Reason why writes cannot be folded.
#[derive(Debug, PartialEq)]
pub(in crate::walker) enum FoldError {
    /// Two tasks write a channel that takes one write, or both overwrite it.
    Conflict(NodeIndex, NodeIndex),
    /// The reducer does not accept a value.
    Invalid {
        /// The node that wrote it.
        node: NodeIndex,
        /// The reason why the reducer does not accept the value.
        reason: String,
    },
    /// The fuel or the bound of a step does not cover the work.
    Exhausted(FuelExhausted),
}

impl From<FuelExhausted> for FoldError {
    fn from(exhausted: FuelExhausted) -> Self {
        Self::Exhausted(exhausted)
    }
}

/// Folds writes, in task order, into the channel's current value. Values are moved, not copied: each write and each of
/// its items costs [`VALUE`]. Copying a value, or serializing it, costs its size, charged in advance.
pub(in crate::walker) fn fold(
    reducer: Reducer,
    current: Option<&Value>,
    mut writes: Vec<Write>,
    meter: &Meter,
) -> Result<Change, FoldError> {
    meter.charge_each(writes.len(), VALUE)?;
    if !reducer.folds() {
        if let [first, second, ..] = &writes[..] {
            return Err(FoldError::Conflict(first.node, second.node));
        }
        return Ok(Change::Set(writes.swap_remove(0).value));
    }
    if let Some(change) = overwrite(reducer, &mut writes)? {
        return Ok(change);
    }
    match reducer {
        Reducer::Append => Ok(Change::Extend(flatten(writes, meter)?)),
        Reducer::Topic => Ok(Change::Set(Value::Array(flatten(writes, meter)?))),
        Reducer::Union => Ok(union(current, writes, meter)?),
        Reducer::Messages => Ok(messages(current, writes, meter)?),
        Reducer::Min => numeric(current, writes, |a, b| Ok(if smaller(&b, &a) { b } else { a })),
        Reducer::Max => numeric(current, writes, |a, b| Ok(if smaller(&a, &b) { b } else { a })),
        Reducer::Sum => {
            numeric(current, writes, |a, b| json::add_numbers(&a, &b).map_err(|error| error.to_string()))
        }
        Reducer::Merge => merge(current, writes, meter),
        Reducer::LastValue | Reducer::Ephemeral | Reducer::Untracked => {
            Ok(Change::Set(writes.swap_remove(0).value))
        }
    }
}

/// Returns the fuel that folding values into a channel's current value costs.
pub(crate) fn fold_fuel(reducer: Reducer, current: Option<&Value>, values: Vec<Value>) -> u64 {
    let meter = Meter::of_one_step();
    let writes = values.into_iter().map(|value| Write { node: NodeIndex(0), value, mode: WriteMode::Fold });
    let writes = writes.collect();
    let _ = fold(reducer, current, writes, &meter);
    meter.spent()
}

/// Takes the write that replaces the superstep's other writes, if there is one. Two are a conflict.
fn overwrite(reducer: Reducer, writes: &mut Vec<Write>) -> Result<Option<Change>, FoldError> {
    let mut found = writes.iter().enumerate().filter(|(_, write)| write.overwrites()).map(|(at, _)| at);
    let (Some(first), second) = (found.next(), found.next()) else { return Ok(None) };
    if let Some(second) = second {
        return Err(FoldError::Conflict(writes[first].node, writes[second].node));
    }
    let Write { node, value, .. } = writes.swap_remove(first);
    let (fits, wanted) = holds(reducer, &value);
    if !fits {
        let reason =
            format!("`overwrite` of a `{}` channel takes {wanted}, not {}", reducer.as_str(), kind(&value));
        return Err(FoldError::Invalid { node, reason });
    }
    Ok(Some(Change::Set(value)))
}

/// Checks whether a channel with that reducer can hold the value, and returns the type that the channel holds, for messages.
pub(in crate::walker) fn holds(reducer: Reducer, value: &Value) -> (bool, &'static str) {
    match reducer {
        Reducer::Append | Reducer::Union | Reducer::Messages | Reducer::Topic => (value.is_array(), "a list"),
        Reducer::Min | Reducer::Max | Reducer::Sum => (value.is_number(), "a number"),
        Reducer::Merge => (value.is_object(), "an object"),
        Reducer::LastValue | Reducer::Ephemeral | Reducer::Untracked => (true, "any value"),
    }
}

fn flatten(writes: Vec<Write>, meter: &Meter) -> Result<Vec<Value>, FuelExhausted> {
    let count = writes.iter().map(|write| write.value.as_array().map_or(1, Vec::len)).sum();
    meter.charge_each(count, VALUE)?;
    let mut items = Vec::with_capacity(count);
    for write in writes {
        match write.value {
            Value::Array(list) => items.extend(list),
            value => items.push(value),
        }
    }
    Ok(items)
}

fn union(current: Option<&Value>, writes: Vec<Write>, meter: &Meter) -> Result<Change, FuelExhausted> {
    let text = |item: &Value| {
        let mut text = String::with_capacity(json::canonical_length(item, meter)?);
        json::write_canonical(item, &mut text);
        Ok(text)
    };
    let current = current.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut seen = current.iter().map(text).collect::<Result<BTreeSet<String>, _>>()?;
    let mut added = Vec::new();
    for item in flatten(writes, meter)? {
        if seen.insert(text(&item)?) {
            added.push(item);
        }
    }
    Ok(Change::Extend(added))
}

/// Folds messages: an item replaces the first one with the same id; an item without an id, or with a new one, is added.
/// Ids are compared as JSON values: `1` is not `1.0`.
fn messages(current: Option<&Value>, writes: Vec<Write>, meter: &Meter) -> Result<Change, FuelExhausted> {
    let items = flatten(writes, meter)?;
    let current = current.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    // The position of each item: below `current.len()` it replaces an item, from there on it is added.
    let mut places = Vec::with_capacity(items.len());
    let mut added_count = 0;
    {
        let mut known: BTreeMap<MessageId<'_>, Option<usize>> = BTreeMap::new();
        for item in &items {
            if let Some(id) = MessageId::from_message(item, meter)? {
                known.insert(id, None);
            }
        }
        let mut wanted = known.len();
        // Only the new ids are indexed, since they are usually few: nothing is allocated for the present items.
        for (at, item) in current.iter().enumerate() {
            if wanted == 0 {
                break;
            }
            let place = MessageId::from_message(item, meter)?.and_then(|id| known.get_mut(&id));
            if let Some(place @ None) = place {
                *place = Some(at);
                wanted -= 1;
            }
        }
        for item in &items {
            let place = MessageId::from_message(item, meter)?.and_then(|id| known.get_mut(&id));
            let next = current.len() + added_count;
            let at = place.map_or(next, |place| *place.get_or_insert(next));
            added_count += usize::from(at == next);
            places.push(at);
        }
    }
    if places.iter().all(|at| *at >= current.len()) {
        let mut added: Vec<Value> = Vec::with_capacity(added_count);
        put(&mut added, items, places.into_iter().map(|at| at - current.len()));
        return Ok(Change::Extend(added));
    }
    meter.charge(size::VALUE)?;
    current.iter().try_for_each(|item| size::charge(item, meter))?;
    let mut list = Vec::with_capacity(current.len() + added_count);
    list.extend_from_slice(current);
    put(&mut list, items, places.into_iter());
    Ok(Change::Set(Value::Array(list)))
}

/// Puts each item at its place. A place beyond the list appends.
fn put(list: &mut Vec<Value>, items: Vec<Value>, places: impl Iterator<Item = usize>) {
    for (item, at) in items.into_iter().zip(places) {
        match list.get_mut(at) {
            Some(before) => *before = item,
            None => list.push(item),
        }
    }
}

/// A message's id, which may be any value but null. The order of ids agrees with equality in `serde_json`, so that a
/// map finds hostile ids as well.
struct MessageId<'v>(&'v Value);

impl<'v> MessageId<'v> {
    /// Returns the id of an item, if it has one. Charges for looking it up in a map.
    fn from_message(item: &'v Value, meter: &Meter) -> Result<Option<Self>, FuelExhausted> {
        meter.charge(LOOKUP)?;
        let Some(id) = item.get("id").filter(|id| !id.is_null()) else { return Ok(None) };
        match id {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => meter.charge_each(text.len(), BYTE)?,
            Value::Array(_) | Value::Object(_) => size::charge(id, meter)?,
        }
        Ok(Some(Self(id)))
    }
}

impl Ord for MessageId<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let rank = |value: &Value| match value {
            Value::Null => 0,
            Value::Bool(_) => 1,
            Value::Number(_) => 2,
            Value::String(_) => 3,
            Value::Array(_) => 4,
            Value::Object(_) => 5,
        };
        match (self.0, other.0) {
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            (Value::Number(a), Value::Number(b)) => match (a.as_i128(), b.as_i128()) {
                (Some(a), Some(b)) => a.cmp(&b),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                // `+ 0.0` makes -0 the same as 0.
                (None, None) => {
                    let float = |number: &Number| number.as_f64().unwrap_or_default() + 0.0;
                    float(a).total_cmp(&float(b))
                }
            },
            (Value::String(a), Value::String(b)) => a.cmp(b),
            (Value::Array(a), Value::Array(b)) => a.iter().map(MessageId).cmp(b.iter().map(MessageId)),
            (Value::Object(a), Value::Object(b)) => {
                let fields = |(key, field)| (key, MessageId(field));
                a.iter().map(fields).cmp(b.iter().map(fields))
            }
            (a, b) => rank(a).cmp(&rank(b)),
        }
    }
}

impl PartialOrd for MessageId<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for MessageId<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for MessageId<'_> {}

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

fn merge(current: Option<&Value>, writes: Vec<Write>, meter: &Meter) -> Result<Change, FoldError> {
    if let Some(current) = current.filter(|current| current.is_object()) {
        size::charge(current, meter)?;
    }
    let mut merged = current.and_then(Value::as_object).cloned().unwrap_or_default();
    for write in writes {
        let Value::Object(map) = write.value else {
            let reason = format!("it takes an object, not {}", kind(&write.value));
            return Err(FoldError::Invalid { node: write.node, reason });
        };
        for key in map.keys() {
            meter.charge(VALUE + key.len() as u64)?;
        }
        merged.extend(map);
    }
    Ok(Change::Set(Value::Object(merged)))
}

/// Returns the name of a value's type, for messages.
pub(in crate::walker) fn kind(value: &Value) -> &'static str {
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
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Any JSON value of moderate size.
    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            proptest::num::f64::NORMAL.prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..6)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    fn fold(reducer: Reducer, current: Option<&Value>, writes: Vec<Write>) -> Result<Change, FoldError> {
        super::fold(reducer, current, writes, &Meter::of_one_step())
    }

    fn writes(values: &[Value]) -> Vec<Write> {
        let write = |(at, value): (u32, &Value)| Write {
            node: NodeIndex(at),
            value: value.clone(),
            mode: WriteMode::Fold,
        };
        (0..).zip(values).map(write).collect()
    }

    fn overwrites(values: &[Value]) -> Vec<Write> {
        writes(values).into_iter().map(|write| Write { mode: WriteMode::Overwrite, ..write }).collect()
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
        let both = [writes(&[json!(2)]), overwrites(&[json!([9])])].concat();
        let change = fold(Reducer::Append, Some(&json!([1])), both).unwrap();
        assert_eq!(change, Change::Set(json!([9])));
        let two = fold(Reducer::Sum, None, overwrites(&[json!(1), json!(2)]));
        assert_eq!(two, Err(FoldError::Conflict(NodeIndex(0), NodeIndex(1))));
    }

    #[test]
    fn a_value_that_looks_like_an_overwrite_is_data() {
        let looks = json!({"overwrite": [9]});
        for (reducer, current, folded) in [
            (Reducer::Append, json!([1]), Change::Extend(vec![looks.clone()])),
            (Reducer::Topic, json!([1]), Change::Set(json!([looks]))),
            (Reducer::Union, json!([1]), Change::Extend(vec![looks.clone()])),
            (Reducer::Messages, json!([1]), Change::Extend(vec![looks.clone()])),
            (Reducer::Merge, json!({"a": 1}), Change::Set(json!({"a": 1, "overwrite": [9]}))),
        ] {
            assert_eq!(
                fold(reducer, Some(&current), writes(std::slice::from_ref(&looks))),
                Ok(folded),
                "{reducer:?}"
            );
        }
        for reducer in [Reducer::Sum, Reducer::Min, Reducer::Max] {
            let refused = fold(reducer, Some(&json!(1)), writes(&[json!({"overwrite": 9})]));
            assert!(matches!(refused, Err(FoldError::Invalid { .. })), "{reducer:?}");
        }
    }

    /// Reference implementation of `messages`, one item after another.
    fn one_after_another(current: &[Value], items: &[Value]) -> Vec<Value> {
        let mut list = current.to_vec();
        for item in items {
            let id = item.get("id").filter(|id| !id.is_null());
            match id.and_then(|id| list.iter().position(|other| other.get("id") == Some(id))) {
                Some(at) => list[at] = item.clone(),
                None => list.push(item.clone()),
            }
        }
        list
    }

    fn message() -> impl Strategy<Value = Value> {
        let id = prop_oneof![
            (0..4).prop_map(Value::from),
            (0..4).prop_map(|n| json!(f64::from(n))),
            Just(json!(-0.0)),
            Just(json!(null)),
            Just(json!(true)),
            "[ab]".prop_map(Value::from),
            (0..2, 0..2).prop_map(|(a, b)| json!([a, {"x": b}])),
            (0..2).prop_map(|n| json!({"a": n, "b": f64::from(n)})),
            any_json(),
        ];
        prop_oneof![
            5 => (id, any::<u8>()).prop_map(|(id, n)| json!({"id": id, "n": n})),
            1 => any::<u8>().prop_map(|n| json!({"n": n})),
            1 => any_json(),
        ]
    }

    proptest! {
        #[test]
        fn ids_are_equal_where_json_values_are(a in message(), b in message()) {
            prop_assert_eq!(MessageId(&a) == MessageId(&b), a == b);
            prop_assert_eq!(MessageId(&a).cmp(&MessageId(&b)), MessageId(&b).cmp(&MessageId(&a)).reverse());
        }

        #[test]
        fn messages_are_as_one_after_another(
            current in prop::option::of(prop::collection::vec(message(), 0..12)),
            new in prop::collection::vec(prop::collection::vec(message(), 0..6), 1..3),
        ) {
            let items = new.concat();
            let value = current.clone().map(Value::Array);
            let before = current.unwrap_or_default();
            let values: Vec<Value> = new.into_iter().map(Value::Array).collect();
            let expected = one_after_another(&before, &items);
            match fold(Reducer::Messages, value.as_ref(), writes(&values)).unwrap() {
                Change::Set(list) => prop_assert_eq!(list, Value::Array(expected)),
                Change::Extend(added) => prop_assert_eq!([before, added].concat(), expected),
            }
        }
    }

    #[test]
    fn each_fold_is_charged() {
        let current = json!([{"id": 1}, {"id": 2}]);
        let object = json!({"a": 1});
        let (message, id) = (2 * LOOKUP, LOOKUP);
        for (reducer, current, values, fuel) in [
            (Reducer::LastValue, Some(&current), vec![json!([1, 2])], VALUE),
            (Reducer::Append, Some(&current), vec![json!([1, 2]), json!(3)], 2 * VALUE + 3 * VALUE),
            (Reducer::Topic, Some(&current), vec![json!([1, 2])], VALUE + 2 * VALUE),
            (Reducer::Sum, None, vec![json!(1), json!(2)], 2 * VALUE),
            // The canonical text of each: `{"id":1}`, `{"id":2}` and `7`.
            (Reducer::Union, Some(&current), vec![json!(7)], VALUE + VALUE + 2 * (2 * VALUE + 8) + VALUE + 1),
            (Reducer::Merge, Some(&object), vec![json!({"bc": [1]})], VALUE + 11 * VALUE + 1 + VALUE + 2),
            (Reducer::Messages, Some(&current), vec![json!({"id": 3})], 2 * VALUE + message + 2 * id),
            (
                Reducer::Messages,
                Some(&current),
                vec![json!({"id": 1})],
                2 * VALUE + message + id + size::of(&current),
            ),
        ] {
            let meter = Meter::of_one_step();
            super::fold(reducer, current, writes(&values), &meter).unwrap();
            assert_eq!(meter.spent(), fuel, "{reducer:?} {values:?}");
        }
    }

    #[test]
    fn what_costs_more_than_there_is_is_refused() {
        let fold = |reducer, current, writes| super::fold(reducer, current, writes, &Meter::new(1_000_000));
        let text = "x".repeat(600_000);
        let current = json!([{"id": 1, "text": text}, {"id": 2, "text": text}]);
        let object = json!({"a": text, "b": text});
        let refused = Err(FoldError::Exhausted(FuelExhausted::Fuel));
        assert!(fold(Reducer::Union, Some(&current), writes(&[json!(1)])) == refused);
        assert!(fold(Reducer::Messages, Some(&current), writes(&[json!({"id": 1})])) == refused);
        assert!(fold(Reducer::Merge, Some(&object), writes(&[json!({})])) == refused);
        assert!(fold(Reducer::Messages, Some(&current), writes(&[json!({"id": 3})])).is_ok());
        let many = Value::Array(vec![Value::Null; 20_000]);
        assert!(fold(Reducer::Append, None, writes(&[many])) == refused);
    }

    /// The cost is linear: each new id and each present id is compared a fixed number of times.
    #[test]
    fn messages_are_linear() {
        let list = |from: u32, count: u32| -> Value {
            (from..from + count).map(|n| json!({"id": format!("{n:08}")})).collect()
        };
        let cost = |count: u32| {
            let meter = Meter::of_one_step();
            let new = writes(&[list(count / 2, count)]);
            super::fold(Reducer::Messages, Some(&list(0, count)), new, &meter).unwrap();
            meter.spent()
        };
        assert!(cost(20_000) <= 10 * cost(2_000));
    }
}
