//! Compiling a schema, and checking values against it.

use serde_json::Value;

use super::compile::compile;
use super::defaults::{self, DefaultsError};
use super::evaluate::{EvaluationError, Run};
use super::explain;
use super::program::{Keyword, Program};
use super::report::{Detail, Violation};
use crate::template::ValueTemplate;
use crate::work::{FuelExhausted, Meter, rates};

/// Largest number of problems that are reported for one value.
pub(super) const MOST_PROBLEMS: usize = 50;

/// A compiled schema of draft 2020-12. `format`, `contentEncoding` and similar keywords are annotations: no value is refused because of
/// them.
#[derive(Debug)]
pub struct InputSchema {
    pub(super) program: Program,
}

/// A value is not a usable schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SchemaError {
    /// The keys and indices of the place in the schema.
    pub pointer: Vec<String>,
    /// The message, without the place in the schema.
    pub message: String,
    /// `true` if the meter was used up before the schema was compiled. Such an error is the only one.
    pub limit: bool,
}

/// A violation of a schema by a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", if .path.is_empty() { String::new() } else { format!("{}: ", .path) })]
pub struct SchemaProblem {
    /// The JSON pointer (RFC 6901) of the part; empty for the whole value.
    pub path: String,
    /// The description of the violation.
    pub message: String,
}

/// The reason why a value was not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaFailure {
    /// The value violates the schema, at these parts: at least 1 and at most 50 problems.
    #[error("{}", lines(.0))]
    Problems(Vec<SchemaProblem>),
    /// The fuel for the check is used up.
    #[error("it cannot be checked against the schema: {0}")]
    Exhausted(#[from] FuelExhausted),
}

