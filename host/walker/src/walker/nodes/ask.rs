//! Outcomes of `ask` and `fail` nodes.

use serde_json::Value;

use crate::walker::budget::run_budget::Trouble;
use graph_core::digest::Digest;
use graph_core::node::{Category, Failure};
use graph_core::question;
use graph_core::question::{FormError, FormSources, Question, form_digest, shown};
use graph_core::time::Timestamp;
use graph_core::work::Meter;

/// The answer that an `ask` node has been given.
pub(in crate::walker) struct GivenAnswer<'a> {
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
pub(in crate::walker) enum Asked {
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
    given: Option<&GivenAnswer<'_>>,
    meter: &Meter,
) -> Result<Asked, Trouble> {
    let Some(given) = given else {
        sources.check(&asked, meter)?;
        return Ok(Asked::Question(question::payload(asked, until)));
    };
    let is_fixed = given.asked.is_some() && !given.has_changed;
    let present = match given.asked {
        Some(fixed) if is_fixed => fixed.clone(),
        _ => {
            sources.check(&asked, meter)?;
            question::payload(asked, until)
        }
    };
    // A question without a form was that of a component, not of an `ask` node.
    let shown_form = given.form.map(Some).or_else(|| given.asked.filter(|_| !is_fixed).map(form_digest));
    let again = |present: Value, why: String| Ok(Asked::Again(question::again(present, why)));
    if shown_form.is_some_and(|form| form != form_digest(&present)) {
        let what = if given.is_expired { "its default" } else { "the answer" };
        let why = format!(
            "the question is another one since {what} `{}` was taken, which does not count",
            shown(given.answer)
        );
        return again(present, why);
    }
    // The deadline is that of the question as it was asked.
    let fixed = given.asked.cloned().unwrap_or(present);
    if given.is_expired {
        return match given.answer {
            Value::Null => Err(timeout().into()),
            default => Ok(Asked::Answer(default.clone())),
        };
    }
    match Question::from_payload(&fixed).accept(given.answer.clone()) {
        Ok(answer) => Ok(Asked::Answer(answer)),
        // Earlier releases recorded an expired question in this way.
        Err(_) if given.answer.is_null() && until.is_some() => Err(timeout().into()),
        Err(error) => {
            let why = format!("the answer `{}` is not accepted: {error}", shown(given.answer));
            again(fixed, why)
        }
    }
}

/// Returns the failure of a node whose question has expired without a default.
pub(in crate::walker) fn timeout() -> Failure {
    Failure::new(Category::Timeout, "no answer was given in time")
}

impl From<FormError> for Trouble {
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
    fn why(given: &GivenAnswer<'_>) -> Option<String> {
        let asked = json!({ "question": "Publish?" });
        match answered(asked, FormSources::default(), None, Some(given), &Meter::of_one_step()) {
            Ok(Asked::Again(payload)) => Some(payload["asked_again"].as_str().unwrap().to_owned()),
            Ok(Asked::Answer(answer)) if answer == *given.answer => None,
            _ => panic!("neither an answer nor a question that is asked again"),
        }
    }

    #[test]
    fn an_answer_counts_for_the_question_that_was_shown() {
        let shown = question::payload(json!({ "question": "Publish?" }), None);
        let other = question::payload(json!({ "question": "Delete?" }), None);
        let answer = json!("yes");
        let given = |asked, form, has_changed| GivenAnswer {
            answer: &answer,
            is_expired: false,
            asked,
            form,
            has_changed,
        };
        let (same_form, other_form) = (form_digest(&shown), form_digest(&other));
        // Without changes the form is that of the question, whatever its template evaluates to now.
        assert_eq!(why(&given(Some(&other), other_form, false)), None);
        assert_eq!(why(&given(Some(&shown), same_form, true)), None);
        assert_eq!(why(&given(Some(&shown), None, true)), None);
        assert_eq!(why(&given(None, same_form, false)), None);
        // An earlier release has recorded no form.
        assert_eq!(why(&given(None, None, true)), None);
        // A component has asked in the same words.
        let component = json!({ "question": "Publish?" });
        for again in [
            given(Some(&other), other_form, true),
            given(Some(&other), None, true),
            given(None, other_form, false),
            given(None, other_form, true),
            given(Some(&component), None, true),
        ] {
            assert!(why(&again).unwrap().contains("`yes`"), "{:?}", again.asked);
        }
    }
}
