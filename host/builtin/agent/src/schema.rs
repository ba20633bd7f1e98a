//! Subset of JSON Schema for typed outputs. A keyword that is not checked is refused, not ignored.

use graph_sdk::prelude::*;

use crate::settings::wrong;

/// Maximum nesting of a schema.
const DEEPEST: usize = 16;
/// Maximum number of listed problems.
const LISTED: usize = 10;
/// Names of types.
const TYPES: [&str; 7] = ["string", "integer", "number", "boolean", "array", "object", "null"];
/// Keywords that only inform people and the model.
const ANNOTATIONS: [&str; 8] =
    ["$schema", "$comment", "title", "description", "default", "examples", "format", "deprecated"];

/// Checks that a schema has only keywords that [`problems`] checks.
///
/// Failures: `invalid-input` that names the place in the settings.
pub(crate) fn check(schema: &Value, path: &str, depth: usize) -> Result<(), Failure> {
    let Value::Object(keywords) = schema else {
        return wrong(path, "a JSON Schema is a mapping");
    };
    if depth > DEEPEST {
        return wrong(path, format_args!("schemas are nested more than {DEEPEST} deep"));
    }
    for (keyword, value) in keywords {
        let place = format!("{path}.{keyword}");
        let number = || if value.is_number() { Ok(()) } else { wrong(&place, "must be a number") };
        let count =
            || if value.is_u64() { Ok(()) } else { wrong(&place, "must be a whole number, at least 0") };
        match keyword.as_str() {
            "type" => check_types(value, &place)?,
            "enum" if !value.is_array() => return wrong(&place, "must be a list"),
            "enum" | "const" => {}
            "required" => {
                if !value.as_array().is_some_and(|names| names.iter().all(Value::is_string)) {
                    return wrong(&place, "must be a list of names");
                }
            }
            "properties" => {
                let Value::Object(properties) = value else {
                    return wrong(&place, "must be a mapping of schemas");
                };
                for (name, property) in properties {
                    check(property, &format!("{place}.{name}"), depth + 1)?;
                }
            }
            "additionalProperties" if value.is_boolean() => {}
            "additionalProperties" | "items" => check(value, &place, depth + 1)?,
            "minimum" | "maximum" => number()?,
            "minLength" | "maxLength" | "minItems" | "maxItems" => count()?,
            other if ANNOTATIONS.contains(&other) => {}
            _ => {
                let known = "type, enum, const, properties, required, additionalProperties, items, minimum, maximum, minLength, \
                             maxLength, minItems and maxItems";
                return wrong(&place, format_args!("this keyword is not supported here; {known} are"));
            }
        }
    }
    Ok(())
}

fn check_types(types: &Value, place: &str) -> Result<(), Failure> {
    let is_type = |name: &Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
    let known = match types {
        Value::Array(names) => !names.is_empty() && names.iter().all(is_type),
        name => is_type(name),
    };
    if known { Ok(()) } else { wrong(place, format_args!("is no type: {} are", TYPES.join(", "))) }
}

/// Returns the problems of a value: at most ten, each with its path in the value.
pub(crate) fn problems(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    find(schema, value, "", &mut found);
    found
}

fn find(schema: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    let Value::Object(keywords) = schema else { return };
    let mut report = |problem: String| {
        if found.len() < LISTED {
            let place = if path.is_empty() { "the arguments" } else { path };
            found.push(format!("{place}: {problem}"));
        }
    };
    if let Some(types) = keywords.get("type") {
        let names: Vec<&str> = match types {
            Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
            name => name.as_str().into_iter().collect(),
        };
        if !names.iter().any(|name| is_of(value, name)) {
            report(format!("must be of type {}, not {}", names.join(" or "), type_of(value)));
            return;
        }
    }
    if let Some(Value::Array(values)) = keywords.get("enum")
        && !values.iter().any(|one| equal(one, value))
    {
        report(format!("must be one of {}", Value::Array(values.clone())));
    }
    if let Some(one) = keywords.get("const")
        && !equal(one, value)
    {
        report(format!("must be {one}"));
    }
    let bound = |keyword: &str| keywords.get(keyword).and_then(Value::as_f64);
    if let Some(number) = value.as_f64() {
        if let Some(least) = bound("minimum").filter(|least| number < *least) {
            report(format!("must be at least {least}"));
        }
        if let Some(most) = bound("maximum").filter(|most| number > *most) {
            report(format!("must be at most {most}"));
        }
    }
    let count = |keyword: &str| keywords.get(keyword).and_then(Value::as_u64);
    let size = match value {
        Value::String(text) => Some((text.chars().count() as u64, "minLength", "maxLength", "characters")),
        Value::Array(list) => Some((list.len() as u64, "minItems", "maxItems", "elements")),
        _ => None,
    };
    if let Some((size, least, most, unit)) = size {
        if let Some(least) = count(least).filter(|least| size < *least) {
            report(format!("must have at least {least} {unit}, not {size}"));
        }
        if let Some(most) = count(most).filter(|most| size > *most) {
            report(format!("must have at most {most} {unit}, not {size}"));
        }
    }
    match value {
        Value::Object(fields) => find_in_object(keywords, fields, path, found),
        Value::Array(list) => {
            if let Some(items) = keywords.get("items") {
                for (index, item) in list.iter().enumerate() {
                    find(items, item, &format!("{path}[{index}]"), found);
                }
            }
        }
        _ => {}
    }
}

