//! Compiling a schema, and checking values against it.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, Retrieve, Uri, Validator};
use serde_json::Value;

use super::defaults;
use crate::diagnostic::excerpt_of;
use crate::template::ValueTemplate;

/// The largest compiled pattern in bytes: a pattern such as `(a{1000}){1000}` takes time and memory to compile.
const MAX_PATTERN: usize = 1 << 20;
/// The most problems that are reported for one value.
const MOST_PROBLEMS: usize = 50;

/// A compiled schema.
#[derive(Debug)]
pub struct InputSchema {
    schema: Value,
    validator: Validator,
}

/// A value is not a usable schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SchemaError {
    /// The keys and indices that lead to the place in the schema.
    pub pointer: Vec<String>,
    /// What is wrong.
    pub message: String,
}

/// A value does not fit a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", if .path.is_empty() { String::new() } else { format!("{}: ", .path) })]
pub struct SchemaProblem {
    /// The JSON pointer (RFC 6901) of the part that does not fit; empty for the whole value.
    pub path: String,
    /// What is wrong with it.
    pub message: String,
}

/// Refuses every reference that leaves the schema.
struct NoReferences;

impl Retrieve for NoReferences {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err(format!("`{uri}` is outside of the schema, and nothing is fetched").into())
    }
}

impl InputSchema {
    /// Compiles a schema. All that the meta-schema finds is reported at once.
    pub fn compile(schema: &Value) -> Result<Self, Vec<SchemaError>> {
        let pointer = |text: &str| text.split('/').skip(1).map(unescape).collect::<Vec<_>>();
        if let Some(found) = foreign_draft(schema) {
            let message = format!("`$schema` is `{}`; only draft 2020-12 is read", excerpt_of(&found));
            return Err(vec![SchemaError { pointer: vec!["$schema".to_owned()], message }]);
        }
        let found: Vec<_> = jsonschema::draft202012::meta::validator()
            .iter_errors(schema)
            .take(MOST_PROBLEMS)
            .map(|error| SchemaError {
                pointer: pointer(error.instance_path().as_str()),
                message: excerpt_of(&error.to_string()),
            })
            .collect();
        if !found.is_empty() {
            return Err(found);
        }
        let validator = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .with_retriever(NoReferences)
            .with_pattern_options(PatternOptions::regex().size_limit(MAX_PATTERN))
            .build(schema)
            .map_err(|error| {
                let message = excerpt_of(&error.to_string());
                vec![SchemaError { pointer: pointer(error.schema_path().as_str()), message }]
            })?;
        Ok(Self { schema: schema.clone(), validator })
    }

    /// Fills in the defaults of properties that are missing, then checks the value.
    pub fn validate_and_fill(&self, mut value: Value) -> Result<Value, Vec<SchemaProblem>> {
        defaults::fill(&self.schema, &mut value)
            .map_err(|defaults::Endless| vec![problem("", "the schema's defaults have no end")])?;
        let problems = self.problems(&value, |_| true);
        if problems.is_empty() { Ok(value) } else { Err(problems) }
    }

    /// Checks what is literal in params: a part that is a template is taken to fit, whatever the schema says there.
    pub fn check_literal(&self, params: &ValueTemplate) -> Vec<SchemaProblem> {
        use ValidationErrorKind as Kind;
        let source = params.source();
        self.problems(source, |error| {
            let part = source.pointer(error.instance_path().as_str());
            let literal = part
                .and_then(|part| ValueTemplate::parse(part).ok())
                .is_none_or(|part| part.literal().is_some());
            // The keys of an object and the length of a list are literal even where the values are not.
            let about_keys = matches!(
                error.kind(),
                Kind::Required { .. }
                    | Kind::AdditionalProperties { .. }
                    | Kind::UnevaluatedProperties { .. }
                    | Kind::MinProperties { .. }
                    | Kind::MaxProperties { .. }
                    | Kind::MinItems { .. }
                    | Kind::MaxItems { .. }
                    | Kind::Type { .. }
            );
            literal || (about_keys && part.is_some_and(|part| part.is_object() || part.is_array()))
        })
    }

