//! Questions: the answers that they accept, and how a typed answer is read.
//!
//! A question is the payload of an interrupt. If it is an object, the host reads `choices` (or `options`), a list of texts, numbers and
//! booleans; `other`, which allows any other text; and `schema`, a JSON Schema. An `ask` node's payload has `type: ask` as well, and may
//! have `until`, `default` and `asked_again`, the reason why it is asked again. Other keys are shown to the user and have no meaning for
//! the host. The form of an `ask` node's question is checked before it is asked, since templates may give parts of it, and does not change
//! afterwards. After `until` no answer counts.
//!
//! The choices of a component are suggestions, because it checks the answer itself: other answers are refused only with
//! `other: false`.
//!
//! ```
//! use graph_core::question::Question;
//! use serde_json::json;
//!
//! let payload = json!({ "type": "ask", "question": "Which one?", "choices": ["replace X with Y", "4", "no"] });
//! let question = Question::from_payload(&payload);
//! assert_eq!(question.read("replace X with Y").unwrap(), json!("replace X with Y"));
//! // The text of a choice comes before its number.
//! assert_eq!(question.read("4").unwrap(), json!("4"));
//! assert_eq!(question.read("3").unwrap(), json!("no"));
//! assert!(question.read("5").is_err());
//! ```

mod form;

use std::fmt;

use serde_json::{Map, Value};

use crate::digest::{Digest, DomainHasher};
use crate::json::{self, MAX_DEPTH, TreeLimit};
use crate::schema::{InputSchema, SchemaFailure};
use crate::time::Timestamp;
use crate::work::Meter;

pub use form::{FormError, check_choices};
pub use form::{FormSource, FormSources};

/// `type` in the payload of an `ask` node.
const ASK: &str = "ask";
/// The key of a payload for the reason why its question is asked again.
const AGAIN: &str = "asked_again";
/// Largest number of choices that a message lists.
const LISTED: usize = 10;

/// The answers that a question accepts.
#[derive(Clone, Debug, Default)]
pub struct Question<'p> {
    choices: Vec<&'p Value>,
    other: OtherAnswers,
    schema: Option<&'p Value>,
    until: Option<Timestamp>,
    default: Option<&'p Value>,
}

/// The answers that are accepted in addition to the choices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum OtherAnswers {
    /// No text: only the choices are accepted.
    None,
    /// Any text, in addition to the choices.
    Text,
    /// Anything: the component that asked checks the answer.
    #[default]
    Any,
}

/// The outcome of a question whose deadline has passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpiredQuestion {
    /// The deadline.
    pub until: Timestamp,
    /// The answer that counts; without one, the node fails with `timeout`.
    pub default: Option<Value>,
}

impl fmt::Display for ExpiredQuestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { until, default } = self;
        match default {
            Some(default) => write!(f, "it expired at {until}, and its default `{}` counts", shown(default)),
            None => {
                write!(f, "it expired at {until}, and it has no default: its node fails with `timeout`")
            }
        }
    }
}

/// The reason why an answer is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// The answer is not one of the choices.
    #[error("it is none of the choices: {0}")]
    Choice(String),
    /// The answer does not match the question's schema.
    #[error("{0}")]
    Schema(String),
    /// The answer is JSON that cannot be used unchanged.
    #[error("it is JSON that cannot be used unchanged: {0}")]
    Json(String),
    /// The schema of the question is invalid, or checking an answer takes too much work.
    #[error("the schema of the question cannot be used: {0}")]
    Question(String),
}

