//! Example values that a schema accepts, for commands that work as they are typed.

use graph_core::schema::{InputSchema, SchemaFailure, referred};
use graph_core::work::Meter;
use graph_core::work::rates::VISIT;
use serde_json::{Map, Value, json};

/// Maximum depth to which a schema is followed.
const DEEPEST: usize = 8;
/// Maximum number of properties of an example.
const MOST_PROPERTIES: usize = 16;
/// Cost of reading one value of a list, or one byte of a reference.
const VALUE: u64 = 64;
/// Maximum length of a text from a schema in a command, in bytes.
const LONGEST: usize = 60;

/// Returns a small object that the schema accepts. Returns `None` if none was found within the work that `meter`
/// allows: the alternatives of a schema may refer to the schema itself. Of the schema's texts, the object has only
/// names and values of plain characters.
pub(crate) fn object(schema: Option<&Value>, meter: &Meter) -> Option<Map<String, Value>> {
    let Some(schema) = schema else { return Some(Map::new()) };
    let candidate = match (Example { root: schema, meter }).of(schema, 0) {
        Some(Value::Object(candidate)) => candidate,
        _ => Map::new(),
    };
    accepts(schema, &candidate, meter).then_some(candidate)
}

fn accepts(schema: &Value, candidate: &Map<String, Value>, meter: &Meter) -> bool {
    let Ok(schema) = InputSchema::compile(schema, meter) else { return false };
    let checked: Result<Value, SchemaFailure> =
        schema.validate_and_fill(Value::Object(candidate.clone()), meter);
    checked.is_ok()
}

struct Example<'s> {
    root: &'s Value,
    /// Work that the search may use. Once it is used up, the search finds nothing more.
    meter: &'s Meter,
}

impl<'s> Example<'s> {
    fn of(&self, schema: &'s Value, depth: usize) -> Option<Value> {
        self.meter.charge(VISIT).ok()?;
        if depth == DEEPEST {
            return None;
        }
        let Some(keys) = schema.as_object() else {
            return (schema == &Value::Bool(true)).then(|| json!("text"));
        };
        if let Some(value) = keys.get("const") {
            return is_plain(value).then(|| value.clone());
        }
        if let Some(values) = keys.get("enum").and_then(Value::as_array) {
            self.meter.charge_each(values.len(), VALUE).ok()?;
            return values.iter().find(|value| is_plain(value)).cloned();
        }
        if let Some(value) = keys.get("default").filter(|value| is_plain(value)) {
            return Some(value.clone());
        }
        if let Some(reference) = keys.get("$ref").and_then(Value::as_str) {
            self.meter.charge_each(reference.len(), VALUE).ok()?;
            return self.of(referred(self.root, reference)?, depth + 1);
        }
        for alternatives in ["anyOf", "oneOf"].iter().filter_map(|key| keys.get(*key)?.as_array()) {
            if let Some(value) = alternatives.iter().find_map(|schema| self.of(schema, depth + 1)) {
                return Some(value);
            }
        }
        let named = match keys.get("type") {
            Some(Value::String(name)) => Some(name.as_str()),
            Some(Value::Array(names)) => names.first().and_then(Value::as_str),
            _ => None,
        };
        let number = |key: &str| keys.get(key).and_then(Value::as_f64);
        match named {
            Some("string") => Some(json!("text")),
            Some("integer" | "number") => match (number("minimum"), number("maximum")) {
                (Some(least), _) if least > 1.0 => keys.get("minimum").cloned(),
                (_, Some(most)) if most < 1.0 => keys.get("maximum").cloned(),
                _ => Some(json!(1)),
            },
            Some("boolean") => Some(json!(false)),
            Some("null") => Some(Value::Null),
            Some("array") => Some(json!([])),
            Some("object") => self.properties(keys, depth),
            Some(_) => None,
            None if keys.contains_key("properties") => self.properties(keys, depth),
            None => Some(json!("text")),
        }
    }

    fn properties(&self, keys: &'s Map<String, Value>, depth: usize) -> Option<Value> {
        let required = keys.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if required.len() > MOST_PROPERTIES {
            return None;
        }
        let mut object = Map::new();
        for name in required {
            let name = name.as_str().filter(|_| is_plain(name))?;
            let value = match keys.get("properties").and_then(|known| known.get(name)) {
                Some(schema) => self.of(schema, depth + 1)?,
                None => json!("text"),
            };
            object.insert(name.to_owned(), value);
        }
        Some(Value::Object(object))
    }
}

