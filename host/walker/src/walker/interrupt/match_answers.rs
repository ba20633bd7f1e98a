//! Matches answers to the questions that they are for.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use crate::walker::event::{Answers, RecordedAnswer};
use crate::walker::interrupt::resume::{number_of, refused};
use crate::walker::interrupt::task_answers::{AnswerForm, TaskAnswer};
use crate::walker::setup::HandleError;
use graph_core::digest::Digest;
use graph_core::model_grant::ModelGrant;
use graph_core::question::{Question, shown};
use graph_core::record::{ErrorCode, InterruptRecord, Status};
use graph_core::time::Timestamp;
use graph_core::wait::{ExpiredWait, Wait};

/// Path to a question from the root run: for each level the node of the task, and the number of the task among those of the node, from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::walker) struct QuestionPath(pub Vec<(String, u64)>);

impl QuestionPath {
    /// Returns `true` if `name` is this path: `node/node`, where each part may have its number, as in `node#2/node`.
    pub(in crate::walker) fn is_named(&self, name: &str) -> bool {
        let mut parts = name.split('/');
        let is_part = |(node, number): &(String, u64)| {
            parts.next().is_some_and(|part| {
                part == node || part.strip_prefix(node.as_str()) == Some(&format!("#{number}"))
            })
        };
        !self.0.is_empty() && self.0.iter().all(is_part) && parts.next().is_none()
    }
}

/// A question of a run that has its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct AnsweredQuestion {
    /// The id of the question.
    pub id: String,
    /// The path of the node that asked.
    pub node: String,
    /// The answer; for an expired question its default, or null if it has none.
    pub answer: Value,
    /// Time at which the answer came, as far as it is known.
    pub at: Option<Timestamp>,
    /// The deadline, if no answer was given before it.
    pub expired: Option<Timestamp>,
    /// `true` if no other answer can replace this one, because its task has its result.
    pub is_final: bool,
    /// `true` if an `ask` node asked, and not a component.
    pub is_ask: bool,
    /// The digest of the form that was answered, as far as it is recorded.
    pub form: Option<Digest>,
}

impl fmt::Display for AnsweredQuestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, node, answer, at, expired, .. } = self;
        write!(f, "`{node}` ({id}) ")?;
        match (expired, at) {
            (Some(until), _) if answer.is_null() => {
                write!(f, "expired at {until}, and had no default: its node failed with `timeout`")
            }
            (Some(until), _) => write!(f, "expired at {until}, and its default `{}` counted", shown(answer)),
            (None, Some(at)) => write!(f, "was answered at {at} with `{}`", shown(answer)),
            (None, None) => write!(f, "was answered with `{}`", shown(answer)),
        }
    }
}

/// The questions of a suspended run that can be answered.
pub(in crate::walker) struct OpenQuestions<'a> {
    /// The questions without an answer.
    pub open: &'a [InterruptRecord],
    /// The static interrupts of the run, which ask nothing.
    pub static_interrupts: &'a [InterruptRecord],
    /// Questions of the uncommitted superstep that have an answer. Another answer to a component's question, given by
    /// the id of the question, replaces the first.
    pub answered: Vec<AnsweredQuestion>,
    /// The paths of the open questions, by id.
    pub paths: BTreeMap<String, QuestionPath>,
    /// The ids of open questions that are asked again if they have changed. An answer that such a question does not
    /// accept is kept, and has the question asked again.
    pub asked_again: BTreeSet<String>,
    /// The status of the run.
    pub status: Status,
}

/// An answer that counts for its question.
#[derive(Debug)]
pub(in crate::walker) struct ResolvedAnswer {
    /// The answer in the form that the question accepts.
    value: Value,
    /// The deadline of the question, if it expired without an answer.
    expired: Option<Timestamp>,
    /// The form of the question that was answered.
    form: AnswerForm,
}

impl ResolvedAnswer {
    const fn new(value: Value) -> Self {
        Self { value, expired: None, form: AnswerForm::Shown }
    }

    /// Creates the task's answer to the question with that id, which has come at `now`.
    pub(in crate::walker) fn into_task_answer(self, id: &str, now: Timestamp) -> TaskAnswer {
        TaskAnswer {
            question: number_of(id),
            value: self.value,
            expired: self.expired,
            at: now,
            form: self.form,
        }
    }
}