impl<'p> Question<'p> {
    /// Reads the form of a payload. A payload without a form accepts any answer.
    pub fn from_payload(payload: &'p Value) -> Self {
        let Value::Object(fields) = payload else { return Self::default() };
        let choices = ["choices", "options"].into_iter().find_map(|key| fields.get(key)?.as_array());
        // The host ignores a list of other values.
        let choices = choices.filter(|list| list.iter().all(is_plain));
        let is_ask = is_ask(fields);
        let until = fields.get("until").and_then(Value::as_str).filter(|_| is_ask);
        Self {
            choices: choices.into_iter().flatten().collect(),
            other: match fields.get("other") {
                Some(Value::Bool(true)) => OtherAnswers::Text,
                Some(Value::Bool(false)) => OtherAnswers::None,
                _ if is_ask => OtherAnswers::None,
                _ => OtherAnswers::Any,
            },
            schema: fields
                .get("schema")
                .filter(|schema| schema.is_object() || (is_ask && schema.is_boolean())),
            until: until.and_then(|until| until.parse().ok()),
            default: fields.get("default").filter(|_| is_ask),
        }
    }

    /// Returns the choices, in order.
    pub fn choices(&self) -> &[&'p Value] {
        &self.choices
    }

    /// Returns the deadline for an answer.
    pub const fn until(&self) -> Option<Timestamp> {
        self.until
    }

    /// Returns the answer that counts once the deadline has passed.
    pub const fn default_answer(&self) -> Option<&'p Value> {
        self.default
    }

    /// Checks whether text other than the choices is explicitly accepted.
    pub fn takes_other(&self) -> bool {
        self.other == OtherAnswers::Text
    }

    /// Returns the form of an answer, for programs: `choices`, `other` (whether other text is accepted; `"any"`: the component that asked
    /// decides), `schema`, `default`, and `until`, the deadline for an answer.
    pub fn form(&self) -> Value {
        let mut form = Map::new();
        if !self.choices.is_empty() {
            form.insert("choices".to_owned(), self.choices.iter().map(|choice| (*choice).clone()).collect());
            let other = match self.other {
                OtherAnswers::None => Value::Bool(false),
                OtherAnswers::Text => Value::Bool(true),
                OtherAnswers::Any => Value::from("any"),
            };
            form.insert("other".to_owned(), other);
        }
        form.extend(self.schema.map(|schema| ("schema".to_owned(), schema.clone())));
        form.extend(self.default.map(|default| ("default".to_owned(), default.clone())));
        form.extend(self.until.map(|until| ("until".to_owned(), until.to_string().into())));
        Value::Object(form)
    }

    /// Returns the outcome without an answer, if this is the question of an `ask` node whose deadline has passed at `now`.
    pub fn expired(&self, now: Timestamp) -> Option<ExpiredQuestion> {
        let until = self.until.filter(|until| now >= *until)?;
        Some(ExpiredQuestion { until, default: self.default.cloned() })
    }

    /// Reads a typed answer. For a question with choices: the exact text of one, else the number of one, from 1, else
    /// (with `other`) the text itself. For any other question: JSON if the schema accepts it, else the text.
    pub fn read(&self, text: &str) -> Result<Value, AnswerError> {
        let text = text.trim();
        if let Some(choice) = self.choice(text) {
            return Ok(choice.clone());
        }
        match self.other {
            OtherAnswers::None if !self.choices.is_empty() => return Err(self.no_choice()),
            OtherAnswers::Text if !self.choices.is_empty() => return Ok(Value::from(text)),
            _ => {}
        }
        let read = match json::parse_strict(text, MAX_DEPTH, TreeLimit::INPUTS) {
            Ok(value) => value,
            Err(error) if json::is_json(text) => {
                let as_text = self.schema.and_then(|_| self.fit(Value::from(text)).ok());
                return as_text.ok_or_else(|| AnswerError::Json(error.to_string()));
            }
            Err(_) => return self.fit(Value::from(text)),
        };
        // A number that records write in another way, such as the version 1.10, is read as a number only if no text is accepted.
        if read.is_number() && json::canonical_string(&read) != text {
            return self.fit(Value::from(text)).or_else(|_| self.fit(read));
        }
        self.fit(read).or_else(|refused| self.fit(Value::from(text)).map_err(|_| refused))
    }

    /// Checks the answer of a program. If there are choices, a text or a number is read like a typed answer.
    pub fn accept(&self, answer: Value) -> Result<Value, AnswerError> {
        self.accept_within(answer, &Meter::of_one_step())
    }

    fn accept_within(&self, answer: Value, meter: &Meter) -> Result<Value, AnswerError> {
        if self.choices.contains(&&answer) {
            return Ok(answer);
        }
        let choice = match &answer {
            Value::String(text) => self.choice(text),
            Value::Number(number) => self.choice(&number.to_string()),
            _ => None,
        };
        match (choice, self.other) {
            (Some(choice), _) => Ok(choice.clone()),
            (None, OtherAnswers::None) if !self.choices.is_empty() => Err(self.no_choice()),
            (None, OtherAnswers::Text) if !self.choices.is_empty() && !answer.is_string() => {
                Err(self.no_choice())
            }
            (None, OtherAnswers::Text) if !self.choices.is_empty() => Ok(answer),
            _ => self.fit_within(answer, meter),
        }
    }

    /// Finds the choice whose shown text, or whose number from 1, equals a text.
    fn choice(&self, text: &str) -> Option<&'p Value> {
        let by_text = self.choices.iter().find(|choice| shown(choice) == text);
        let by_number = || {
            let number = text.parse::<usize>().ok().filter(|number| number.to_string() == text)?;
            self.choices.get(number.checked_sub(1)?)
        };
        by_text.or_else(by_number).copied()
    }

    fn no_choice(&self) -> AnswerError {
        let mut listed: Vec<String> = (1..)
            .zip(self.choices.iter().take(LISTED))
            .map(|(n, choice)| format!("{n}. {}", shown(choice)))
            .collect();
        if self.choices.len() > LISTED {
            listed.push(format!("{} more", self.choices.len() - LISTED));
        }
        AnswerError::Choice(listed.join(", "))
    }

    fn fit(&self, answer: Value) -> Result<Value, AnswerError> {
        self.fit_within(answer, &Meter::of_one_step())
    }

    fn fit_within(&self, answer: Value, meter: &Meter) -> Result<Value, AnswerError> {
        let Some(schema) = self.schema else { return Ok(answer) };
        let compiled = InputSchema::compile(schema, meter).map_err(|errors| {
            AnswerError::Question(errors.first().map(ToString::to_string).unwrap_or_default())
        })?;
        compiled.validate_and_fill(answer, meter).map_err(|failure| match failure {
            SchemaFailure::Problems(problems) => {
                let told: Vec<String> = problems.iter().take(3).map(ToString::to_string).collect();
                AnswerError::Schema(told.join("; "))
            }
            SchemaFailure::Exhausted(exhausted) => AnswerError::Question(exhausted.to_string()),
        })
    }
}

