//! Assigns answers that are typed on a command line to questions.
//!
//! `NAME=ANSWER` is an answer to the question of that name: its id, its node, or a path such as `each#2/ask`. If that
//! question has its answer already, it is refused, and never used for another question. A text that only looks like
//! this is written `NAME=TEXT=TEXT`. The name of a node that has not asked yet is for a question that is answered in
//! advance.

use std::collections::{BTreeMap, VecDeque};

use graph_core::diagnostic::printable;
use graph_core::digest::Digest;
use graph_core::question::{AnswerError, Question, shown_digest};
use graph_core::record::{ErrorCode, InterruptRecord};
use graph_core::wait::Wait;
use graph_walker::walker::{AnsweredQuestion, Answers, RunTree};
use serde_json::Value;

use crate::clock::now;
use crate::error::{Error, Result};
use crate::remedy::Remedy;

/// Help for a text that would be read as JSON.
pub const AS_TEXT: &str = "a text is put in quotes of its own, such as '\"3\"'";

/// Looks up a question by name that was answered in a superstep that has committed.
pub type AnsweredLookup<'l> = dyn Fn(&str) -> Result<Option<AnsweredQuestion>> + 'l;

/// Answers as typed, in order.
#[derive(Clone, Debug, Default)]
pub struct TypedAnswers(VecDeque<TypedAnswer>);

/// An answer as typed.
#[derive(Clone, Debug)]
struct TypedAnswer {
    text: String,
    /// Digests of the shown questions that it is for; `None` if it is given in advance.
    shown: Option<Vec<Digest>>,
}

impl TypedAnswer {
    const fn in_advance(text: String) -> Self {
        Self { text, shown: None }
    }

    fn counts_for(&self, asked: &InterruptRecord) -> bool {
        self.shown.as_ref().is_none_or(|shown| shown.contains(&shown_digest(&asked.payload.0)))
    }
}

impl TypedAnswers {
    /// Takes the values of `--answer`.
    pub fn new(answers: Vec<String>) -> Self {
        Self(answers.into_iter().map(TypedAnswer::in_advance).collect())
    }

    /// Checks whether no answer is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds answers for later questions.
    pub fn append(&mut self, mut later: Self) {
        self.0.append(&mut later.0);
    }

    /// Restricts answers to questions of the present superstep, which starts again with other inputs: such an answer is
    /// used only if its question is then asked as it was shown.
    pub fn only_as_shown(&mut self, run: &RunTree) {
        let open = questions(run);
        let digests = |ids: &[String]| {
            let named = open.iter().filter(|asked| ids.contains(&asked.id));
            named.map(|asked| shown_digest(&asked.payload.0)).collect::<Vec<_>>()
        };
        for answer in &mut self.0 {
            let name = name_and_answer(&answer.text).map(|(name, _)| name).filter(|name| is_name(name, run));
            answer.shown = match name {
                Some(name) => match (run.open_named(name), run.answered_named(name)) {
                    (ids, _) if !ids.is_empty() => Some(digests(&ids)),
                    (_, answered) => answered.map(|answered| answered.form.into_iter().collect()),
                },
                None if open.is_empty() => None,
                None => Some(open.iter().map(|asked| shown_digest(&asked.payload.0)).collect()),
            };
        }
    }

    /// Returns the answers that are left once the run has stopped: each as typed, and the reason why it was not used.
    pub fn unused(&self) -> impl Iterator<Item = (&str, &'static str)> {
        self.0.iter().map(|answer| match answer.shown {
            Some(_) => (&*answer.text, "its question has changed since it was shown"),
            None => (&*answer.text, "the run has asked no further question that it is for"),
        })
    }

    /// Takes the answers of a resume for the open questions. The remaining ones are for questions that the run has not asked yet.
    pub fn take(&mut self, run: &RunTree, committed: &AnsweredLookup<'_>) -> Result<Answers> {
        let open = questions(run);
        let mut by_id = BTreeMap::new();
        let mut bare = VecDeque::new();
        for TypedAnswer { text, .. } in std::mem::take(&mut self.0) {
            let Some((name, answer)) = named(&text, run, committed)? else {
                bare.push_back(text);
                continue;
            };
            let id = match name {
                Name::Open(id) => id,
                Name::Answered(answered) => answered.id,
                Name::Later => {
                    self.0.push_back(TypedAnswer::in_advance(text));
                    continue;
                }
            };
            let asked = open.iter().find(|asked| asked.id == id);
            let value = read(answer, asked, run)?;
            if by_id.insert(id.clone(), value).is_some() {
                return Err(Error::usage(format!("there are two answers for `{}`", printable(&id))));
            }
        }
        if let Some(answers) = self.take_bare(bare, &by_id, &open, run)? {
            return Ok(answers);
        }
        Ok(if by_id.is_empty() { Answers::None } else { Answers::ById(by_id) })
    }

