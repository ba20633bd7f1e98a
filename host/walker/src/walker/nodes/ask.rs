//! Outcomes of `ask` and `fail` nodes.

use serde_json::Value;

use crate::walker::budget::run_budget::NodeWorkError;
use graph_core::digest::Digest;
use graph_core::node::{Category, Failure};
use graph_core::question;
use graph_core::question::{FormError, FormSources, Question, form_digest, shown};
use graph_core::time::Timestamp;
use graph_core::work::Meter;

/// The answer to the question of an `ask` node.
pub(in crate::walker) struct AskAnswer<'a> {
    pub answer: &'a Value,
    /// `true` if the question expired without an answer.
    pub is_expired: bool,
    /// The question that was answered, as far as it is known.
    pub asked: Option<&'a Value>,
    /// The digest of the form that was answered, as far as it is recorded.
    pub form: Option<Digest>,
    /// `true` if changes of the graph have been accepted since then.
    pub has_changed: bool,
}

/// The result of an `ask` node.
pub(in crate::walker) enum AskResult {
    /// The question, which has to be answered.
    Question(Value),
    /// The question, asked again because the answer was not accepted or was to another question.
    Again(Value),
    /// The answer.
    Answer(Value),
}

/// Returns the question, or the answer to it. An answer counts for the form that was shown: it was checked against that form
/// when it came, and the question is asked again if it has another form now. The form is fixed when the question is asked.
/// Only accepted changes of the graph, or an edit of the state, which restarts the superstep, give it another one.
pub(in crate::walker) fn answered(
    asked: Value,
    sources: FormSources,
    until: Option<Timestamp>,
    answer: Option<&AskAnswer<'_>>,
    meter: &Meter,
) -> Result<AskResult, NodeWorkError> {
    let Some(answer) = answer else {
        sources.check(&asked, meter)?;
        return Ok(AskResult::Question(question::payload(asked, until)));
    };
    let is_fixed = answer.asked.is_some() && !answer.has_changed;
    let present = match answer.asked {
        Some(fixed) if is_fixed => fixed.clone(),
        _ => {
            sources.check(&asked, meter)?;
            question::payload(asked, until)
        }
    };
    // A question without a form was that of a component, not of an `ask` node.
    let shown_form = answer.form.map(Some).or_else(|| answer.asked.filter(|_| !is_fixed).map(form_digest));
    let again = |present: Value, why: String| Ok(AskResult::Again(question::again(present, why)));
    if shown_form.is_some_and(|form| form != form_digest(&present)) {
        let what = if answer.is_expired { "its default" } else { "the answer" };
        let why = format!(
            "the question is another one since {what} `{}` was taken, which does not count",
            shown(answer.answer)
        );
        return again(present, why);
    }
    // The deadline is that of the question as it was asked.
    let fixed = answer.asked.cloned().unwrap_or(present);
    if answer.is_expired {
        return match answer.answer {
            Value::Null => Err(timeout().into()),
            default => Ok(AskResult::Answer(default.clone())),
        };
    }
    match Question::from_payload(&fixed).accept(answer.answer.clone()) {
        Ok(answer) => Ok(AskResult::Answer(answer)),
        // Earlier releases recorded an expired question in this way.
        Err(_) if answer.answer.is_null() && until.is_some() => Err(timeout().into()),
        Err(error) => {
            let why = format!("the answer `{}` is not accepted: {error}", shown(answer.answer));
            again(fixed, why)
        }
    }
}

/// Returns the failure of a node whose question has expired without a default.
pub(in crate::walker) fn timeout() -> Failure {
    Failure::new(Category::Timeout, "no answer was given in time")
}

impl From<FormError> for NodeWorkError {
    fn from(error: FormError) -> Self {
        match error {
            FormError::Question(message) => {
                Failure::new(Category::InvalidInput, format!("the question cannot be asked: {message}"))
                    .into()
            }
            FormError::Exhausted(exhausted) => exhausted.into(),
        }
    }
}

/// Builds the failure of a `fail` node from the value of its template.
pub(in crate::walker) fn failure(said: Value) -> Failure {
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    /// Returns the reason why a question is asked again, if it is.
    fn why(answer: &AskAnswer<'_>) -> Option<String> {
        let asked = json!({ "question": "Publish?" });
        match answered(asked, FormSources::default(), None, Some(answer), &Meter::of_one_step()) {
            Ok(AskResult::Again(payload)) => Some(payload["asked_again"].as_str().unwrap().to_owned()),
            Ok(AskResult::Answer(accepted)) if accepted == *answer.answer => None,
            _ => panic!("neither an answer nor a question that is asked again"),
        }
    }

    #[test]
    fn an_answer_counts_for_the_question_that_was_shown() {
        let shown = question::payload(json!({ "question": "Publish?" }), None);
        let other = question::payload(json!({ "question": "Delete?" }), None);
        let answer = json!("yes");
        let answer = |asked, form, has_changed| AskAnswer {
            answer: &answer,
            is_expired: false,
            asked,
            form,
            has_changed,
        };
        let (same_form, other_form) = (form_digest(&shown), form_digest(&other));
        // Without changes the form is that of the question, whatever its template evaluates to now.
        assert_eq!(why(&answer(Some(&other), other_form, false)), None);
        assert_eq!(why(&answer(Some(&shown), same_form, true)), None);
        assert_eq!(why(&answer(Some(&shown), None, true)), None);
        assert_eq!(why(&answer(None, same_form, false)), None);
        // An earlier release has recorded no form.
        assert_eq!(why(&answer(None, None, true)), None);
        // A component has asked in the same words.
        let component = json!({ "question": "Publish?" });
        for again in [
            answer(Some(&other), other_form, true),
            answer(Some(&other), None, true),
            answer(None, other_form, false),
            answer(None, other_form, true),
            answer(Some(&component), None, true),
        ] {
            assert!(why(&again).unwrap().contains("`yes`"), "{:?}", again.asked);
        }
    }
}