const fn is_plain(value: &Value) -> bool {
    matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_))
}

/// Returns a choice as it is typed.
pub fn shown(choice: &Value) -> String {
    choice.as_str().map_or_else(|| choice.to_string(), str::to_owned)
}

/// Returns the payload of a question that is asked again since the component has rejected the answer: the earlier payload, with the
/// component's message as `rejected`.
pub fn rejected(asked: &Value, message: &str) -> Value {
    let mut fields = match asked {
        Value::Object(fields) => fields.clone(),
        other => Map::from_iter([("question".to_owned(), other.clone())]),
    };
    fields.insert("rejected".to_owned(), message.into());
    Value::Object(fields)
}

/// Returns the payload of an `ask` node: its `ask` mapping, with its type and its deadline.
pub fn payload(asked: Value, until: Option<Timestamp>) -> Value {
    let mut fields = match asked {
        Value::Object(fields) => fields,
        other => serde_json::Map::from_iter([("question".to_owned(), other)]),
    };
    fields.retain(|_, value| !value.is_null());
    fields.insert("type".to_owned(), ASK.into());
    if let Some(until) = until {
        fields.insert("until".to_owned(), until.to_string().into());
    }
    Value::Object(fields)
}

/// Adds the reason why an `ask` node's question is asked again: its earlier answer does not count.
pub fn again(payload: Value, why: String) -> Value {
    let Value::Object(mut fields) = payload else { return payload };
    fields.insert(AGAIN.to_owned(), why.into());
    Value::Object(fields)
}