/// Matches answers to the questions that they answer, by the ids of the questions. Fails if an answer names no question, names several,
/// comes too late or does not fit, and if an answer is missing without which the run cannot continue.
pub(in crate::walker) fn match_answers(
    questions: &OpenQuestions<'_>,
    answers: Answers,
    now: Timestamp,
) -> Result<BTreeMap<String, ResolvedAnswer>, HandleError> {
    let OpenQuestions { open, static_interrupts, status, .. } = *questions;
    // A static interrupt has no question: an answer to it only resumes the run.
    let known: &[InterruptRecord] = if open.is_empty() { static_interrupts } else { open };
    let mut resolved = BTreeMap::new();
    match answers {
        Answers::Recorded(recorded) => return Ok(from_records(open, recorded)),
        Answers::None => {
            let waits = open.iter().all(|asked| !has_expired(asked, now));
            let is_needed = waits && questions.asked_again.is_empty() && !open.is_empty();
            if is_needed && (status.is_paused() || status == Status::Failed) {
                return questions.answer_needed();
            }
        }
        Answers::Bare(value) => match known {
            [] => {
                let answered = questions
                    .answered
                    .iter()
                    .filter(|answered| answered.is_ask)
                    .max_by_key(|answered| answered.at);
                return Err(answered.map_or_else(
                    || refused(ErrorCode::UnknownInterrupt, "the run has no open question".to_owned()),
                    already_answered,
                ));
            }
            [asked] => {
                resolved.insert(asked.id.clone(), value);
            }
            _ if open.is_empty() => {}
            _ => {
                return Err(refused(
                    ErrorCode::AmbiguousAnswer,
                    format!("the run waits for several answers; say which: {}", questions.ids()),
                ));
            }
        },
        Answers::ById(by_id) => {
            for (wanted, value) in by_id {
                let id = questions.find(known, &wanted)?;
                if resolved.insert(id, value).is_some() {
                    let message = format!("`{wanted}` is answered twice");
                    return Err(refused(ErrorCode::AmbiguousAnswer, message));
                }
            }
            if resolved.is_empty() && !open.is_empty() {
                return questions.answer_needed();
            }
        }
    }
    checked_answers(questions, resolved, now)
}

impl OpenQuestions<'_> {
    /// Lists the open questions for a message.
    fn ids(&self) -> String {
        self.open
            .iter()
            .map(|asked| format!("`{}` ({})", asked.id, asked.node))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// Refuses a resume that brings no answer.
    fn answer_needed<T>(&self) -> Result<T, HandleError> {
        let mut waits = Vec::new();
        for asked in self.open {
            let Some(wait) = Wait::from_payload(&asked.payload.0) else {
                let message = format!("the run waits for answers to {}", self.ids());
                return Err(refused(ErrorCode::AnswerNeeded, message));
            };
            let event = wait.event().map(|event| format!(" for the event `{event}`")).unwrap_or_default();
            let until = wait.until().map(|until| format!(" until {until}")).unwrap_or_default();
            waits.push(format!("`{}` ({}){event}{until}", asked.id, asked.node));
        }
        Err(refused(ErrorCode::AnswerNeeded, format!("the run waits: {}", waits.join(", "))))
    }

    /// Returns the questions of a list whose node has that name or, if there are none, those whose path is named so.
    fn with_name<'q>(&self, list: &'q [InterruptRecord], name: &str) -> Vec<&'q InterruptRecord> {
        let by_node: Vec<_> = list.iter().filter(|asked| asked.node == name).collect();
        if !by_node.is_empty() {
            return by_node;
        }
        let has_path =
            |asked: &&InterruptRecord| self.paths.get(&asked.id).is_some_and(|path| path.is_named(name));
        list.iter().filter(has_path).collect()
    }

    /// Finds the id of the question that an id, node or path names.
    fn find(&self, known: &[InterruptRecord], wanted: &str) -> Result<String, HandleError> {
        if let Some(found) = known.iter().chain(self.static_interrupts).find(|asked| asked.id == wanted) {
            return Ok(found.id.clone());
        }
        if let Some(answered) = self.answered.iter().find(|answered| answered.id == wanted) {
            return if answered.is_ask { Err(already_answered(answered)) } else { Ok(answered.id.clone()) };
        }
        let mut found = self.with_name(known, wanted);
        if found.is_empty() {
            found = self.with_name(self.static_interrupts, wanted);
        }
        match found[..] {
            [found] => Ok(found.id.clone()),
            [] => {
                if let Some(answered) =
                    self.answered.iter().rfind(|answered| answered.is_ask && answered.node == wanted)
                {
                    return Err(already_answered(answered));
                }
                let message =
                    format!("no open question has the id or node `{wanted}`; open are: {}", self.ids());
                Err(refused(ErrorCode::UnknownInterrupt, message))
            }
            _ => {
                let message = format!("node `{wanted}` asks more than once; answer by id: {}", self.ids());
                Err(refused(ErrorCode::AmbiguousAnswer, message))
            }
        }
    }
}

/// Refuses another answer to the question of an `ask` node.
fn already_answered(answered: &AnsweredQuestion) -> HandleError {
    refused(ErrorCode::AlreadyAnswered, answered.to_string())
}

