//! Which question each answer is for.

use std::collections::BTreeMap;
use std::fmt::Display;

use serde_json::Value;

use super::event::Answers;
use super::resume::refused;
use super::setup::HandleError;
use crate::model_grant::ModelGrant;
use crate::question::Question;
use crate::record::{ErrorCode, InterruptRecord, Status};
use crate::time::Timestamp;

/// The questions of a suspended run that can be answered.
pub(super) struct Questions<'a> {
    pub open: &'a [InterruptRecord],
    /// What else is listed as interrupting the run: static interrupts, which ask nothing.
    pub passive: &'a [InterruptRecord],
    /// Questions that have an answer in a superstep that has not committed. Another answer that names the id replaces it.
    pub answered: Vec<InterruptRecord>,
    pub status: Status,
}

/// Resolves answers to the ids of the questions that they answer.
pub(super) fn resolve(
    questions: &Questions<'_>,
    answers: Answers,
    now: Timestamp,
) -> Result<BTreeMap<String, Value>, HandleError> {
    let Questions { open, passive, ref answered, status } = *questions;
    let ids =
        || open.iter().map(|asked| format!("`{}` ({})", asked.id, asked.node)).collect::<Vec<_>>().join(", ");
    let needed = || Err(refused(ErrorCode::AnswerNeeded, format!("the run waits for answers to {}", ids())));
    // A static interrupt has no question: an answer to it only resumes the run.
    let known: &[InterruptRecord] = if open.is_empty() { passive } else { open };
    let mut resolved = BTreeMap::new();
    let overdue = |asked: &InterruptRecord| Question::of(&asked.payload.0).overdue(now);
    match answers {
        Answers::None => {
            let waits = open.iter().all(|asked| overdue(asked).is_none());
            if waits && !open.is_empty() && matches!(status, Status::Interrupted | Status::Failed) {
                return needed();
            }
        }
        Answers::Bare(value) => match known {
            [] => {
                return Err(refused(ErrorCode::UnknownInterrupt, "the run has no open question".to_owned()));
            }
            [asked] => {
                resolved.insert(asked.id.clone(), value);
            }
            _ if open.is_empty() => {}
            _ => {
                return Err(refused(
                    ErrorCode::AmbiguousAnswer,
                    format!("the run waits for several answers; say which: {}", ids()),
                ));
            }
        },
        Answers::ById(by_id) => {
            for (wanted, value) in by_id {
                let named = |list: &'_ [InterruptRecord]| -> Vec<usize> {
                    (0..list.len()).filter(|at| list[*at].node == wanted).collect()
                };
                let by_node = || match named(known) {
                    places if places.is_empty() => {
                        named(passive).into_iter().map(|at| &passive[at]).collect()
                    }
                    places => places.into_iter().map(|at| &known[at]).collect::<Vec<_>>(),
                };
                let found = known
                    .iter()
                    .chain(passive)
                    .chain(answered)
                    .find(|asked| asked.id == wanted)
                    .map_or_else(by_node, |found| vec![found]);
                let id = match found[..] {
                    [found] => &found.id,
                    [] => {
                        let message =
                            format!("no open question has the id or node `{wanted}`; open are: {}", ids());
                        return Err(refused(ErrorCode::UnknownInterrupt, message));
                    }
                    _ => {
                        let message = format!("node `{wanted}` asks more than once; answer by id: {}", ids());
                        return Err(refused(ErrorCode::AmbiguousAnswer, message));
                    }
                };
                if resolved.insert(id.clone(), value).is_some() {
                    let message = format!("`{wanted}` is answered twice");
                    return Err(refused(ErrorCode::AmbiguousAnswer, message));
                }
            }
            if resolved.is_empty() && !open.is_empty() {
                return needed();
            }
        }
    }
    accepted(open, resolved, now)
}

/// The answers as their questions take them, and the defaults of those whose time is over.
fn accepted(
    open: &[InterruptRecord],
    mut resolved: BTreeMap<String, Value>,
    now: Timestamp,
) -> Result<BTreeMap<String, Value>, HandleError> {
    let refuse = |asked: &InterruptRecord, error: &dyn Display| {
        let message = format!("the answer to `{}` ({}) is not accepted: {error}", asked.id, asked.node);
        Err(refused(ErrorCode::AnswerNeeded, message))
    };
    for asked in open {
        if let Some(figure) = asked.budget {
            if let Some(given) = resolved.get_mut(&asked.id) {
                match ModelGrant::read(given, figure) {
                    Ok(grant) => *given = grant.to_value(),
                    Err(error) => return refuse(asked, &error),
                }
            }
            continue;
        }
        let question = Question::of(&asked.payload.0);
        let given = match resolved.remove(&asked.id) {
            Some(given) => given,
            // Its deadline has passed, and the resume has no answer for it.
            None => match question.overdue(now) {
                Some(default) => default,
                None => continue,
            },
        };
        let answer = match question.accept(given) {
            Ok(answer) => answer,
            // The node fails with it.
            Err(_) if question.overdue(now) == Some(Value::Null) => Value::Null,
            Err(error) => return refuse(asked, &error),
        };
        resolved.insert(asked.id.clone(), answer);
    }
    Ok(resolved)
}