/// Reports whether a value is a number, a boolean, null, or a short text without special meaning for a shell and a
/// template.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => {
            let plain = |c: char| c.is_ascii_alphanumeric() || " _-./:".contains(c);
            text.len() <= LONGEST && text.chars().all(plain)
        }
        Value::Array(_) | Value::Object(_) => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn example(schema: &Value) -> Option<Value> {
        object(Some(schema), &Meter::of_one_step()).map(Value::Object)
    }

    #[test]
    fn the_search_for_an_example_is_bounded_by_its_work() {
        let many = |one: Value| Value::Array(vec![one; 3_000]);
        let names: Vec<_> = (0..16).map(|number| format!("a{number}")).collect();
        let long = format!("#/{}", "x".repeat(60_000));
        let hostile = [
            json!({ "anyOf": many(json!({ "$ref": "#" })), "type": "object", "required": (0..17).collect::<Vec<_>>() }),
            json!({ "oneOf": many(json!({ "anyOf": [{ "$ref": "#" }, { "$ref": "#" }] })) }),
            json!({ "type": "object", "required": names, "properties": Value::Object(
                names.iter().map(|name| (name.clone(), json!({ "$ref": "#" }))).collect()
            ) }),
            json!({ "anyOf": many(json!({ "$ref": "#/$defs/a" })), "$defs": { "a": { "anyOf": many(json!({ "enum": [[], {}] })) } } }),
            json!({ "anyOf": [{ "$ref": "#/$defs/a" }, { "$ref": "#" }, { "$ref": "#" }], "$defs": { "a": { "enum": many(json!([])) } } }),
            json!({ "anyOf": many(json!({ "$ref": "#/$defs/a" })), "$defs": { "a": { "anyOf": many(json!({ "$ref": long })) } } }),
        ];
        for (schema, expected) in hostile.iter().zip([None, None, None, Some(json!({})), None, None]) {
            let meter = Meter::of_one_step();
            assert_eq!(
                object(Some(schema), &meter).map(Value::Object),
                expected,
                "{}",
                schema.to_string().len()
            );
        }
        // The allowance stays used up, because the functions of a component share it.
        let meter = Meter::new(3 * VISIT);
        assert_eq!(object(Some(&hostile[0]), &meter), None);
        assert_eq!(object(Some(&json!({ "type": "object" })), &meter), None);
    }

    #[test]
    fn an_example_has_what_is_required() {
        let schema = json!({ "type": "object", "required": ["name", "count", "mode"], "properties": {
            "name": { "type": "string" }, "count": { "type": "integer", "minimum": 3 },
            "mode": { "enum": ["fast", "slow"] }, "other": { "type": "boolean" },
        }});
        assert_eq!(example(&schema), Some(json!({ "name": "text", "count": 3, "mode": "fast" })));
        assert_eq!(object(None, &Meter::of_one_step()), Some(Map::new()));
        assert_eq!(example(&json!({ "type": "object" })), Some(json!({})));
    }

    #[test]
    fn nothing_of_a_stranger_gets_into_a_command() {
        let hostile = "'; rm -rf ~; '${env.HOME}";
        let of =
            |property: Value| json!({ "type": "object", "required": ["a"], "properties": { "a": property } });
        assert_eq!(example(&of(json!({ "const": hostile }))), None);
        assert_eq!(example(&of(json!({ "enum": [hostile] }))), None);
        assert_eq!(
            example(&of(json!({ "type": "string", "default": hostile }))),
            Some(json!({ "a": "text" })),
            "a default that is not plain is replaced"
        );
        assert_eq!(example(&json!({ "type": "object", "required": [hostile] })), None);
    }

    #[test]
    fn what_a_schema_would_refuse_is_no_example() {
        let schema = json!({ "type": "object", "required": ["a"], "properties": { "a": { "type": "string", "minLength": 50 } } });
        assert_eq!(example(&schema), None);
        let cycle = json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/a" } } });
        assert_eq!(example(&cycle), None);
        assert_eq!(example(&json!(false)), None);
    }
}
