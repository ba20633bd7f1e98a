//! Finds the inputs that a `config_schema` marks with a `format` that the host acts on.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::Value;

use super::referred;

/// Marks an input that contains an agent's rules.
const APPROVALS: &str = "approvals";
/// Marks an input that contains an agent's tools.
const TOOLS: &str = "tools";
/// Marks the input in which the host passes an agent the rules of the agents above.
const ABOVE: &str = "approvals-above";

/// Largest number of steps from a schema to its parts, for each mark. Real schemas with a mark have dozens.
const MOST_STEPS: usize = 10_000;
/// Largest number of inputs with one mark.
const MOST_MARKED: usize = 8;

/// The marked inputs of a graph, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputMarks {
    /// The inputs with rules.
    pub approvals: Vec<String>,
    /// The inputs with tools.
    pub tools: Vec<String>,
    /// The inputs that the host fills with the rules of the agents above.
    pub above: Vec<String>,
    /// The path in the schema of a mark that does not apply to an input as a whole, and is not read; empty if there are more marks or parts
    /// than are searched. A graph with rules that are not read dispatches nothing.
    pub elsewhere: Option<Vec<String>>,
}

impl InputMarks {
    /// Reads the marks of a schema.
    pub fn from_schema(schema: &Value) -> Self {
        let mut elsewhere = None;
        let mut marked = |format| match inputs_of_format(schema, format) {
            Ok(names) => names,
            Err(place) => {
                elsewhere.get_or_insert(place);
                Vec::new()
            }
        };
        let (approvals, above) = (marked(APPROVALS), marked(ABOVE));
        // Names of tools matter only to rules.
        let has_rules = !approvals.is_empty() || has_format(schema, APPROVALS);
        let tools = if has_rules { marked(TOOLS) } else { Vec::new() };
        Self { approvals, tools, above, elsewhere }
    }
}

/// Returns the marked inputs. A mark may be in an input's own schema, or in a part of it that describes the same value, also behind
/// references within the schema or under conditions. The error is the path of a mark at another place.
fn inputs_of_format(schema: &Value, format: &str) -> Result<Vec<String>, Vec<String>> {
    if !has_format(schema, format) {
        return Ok(Vec::new());
    }
    let (mut names, mut reached) = (BTreeSet::new(), BTreeSet::new());
    let mut seen = BTreeSet::new();
    // Parts of the schema, each with its input; `None` for a part about all inputs together.
    let mut parts: Vec<(&Value, Option<&str>)> = vec![(schema, None)];
    let mut steps = 0;
    while let Some((part, input)) = parts.pop() {
        steps += 1;
        if steps > MOST_STEPS || parts.len() > MOST_STEPS {
            return Err(Vec::new());
        }
        let Some(keywords) = part.as_object() else { continue };
        if !seen.insert((std::ptr::from_ref(part), input)) {
            continue;
        }
        if let (Some(name), true) = (input, is_marked(part, format)) {
            names.insert(name);
            reached.insert(std::ptr::from_ref(part));
        }
        let target = keywords.get("$ref").and_then(Value::as_str).and_then(|name| referred(schema, name));
        parts.extend(target.map(|target| (target, input)));
        for name in ["allOf", "anyOf", "oneOf"] {
            let all = keywords.get(name).and_then(Value::as_array).into_iter().flatten();
            parts.extend(all.map(|part| (part, input)));
        }
        parts.extend(["if", "then", "else"].iter().filter_map(|name| Some((keywords.get(*name)?, input))));
        let dependent = keywords.get("dependentSchemas").and_then(Value::as_object);
        parts.extend(dependent.into_iter().flatten().map(|(_, part)| (part, input)));
        if input.is_none() {
            let properties = keywords.get("properties").and_then(Value::as_object);
            parts.extend(properties.into_iter().flatten().map(|(name, part)| (part, Some(name.as_str()))));
        }
    }
    match place_of(schema, format, &reached) {
        Some(place) => Err(place),
        None if names.len() > MOST_MARKED => Err(Vec::new()),
        None => Ok(names.into_iter().map(str::to_owned).collect()),
    }
}

fn is_marked(value: &Value, format: &str) -> bool {
    value.get("format").and_then(Value::as_str) == Some(format)
}

/// Checks whether any part of a schema has the mark, since a reference may lead to it.
fn has_format(schema: &Value, format: &str) -> bool {
    let mut values = vec![schema];
    while let Some(value) = values.pop() {
        if is_marked(value, format) {
            return true;
        }
        match value {
            Value::Object(fields) => values.extend(fields.values()),
            Value::Array(items) => values.extend(items),
            _ => {}
        }
    }
    false
}