/// Resolves answers from records, which were accepted when they came.
fn from_records(
    open: &[InterruptRecord],
    recorded: BTreeMap<String, RecordedAnswer>,
) -> BTreeMap<String, ResolvedAnswer> {
    let of_record = |(id, answer): (String, RecordedAnswer)| {
        let asked = open.iter().find(|asked| asked.id == id);
        let read = |value: Value| {
            let read = asked
                .filter(|asked| asked.budget.is_none())
                .and_then(|asked| Question::from_payload(&asked.payload.0).accept(value.clone()).ok());
            ResolvedAnswer::new(read.unwrap_or(value))
        };
        let answer = match answer {
            RecordedAnswer::Given(value) => read(value),
            RecordedAnswer::Expired(until) => {
                let default = asked.and_then(|asked| match Wait::from_payload(&asked.payload.0) {
                    Some(wait) => wait.default_result().cloned(),
                    None => default_answer_of(&Question::from_payload(&asked.payload.0)),
                });
                ResolvedAnswer { expired: Some(until), ..ResolvedAnswer::new(default.unwrap_or_default()) }
            }
            RecordedAnswer::Dropped(value) => ResolvedAnswer { form: AnswerForm::Other, ..read(value) },
        };
        (id, answer)
    };
    recorded.into_iter().map(of_record).collect()
}

/// Checks whether a question or a wait has ended by time.
fn has_expired(asked: &InterruptRecord, now: Timestamp) -> bool {
    match Wait::from_payload(&asked.payload.0) {
        Some(wait) => wait.expired(now).is_some(),
        None => Question::from_payload(&asked.payload.0).expired(now).is_some(),
    }
}

/// Returns a question's default in the form of an answer.
fn default_answer_of(question: &Question<'_>) -> Option<Value> {
    let default = question.default_answer()?.clone();
    // The form was checked when the question was asked, but a run of an earlier release may hold unchecked forms.
    Some(question.accept(default.clone()).unwrap_or(default))
}

/// Checks answers against their questions, and adds the defaults of questions that have expired. Refuses answers to expired questions.
fn checked_answers(
    questions: &OpenQuestions<'_>,
    mut answers: BTreeMap<String, Value>,
    now: Timestamp,
) -> Result<BTreeMap<String, ResolvedAnswer>, HandleError> {
    let refuse = |asked: &InterruptRecord, error: &dyn fmt::Display| {
        let message = format!("the answer to `{}` ({}) is not accepted: {error}", asked.id, asked.node);
        Err(refused(ErrorCode::AnswerNeeded, message))
    };
    let mut checked_answers = BTreeMap::new();
    for asked in questions.open {
        let answer = answers.remove(&asked.id);
        if let Some(figure) = asked.budget {
            if let Some(answer) = answer {
                match ModelGrant::read(&answer, figure) {
                    Ok(grant) => {
                        checked_answers.insert(asked.id.clone(), ResolvedAnswer::new(grant.to_value()));
                    }
                    Err(error) => return refuse(asked, &error),
                }
            }
            continue;
        }
        if let Some(wait) = Wait::from_payload(&asked.payload.0) {
            // An event that came before the end counts, whenever the run continues.
            let ended = match (answer, wait.until().zip(wait.expired(now))) {
                (Some(answer), _) => ResolvedAnswer::new(answer),
                (None, Some((until, outcome))) => {
                    let result = match outcome {
                        ExpiredWait::Result(result) => result,
                        ExpiredWait::Timeout => Value::Null,
                    };
                    ResolvedAnswer { expired: Some(until), ..ResolvedAnswer::new(result) }
                }
                (None, None) => continue,
            };
            checked_answers.insert(asked.id.clone(), ended);
            continue;
        }
        let question = Question::from_payload(&asked.payload.0);
        let answer = match (answer, question.expired(now)) {
            (Some(_), Some(expired)) => {
                let message =
                    format!("the answer to `{}` ({}) came too late: {expired}", asked.id, asked.node);
                return Err(refused(ErrorCode::AnswerTooLate, message));
            }
            (Some(answer), None) => match question.accept(answer.clone()).map_err(|error| (answer, error)) {
                Ok(answer) => ResolvedAnswer::new(answer),
                Err((answer, _)) if questions.asked_again.contains(&asked.id) => ResolvedAnswer::new(answer),
                Err((_, error)) => return refuse(asked, &error),
            },
            (None, Some(expired)) => ResolvedAnswer {
                expired: Some(expired.until),
                ..ResolvedAnswer::new(default_answer_of(&question).unwrap_or_default())
            },
            (None, None) => continue,
        };
        checked_answers.insert(asked.id.clone(), answer);
    }
    // The rest are answers to static interrupts, and answers that replace others.
    checked_answers.extend(answers.into_iter().map(|(id, answer)| (id, ResolvedAnswer::new(answer))));
    Ok(checked_answers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_named_by_its_path() {
        let path = QuestionPath(vec![("each".to_owned(), 2), ("q".to_owned(), 1)]);
        for name in ["each/q", "each#2/q", "each/q#1", "each#2/q#1"] {
            assert!(path.is_named(name), "{name}");
        }
        for name in ["each", "q", "each#1/q", "each#2", "each#2/q/r", "each#02/q", "each/", ""] {
            assert!(!path.is_named(name), "{name}");
        }
        assert!(!QuestionPath::default().is_named(""));
    }
}
