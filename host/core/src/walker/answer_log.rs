//! The answers that a task has been given.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use crate::limits::ModelUse;
use crate::model_grant::ModelGrant;
use crate::record::{Canonical, ShortRecord};

/// How often a question is asked again because its answer was rejected.
const ASKED_AGAIN: usize = 3;

/// The answers that a task has been given, in their order, and which of them do not count any more: its component has rejected
/// them, or another answer has replaced them. The answers to the host's own questions about budgets of language models are among
/// them; they are never shown to the component, and always count, since what they have added may have been used.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AnswerLog {
    given: Vec<Value>,
    dropped: BTreeSet<u32>,
    /// The answers to the host's own questions.
    granted: BTreeMap<u32, ModelGrant>,
    /// The newest answer is to the host's question about this, and adds nothing.
    stopped: Option<Box<ShortRecord>>,
    /// The question before the newest answer, until an attempt with that answer has ended.
    new: Option<Arc<Value>>,
}

impl AnswerLog {
    /// As records have it.
    pub(super) fn of_records(given: Vec<Canonical>, dropped: Vec<u32>, granted: &[u32]) -> Self {
        let given: Vec<_> = given.into_iter().map(|answer| Value::clone(&answer.0)).collect();
        let granted = granted.iter().filter_map(|number| {
            let answer = given.get(usize::try_from(*number).ok()?)?;
            Some((*number, ModelGrant::of_record(answer)))
        });
        let granted = granted.collect();
        Self { given, dropped: dropped.into_iter().collect(), granted, stopped: None, new: None }
    }

    /// The newest answer is to the host's question about a budget.
    pub(super) fn set_granted(&mut self, short: ShortRecord) {
        // The attempt that was to see the answer before that has ended early.
        if let Some(asked) = &short.asked {
            self.new = Some(Arc::clone(&asked.0));
        }
        let newest = self.len().checked_sub(1).and_then(|newest| self.granted.get(&newest));
        self.stopped = (newest == Some(&ModelGrant::Stop)).then(|| Box::new(short));
    }

    /// What ends the task's next attempt, since the newest answer has added nothing to a budget that is used up.
    pub(super) fn take_stopped(&mut self) -> Option<Box<ShortRecord>> {
        self.stopped.take()
    }

    /// The question whose answer the attempt that is running is the first to see.
    pub(super) fn new_question(&self) -> Option<Canonical> {
        self.new.as_ref().map(|question| Canonical(Arc::clone(question)))
    }

    /// What all answers have added to budgets of language models.
    pub(super) fn added(&self) -> ModelUse {
        self.granted.values().map(|grant| grant.added()).fold(ModelUse::NOTHING, ModelUse::plus)
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
        self.numbered().filter(|(number, _)| self.counts(*number)).map(|(_, answer)| answer.clone()).collect()
    }

    /// The newest answer that counts.
    pub(super) fn newest(&self) -> Option<&Value> {
        self.numbered().filter(|(number, _)| self.counts(*number)).map(|(_, answer)| answer).last()
    }

    /// The numbers of the answers that count.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> {
        (0..self.len()).filter(|number| self.counts(*number))
    }

    /// Whether it is an answer for the component that counts.
    fn counts(&self, number: u32) -> bool {
        !self.dropped.contains(&number) && !self.granted.contains_key(&number)
    }

    /// The answer to the question of that number, which replaces the one that it had, and those that followed from it.
    pub(super) fn give(&mut self, question: u32, answer: Value) {
        let replaced = (question..self.len()).filter(|number| !self.granted.contains_key(number));
        self.dropped.extend(replaced.collect::<Vec<_>>());
        self.given.push(answer);
    }

    /// The answer to the host's own question, which is the newest one.
    pub(super) fn grant(&mut self, answer: Value) {
        self.granted.insert(self.len(), ModelGrant::of_record(&answer));
        self.given.push(answer);
    }

    /// The newest answer was rejected: whether its question is to be asked again.
    pub(super) fn reject(&mut self) -> bool {
        let mut of_component = (0..self.len()).rev().filter(|number| !self.granted.contains_key(number));
        let Some(newest) = of_component.next() else { return false };
        let before = of_component.take_while(|number| self.dropped.contains(number)).count();
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

    /// The numbers of those to the host's own questions, for a record.
    pub(super) fn granted(&self) -> Vec<u32> {
        self.granted.keys().copied().collect()
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
        let mut log = AnswerLog::of_records(
            vec![Canonical::from(json!("a")), Canonical::from(json!("b"))],
            Vec::new(),
            &[],
        );
        log.give(0, json!("c"));
        assert_eq!((log.counting(), log.len()), (vec![json!("c")], 3));
        assert_eq!(log.numbers().collect::<Vec<_>>(), [2]);
        assert!(log.drops_more_than(&[0]) && !log.drops_more_than(&[0, 1]));
    }

    #[test]
    fn what_was_added_to_a_budget_is_no_answer_for_the_component_and_stays() {
        let mut log = AnswerLog::default();
        log.give(0, json!("a"));
        log.grant(json!({ "calls": 2 }));
        log.give(2, json!("b"));
        log.grant(json!(false));
        assert_eq!((log.counting(), log.newest()), (vec![json!("a"), json!("b")], Some(&json!("b"))));
        assert_eq!(log.numbers().collect::<Vec<_>>(), [0, 2]);
        assert!(log.reject(), "the newest answer for the component");
        log.give(0, json!("c"));
        assert_eq!((log.counting(), log.dropped()), (vec![json!("c")], vec![0, 2]));
        let calls = ModelUse { calls: 2, ..ModelUse::NOTHING };
        assert_eq!((log.added(), log.granted()), (calls, vec![1, 3]));
        let read = AnswerLog::of_records(log.given(), log.dropped(), &log.granted());
        assert_eq!(read, log);
    }
}
