//! The answers that a task has been given.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use graph_core::digest::Digest;
use graph_core::limits::ModelUse;
use graph_core::model_grant::ModelGrant;
use graph_core::record::{Canonical, ShortRecord};
use graph_core::time::Timestamp;

/// How often a question is asked again because its answer was rejected.
const ASKED_AGAIN: usize = 3;

/// An answer to one of a task's questions.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TaskAnswer {
    /// The number of the question.
    pub question: u32,
    /// What counts: the answer; of a question that expired, its default, or null if it has none.
    pub value: Value,
    /// The deadline of a question that had expired: no one gave the answer.
    pub expired: Option<Timestamp>,
    /// When it came.
    pub at: Timestamp,
    /// The form that it is for.
    pub form: AnswerForm,
}

/// The form that an answer is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AnswerForm {
    /// That of the open question.
    #[default]
    Shown,
    /// Another one, as records say: its question is asked again.
    Other,
}

/// The digest of no form.
const NO_FORM: Digest = Digest::from_bytes([0; 32]);

/// The answers of a task, as records have them.
#[derive(Debug, Default)]
pub(super) struct RecordedAnswers<'r> {
    pub answers: &'r [Canonical],
    pub dropped: &'r [u32],
    pub granted: &'r [u32],
    pub expired: Option<&'r BTreeMap<u32, Timestamp>>,
    pub arrived: Option<&'r BTreeMap<u32, Timestamp>>,
    pub forms: Option<&'r BTreeMap<u32, Digest>>,
}

/// The answers that a task has been given, in their order, and which of them do not count any more: its component has rejected
/// them, or another answer has replaced them. The answers to the host's own questions about budgets of language models are among
/// them; they are never shown to the component, and always count, since what they have added may have been used.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AnswerLog {
    given: Vec<Value>,
    dropped: BTreeSet<u32>,
    /// The answers to the host's own questions.
    granted: BTreeMap<u32, ModelGrant>,
    /// Those that no one gave, with the deadlines of their questions.
    expired: BTreeMap<u32, Timestamp>,
    /// When each came, as far as it is known.
    arrived: BTreeMap<u32, Timestamp>,
    /// The digests of the forms that they were given to, as far as the questions have one: those of `ask` nodes.
    forms: BTreeMap<u32, Digest>,
    /// The newest answer is to the host's question about this, and adds nothing.
    stopped: Option<Box<ShortRecord>>,
    /// The question before the newest answer, until an attempt with that answer has ended.
    new: Option<Arc<Value>>,
}

