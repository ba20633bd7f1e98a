//! Converts host types to the contract's and back. A component's answers are checked: strict JSON, within the output limit.

use graph_core::json::{MAX_DEPTH, TreeLimit, parse_strict, write_canonical};
use graph_core::node::{Activation, Category, Failure, Goto, Outcome, OutputBudget, shortened};
use serde_json::Value;

use crate::bindings::graph_host::node::types as wit;
use crate::call::Classification;

/// Returns the JSON text of a value in the form of records: a component may return `0.0`, which a record stores as `0`, and the input of
/// another component must not depend on whether the run was restored in between. Memory for the whole length is reserved at once, as a
/// growing string may end with twice that.
pub(crate) fn text(value: &Value) -> String {
    let mut text = String::with_capacity(length_without_escapes(value));
    write_canonical(value, &mut text);
    text
}

/// Estimates the length of a value's JSON text, without escapes and without the digits of numbers after the first.
fn length_without_escapes(value: &Value) -> usize {
    match value {
        Value::Null => 4,
        Value::Bool(value) => 5 - usize::from(*value),
        Value::Number(_) => 1,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| length_without_escapes(item) + 1).sum::<usize>() + 2,
        Value::Object(fields) => {
            fields.iter().map(|(key, field)| key.len() + 4 + length_without_escapes(field)).sum::<usize>() + 2
        }
    }
}

/// The JSON texts of the values in an activation.
pub(crate) struct ActivationText {
    argument: Option<String>,
    answers: Vec<String>,
}

impl ActivationText {
    pub(crate) fn new(activation: &Activation) -> Self {
        Self {
            argument: activation.argument.as_ref().map(text),
            answers: activation.answers.iter().map(text).collect(),
        }
    }

    pub(crate) fn answers(&self) -> Vec<&String> {
        self.answers.iter().collect()
    }

    pub(crate) fn with<'a>(
        &'a self,
        activation: &'a Activation,
        answers: &'a [&'a String],
    ) -> wit::Activation<'a> {
        wit::Activation {
            run_id: &activation.run_id,
            root_run_id: &activation.root_run_id,
            parent_run_id: activation.parent_run_id.as_deref(),
            graph_id: &activation.graph_id,
            node_id: &activation.node_id,
            superstep: activation.superstep,
            task: &activation.task,
            attempt: activation.attempt,
            visit: activation.visit,
            argument: self.argument.as_ref(),
            answers,
            idempotency_key: &activation.idempotency_key,
        }
    }
}

/// Converts the answer of `run`.
pub(crate) fn answer(
    answer: Result<wit::Outcome, wit::Failure>,
    output_limit: u64,
) -> (Classification, Result<Outcome, Failure>) {
    match read(answer, output_limit) {
        Ok(outcome) => (Classification::Returned, outcome),
        Err(failure) => (Classification::InvalidResult, Err(failure)),
    }
}

fn read(answer: Result<wit::Outcome, wit::Failure>, limit: u64) -> Result<Result<Outcome, Failure>, Failure> {
    let mut budget = Budget(OutputBudget::new(limit));
    Ok(match answer {
        Ok(wit::Outcome::Result(text)) => Ok(Outcome::Result(budget.json(&text, "its result")?)),
        Ok(wit::Outcome::Interrupt(text)) => Ok(Outcome::Interrupt(budget.json(&text, "its question")?)),
        Ok(wit::Outcome::Command(command)) => Ok(budget.command(command)?),
        Err(failure) => Err(budget.failure(failure)?),
    })
}

/// Memory that the values of an answer may take for each byte of the output limit, if that exceeds [`TreeLimit::CALL`].
const VALUES_OF_A_BYTE: u64 = 16;

/// The remaining output limit of a node action's answer.
struct Budget(OutputBudget);

impl Budget {
    fn json(&mut self, text: &str, what: &str) -> Result<Value, Failure> {
        self.0.spend(text.len())?;
        let limit = TreeLimit::CALL.or(self.0.limit().saturating_mul(VALUES_OF_A_BYTE));
        parse_strict(text, MAX_DEPTH, limit).map_err(|error| match error.too_large {
            Some(_) => Failure::new(Category::Limit, format!("{what} is too large: {error}")),
            None => Failure::new(Category::Internal, format!("{what} is not valid JSON: {error}")),
        })
    }

    fn command(&mut self, command: wit::Command) -> Result<Outcome, Failure> {
        let Value::Object(update) = self.json(&command.update, "the update of its command")? else {
            return Err(Failure::new(Category::Internal, "the update of its command is not a JSON object"));
        };
        let mut goto = Vec::with_capacity(command.goto.len());
        for target in command.goto {
            self.0.spend(target.node.len().saturating_add(1))?;
            let argument = match target.argument {
                Some(text) => Some(self.json(&text, "an argument in its command")?),
                None => None,
            };
            goto.push(Goto { node: target.node, argument });
        }
        Ok(Outcome::Command { update, goto })
    }

    fn failure(&mut self, failure: wit::Failure) -> Result<Failure, Failure> {
        let details = match failure.details {
            Some(text) => Some(self.json(&text, "the details of its failure")?),
            None => None,
        };
        let message = shortened(&failure.message);
        Ok(Failure { category: category(failure.category), message, details, within: None })
    }
}

fn category(category: wit::Category) -> Category {
    match category {
        wit::Category::Transient => Category::Transient,
        wit::Category::RateLimited => Category::RateLimited,
        wit::Category::Timeout => Category::Timeout,
        wit::Category::Permanent => Category::Permanent,
        wit::Category::InvalidInput => Category::InvalidInput,
        wit::Category::Denied => Category::Denied,
        wit::Category::Limit => Category::Limit,
        wit::Category::Internal => Category::Internal,
    }
}

/// Converts a failure for a component.
pub(crate) fn failure(failure: Failure) -> wit::Failure {
    wit::Failure {
        category: match failure.category {
            Category::Transient => wit::Category::Transient,
            Category::RateLimited => wit::Category::RateLimited,
            Category::Timeout => wit::Category::Timeout,
            Category::Permanent => wit::Category::Permanent,
            Category::InvalidInput => wit::Category::InvalidInput,
            Category::Denied => wit::Category::Denied,
            Category::Limit => wit::Category::Limit,
            Category::Internal => wit::Category::Internal,
        },
        message: failure.message,
        details: failure.details.as_ref().map(text),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::text;

    #[test]
    fn components_are_given_numbers_as_records_have_them() {
        assert_eq!(text(&json!({ "spend": 0.0, "parts": [1.5, -2.0] })), r#"{"parts":[1.5,-2],"spend":0}"#);
    }
}
