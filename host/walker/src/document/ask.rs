//! The keys of `ask` and `fail` nodes.

use serde_json::Value;

use super::scope::{DocumentReader, IN_ACTION};
use crate::graph::NodeKind;
use graph_core::diagnostic::{Diagnostic, codes};
use graph_core::keys;
use graph_core::node::Category;
use graph_core::question::{FormSource, FormSources, Question, check_choices, payload};
use graph_core::schema::{InputSchema, SchemaError, SchemaFailure};
use graph_core::work::CompileBudget;
use graph_core::yaml::{Fields, Node, Yaml};

/// Checks whether a node is a text with a template, so that its value is not known.
fn is_template(node: &Node) -> bool {
    node.as_text().is_some_and(|text| text.contains("${"))
}

/// Checks whether any text in a node has a template.
fn has_template(node: &Node) -> bool {
    match &node.value {
        Yaml::List(items) => items.iter().any(has_template),
        Yaml::Mapping(mapping) => mapping.entries.iter().any(|entry| has_template(&entry.value)),
        _ => is_template(node),
    }
}

/// Reads `{question, about, choices, other, schema, timeout, default}`.
pub(super) fn read_ask(node: &Node, reader: &DocumentReader<'_>) -> Option<NodeKind> {
    let problems = reader.problems;
    let mut fields = Fields::open(node, &keys::graph::ASK, "`ask`", problems)?;
    fields.required("question");
    fields.get("about");
    let parts = ["choices", "other", "schema", "default"].map(|key| fields.filled(key));
    let [choices, other, schema, default] = parts;
    let sources = parts.map(source_of);
    let before = problems.len();
    if let Some(choices) = choices.filter(|choices| !is_template(choices)) {
        let is_plain = |node: &Node| !matches!(node.value, Yaml::List(_) | Yaml::Mapping(_) | Yaml::Null);
        match &choices.value {
            Yaml::List(list) if !list.is_empty() && list.iter().all(is_plain) => {}
            _ => choices.wrong_type(
                "`choices`",
                "a list of texts, numbers or booleans, or a template that gives one",
                problems,
            ),
        }
    }
    if let Some(other) = other.filter(|other| !is_template(other)) {
        other.bool("`other`", problems);
    }
    let mut compiled_schema = None;
    if let Some(schema) = schema.filter(|schema| !is_template(schema)) {
        match compiled(&schema.to_json(), reader.compiling) {
            Ok(schema) => compiled_schema = Some(schema),
            Err(errors) => {
                if let Some(error) = errors.first() {
                    let message = format!("`schema` is no JSON Schema that the host can use: {error}");
                    problems.push(Diagnostic::error(codes::WRONG_TYPE, schema.span.first_line(), message));
                }
            }
        }
    }
    if problems.len() == before && !sources.contains(&FormSource::Template) {
        check_together(node, choices, default, compiled_schema.as_ref(), reader);
    }
    let timeout = fields.duration("timeout");
    fields.finish();
    let [choices, other, schema, default] = sources;
    let sources = FormSources { choices, other, schema, default };
    let question = reader.template(node, IN_ACTION, None)?;
    Some(NodeKind::Ask { question, sources, timeout })
}

fn source_of(part: Option<&Node>) -> FormSource {
    match part {
        None => FormSource::Absent,
        Some(part) if has_template(part) => FormSource::Template,
        Some(_) => FormSource::Document,
    }
}

/// Checks the parts of a form against each other: all choices are different, and the default is a valid answer.
fn check_together(
    node: &Node,
    choices: Option<&Node>,
    default: Option<&Node>,
    schema: Option<&InputSchema>,
    reader: &DocumentReader<'_>,
) {
    let wrong = |place: &Node, message: String| {
        reader.problems.push(Diagnostic::error(codes::WRONG_TYPE, place.span.first_line(), message));
    };
    if let Some(choices) = choices
        && let Err(message) = check_choices(&choices.to_json())
    {
        return wrong(choices, message);
    }
    let Some(default) = default else { return };
    let no_answer = |error: String| {
        wrong(default, format!("`default` is no answer that the question accepts: {error}"));
    };
    match (choices, schema) {
        (Some(_), _) => {
            let form = payload(node.to_json(), None);
            if let Err(error) = Question::from_payload(&form).accept(default.to_json()) {
                no_answer(error.to_string());
            }
        }
        (None, Some(schema)) => {
            let meter = reader.compiling.schema();
            let checked = schema.validate_and_fill(default.to_json(), &meter);
            reader.compiling.count(&meter, matches!(checked, Err(SchemaFailure::Exhausted(_))));
            if let Err(SchemaFailure::Problems(found)) = checked {
                no_answer(found.first().map(ToString::to_string).unwrap_or_default());
            }
        }
        (None, None) => {}
    }
}

/// Compiles a schema of a document.
pub(super) fn compiled(schema: &Value, budget: &CompileBudget<'_>) -> Result<InputSchema, Vec<SchemaError>> {
    let meter = budget.schema();
    let compiled = InputSchema::compile(schema, &meter);
    let is_exhausted = compiled.as_ref().is_err_and(|errors| errors.iter().any(|error| error.limit));
    budget.count(&meter, is_exhausted);
    compiled
}

/// Reads `{category, message, details}`.
pub(super) fn read_fail(node: &Node, reader: &DocumentReader<'_>) -> Option<NodeKind> {
    let problems = reader.problems;
    let mut fields = Fields::open(node, &keys::graph::FAIL, "`fail`", problems)?;
    if let Some(category) = fields.filled("category").filter(|category| !is_template(category)) {
        let known = Category::ALL.map(|category| (category.as_str(), category));
        if category.as_text().and_then(Category::parse).is_none() {
            category.choice("`category`", &known, problems);
        }
    }
    fields.required("message");
    fields.get("details");
    fields.finish();
    reader.template(node, IN_ACTION, None).map(NodeKind::Fail)
}
