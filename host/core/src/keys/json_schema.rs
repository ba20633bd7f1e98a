//! JSON Schemas of documents.

use serde_json::{Map, Value, json};

use super::shape::{Shape, names_of_kinds};
use super::table::{Key, KeyTable, reachable};

/// Returns the JSON Schema (draft 2020-12) of a kind of document with this shape. It expresses the rules that need no resolution of names:
/// every document that loads is valid, and the loader may refuse a valid one.
pub fn json_schema(kind: &str, document: &Shape) -> Value {
    let tables = reachable(document);
    let definitions: Map<String, Value> =
        tables.iter().map(|table| (table.name.to_owned(), mapping(table))).collect();
    let mut schema = value(document);
    if let Value::Object(fields) = &mut schema {
        fields.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        fields.insert("$id".to_owned(), json!(format!("urn:graph-host:schema:{kind}")));
        fields.insert("title".to_owned(), json!(format!("graph-host {kind}")));
        fields.insert("$defs".to_owned(), Value::Object(definitions));
    }
    schema
}

fn reference(table: &KeyTable) -> Value {
    json!({ "$ref": format!("#/$defs/{}", table.name) })
}

fn mapping(table: &KeyTable) -> Value {
    let (prefixes, named): (Vec<&Key>, Vec<&Key>) = table.keys.iter().partition(|key| key.is_prefix());
    let properties: Map<String, Value> =
        named.into_iter().map(|key| (key.name.to_owned(), property(key))).collect();
    let patterns: Map<String, Value> = prefixes
        .into_iter()
        .map(|key| (format!("^{}", key.name.replace('.', "\\.")), property(key)))
        .collect();
    let required: Vec<&str> = table.keys.iter().filter(|key| key.is_required).map(|key| key.name).collect();
    let mut schema = json!({
        "title": table.title,
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    if !patterns.is_empty() {
        schema["patternProperties"] = Value::Object(patterns);
    }
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    let kinds = names_of_kinds(table);
    let rules: Vec<Value> = kinds.iter().filter_map(|kind| foreign_keys(table, kind)).collect();
    if !rules.is_empty() {
        schema["allOf"] = Value::Array(rules);
    }
    schema
}

/// Returns the schema that excludes the keys of other types from a mapping of this type. The first type is the default.
fn foreign_keys(table: &KeyTable, kind: &str) -> Option<Value> {
    let is_foreign = |key: &&Key| !key.only_for.is_empty() && !key.only_for.contains(&kind);
    let foreign: Map<String, Value> =
        table.keys.iter().filter(is_foreign).map(|key| (key.name.to_owned(), json!(false))).collect();
    let is_default = names_of_kinds(table).first() == Some(&kind);
    let is_of_kind = json!({ "properties": { "type": { "const": kind } } });
    let condition = if is_default {
        is_of_kind
    } else {
        json!({ "properties": { "type": { "const": kind } }, "required": ["type"] })
    };
    (!foreign.is_empty()).then(|| json!({ "if": condition, "then": { "properties": foreign } }))
}

fn property(key: &Key) -> Value {
    let mut about = key.about.to_owned();
    if !key.default.is_empty() {
        about = format!("{about}. Default: {}", key.default);
    }
    let mut schema = value(&key.shape);
    if key.may_be_blank {
        schema = json!({ "anyOf": [{ "type": "null" }, schema] });
    }
    match &mut schema {
        Value::Object(fields) => {
            fields.insert("description".to_owned(), Value::from(about));
        }
        // `true` permits any value.
        other => *other = json!({ "description": about }),
    }
    schema
}

fn value(shape: &Shape) -> Value {
    match shape {
        Shape::Any | Shape::Template => json!(true),
        Shape::TemplateText => json!({ "type": "string", "pattern": "\\$\\{" }),
        Shape::Text(_) => json!({ "type": "string" }),
        Shape::Bool => json!({ "type": "boolean" }),
        Shape::False => json!({ "const": false }),
        Shape::Null => json!({ "type": "null" }),
        Shape::Integer(least, u64::MAX) => json!({ "type": "integer", "minimum": least }),
        Shape::Integer(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Shape::Number(least, most) => json!({ "type": "number", "minimum": least, "maximum": most }),
        Shape::AnyNumber => json!({ "type": "number" }),
        Shape::Duration => json!({ "anyOf": [
            { "type": "string", "pattern": "^([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$", "minLength": 2 },
            { "type": "string", "pattern": "^[0-9]+$" },
            { "type": "integer", "minimum": 0 },
        ] }),
        Shape::Size => json!({ "anyOf": [
            { "type": "string", "pattern": "^ *[0-9]+ *([kKmMgGtT][iI]?)?[bB]? *$" },
            { "type": "integer", "minimum": 0 },
        ] }),
        Shape::Time => json!({ "type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}" }),
        Shape::Words(words) => json!({ "enum": words }),
        Shape::JsonSchema => json!({ "type": ["object", "boolean"] }),
        Shape::List(item) => json!({ "type": "array", "items": value(item) }),
        Shape::Map(_, item) => json!({ "type": "object", "additionalProperties": value(item) }),
        Shape::Table(table) => reference(table),
        Shape::Either(shapes) => json!({ "anyOf": shapes.iter().map(value).collect::<Vec<_>>() }),
    }
}