    fn problems(
        &self,
        value: &Value,
        keep: impl Fn(&jsonschema::ValidationError<'_>) -> bool,
    ) -> Vec<SchemaProblem> {
        self.validator
            .iter_errors(value)
            .filter(|error| keep(error))
            .flat_map(|error| explained(&error))
            .take(MOST_PROBLEMS)
            .collect()
    }
}

/// What a violation comes to. Of several alternatives it is that of the one that was meant, as far as a constant, such as
/// the tag of an enumeration, says which one that is.
fn explained(error: &jsonschema::ValidationError<'_>) -> Vec<SchemaProblem> {
    use ValidationErrorKind as Kind;
    let whole = || vec![problem(error.instance_path().as_str(), &error.to_string())];
    let (Kind::OneOfNotValid { context } | Kind::AnyOf { context }) = error.kind() else { return whole() };
    let constant = |alternative: &[jsonschema::ValidationError<'static>]| {
        alternative.iter().find_map(|error| match error.kind() {
            Kind::Constant { expected_value } => {
                Some((error.instance_path().as_str().to_owned(), expected_value.clone()))
            }
            _ => None,
        })
    };
    let mut meant = context.iter().filter(|alternative| constant(alternative).is_none());
    match (meant.next(), meant.next()) {
        (Some(alternative), None) => alternative.iter().flat_map(explained).collect(),
        (Some(_), Some(_)) => {
            // A key that all alternatives need is missing, whichever was meant.
            let lacks = |alternative: &[jsonschema::ValidationError<'static>], key: &Value| {
                alternative
                    .iter()
                    .any(|error| matches!(error.kind(), Kind::Required { property } if property == key))
            };
            let first = context.first().into_iter().flatten();
            let missing = first.filter(|error| match error.kind() {
                Kind::Required { property } => context.iter().all(|other| lacks(other, property)),
                _ => false,
            });
            let missing: Vec<_> = missing.flat_map(explained).collect();
            if missing.is_empty() { whole() } else { missing }
        }
        (None, _) => {
            let constants: Vec<_> =
                context.iter().filter_map(|alternative| constant(alternative.as_slice())).collect();
            let Some((path, _)) = constants.first() else { return whole() };
            if constants.iter().any(|(other, _)| other != path) {
                return whole();
            }
            let values: Vec<_> = constants.iter().map(|(_, value)| value.to_string()).collect();
            vec![problem(path, &format!("it is not one of {}", values.join(", ")))]
        }
    }
}

fn problem(path: &str, message: &str) -> SchemaProblem {
    SchemaProblem { path: path.to_owned(), message: excerpt_of(message) }
}

/// One token of a JSON pointer.
fn unescape(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

/// The value of `$schema`, if it names another draft.
fn foreign_draft(schema: &Value) -> Option<String> {
    let named = schema.get("$schema")?.as_str()?;
    let known = "https://json-schema.org/draft/2020-12/schema";
    (named.trim_end_matches('#') != known).then(|| named.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn schema(value: &Value) -> InputSchema {
        InputSchema::compile(value).unwrap()
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
            schema.validate_and_fill(json!({"files": [{}, {"kind": "x"}], "n": u64::MAX})).unwrap(),
            json!({
                "directory": ".", "options": {"depth": 3}, "files": [{"kind": "text"}, {"kind": "x"}], "n": u64::MAX
            })
        );
        let problems = schema.validate_and_fill(json!({"directory": 1, "x": 2, "n": 1.5})).unwrap_err();
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
            let errors = InputSchema::compile(&value).unwrap_err();
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
            assert!(InputSchema::compile(&value).is_err(), "{value}");
        }
    }

    #[test]
    fn of_several_alternatives_the_one_that_was_meant_is_told() {
        let schema = schema(&json!({"oneOf": [
            {"properties": {"op": {"const": "spin"}, "n": {"type": "integer"}}, "required": ["op", "n"]},
            {"properties": {"op": {"const": "echo"}, "to": {"oneOf": [{"type": "string"}, {"type": "integer"}]}}, "required": ["op"]}
        ]}));
        let told = |value: Value| {
            let problems = schema.validate_and_fill(value).unwrap_err();
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
        assert!(schema.validate_and_fill(json!({})).is_err());
    }

    #[test]
    fn only_what_is_literal_in_params_is_checked() {
        let schema = schema(&json!({
            "type": "object",
            "properties": {"n": {"type": "integer"}, "s": {"enum": ["a", "b"]}, "l": {"type": "array", "items": {"type": "integer"}}},
            "required": ["n"],
            "additionalProperties": false
        }));
        let check = |value: &Value| schema.check_literal(&ValueTemplate::parse(value).unwrap()).len();
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
