//! Typed outputs, which the model returns with the tool `directive_return`.

use graph_sdk::model::Tool;
use graph_sdk::prelude::*;

use crate::schema;
use crate::settings::{OF_TOOL, wrong};

/// Name of the tool with which the model returns the outputs.
pub(crate) const RETURN: &str = "directive_return";

/// Names of types in declarations, in addition to those of JSON Schema.
const OTHER_NAMES: [(&str, &str); 6] = [
    ("text", "string"),
    ("int", "integer"),
    ("float", "number"),
    ("bool", "boolean"),
    ("list", "array"),
    ("dict", "object"),
];

/// Declared outputs of a task.
#[derive(Debug)]
pub(crate) struct Outputs {
    schema: Value,
}

/// Declaration of one output.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Output {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    r#type: Option<String>,
    #[serde(default)]
    required: bool,
    #[serde(default)]
    description: Option<String>,
}

impl Outputs {
    /// Reads a declaration: a mapping from names to `{type, required, description}`, a list of such with a `name`, or a JSON Schema,
    /// which is a mapping whose `type` is `object`.
    ///
    /// Failures: `invalid-input` that names the place.
    pub(crate) fn read(declared: &Value) -> Result<Self, Failure> {
        let schema = match declared {
            Value::Object(keywords) if keywords.get("type").and_then(Value::as_str) == Some("object") => {
                let mut schema = keywords.clone();
                schema.entry("additionalProperties").or_insert(Value::Bool(false));
                Value::Object(schema)
            }
            Value::Object(named) => {
                let outputs =
                    named.iter().map(|(name, output)| Ok((name.clone(), read_output(name, output)?)));
                of_outputs(outputs.collect::<Result<_, Failure>>()?)?
            }
            Value::Array(list) => {
                let output = |(index, output): (usize, &Value)| {
                    let output = read_output(&index.to_string(), output)?;
                    match output.name.clone() {
                        Some(name) => Ok((name, output)),
                        None => wrong(format_args!("outputs.{index}"), "an output of a list needs a `name`"),
                    }
                };
                of_outputs(list.iter().enumerate().map(output).collect::<Result<_, Failure>>()?)?
            }
            _ => {
                return wrong(
                    "outputs",
                    "must be a mapping from names to `{type, required, description}`, or a JSON Schema",
                );
            }
        };
        schema::check(&schema, "outputs", 0)?;
        Ok(Self { schema })
    }

    /// Returns the tool with which the model returns the outputs.
    pub(crate) fn tool(&self) -> Tool {
        let description =
            "Ends the task and returns its outputs. Call it alone, once everything else is done.";
        Tool::new(RETURN, description, self.schema.clone())
    }

    /// Estimates the number of bytes of that tool in a request.
    pub(crate) fn size(&self) -> usize {
        self.schema.to_string().len() + OF_TOOL
    }

    /// Returns the problems of the arguments of a call.
    pub(crate) fn problems(&self, arguments: &Value) -> Vec<String> {
        schema::problems(&self.schema, arguments)
    }
}

fn read_output(name: &str, output: &Value) -> Result<Output, Failure> {
    match output {
        Value::Null => Ok(Output { name: None, r#type: None, required: false, description: None }),
        Value::String(kind) => {
            Ok(Output { name: None, r#type: Some(kind.clone()), required: false, description: None })
        }
        other => graph_sdk::serde_json::from_value(other.clone())
            .or_else(|error| wrong(format_args!("outputs.{name}"), error)),
    }
}

fn of_outputs(outputs: Vec<(String, Output)>) -> Result<Value, Failure> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, output) in outputs {
        let mut property = Map::new();
        if let Some(kind) = output.r#type.filter(|kind| kind != "any") {
            let known = OTHER_NAMES.iter().find(|(other, _)| *other == kind);
            property.insert("type".to_owned(), json!(known.map_or(kind.as_str(), |(_, name)| name)));
        }
        if let Some(description) = output.description {
            property.insert("description".to_owned(), json!(description));
        }
        if output.required {
            required.push(json!(name));
        }
        if properties.insert(name.clone(), Value::Object(property)).is_some() {
            return wrong(format_args!("outputs.{name}"), "is declared twice");
        }
    }
    Ok(
        json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false }),
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn declarations_become_a_schema() {
        let expected = json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "Where" },
                "count": { "type": "integer" },
                "note": {},
            },
            "required": ["path"],
            "additionalProperties": false,
        });
        for declared in [
            json!({
                "path": { "type": "string", "required": true, "description": "Where" }, "count": "int", "note": null
            }),
            json!([
                { "name": "path", "type": "text", "required": true, "description": "Where" },
                { "name": "count", "type": "integer" },
                { "name": "note", "type": "any" },
            ]),
        ] {
            assert_eq!(Outputs::read(&declared).unwrap().tool().parameters, expected);
        }
        let schema = json!({ "type": "object", "properties": { "a": { "type": "array" } } });
        let outputs = Outputs::read(&schema).unwrap();
        assert_eq!(outputs.problems(&json!({ "b": 1 })), ["b: is unknown; known are a"]);
    }

    #[test]
    fn mistakes_are_named() {
        for (declared, message) in [
            (json!(1), "settings.outputs: must be a mapping"),
            (json!({ "a": { "typ": "string" } }), "settings.outputs.a: unknown field `typ`"),
            (json!({ "a": { "type": "strin" } }), "settings.outputs.properties.a.type: is no type"),
            (json!([{ "type": "string" }]), "settings.outputs.0: an output of a list needs a `name`"),
            (json!([{ "name": "a" }, { "name": "a" }]), "settings.outputs.a: is declared twice"),
            (
                json!({ "type": "object", "oneOf": [] }),
                "settings.outputs.oneOf: this keyword is not supported",
            ),
        ] {
            let failure = Outputs::read(&declared).unwrap_err();
            assert!(failure.to_string().contains(message), "{failure}");
        }
    }
}