    /// Takes the answers without a name.
    fn take_bare(
        &mut self,
        mut bare: VecDeque<String>,
        by_id: &BTreeMap<String, Value>,
        open: &[InterruptRecord],
        run: &RunTree,
    ) -> Result<Option<Answers>> {
        let Some(first) = bare.front() else { return Ok(None) };
        let help = Remedy::NameListedQuestions;
        match open {
            [] => {
                // Without an open question, the question that it is for may have its answer already.
                if let Some(answered) = run.answered().into_iter().max_by_key(|answered| answered.at) {
                    return Err(was_answered(&answered));
                }
            }
            [asked] if by_id.is_empty() => {
                let value = read(first, Some(asked), run)?;
                bare.pop_front();
                self.0.extend(bare.into_iter().map(TypedAnswer::in_advance));
                return Ok(Some(Answers::Bare(value)));
            }
            _ if !by_id.is_empty() => {
                return Err(Error::usage(
                    "one of the answers has no id, or one that no open question has".to_owned(),
                )
                .help(help));
            }
            _ if bare.len() > 1 => {
                return Err(Error::usage("there are several answers without an id".to_owned()).help(help));
            }
            _ => {
                // With several open questions it answers none: the walker says so.
                if let Some(name) = misnamed(first) {
                    let message = format!("no open question has the id or the node `{name}`");
                    return Err(Error::usage(message).help(format!("open are: {}", listed(open))));
                }
                return Ok(Some(Answers::Bare(read(first, None, run)?)));
            }
        }
        self.0.extend(bare.into_iter().map(TypedAnswer::in_advance));
        Ok(None)
    }

    /// Takes the answers to the questions that a run has just asked: for each, the first one with its name, else the
    /// first one without a name. `None` if the run asks and no answer is for its questions.
    pub fn take_next(&mut self, run: &RunTree) -> Result<Option<Answers>> {
        let open = questions(run);
        let mut by_id = BTreeMap::new();
        for asked in &open {
            let is_for = |text: &str| {
                name_and_answer(text).is_some_and(|(name, _)| run.open_named(name).contains(&asked.id))
            };
            let is_bare = |text: &str| !name_and_answer(text).is_some_and(|(name, _)| is_name(name, run));
            let find = |is_it: &dyn Fn(&str) -> bool| {
                self.0.iter().position(|answer| is_it(&answer.text) && answer.counts_for(asked))
            };
            // Only an answer that names a wait ends it.
            let is_wait = Wait::from_payload(&asked.payload.0).is_some();
            let found = find(&is_for).or_else(|| if is_wait { None } else { find(&is_bare) });
            let Some(TypedAnswer { text, .. }) = found.and_then(|at| self.0.remove(at)) else { continue };
            let answer = match name_and_answer(&text) {
                Some((_, answer)) if is_for(&text) => answer,
                _ => &text,
            };
            by_id.insert(asked.id.clone(), read(answer, Some(asked), run)?);
        }
        Ok(match (by_id.is_empty(), open.is_empty()) {
            (false, _) => Some(Answers::ById(by_id)),
            // The run only pauses.
            (true, true) => Some(Answers::None),
            (true, false) => None,
        })
    }
}

/// Question that a name is for.
enum Name {
    /// Open question, by its id.
    Open(String),
    /// Answered question, whose answer is replaced.
    Answered(AnsweredQuestion),
    /// Question that is not asked yet.
    Later,
}

/// Splits `NAME=ANSWER`. No name begins or ends with a blank, so blanks around it are ignored.
fn name_and_answer(text: &str) -> Option<(&str, &str)> {
    text.split_once('=').map(|(name, answer)| (name.trim(), answer))
}

