//! The outcomes of `ask` and `fail` nodes.

use serde_json::Value;

use super::budget::Trouble;
use crate::node::{Category, Failure, Outcome};
use crate::question::{self, Question};
use crate::time::Timestamp;

/// The question, or the answer to it. An answer was checked when it was given, and is checked again with the present
/// question: state that is not stored may differ after a resume.
pub(super) fn answered(
    asked: Value,
    until: Option<Timestamp>,
    answer: Option<&Value>,
) -> Result<Outcome, Trouble> {
    let payload = question::payload(asked, until);
    let Some(answer) = answer else { return Ok(Outcome::Interrupt(payload)) };
    match Question::of(&payload).accept(answer.clone()) {
        Ok(answer) => Ok(Outcome::Result(answer)),
        Err(_) if answer.is_null() && until.is_some() => {
            Err(Failure::new(Category::Timeout, "no answer was given in time").into())
        }
        Err(error) => {
            Err(Failure::new(Category::InvalidInput, format!("the answer cannot be taken: {error}")).into())
        }
    }
}

/// The failure that a `fail` node says.
pub(super) fn failure(said: Value) -> Failure {
    let Value::Object(mut fields) = said else { return Failure::new(Category::Permanent, "") };
    let message = match fields.remove("message") {
        Some(Value::String(message)) => message,
        other => other.unwrap_or_default().to_string(),
    };
    let category = match fields.remove("category") {
        None | Some(Value::Null) => Some(Category::Permanent),
        Some(category) => category.as_str().and_then(Category::parse),
    };
    let Some(category) = category else {
        return Failure::new(Category::InvalidInput, "`fail.category` gives no category of a failure");
    };
    let details = fields.remove("details").filter(|details| !details.is_null());
    Failure { details, ..Failure::new(category, message) }
}
