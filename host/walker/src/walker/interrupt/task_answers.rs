//! The answers that a task has been given.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use graph_core::digest::Digest;
use graph_core::limits::ModelUse;
use graph_core::model_grant::ModelGrant;
use graph_core::record::{CanonicalValue, ShortRecord};
use graph_core::time::Timestamp;

/// Number of times that a question is asked again because its answer was rejected.
const ASKED_AGAIN: usize = 3;

/// An answer to one of a task's questions.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::walker) struct TaskAnswer {
    /// The number of the question.
    pub question: u32,
    /// The answer; for an expired question its default, or null if it has none.
    pub value: Value,
    /// The deadline of the question, if it expired without an answer.
    pub expired: Option<Timestamp>,
    /// Time at which the answer came.
    pub at: Timestamp,
    /// The form that the answer is for.
    pub form: AnswerForm,
}

/// The form that an answer is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::walker) enum AnswerForm {
    /// The form of the open question.
    #[default]
    Shown,
    /// Another form, according to records: the question is asked again.
    Other,
}

/// A digest that no form has.
const NO_FORM: Digest = Digest::from_bytes([0; 32]);

/// The answers of a task, as records have them.
#[derive(Debug, Default)]
pub(in crate::walker) struct RecordedAnswers<'r> {
    pub answers: &'r [CanonicalValue],
    pub dropped: &'r [u32],
    pub granted: &'r [u32],
    pub expired: Option<&'r BTreeMap<u32, Timestamp>>,
    pub arrived: Option<&'r BTreeMap<u32, Timestamp>>,
    pub forms: Option<&'r BTreeMap<u32, Digest>>,
}

/// The answers that a task has been given, in order. Some are dropped, which means that they no longer count: the component has
/// rejected them, or another answer has replaced them. Answers to the host's own questions about budgets of language models are
/// among them: these are never shown to the component and are never dropped, since the additions may have been used.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::walker) struct TaskAnswers {
    values: Vec<Value>,
    dropped: BTreeSet<u32>,
    /// The answers to the host's own questions.
    granted: BTreeMap<u32, ModelGrant>,
    /// Deadlines of the questions that expired without an answer, by number.
    expired: BTreeMap<u32, Timestamp>,
    /// Time of each answer, as far as it is known.
    arrived: BTreeMap<u32, Timestamp>,
    /// Digest of the form that each answer was given to; only questions of `ask` nodes have one.
    forms: BTreeMap<u32, Digest>,
    /// The shortage of a budget that the newest answer was asked about, if that answer adds nothing.
    stopped: Option<Box<ShortRecord>>,
    /// The question before the newest answer, until an attempt with that answer has ended.
    new: Option<Arc<Value>>,
}

impl TaskAnswers {
    /// Restores the log from records.
    pub(in crate::walker) fn of_records(recorded: &RecordedAnswers<'_>) -> Self {
        let values: Vec<_> = recorded.answers.iter().map(|answer| Value::clone(&answer.0)).collect();
        let granted = recorded.granted.iter().filter_map(|number| {
            let answer = values.get(usize::try_from(*number).ok()?)?;
            Some((*number, ModelGrant::of_record(answer)))
        });
        let granted = granted.collect();
        Self {
            values,
            dropped: recorded.dropped.iter().copied().collect(),
            granted,
            expired: recorded.expired.cloned().unwrap_or_default(),
            arrived: recorded.arrived.cloned().unwrap_or_default(),
            forms: recorded.forms.cloned().unwrap_or_default(),
            stopped: None,
            new: None,
        }
    }

    /// Notes that the newest answer is to the host's question about this shortage of a budget.
    pub(in crate::walker) fn set_granted(&mut self, short: ShortRecord) {
        // The attempt that was to see the answer before that has ended early.
        if let Some(asked) = &short.asked {
            self.new = Some(Arc::clone(&asked.0));
        }
        let newest = self.len().checked_sub(1).and_then(|newest| self.granted.get(&newest));
        self.stopped = (newest == Some(&ModelGrant::Stop)).then(|| Box::new(short));
    }

    /// Takes the shortage that ends the task's next attempt, because the newest answer has added nothing to the used-up budget.
    pub(in crate::walker) fn take_stopped(&mut self) -> Option<Box<ShortRecord>> {
        self.stopped.take()
    }

