//! The outcomes of `ask` and `fail` nodes.

use serde_json::Value;

use super::budget::Trouble;
use crate::node::{Category, Failure};
use crate::question::{self, FormError, FormSources, Question};
use crate::time::Timestamp;
use crate::work::Meter;

/// The answer that an `ask` node has been given.
pub(super) struct GivenAnswer<'a> {
    pub answer: &'a Value,
    /// No one gave it before the deadline.
    pub is_expired: bool,
    /// The question that it was given for, as far as it is known.
    pub asked: Option<&'a Value>,
    /// Changes of the graph have been accepted since then.
    pub has_changed: bool,
}

/// The result of an `ask` node.
pub(super) enum Asked {
    /// The question, which has to be answered.
    Question(Value),
    /// The same, although there is an answer: that was to another question.
    Again(Value),
    /// The answer.
    Answer(Value),
}

/// The question, or the answer to it. The form of a question is fixed when it is asked: an answer was checked with it when it came.
/// Only accepted changes of the graph ask another question. Where the question is not known, since an edit of the state has
/// started the superstep again, the present one counts.
pub(super) fn answered(
    asked: Value,
    sources: FormSources,
    until: Option<Timestamp>,
    given: Option<&GivenAnswer<'_>>,
    meter: &Meter,
) -> Result<Asked, Trouble> {
    let Some(given) = given else {
        sources.check(&asked, meter)?;
        return Ok(Asked::Question(question::payload(asked, until)));
    };
    let fixed = match given.asked {
        Some(fixed) if given.has_changed => {
            sources.check(&asked, meter)?;
            // The deadline is that of the question that was asked, if both have one.
            let same_until = until.and(Question::of(fixed).until()).or(until);
            if *fixed != question::payload(asked.clone(), same_until) {
                return Ok(Asked::Again(question::payload(asked, until)));
            }
            fixed.clone()
        }
        Some(fixed) => fixed.clone(),
        None => {
            sources.check(&asked, meter)?;
            question::payload(asked, until)
        }
    };
    if given.is_expired {
        return match given.answer {
            Value::Null => Err(timeout().into()),
            default => Ok(Asked::Answer(default.clone())),
        };
    }
    match Question::of(&fixed).accept(given.answer.clone()) {
        Ok(answer) => Ok(Asked::Answer(answer)),
        // Earlier releases recorded so that a question had expired.
        Err(_) if given.answer.is_null() && until.is_some() => Err(timeout().into()),
        Err(_) => Ok(Asked::Again(fixed)),
    }
}

/// The failure of a node whose question has expired without a default.
pub(super) fn timeout() -> Failure {
    Failure::new(Category::Timeout, "no answer was given in time")
}

impl From<FormError> for Trouble {
    fn from(error: FormError) -> Self {
        match error {
            FormError::Invalid(message) => {
                Failure::new(Category::InvalidInput, format!("the question cannot be asked: {message}"))
                    .into()
            }
            FormError::Exhausted(exhausted) => exhausted.into(),
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