fn lines(problems: &[SchemaProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl InputSchema {
    /// Compiles a schema. All its errors are reported at once, up to 50.
    ///
    /// The meter is charged for each keyword, for copied parts of the schema, and for the states of patterns. If it is used up, that is
    /// the only error ([`SchemaError::limit`]).
    pub fn compile(schema: &Value, meter: &Meter) -> Result<Self, Vec<SchemaError>> {
        Ok(Self { program: compile(schema, meter)? })
    }

    /// Fills in the defaults of missing properties, then checks the value.
    ///
    /// The meter is charged for each visited keyword, for compared values, for searched patterns, and for the size of each default. The
    /// reasons why a value does not match cost about as much again.
    pub fn validate_and_fill(&self, mut value: Value, meter: &Meter) -> Result<Value, SchemaFailure> {
        if let Err(error) = defaults::fill(&self.program, &mut value, meter) {
            return Err(match error {
                DefaultsError::Evaluation(EvaluationError::Exhausted(exhausted)) => {
                    SchemaFailure::Exhausted(exhausted)
                }
                error => SchemaFailure::Problems(vec![whole(error.to_string())]),
            });
        }
        match Run::new(&self.program, meter).fits(0, &value, None) {
            Ok(true) => return Ok(value),
            Ok(false) => {}
            Err(stop) => return Err(SchemaFailure::Problems(vec![deep(stop)?])),
        }
        let mut run = Run::new(&self.program, meter);
        let problems = match explain::problems(&mut run, &value, &mut |_| Ok(true)) {
            Ok(problems) if problems.is_empty() => vec![whole("it does not fit the schema".to_owned())],
            Ok(problems) => problems,
            Err(stop) => vec![deep(stop)?],
        };
        Err(SchemaFailure::Problems(problems))
    }

    /// Checks the literal parts of params: a template is assumed to match. Charges the meter like [`InputSchema::validate_and_fill`]; at
    /// most 50 problems are reported.
    pub fn check_literal(
        &self,
        params: &ValueTemplate,
        meter: &Meter,
    ) -> Result<Vec<SchemaProblem>, FuelExhausted> {
        let mut run = Run::new(&self.program, meter);
        let mut keep = |found: &Violation<'_, '_>| {
            let about_keys = found.value.is_object() || found.value.is_array();
            Ok((about_keys && is_about_keys(found)) || !holds_template(found.value, meter)?)
        };
        explain::problems(&mut run, params.source(), &mut keep).or_else(|stop| Ok(vec![deep(stop)?]))
    }
}

/// Checks whether a violation is about the keys of an object or the length of a list, which are literal even if the values are not.
fn is_about_keys(found: &Violation<'_, '_>) -> bool {
    let about_names = matches!(found.detail, Detail::Missing(_) | Detail::Unexpected(..));
    let about_length = matches!(
        found.keyword,
        Keyword::MinProperties(_)
            | Keyword::MaxProperties(_)
            | Keyword::MinItems(_)
            | Keyword::MaxItems(_)
            | Keyword::Type(_)
    );
    about_length || (about_names && !matches!(found.keyword, Keyword::UnevaluatedItems(_)))
}

/// Checks whether a string in a value contains a template.
fn holds_template(value: &Value, meter: &Meter) -> Result<bool, FuelExhausted> {
    meter.charge(rates::VALUE)?;
    match value {
        Value::String(text) => {
            meter.charge_each(text.len(), rates::PARSE_BYTE)?;
            Ok(text.contains("${")
                && ValueTemplate::parse(value).is_ok_and(|template| template.literal().is_none()))
        }
        Value::Array(items) => any(items, meter),
        Value::Object(fields) => any(fields.values(), meter),
        _ => Ok(false),
    }
}

fn any<'v>(values: impl IntoIterator<Item = &'v Value>, meter: &Meter) -> Result<bool, FuelExhausted> {
    for value in values {
        if holds_template(value, meter)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Creates the problem of a schema that is nested too deeply for a value.
fn deep(stop: EvaluationError) -> Result<SchemaProblem, FuelExhausted> {
    match stop {
        EvaluationError::Exhausted(exhausted) => Err(exhausted),
        EvaluationError::TooDeep => Ok(whole(stop.to_string())),
    }
}

fn whole(message: String) -> SchemaProblem {
    SchemaProblem { path: String::new(), message }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn schema(value: &Value) -> InputSchema {
        InputSchema::compile(value, &Meter::of_one_step()).unwrap()
    }

    fn problems(schema: &InputSchema, value: Value) -> Vec<SchemaProblem> {
        match schema.validate_and_fill(value, &Meter::of_one_step()).unwrap_err() {
            SchemaFailure::Problems(problems) => problems,
            SchemaFailure::Exhausted(exhausted) => panic!("{exhausted}"),
        }
    }

    #[test]
    fn defaults_are_filled_in_before_checking() {
        let schema = schema(&json!({
            "type": "object",
            "properties": {
                "directory": {"type": "string", "default": "."},
                "options": {
                    "type": "object", "default": {},
                    "properties": {"depth": {"type": "integer", "default": 3}}
                },
                "files": {"type": "array", "items": {"$ref": "#/$defs/file"}},
                "n": {"type": "integer"}
            },
            "$defs": {"file": {"type": "object", "properties": {"kind": {"default": "text"}}}},
            "required": ["directory", "options"],
            "additionalProperties": false
        }));
        assert_eq!(
            schema
                .validate_and_fill(
                    json!({"files": [{}, {"kind": "x"}], "n": u64::MAX}),
                    &Meter::of_one_step()
                )
                .unwrap(),
            json!({
                "directory": ".", "options": {"depth": 3}, "files": [{"kind": "text"}, {"kind": "x"}], "n": u64::MAX
            })
        );
        let problems = problems(&schema, json!({"directory": 1, "x": 2, "n": 1.5}));
        let paths: Vec<_> = problems.iter().map(|problem| problem.path.as_str()).collect();
        assert!(
            paths.contains(&"/directory") && paths.contains(&"") && paths.contains(&"/n"),
            "{problems:?}"
        );
    }

    #[test]
    fn schemas_that_cannot_be_used_are_refused() {
        for (value, place) in [
            (json!({"type": "objekt"}), vec!["type"]),
            (json!({"properties": {"a": {"minimum": "x"}}}), vec!["properties", "a", "minimum"]),
            (json!({"$schema": "http://json-schema.org/draft-07/schema#"}), vec!["$schema"]),
        ] {
            let errors = InputSchema::compile(&value, &Meter::of_one_step()).unwrap_err();
            assert_eq!(errors[0].pointer, place, "{errors:?}");
        }
        for value in [
            json!({"$ref": "https://example.com/schema.json"}),
            json!({"properties": {"a": {"$ref": "file:///etc/passwd"}}}),
            json!({"$ref": "other.json"}),
            json!({"pattern": "("}),
            json!({"pattern": "(a{1000}){1000}"}),
            json!({"pattern": "(?=a)"}),
            json!([1]),
        ] {
            assert!(InputSchema::compile(&value, &Meter::of_one_step()).is_err(), "{value}");
        }
    }

    #[test]
    fn of_several_alternatives_the_one_that_was_meant_is_told() {
        let schema = schema(&json!({"oneOf": [
            {"properties": {"op": {"const": "spin"}, "n": {"type": "integer"}}, "required": ["op", "n"]},
            {"properties": {"op": {"const": "echo"}, "to": {"oneOf": [{"type": "string"}, {"type": "integer"}]}}, "required": ["op"]}
        ]}));
        let told = |value: Value| {
            let problems = problems(&schema, value);
            problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(told(json!({"op": "stop"})), r#"/op: it is not one of "spin", "echo""#);
        assert_eq!(told(json!({"op": "spin"})), r#""n" is a required property"#);
        assert_eq!(told(json!({"op": "spin", "n": "1"})), r#"/n: "1" is not of type "integer""#);
        assert_eq!(told(json!({})), r#""op" is a required property"#);
        assert!(
            told(json!({"op": "echo", "to": []})).starts_with("/to: "),
            "{}",
            told(json!({"op": "echo", "to": []}))
        );
    }

    #[test]
    fn endless_defaults_are_refused() {
        let schema = schema(&json!({
            "properties": {"a": {"$ref": "#", "default": {}}, "b": {"$ref": "#", "default": {}}}
        }));
        assert_eq!(problems(&schema, json!({}))[0].message, "the schema's defaults have no end");
    }

    #[test]
    fn only_what_is_literal_in_params_is_checked() {
        let schema = schema(&json!({
            "type": "object",
            "properties": {"n": {"type": "integer"}, "s": {"enum": ["a", "b"]}, "l": {"type": "array", "items": {"type": "integer"}}},
            "required": ["n"],
            "additionalProperties": false
        }));
        let check = |value: &Value| {
            schema.check_literal(&ValueTemplate::parse(value).unwrap(), &Meter::of_one_step()).unwrap().len()
        };
        assert_eq!(check(&json!({"n": "${state.n}", "s": "${inputs.s}", "l": [1, "${state.x}"]})), 0);
        assert_eq!(check(&json!("${state.params}")), 0);
        assert_eq!(check(&json!({"n": "1"})), 1);
        assert_eq!(
            check(&json!({"s": "${inputs.s}"})),
            1,
            "a missing key is missing whatever the others are"
        );
        assert_eq!(check(&json!({"n": 1, "x": "${state.x}"})), 1);
        assert_eq!(check(&json!({"n": 1, "l": ["x", "${state.x}"]})), 1);
    }
}