fn find_in_object(
    keywords: &Map<String, Value>,
    fields: &Map<String, Value>,
    path: &str,
    found: &mut Vec<String>,
) {
    let place = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    let required = keywords.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !fields.contains_key(name) && found.len() < LISTED {
            found.push(format!("{}: is missing", place(name)));
        }
    }
    let properties = keywords.get("properties").and_then(Value::as_object);
    for (name, value) in fields {
        match (properties.and_then(|properties| properties.get(name)), keywords.get("additionalProperties")) {
            (Some(schema), _) | (None, Some(schema @ Value::Object(_))) => {
                find(schema, value, &place(name), found);
            }
            (None, Some(Value::Bool(false))) if found.len() < LISTED => {
                let known: Vec<&str> =
                    properties.into_iter().flat_map(Map::keys).map(String::as_str).collect();
                found.push(format!("{}: is unknown; known are {}", place(name), known.join(", ")));
            }
            (None, _) => {}
        }
    }
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        "number" => value.is_number(),
        other => type_of(value) == other,
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Reports whether two values are equal; numbers are compared by value: 1 equals 1.0.
fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, value)| other.get(name).is_some_and(|other| equal(value, other)))
        }
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn values_are_checked() {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "minLength": 1, "maxLength": 3 },
                "count": { "type": "integer", "minimum": 1, "maximum": 9 },
                "kind": { "enum": ["a", 1] },
                "fixed": { "const": [1] },
                "tags": { "type": "array", "items": { "type": ["string", "null"] }, "minItems": 1, "maxItems": 2 },
                "any": {},
                "more": { "type": "object", "additionalProperties": { "type": "boolean" } },
            },
            "required": ["name"],
            "additionalProperties": false,
        });
        check(&schema, "outputs", 0).unwrap();
        let good = json!({
            "name": "éab", "count": 2.0, "kind": 1.0, "fixed": [1.0], "tags": ["x", null], "any": null, "more": { "x": true }
        });
        assert_eq!(problems(&schema, &good), [""; 0]);
        for (value, expected) in [
            (json!([]), vec!["the arguments: must be of type object, not array"]),
            (json!({}), vec!["name: is missing"]),
            (json!({ "name": "" }), vec!["name: must have at least 1 characters, not 0"]),
            (json!({ "name": "abcd" }), vec!["name: must have at most 3 characters, not 4"]),
            (json!({ "name": "a", "count": 1.5 }), vec!["count: must be of type integer, not number"]),
            (json!({ "name": "a", "count": 0 }), vec!["count: must be at least 1"]),
            (json!({ "name": "a", "count": 10 }), vec!["count: must be at most 9"]),
            (json!({ "name": "a", "kind": "b" }), vec!["kind: must be one of [\"a\",1]"]),
            (json!({ "name": "a", "fixed": [2] }), vec!["fixed: must be [1]"]),
            (
                json!({ "name": "a", "tags": [1] }),
                vec!["tags[0]: must be of type string or null, not number"],
            ),
            (json!({ "name": "a", "tags": [] }), vec!["tags: must have at least 1 elements, not 0"]),
            (json!({ "name": "a", "more": { "x": 1 } }), vec!["more.x: must be of type boolean, not number"]),
            (
                json!({ "nam": "a" }),
                vec![
                    "name: is missing",
                    "nam: is unknown; known are any, count, fixed, kind, more, name, tags",
                ],
            ),
        ] {
            assert_eq!(problems(&schema, &value), expected, "{value}");
        }
        let many: Map<String, Value> = (0..50).map(|n| (format!("x{n}"), json!(1))).collect();
        assert_eq!(problems(&schema, &Value::Object(many)).len(), LISTED);
    }

    #[test]
    fn what_is_not_checked_is_refused() {
        let mut deep = json!({});
        for _ in 0..20 {
            deep = json!({ "items": deep });
        }
        for (schema, message) in [
            (json!([]), "settings.x: a JSON Schema is a mapping"),
            (json!({ "pattern": "a" }), "settings.x.pattern: this keyword is not supported here"),
            (json!({ "properties": { "a": { "$ref": "b" } } }), "settings.x.properties.a.$ref: this keyword"),
            (json!({ "type": "text" }), "settings.x.type: is no type: string"),
            (json!({ "type": [] }), "settings.x.type: is no type"),
            (json!({ "enum": 1 }), "settings.x.enum: must be a list"),
            (json!({ "required": [1] }), "settings.x.required: must be a list of names"),
            (json!({ "properties": [] }), "settings.x.properties: must be a mapping of schemas"),
            (json!({ "minimum": "1" }), "settings.x.minimum: must be a number"),
            (json!({ "minItems": -1 }), "settings.x.minItems: must be a whole number"),
            (
                json!({ "additionalProperties": 1 }),
                "settings.x.additionalProperties: a JSON Schema is a mapping",
            ),
            (deep, "nested more than 16 deep"),
        ] {
            let failure = check(&schema, "x", 0).unwrap_err();
            assert_eq!(failure.category(), Some(Category::InvalidInput));
            assert!(failure.to_string().contains(message), "{failure}");
        }
    }
}
