//! Plans actions that load, search and sign items, or fill directives in.

use std::collections::BTreeMap;
use std::sync::Arc;

use graph_core::item::{ItemOperation, ItemType};
use graph_core::schema::InputSchema;
use graph_core::work::Meter;
use graph_walker::graph::Action;
use serde_json::Value;

use super::work::PlanWork;
use super::{PlanProblem, PlannedId, PlannedNode};
use crate::error::Error;
use crate::items::operation_params::{NO_TOOLS, params_schema};
use crate::items::text_items::{Text, TextError};
use crate::plan::admission::{AdmitError, Components};
use crate::remedy::Remedy;

/// Texts by type and id.
pub(super) type Texts = BTreeMap<(&'static str, String), Result<Arc<Text>, PlanProblem>>;

/// Finds and reads the item of an action, and checks the literal parts of its params.
pub(super) fn check_node(
    components: &Components,
    action: &Action,
    planned: &mut PlannedNode,
    texts: &mut Texts,
    work: &PlanWork,
) {
    let (operation, item_type) = (action.operation, action.item_type);
    if (operation, item_type) == (ItemOperation::Sign, ItemType::Tool) {
        planned.problems.push(Error::denied(NO_TOOLS).into());
        return;
    }
    if operation == ItemOperation::Sign && components.signing_key.is_none() {
        let error = Error::denied("the run is given no key to sign with");
        planned.problems.push(error.help(Remedy::NameSigningKey).into());
    }
    let id = match &planned.item {
        PlannedId::Literal(id) => id.clone(),
        PlannedId::Template(_) => {
            if (operation, item_type) != (ItemOperation::Execute, ItemType::Directive) {
                work.step(|meter| check_params(&params_schema(operation), action, "", planned, meter));
            }
            return;
        }
    };
    let schema = match (operation, item_type) {
        (ItemOperation::Search, _) => Ok(params_schema(operation)),
        (_, ItemType::Tool) => match components.locator.find(&id) {
            Ok(_) => Ok(params_schema(operation)),
            Err(error) => Err(AdmitError::Find(error).into_error().into()),
        },
        (ItemOperation::Sign, _) => match components.locator.file(item_type, &id) {
            Ok(_) => Ok(params_schema(operation)),
            Err(error) => Err(TextError::Find(error).into_error().into()),
        },
        (ItemOperation::Execute | ItemOperation::Load, _) => {
            let texts_of = components.texts();
            #[allow(clippy::result_large_err, reason = "it is kept for each text that cannot be read")]
            let text = texts.entry((item_type.as_str(), id.clone())).or_insert_with(|| {
                texts_of.read(item_type, &id).map(Arc::new).map_err(|error| problem(error).into())
            });
            match text {
                Ok(text) => Ok(match (operation, &text.item.directive) {
                    (ItemOperation::Execute, Some(directive)) => directive.schema(),
                    _ => params_schema(operation),
                }),
                Err(problem) => Err(problem.clone()),
            }
        }
    };
    match schema {
        Ok(schema) => work.step(|meter| check_params(&schema, action, &id, planned, meter)),
        Err(problem) => planned.problems.push(problem),
    }
}

/// Like [`TextError::into_error`], but with a line for every mistake of a text: a plan has no snippets.
fn problem(error: TextError) -> Error {
    match &error {
        TextError::Invalid(problems) => Error::invalid(problems.to_lines().join("\n    ")),
        _ => error.into_error(),
    }
}

fn check_params(schema: &Value, action: &Action, id: &str, planned: &mut PlannedNode, meter: &Meter) {
    let what = format!("{} {} {id}", action.operation.as_str(), action.item_type.as_str());
    let what = what.trim_end();
    match InputSchema::compile(schema, meter) {
        Ok(schema) => match schema.check_literal(&action.params, meter) {
            Ok(problems) => {
                for problem in problems {
                    let message = format!("its params are not what `{what}` takes: {problem}");
                    planned.problems.push(Error::invalid(message).into());
                }
            }
            Err(exhausted) => {
                let message =
                    format!("its params cannot be checked against what `{what}` takes: {exhausted}");
                planned.problems.push(Error::limit(message).into());
            }
        },
        Err(errors) => {
            let reasons: Vec<_> = errors.iter().map(ToString::to_string).collect();
            let message = format!("what `{what}` takes is not usable: {}", reasons.join("; "));
            planned.problems.push(Error::invalid(message).into());
        }
    }
}
