//! The answers that a task has been given.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::record::Canonical;

/// How often a question is asked again because its answer was rejected.
const ASKED_AGAIN: usize = 3;

/// The answers that a task has been given, in their order, and which of them do not count any more: its component has rejected
/// them, or another answer has replaced them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AnswerLog {
    given: Vec<Value>,
    dropped: BTreeSet<u32>,
    /// The question before the newest answer, until an attempt with that answer has ended.
    new: Option<Arc<Value>>,
}

impl AnswerLog {
    /// As records have it.
    pub(super) fn of_records(given: Vec<Canonical>, dropped: impl IntoIterator<Item = u32>) -> Self {
        let given = given.into_iter().map(|answer| Value::clone(&answer.0)).collect();
        Self { given, dropped: dropped.into_iter().collect(), new: None }
    }

    /// The newest answer is to this question, and no attempt has seen it.
    pub(super) fn set_new(&mut self, question: Arc<Value>) {
        self.new = Some(question);
    }

    /// An attempt has ended: the question whose answer it was the first to see, if there is one.
    pub(super) const fn take_new(&mut self) -> Option<Arc<Value>> {
        self.new.take()
    }

    /// Whether nothing was ever answered.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// How many answers were given, also those that do not count any more. It is the number of the next question.
    #[inline]
    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.given.len()).unwrap_or(u32::MAX)
    }

    /// The answers that count.
    pub(super) fn counting(&self) -> Vec<Value> {
        self.numbered()
            .filter(|(number, _)| !self.dropped.contains(number))
            .map(|(_, answer)| answer.clone())
            .collect()
    }

    /// The newest answer that counts.
    pub(super) fn newest(&self) -> Option<&Value> {
        self.numbered().filter(|(number, _)| !self.dropped.contains(number)).map(|(_, answer)| answer).last()
    }

    /// The numbers of the answers that count.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> {
        (0..self.len()).filter(|number| !self.dropped.contains(number))
    }

    /// The answer to the question of that number, which replaces the one that it had, and those that followed from it.
    pub(super) fn give(&mut self, question: u32, answer: Value) {
        self.dropped.extend((question..self.len()).collect::<Vec<_>>());
        self.given.push(answer);
    }

    /// The newest answer was rejected: whether its question is to be asked again.
    pub(super) fn reject(&mut self) -> bool {
        let Some(newest) = self.len().checked_sub(1) else { return false };
        let before = (0..newest).rev().take_while(|number| self.dropped.contains(number)).count();
        before < ASKED_AGAIN && self.dropped.insert(newest)
    }

    /// Answers that do not count are known from another record as well.
    pub(super) fn drop_those(&mut self, dropped: &[u32]) {
        self.dropped.extend(dropped);
    }

    /// Whether answers outside of this list do not count.
    pub(super) fn drops_more_than(&self, dropped: &[u32]) -> bool {
        self.dropped.iter().any(|number| !dropped.contains(number))
    }

    /// All answers, for a record.
    pub(super) fn given(&self) -> Vec<Canonical> {
        self.given.iter().cloned().map(Canonical::from).collect()
    }

    /// The numbers of those that do not count, for a record.
    pub(super) fn dropped(&self) -> Vec<u32> {
        self.dropped.iter().copied().collect()
    }

    fn numbered(&self) -> impl Iterator<Item = (u32, &Value)> {
        (0..).zip(&self.given)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_question_is_asked_again_three_times() {
        let mut log = AnswerLog::default();
        assert!(!log.reject());
        log.give(0, json!("right"));
        for wrong in 1..=4 {
            log.give(wrong, json!(wrong));
            assert_eq!(log.reject(), wrong <= 3, "{wrong}");
        }
        assert_eq!((log.counting(), log.dropped()), (vec![json!("right"), json!(4)], vec![1, 2, 3]));
        assert_eq!(log.newest(), Some(&json!(4)));
    }

    #[test]
    fn another_answer_replaces_what_followed_from_the_first() {
        let mut log =
            AnswerLog::of_records(vec![Canonical::from(json!("a")), Canonical::from(json!("b"))], []);
        log.give(0, json!("c"));
        assert_eq!((log.counting(), log.len()), (vec![json!("c")], 3));
        assert_eq!(log.numbers().collect::<Vec<_>>(), [2]);
        assert!(log.drops_more_than(&[0]) && !log.drops_more_than(&[0, 1]));
    }
}