/// Returns the path of a mark that is not among these.
fn place_of(schema: &Value, format: &str, reached: &BTreeSet<*const Value>) -> Option<Vec<String>> {
    let mut path: Vec<String> = Vec::new();
    let mut values = vec![(schema, 0, Cow::Borrowed(""))];
    while let Some((value, depth, name)) = values.pop() {
        path.truncate(depth);
        path.push(name.into_owned());
        if is_marked(value, format) && !reached.contains(&std::ptr::from_ref(value)) {
            path.remove(0);
            return Some(path);
        }
        let inside = depth + 1;
        match value {
            Value::Object(fields) => {
                values
                    .extend(fields.iter().map(|(name, field)| (field, inside, Cow::Borrowed(name.as_str()))));
            }
            Value::Array(items) => {
                let numbered = items.iter().enumerate();
                values.extend(numbered.map(|(at, item)| (item, inside, Cow::Owned(at.to_string()))));
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn approvals(schema: &Value) -> Vec<String> {
        let marks = InputMarks::from_schema(schema);
        assert_eq!(marks.elsewhere, None, "{schema}");
        marks.approvals
    }

    #[test]
    fn a_mark_is_found_behind_whatever_describes_the_same_input() {
        let mark = json!({ "type": "array", "format": "approvals" });
        for schema in [
            json!({ "properties": { "rules": mark } }),
            json!({ "properties": { "rules": { "anyOf": [{ "type": "null" }, mark] } } }),
            json!({ "properties": { "rules": { "allOf": [{ "oneOf": [mark] }] } } }),
            json!({ "properties": { "rules": { "$ref": "#/$defs/rules" } }, "$defs": { "rules": mark } }),
            json!({ "properties": { "rules": { "$ref": "#/x" } }, "x": { "$ref": "#/a~1b/0" }, "a/b": [mark] }),
            json!({ "properties": { "rules": { "$ref": "#/x%20y" } }, "x y": mark }),
            json!({ "allOf": [{ "properties": { "rules": mark } }] }),
            json!({ "$ref": "#/$defs/all", "$defs": { "all": { "properties": { "rules": mark } } } }),
            json!({ "if": { "required": ["x"] }, "then": { "properties": { "rules": mark } } }),
            json!({ "if": {}, "else": { "anyOf": [{ "properties": { "rules": mark } }] } }),
            json!({ "dependentSchemas": { "x": { "properties": { "rules": mark } } } }),
            json!({ "properties": { "rules": { "if": mark, "then": true, "else": false } } }),
            json!({ "properties": { "rules": { "$ref": "#/properties/rules/anyOf/0", "anyOf": [mark] } } }),
        ] {
            assert_eq!(approvals(&schema), ["rules"], "{schema}");
        }
        let two = json!({ "properties": { "b": mark, "a": { "$ref": "#/properties/b" }, "c": {} } });
        assert_eq!(approvals(&two), ["a", "b"]);
        assert_eq!(approvals(&json!({ "properties": { "format": { "type": "string" } } })), [""; 0]);
        assert_eq!(approvals(&json!(true)), [""; 0]);
    }

    #[test]
    fn a_mark_that_is_of_no_input_is_reported() {
        let mark = json!({ "format": "approvals" });
        for (schema, place) in [
            (mark.clone(), "/"),
            (
                json!({ "properties": { "all": { "properties": { "rules": mark } } } }),
                "/properties/all/properties/rules",
            ),
            (json!({ "properties": { "all": { "items": mark } } }), "/properties/all/items"),
            (json!({ "additionalProperties": mark }), "/additionalProperties"),
            (json!({ "patternProperties": { "^r/": mark } }), "/patternProperties/^r/"),
            (json!({ "$defs": { "rules": mark } }), "/$defs/rules"),
            // References to an anchor or to an id are not followed.
            (
                json!({ "properties": { "rules": { "$ref": "#it" } }, "$defs": { "x": { "$anchor": "it", "format": "approvals" } } }),
                "/$defs/x",
            ),
            (
                json!({ "properties": { "rules": { "$dynamicRef": "#/$defs/x" } }, "$defs": { "x": mark } }),
                "/$defs/x",
            ),
            (json!({ "properties": { "x": { "not": mark } } }), "/properties/x/not"),
            (json!({ "properties": { "x": { "default": mark } } }), "/properties/x/default"),
            // A mark that is found does not hide another.
            (
                json!({ "properties": { "rules": mark, "x": { "prefixItems": [mark] } } }),
                "/properties/x/prefixItems/0",
            ),
        ] {
            let found = InputMarks::from_schema(&schema).elsewhere.unwrap();
            assert_eq!(format!("/{}", found.join("/")), place, "{schema}");
        }
        let nested = json!({ "properties": { "rules": mark, "x": { "items": { "format": "tools" } } } });
        assert!(InputMarks::from_schema(&nested).elsewhere.is_some(), "names of rules are those of tools");
        let tools = json!({ "properties": { "x": { "items": { "format": "tools" } } } });
        assert_eq!(
            InputMarks::from_schema(&tools),
            InputMarks::default(),
            "without rules, tools are not read"
        );
        let above = json!({ "properties": { "x": { "items": { "format": "approvals-above" } } } });
        assert!(InputMarks::from_schema(&above).elsewhere.is_some());
    }

    #[test]
    fn a_search_is_bounded() {
        let chain = |count: usize| {
            let names = (0..count).map(|number| (format!("p{number}"), json!({ "$ref": "#/$defs/all" })));
            let parts: Vec<_> = (0..count).map(|_| json!({ "type": "array" })).collect();
            json!({
                "properties": names.collect::<serde_json::Map<_, _>>(),
                "$defs": { "all": { "allOf": parts }, "rules": { "format": "approvals" } },
            })
        };
        assert!(InputMarks::from_schema(&chain(1_000)).elsewhere.is_some());
        let many: serde_json::Map<_, _> = (0..=MOST_MARKED)
            .map(|number| (format!("p{number}"), json!({ "format": "approvals" })))
            .collect();
        assert!(InputMarks::from_schema(&json!({ "properties": many })).elsewhere.is_some());
    }
}