    /// Returns the question whose answer the running attempt is the first to see.
    pub(in crate::walker) fn new_question(&self) -> Option<CanonicalValue> {
        self.new.as_ref().map(|question| CanonicalValue(Arc::clone(question)))
    }

    /// Sums the additions of all answers to budgets of language models.
    pub(in crate::walker) fn added(&self) -> ModelUse {
        self.granted.values().map(|grant| grant.added()).fold(ModelUse::NOTHING, ModelUse::plus)
    }

    /// Notes that the newest answer is to this question, and that no attempt has seen it.
    pub(in crate::walker) fn set_new(&mut self, question: Arc<Value>) {
        self.new = Some(question);
    }

    /// Takes the question whose answer the attempt that has ended was the first to see, if there is one.
    pub(in crate::walker) const fn take_new(&mut self) -> Option<Arc<Value>> {
        self.new.take()
    }

    /// Returns `true` if no answer was ever given.
    #[inline]
    pub(in crate::walker) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Number of answers given, dropped ones included; it is the number of the next question.
    #[inline]
    pub(in crate::walker) fn len(&self) -> u32 {
        u32::try_from(self.values.len()).unwrap_or(u32::MAX)
    }

    /// Returns the answers that count.
    pub(in crate::walker) fn counting(&self) -> Vec<Value> {
        self.numbered().filter(|(number, _)| self.counts(*number)).map(|(_, answer)| answer.clone()).collect()
    }

    /// Returns the newest answer that counts.
    pub(in crate::walker) fn newest(&self) -> Option<&Value> {
        self.numbered().filter(|(number, _)| self.counts(*number)).map(|(_, answer)| answer).last()
    }

    /// Returns `true` if the newest answer that counts is that of an expired question.
    pub(in crate::walker) fn is_newest_expired(&self) -> bool {
        self.numbers().last().is_some_and(|number| self.expired.contains_key(&number))
    }

    /// Returns `true` if the newest answer that counts is that of an expired question without a default.
    pub(in crate::walker) fn has_timed_out(&self) -> bool {
        self.is_newest_expired() && self.newest().is_some_and(Value::is_null)
    }

    /// Returns the digest of the form that the newest counting answer was given to, if it is known.
    pub(in crate::walker) fn newest_form(&self) -> Option<Digest> {
        self.forms.get(&self.numbers().last()?).copied()
    }

    /// Drops the newest answer that counts, because its question has changed and is asked again.
    pub(in crate::walker) fn withdraw(&mut self) {
        let newest = self.numbers().last();
        self.dropped.extend(newest);
        self.new = None;
    }

    /// Returns the numbers of the answers that count.
    pub(in crate::walker) fn numbers(&self) -> impl Iterator<Item = u32> {
        (0..self.len()).filter(|number| self.counts(*number))
    }

    /// Returns `true` if the answer is for the component and is not dropped.
    fn counts(&self, number: u32) -> bool {
        !self.dropped.contains(&number) && !self.granted.contains_key(&number)
    }

    /// Adds an answer to a question. It replaces the question's earlier answer and all later ones. `shown` is the
    /// digest of the form of the open question, if it has one.
    pub(in crate::walker) fn give(&mut self, answer: TaskAnswer, shown: Option<Digest>) {
        let TaskAnswer { question, value, expired, at, form } = answer;
        let form = if form == AnswerForm::Other { Some(NO_FORM) } else { shown };
        let replaced = (question..self.len()).filter(|number| !self.granted.contains_key(number));
        self.dropped.extend(replaced.collect::<Vec<_>>());
        let number = self.len();
        self.expired.extend(expired.map(|until| (number, until)));
        self.arrived.insert(number, at);
        self.forms.extend(form.map(|form| (number, form)));
        self.values.push(value);
    }

    /// Adds an answer to the host's own question, which is the newest question.
    pub(in crate::walker) fn grant(&mut self, answer: TaskAnswer) {
        let number = self.len();
        self.granted.insert(number, ModelGrant::of_record(&answer.value));
        self.arrived.insert(number, answer.at);
        self.values.push(answer.value);
    }

