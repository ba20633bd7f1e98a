//! The keys of `ask` and `fail` nodes.

use serde_json::Value;

use super::scope::{IN_ACTION, Reader};
use crate::diagnostic::{Diagnostic, codes};
use crate::graph::NodeKind;
use crate::keys;
use crate::node::Category;
use crate::schema::{InputSchema, SchemaError};
use crate::work::CompileBudget;
use crate::yaml::{Fields, Node, Yaml};

/// Whether it is a text with a template, so that its value is not known.
fn is_template(node: &Node) -> bool {
    node.as_text().is_some_and(|text| text.contains("${"))
}

/// Reads `{question, about, choices, other, schema, timeout, default}`.
pub(super) fn read_ask(node: &Node, reader: &Reader<'_>) -> Option<NodeKind> {
    let problems = reader.problems;
    let mut fields = Fields::open(node, &keys::graph::ASK, "`ask`", problems)?;
    fields.required("question");
    for key in ["about", "default"] {
        fields.get(key);
    }
    if let Some(choices) = fields.filled("choices").filter(|choices| !is_template(choices)) {
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
    if let Some(other) = fields.filled("other").filter(|other| !is_template(other)) {
        other.bool("`other`", problems);
    }
    if let Some(schema) = fields.filled("schema").filter(|schema| !is_template(schema))
        && let Err(errors) = compiled(&schema.to_json(), reader.compiling)
        && let Some(error) = errors.first()
    {
        let message = format!("`schema` is no JSON Schema that the host can use: {error}");
        problems.push(Diagnostic::error(codes::WRONG_TYPE, schema.span.first_line(), message));
    }
    let timeout = fields.duration("timeout");
    fields.finish();
    let question = reader.template(node, IN_ACTION, None)?;
    Some(NodeKind::Ask { question, timeout })
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
pub(super) fn read_fail(node: &Node, reader: &Reader<'_>) -> Option<NodeKind> {
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