/// Returns the digest of the shown parts of a question. For an `ask` node, the time of its deadline and the reason why it is asked again
/// are left out.
pub fn shown_digest(payload: &Value) -> Digest {
    let text = match payload {
        Value::Object(fields) if is_ask(fields) => {
            let mut fields = fields.clone();
            fields.remove(AGAIN);
            if let Some(until) = fields.get_mut("until") {
                *until = Value::Null;
            }
            json::canonical_string(&Value::Object(fields))
        }
        other => json::canonical_string(other),
    };
    DomainHasher::new("graph-host/question/v1").field(text.as_bytes()).finish()
}

/// Returns [`shown_digest`] for the question of an `ask` node; `None` for any other payload.
pub fn form_digest(payload: &Value) -> Option<Digest> {
    payload.as_object().is_some_and(is_ask).then(|| shown_digest(payload))
}

fn is_ask(fields: &Map<String, Value>) -> bool {
    fields.get("type").and_then(Value::as_str) == Some(ASK)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_come_before_numbers_and_numbers_before_other_text() {
        let payload = json!({ "choices": ["2", "b", 7, true], "other": true });
        let question = Question::from_payload(&payload);
        for (typed, answer) in [
            ("2", json!("2")),
            (" b ", json!("b")),
            ("1", json!("2")),
            ("7", json!(7)),
            ("3", json!(7)),
            ("true", json!(true)),
            ("5", json!("5")),
            ("{\"a\": 1}", json!("{\"a\": 1}")),
        ] {
            let read = question.read(typed).unwrap();
            assert_eq!(read, answer, "{typed}");
            assert_eq!(question.accept(read).unwrap(), answer, "what was read is taken as it is: {typed}");
        }
        assert!(question.accept(json!({})).is_err());
        assert_eq!(question.accept(json!(2)).unwrap(), json!("2"));
    }

    #[test]
    fn the_choices_of_a_component_are_suggestions() {
        let payload = json!({ "choices": ["accept", "replace X with Y"] });
        let question = Question::from_payload(&payload);
        assert_eq!(question.read("replace a with b").unwrap(), json!("replace a with b"));
        assert_eq!(question.read("2").unwrap(), json!("replace X with Y"));
        assert_eq!(question.read("{\"a\":1}").unwrap(), json!({ "a": 1 }));
        assert_eq!(question.accept(json!({ "a": 1 })).unwrap(), json!({ "a": 1 }));
        let closed = json!({ "choices": ["accept"], "other": false });
        assert!(matches!(Question::from_payload(&closed).read("2"), Err(AnswerError::Choice(_))));
    }

    #[test]
    fn json_that_the_schema_refuses_is_tried_as_text() {
        let text = json!({ "schema": { "type": "string" } });
        assert_eq!(Question::from_payload(&text).read("4").unwrap(), json!("4"));
        assert_eq!(
            Question::from_payload(&text).read("{\"a\":1,\"a\":2}").unwrap(),
            json!("{\"a\":1,\"a\":2}")
        );
        let number = json!({ "schema": { "type": "integer", "minimum": 3 } });
        assert_eq!(Question::from_payload(&number).read("4").unwrap(), json!(4));
        assert!(matches!(Question::from_payload(&number).read("2"), Err(AnswerError::Schema(_))));
        let none = json!("how many?");
        assert_eq!(Question::from_payload(&none).read("4").unwrap(), json!(4));
        assert_eq!(Question::from_payload(&none).read("four").unwrap(), json!("four"));
        assert!(matches!(Question::from_payload(&none).read("{\"a\":1,\"a\":2}"), Err(AnswerError::Json(_))));
    }

    #[test]
    fn a_number_is_one_as_it_is_written() {
        let free = json!("which version?");
        let text = json!({ "schema": { "type": "string" } });
        let number = json!({ "schema": { "type": "number" } });
        for (typed, as_free, as_number) in [
            ("1.10", json!("1.10"), json!(1.1)),
            ("12e02", json!("12e02"), json!(1200.0)),
            ("-0", json!("-0"), json!(-0.0)),
            ("1.5", json!(1.5), json!(1.5)),
            ("-5", json!(-5), json!(-5)),
        ] {
            assert_eq!(Question::from_payload(&free).read(typed).unwrap(), as_free, "{typed}");
            assert_eq!(Question::from_payload(&text).read(typed).unwrap(), json!(typed));
            assert_eq!(Question::from_payload(&number).read(typed).unwrap(), as_number, "{typed}");
        }
        let choices = json!({ "type": "ask", "choices": ["a", "b"] });
        assert_eq!(Question::from_payload(&choices).read("2").unwrap(), json!("b"));
        for typed in ["02", "+2", "2.0", "0", "3", "2e0"] {
            assert!(
                matches!(Question::from_payload(&choices).read(typed), Err(AnswerError::Choice(_))),
                "{typed}"
            );
            assert!(Question::from_payload(&choices).accept(json!(typed)).is_err(), "{typed}");
        }
    }

    #[test]
    fn what_no_form_is_takes_any_answer() {
        for payload in [json!({ "choices": [{ "label": "x" }] }), json!({ "choices": "x" }), json!([1])] {
            assert_eq!(
                Question::from_payload(&payload).accept(json!({ "a": 1 })).unwrap(),
                json!({ "a": 1 })
            );
        }
        let bad = json!({ "schema": { "type": 7 } });
        assert!(matches!(Question::from_payload(&bad).accept(json!(1)), Err(AnswerError::Question(_))));
    }

    #[test]
    fn only_an_ask_node_has_a_time() {
        let until = Timestamp(1_000);
        let asked = payload(json!({ "question": "?", "default": 7, "about": null }), Some(until));
        assert_eq!(asked.get("about"), None);
        assert_eq!(Question::from_payload(&asked).expired(Timestamp(999)), None);
        let expired = ExpiredQuestion { until, default: Some(json!(7)) };
        assert_eq!(Question::from_payload(&asked).expired(until), Some(expired));
        let other = json!({ "until": until.to_string(), "default": 7 });
        assert_eq!(Question::from_payload(&other).expired(Timestamp(2_000)), None);
    }

    #[test]
    fn a_form_is_all_that_is_shown() {
        let asked =
            json!({ "question": "?", "choices": ["a", "b"], "default": "a", "schema": { "minLength": 1 } });
        let of =
            |asked: Value, until: Option<u64>| form_digest(&payload(asked, until.map(Timestamp))).unwrap();
        let form = of(asked.clone(), Some(1));
        // The form does not depend on the time of the question or on the reason for asking again.
        assert_eq!(form, of(asked.clone(), Some(2)));
        assert_eq!(
            Some(form),
            form_digest(&again(payload(asked.clone(), Some(Timestamp(1))), "since".to_owned()))
        );
        assert_ne!(form, of(asked.clone(), None));
        for (key, value) in [
            ("question", json!("? ")),
            ("about", json!("x")),
            ("choices", json!(["b", "a"])),
            ("choices", json!(["a"])),
            ("other", json!(true)),
            ("default", json!("b")),
            ("default", Value::Null),
            ("schema", json!({ "minLength": 2 })),
        ] {
            let mut other = asked.clone();
            other[key] = value.clone();
            assert_ne!(form, of(other, Some(1)), "{key}: {value}");
        }
        assert_eq!(form_digest(&json!({ "question": "?" })), None);
        assert_eq!(form_digest(&json!("?")), None);
    }
}