    /// Drops the newest answer because the component has rejected it, and returns `true` if its question is to be asked again.
    pub(in crate::walker) fn reject(&mut self) -> bool {
        let mut of_component = (0..self.len()).rev().filter(|number| !self.granted.contains_key(number));
        let Some(newest) = of_component.next() else { return false };
        let before = of_component.take_while(|number| self.dropped.contains(number)).count();
        before < ASKED_AGAIN && self.dropped.insert(newest)
    }

    /// Drops answers that another record lists as dropped.
    pub(in crate::walker) fn drop_those(&mut self, dropped: &[u32]) {
        self.dropped.extend(dropped);
    }

    /// Returns `true` if any answer outside of this list is dropped.
    pub(in crate::walker) fn drops_more_than(&self, dropped: &[u32]) -> bool {
        self.dropped.iter().any(|number| !dropped.contains(number))
    }

    /// Returns all answers, for a record.
    pub(in crate::walker) fn values(&self) -> Vec<CanonicalValue> {
        self.values.iter().cloned().map(CanonicalValue::from).collect()
    }

    /// Returns the numbers of the dropped answers, for a record.
    pub(in crate::walker) fn dropped(&self) -> Vec<u32> {
        self.dropped.iter().copied().collect()
    }

    /// Returns the numbers of the answers to the host's own questions, for a record.
    pub(in crate::walker) fn granted(&self) -> Vec<u32> {
        self.granted.keys().copied().collect()
    }

    /// Returns the deadlines of the questions that expired without an answer, by number, for a record.
    pub(in crate::walker) const fn expired(&self) -> &BTreeMap<u32, Timestamp> {
        &self.expired
    }

    /// Returns the time of each answer, as far as it is known, for a record.
    pub(in crate::walker) const fn arrived(&self) -> &BTreeMap<u32, Timestamp> {
        &self.arrived
    }

    /// Returns the digests of the forms that the answers were given to, for a record.
    pub(in crate::walker) const fn forms(&self) -> &BTreeMap<u32, Digest> {
        &self.forms
    }

    /// Returns a log of only the answers that count, numbered from 0.
    pub(in crate::walker) fn of_those_that_count(&self) -> Self {
        let mut log = Self::default();
        for number in self.numbers() {
            let Some(value) = usize::try_from(number).ok().and_then(|number| self.values.get(number)) else {
                continue;
            };
            let kept = log.len();
            log.expired.extend(self.expired.get(&number).map(|until| (kept, *until)));
            log.arrived.extend(self.arrived.get(&number).map(|at| (kept, *at)));
            log.forms.extend(self.forms.get(&number).map(|form| (kept, *form)));
            log.values.push(value.clone());
        }
        log
    }

    /// Returns each answer that counts: its number, the value, the time at which it came, and the deadline if the question expired.
    pub(in crate::walker) fn details(
        &self,
    ) -> impl Iterator<Item = (u32, &Value, Option<Timestamp>, Option<Timestamp>)> {
        let counting = self.numbered().filter(|(number, _)| self.counts(*number));
        counting.map(|(number, value)| {
            (number, value, self.arrived.get(&number).copied(), self.expired.get(&number).copied())
        })
    }

    fn numbered(&self) -> impl Iterator<Item = (u32, &Value)> {
        (0..).zip(&self.values)
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
        let mut log = TaskAnswers::default();
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
        let answers = [CanonicalValue::from(json!("a")), CanonicalValue::from(json!("b"))];
        let mut log =
            TaskAnswers::of_records(&RecordedAnswers { answers: &answers, ..RecordedAnswers::default() });
        log.give(answer(0, json!("c")), None);
        assert_eq!((log.counting(), log.len()), (vec![json!("c")], 3));
        assert_eq!(log.numbers().collect::<Vec<_>>(), [2]);
        assert!(log.drops_more_than(&[0]) && !log.drops_more_than(&[0, 1]));
    }

    #[test]
    fn what_was_added_to_a_budget_is_no_answer_for_the_component_and_stays() {
        let mut log = TaskAnswers::default();
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
        let (values, dropped, granted) = (log.values(), log.dropped(), log.granted());
        let recorded = RecordedAnswers {
            answers: &values,
            dropped: &dropped,
            granted: &granted,
            expired: Some(log.expired()),
            arrived: Some(log.arrived()),
            forms: Some(log.forms()),
        };
        assert_eq!(TaskAnswers::of_records(&recorded), log);
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