/// Finds the question that `NAME=ANSWER` is for; returns it with the answer, or `None` for a text without a name.
fn named<'t>(
    text: &'t str,
    run: &RunTree,
    committed: &AnsweredLookup<'_>,
) -> Result<Option<(Name, &'t str)>> {
    let Some((name, answer)) = name_and_answer(text) else { return Ok(None) };
    let ids = run.open_named(name);
    match &ids[..] {
        [id] => return Ok(Some((Name::Open(id.clone()), answer))),
        [] => {}
        ids => {
            let ids: Vec<_> = ids.iter().map(|id| format!("`{}`", printable(id))).collect();
            let message =
                format!("`{}` asks more than once; answer by id: {}", printable(name), ids.join(", "));
            return Err(Error::of_run(ErrorCode::AmbiguousAnswer, message));
        }
    }
    if !is_name(name, run) {
        return Ok(None);
    }
    if let Some(answered) = run.answered_named(name) {
        if answered.id != name || answered.is_final {
            return Err(was_answered(&answered));
        }
        return Ok(Some((Name::Answered(answered), answer)));
    }
    if let Some(answered) = committed(name)? {
        return Err(was_answered(&answered));
    }
    if is_id(name) && !is_node(name, run) {
        let message = format!("no question has the id or the node `{}`", printable(name));
        return Err(Error::of_run(ErrorCode::UnknownInterrupt, message).help(choice(&questions(run))));
    }
    Ok(Some((Name::Later, answer)))
}

fn choice(open: &[InterruptRecord]) -> Remedy {
    Remedy::ChooseQuestion { open: (!open.is_empty()).then(|| listed(open)) }
}

fn was_answered(answered: &AnsweredQuestion) -> Error {
    let code = if answered.expired.is_some() { ErrorCode::AnswerTooLate } else { ErrorCode::AlreadyAnswered };
    Error::of_run(code, printable(&answered.to_string()).into_owned()).help(
        "a text that only looks like this is written ID=TEXT, with the id of the question that it answers",
    )
}

/// Returns the open questions of a run, without pauses.
fn questions(run: &RunTree) -> Vec<InterruptRecord> {
    let mut open = run.summary().interrupts;
    open.retain(|asked| !asked.payload.0.is_null());
    open
}

/// Checks whether a text is the name of a question, open or not: an id, a node, or a path.
fn is_name(name: &str, run: &RunTree) -> bool {
    !run.open_named(name).is_empty() || is_node(name, run) || is_id(name)
}

/// Checks whether a name begins with a node of the run's graph.
fn is_node(name: &str, run: &RunTree) -> bool {
    let first = name.split('/').next().unwrap_or_default();
    run.has_node(first.split('#').next().unwrap_or_default())
}

/// Checks whether a name looks like an id. It is better to refuse a misspelt id than to take it for an answer.
fn is_id(name: &str) -> bool {
    name.contains('/') && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-/.@#".contains(&byte))
}

/// Converts a typed answer to the value that its question expects.
fn read(text: &str, asked: Option<&InterruptRecord>, run: &RunTree) -> Result<Value> {
    let question = asked.map(|asked| Question::from_payload(&asked.payload.0)).unwrap_or_default();
    let is_expired = question.expired(now()).is_some();
    let read = question.read(text);
    // The walker refuses late answers, and asks a changed question again.
    if is_expired || read.is_err() && asked.is_some_and(|asked| run.is_asked_again(&asked.id)) {
        return Ok(Value::from(text));
    }
    read.map_err(|error| {
        let whose = asked.map_or(String::new(), |asked| {
            format!(" to `{}` ({})", printable(&asked.id), printable(&asked.node))
        });
        let refused =
            Error::usage(format!("the answer{whose} is not accepted: {}", printable(&error.to_string())));
        match error {
            AnswerError::Json(_) => refused.help(AS_TEXT),
            _ => refused,
        }
    })
}

/// Returns the part before the `=` of an answer, if it could be a node's name.
fn misnamed(text: &str) -> Option<&str> {
    let (name, _) = text.split_once('=')?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    (!name.is_empty() && name.bytes().all(is_name)).then_some(name)
}

/// Lists the questions with the names that answers use.
fn listed(open: &[InterruptRecord]) -> String {
    let name = |asked: &InterruptRecord| format!("{} ({})", printable(&asked.id), printable(&asked.node));
    open.iter().map(name).collect::<Vec<_>>().join(", ")
}