impl AnswerLog {
    /// As records have it.
    pub(super) fn of_records(recorded: &RecordedAnswers<'_>) -> Self {
        let given: Vec<_> = recorded.answers.iter().map(|answer| Value::clone(&answer.0)).collect();
        let granted = recorded.granted.iter().filter_map(|number| {
            let answer = given.get(usize::try_from(*number).ok()?)?;
            Some((*number, ModelGrant::of_record(answer)))
        });
        let granted = granted.collect();
        Self {
            given,
            dropped: recorded.dropped.iter().copied().collect(),
            granted,
            expired: recorded.expired.cloned().unwrap_or_default(),
            arrived: recorded.arrived.cloned().unwrap_or_default(),
            forms: recorded.forms.cloned().unwrap_or_default(),
            stopped: None,
            new: None,
        }
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

    /// Whether no one gave the newest answer that counts, since its question had expired.
    pub(super) fn is_newest_expired(&self) -> bool {
        self.numbers().last().is_some_and(|number| self.expired.contains_key(&number))
    }

    /// Whether the newest answer that counts says that its question has expired without a default.
    pub(super) fn has_timed_out(&self) -> bool {
        self.is_newest_expired() && self.newest().is_some_and(Value::is_null)
    }

    /// The digest of the form that the newest answer that counts was given to, if it is known.
    pub(super) fn newest_form(&self) -> Option<Digest> {
        self.forms.get(&self.numbers().last()?).copied()
    }

    /// The newest answer does not count: its question has changed, and is asked again.
    pub(super) fn withdraw(&mut self) {
        let newest = self.numbers().last();
        self.dropped.extend(newest);
        self.new = None;
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
    /// `shown` is the digest of the form of the open question, if it has one.
    pub(super) fn give(&mut self, answer: TaskAnswer, shown: Option<Digest>) {
        let TaskAnswer { question, value, expired, at, form } = answer;
        let form = if form == AnswerForm::Other { Some(NO_FORM) } else { shown };
        let replaced = (question..self.len()).filter(|number| !self.granted.contains_key(number));
        self.dropped.extend(replaced.collect::<Vec<_>>());
        let number = self.len();
        self.expired.extend(expired.map(|until| (number, until)));
        self.arrived.insert(number, at);
        self.forms.extend(form.map(|form| (number, form)));
        self.given.push(value);
    }

    /// The answer to the host's own question, which is the newest one.
    pub(super) fn grant(&mut self, answer: TaskAnswer) {
        let number = self.len();
        self.granted.insert(number, ModelGrant::of_record(&answer.value));
        self.arrived.insert(number, answer.at);
        self.given.push(answer.value);
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

    /// The numbers of those that no one gave, with the deadlines of their questions, for a record.
    pub(super) const fn expired(&self) -> &BTreeMap<u32, Timestamp> {
        &self.expired
    }

    /// When each came, as far as it is known, for a record.
    pub(super) const fn arrived(&self) -> &BTreeMap<u32, Timestamp> {
        &self.arrived
    }

    /// The digests of the forms that they were given to, for a record.
    pub(super) const fn forms(&self) -> &BTreeMap<u32, Digest> {
        &self.forms
    }

    /// Those that count, as the answers that a task has from the start: numbered again.
    pub(super) fn of_those_that_count(&self) -> Self {
        let mut log = Self::default();
        for number in self.numbers() {
            let Some(value) = usize::try_from(number).ok().and_then(|number| self.given.get(number)) else {
                continue;
            };
            let kept = log.len();
            log.expired.extend(self.expired.get(&number).map(|until| (kept, *until)));
            log.arrived.extend(self.arrived.get(&number).map(|at| (kept, *at)));
            log.forms.extend(self.forms.get(&number).map(|form| (kept, *form)));
            log.given.push(value.clone());
        }
        log
    }

    /// The answers that count, each with its number, when it came, and the deadline if no one gave it.
    pub(super) fn details(
        &self,
    ) -> impl Iterator<Item = (u32, &Value, Option<Timestamp>, Option<Timestamp>)> {
        let counting = self.numbered().filter(|(number, _)| self.counts(*number));
        counting.map(|(number, value)| {
            (number, value, self.arrived.get(&number).copied(), self.expired.get(&number).copied())
        })
    }

    fn numbered(&self) -> impl Iterator<Item = (u32, &Value)> {
        (0..).zip(&self.given)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(question: u32, value: Value) -> TaskAnswer {
        TaskAnswer {
            question,
            value,
            expired: None,
            at: Timestamp(u64::from(question)),
            form: AnswerForm::Shown,
        }
    }

    #[test]
    fn a_question_is_asked_again_three_times() {
        let mut log = AnswerLog::default();
        assert!(!log.reject());
        log.give(answer(0, json!("right")), None);
        for wrong in 1..=4 {
            log.give(answer(wrong, json!(wrong)), None);
            assert_eq!(log.reject(), wrong <= 3, "{wrong}");
        }
        assert_eq!((log.counting(), log.dropped()), (vec![json!("right"), json!(4)], vec![1, 2, 3]));
        assert_eq!(log.newest(), Some(&json!(4)));
    }

    #[test]
    fn another_answer_replaces_what_followed_from_the_first() {
        let answers = [Canonical::from(json!("a")), Canonical::from(json!("b"))];
        let mut log =
            AnswerLog::of_records(&RecordedAnswers { answers: &answers, ..RecordedAnswers::default() });
        log.give(answer(0, json!("c")), None);
        assert_eq!((log.counting(), log.len()), (vec![json!("c")], 3));
        assert_eq!(log.numbers().collect::<Vec<_>>(), [2]);
        assert!(log.drops_more_than(&[0]) && !log.drops_more_than(&[0, 1]));
    }

    #[test]
    fn what_was_added_to_a_budget_is_no_answer_for_the_component_and_stays() {
        let mut log = AnswerLog::default();
        log.give(answer(0, json!("a")), None);
        log.grant(answer(1, json!({ "calls": 2 })));
        log.give(answer(2, json!("b")), None);
        log.grant(answer(3, json!(false)));
        assert_eq!((log.counting(), log.newest()), (vec![json!("a"), json!("b")], Some(&json!("b"))));
        assert_eq!(log.numbers().collect::<Vec<_>>(), [0, 2]);
        assert!(log.reject(), "the newest answer for the component");
        let form = Digest::of_bytes(b"form");
        log.give(TaskAnswer { expired: Some(Timestamp(7)), ..answer(0, json!("c")) }, Some(form));
        assert_eq!(log.newest_form(), Some(form));
        assert!(log.is_newest_expired());
        assert_eq!((log.counting(), log.dropped()), (vec![json!("c")], vec![0, 2]));
        let calls = ModelUse { calls: 2, ..ModelUse::NOTHING };
        assert_eq!((log.added(), log.granted()), (calls, vec![1, 3]));
        let (given, dropped, granted) = (log.given(), log.dropped(), log.granted());
        let recorded = RecordedAnswers {
            answers: &given,
            dropped: &dropped,
            granted: &granted,
            expired: Some(log.expired()),
            arrived: Some(log.arrived()),
            forms: Some(log.forms()),
        };
        assert_eq!(AnswerLog::of_records(&recorded), log);
        let anew = log.of_those_that_count();
        assert_eq!(
            (anew.counting(), anew.expired(), anew.forms()),
            (vec![json!("c")], &BTreeMap::from([(0, Timestamp(7))]), &BTreeMap::from([(0, form)]))
        );
        assert_eq!(anew.arrived().get(&0), Some(&Timestamp(0)));
        log.withdraw();
        assert!(log.counting().is_empty() && !log.is_newest_expired());
    }
}
