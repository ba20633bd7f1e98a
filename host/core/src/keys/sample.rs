//! Generates values that a table allows, with which the tests check that the loader knows every key.

use serde_json::{Map, Value, json};

use super::shape::{Shape, names_of_kinds};
use super::table::{Key, KeyTable};

/// Returns mappings that together have each key of the table and of every reachable table, in every form that a key allows. Names in them
/// are arbitrary: a loader may report problems, but no unknown key.
pub fn samples(table: &'static KeyTable) -> Vec<Value> {
    of_table(table, &mut Vec::new())
}

fn of_table(table: &'static KeyTable, within: &mut Vec<&'static str>) -> Vec<Value> {
    if within.contains(&table.name) {
        // A recursive table, such as a condition inside a condition: the outer one has all keys.
        return vec![json!({})];
    }
    within.push(table.name);
    let mut found = Vec::new();
    for key in table.keys {
        for value in of_shape(&key.shape, within) {
            found.push(with_what_it_needs(table, key, value));
        }
    }
    within.pop();
    found
}

/// Creates a mapping with one key, the required keys, and the `type` to which the key belongs.
fn with_what_it_needs(table: &'static KeyTable, key: &Key, value: Value) -> Value {
    let kind = key.only_for.first().copied().or_else(|| names_of_kinds(table).first().copied());
    let mut fields = Map::new();
    for other in table.keys.iter().filter(|other| other.is_required) {
        let first = of_shape(&other.shape, &mut vec![table.name]).into_iter().next();
        fields.insert(other.name.to_owned(), first.unwrap_or_default());
    }
    if let Some(kind) = kind {
        fields.insert("type".to_owned(), Value::from(kind));
    }
    let name = if key.is_prefix() { format!("{}n", key.name) } else { key.name.to_owned() };
    fields.insert(name, value);
    Value::Object(fields)
}

fn of_shape(shape: &Shape, within: &mut Vec<&'static str>) -> Vec<Value> {
    match shape {
        Shape::Any | Shape::Template => vec![json!("v")],
        Shape::TemplateText => vec![json!("${inputs.v}")],
        Shape::Text(_) => vec![json!("n")],
        Shape::Bool => vec![json!(true)],
        Shape::False => vec![json!(false)],
        Shape::Null => vec![Value::Null],
        Shape::Integer(least, _) => vec![json!(least)],
        Shape::Number(least, _) => vec![json!(least)],
        Shape::AnyNumber => vec![json!(1)],
        Shape::Duration => vec![json!("5s")],
        Shape::Size => vec![json!("64KiB")],
        Shape::Time => vec![json!("2026-01-01T00:00:00Z")],
        Shape::Words(words) => words.first().map(|word| json!(word)).into_iter().collect(),
        Shape::JsonSchema => vec![json!({ "type": "object" })],
        Shape::List(item) => of_shape(item, within).into_iter().map(|value| json!([value])).collect(),
        Shape::Map(_, item) => {
            of_shape(item, within).into_iter().map(|value| json!({ "n": value })).collect()
        }
        Shape::Table(table) => of_table(table, within),
        Shape::Either(shapes) => shapes.iter().flat_map(|shape| of_shape(shape, within)).collect(),
    }
}
