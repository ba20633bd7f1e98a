//! Which question each answer is for.

use std::collections::BTreeMap;

use serde_json::Value;

use super::event::Answers;
use super::resume::refused;
use super::setup::HandleError;
use crate::record::{ErrorCode, InterruptRecord, Status};

/// The answers by the ids of what they answer. `open` are the questions, `passive` what else is listed as interrupting
/// the run: static interrupts, which ask nothing.
pub(super) fn resolve(
    open: &[InterruptRecord],
    passive: &[InterruptRecord],
    status: Status,
    answers: Answers,
) -> Result<BTreeMap<String, Value>, HandleError> {
    let ids =
        || open.iter().map(|asked| format!("`{}` ({})", asked.id, asked.node)).collect::<Vec<_>>().join(", ");
    let needed = || Err(refused(ErrorCode::AnswerNeeded, format!("the run waits for answers to {}", ids())));
    // A static interrupt asks nothing: an answer to it only says to go on.
    let known: &[InterruptRecord] = if open.is_empty() { passive } else { open };
    let mut resolved = BTreeMap::new();
    match answers {
        Answers::None => {
            if !open.is_empty() && matches!(status, Status::Interrupted | Status::Failed) {
                return needed();
            }
        }
        Answers::Bare(value) => match known {
            [] => return Err(refused(ErrorCode::UnknownInterrupt, "the run asks nothing".to_owned())),
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
                    .find(|asked| asked.id == wanted)
                    .map_or_else(by_node, |found| vec![found]);
                let id = match found[..] {
                    [found] => &found.id,
                    [] => {
                        let message = format!("nothing is asked as `{wanted}`; open are: {}", ids());
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
    Ok(resolved)
}
