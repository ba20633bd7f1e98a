//! Records the answers of the outside world to a component's calls, or answers from such a record.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use graph_core::limits::{HostUse, TaskLimits};
use graph_core::node::{Category, Failure};
use graph_core::record::journal::{digested, fault, fault_after, kept};
use graph_core::record::{CanonicalValue, JournalDifference, JournalEntry, JournalReader};
use serde_json::Value;

use crate::classify::{GuestFault, classify};
use crate::live::{LiveBounds, LiveCalls, LiveDecision};
use crate::task_budget::TaskBudget;

/// Number of bytes of repeatable contents that an attempt's journal stores; further contents are stored as digests.
const KEPT_BYTES: usize = 64 << 10;

/// The source of the answers to a component's calls.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Journal {
    /// The outside world answers, and [`CallReport::journal`](crate::CallReport::journal) records the answers.
    #[default]
    Record,
    /// These entries of an attempt's [`CallReport::journal`](crate::CallReport::journal) answer, in order. The outside world is not used,
    /// except to read files again of which the journal has only the digest. A call other than the next one in the journal ends the attempt
    /// with a [`CallReport::difference`](crate::CallReport::difference).
    Replay(Vec<JournalEntry>),
    /// The outside world answers again, within the calls of the recorded attempt.
    Live(LiveCalls),
}

/// The journal of a call, shared by all host functions of the component that use the outside world.
#[derive(Clone)]
pub(crate) struct SharedJournal(Arc<JournalState>);

struct JournalState {
    inner: Mutex<Inner>,
    /// Recorded answers and called components charge it.
    budget: TaskBudget,
}

enum Inner {
    Record {
        entries: Vec<JournalEntry>,
        /// Limit on the number of entries.
        calls: u64,
        /// Limit on their bytes.
        most: u64,
        bytes: u64,
        /// Number of calls by components that this one called.
        inner_calls: u64,
        to_keep: usize,
        /// The limits of an attempt that asks the outside world again.
        live: Option<LiveBounds>,
    },
    Replay {
        reader: JournalReader,
        difference: Option<JournalDifference>,
    },
}

/// The source of the answer to a call of the host.
pub(crate) enum AnswerSource {
    /// The outside world: the entry is still to be recorded.
    World,
    /// The journal.
    Recorded(RecordedAnswer),
}

/// An entry that answers a call.
pub(crate) struct RecordedAnswer {
    place: usize,
    entry: JournalEntry,
}

impl RecordedAnswer {
    /// Returns the recorded result; the error is the recorded error.
    pub(crate) fn answer(&self) -> Result<&Value, &Value> {
        if self.entry.ok { Ok(&self.entry.result.0) } else { Err(&self.entry.result.0) }
    }
}

impl SharedJournal {
    /// Creates a journal, with the budget of the same attempt.
    pub(crate) fn new(journal: Journal, limits: &TaskLimits, budget: TaskBudget) -> Self {
        let record = |live| Inner::Record {
            entries: Vec::new(),
            calls: limits.calls,
            most: limits.bytes,
            bytes: 0,
            inner_calls: 0,
            to_keep: KEPT_BYTES,
            live,
        };
        let inner = match journal {
            Journal::Record => record(None),
            Journal::Live(live) => record(Some(LiveBounds::new(live))),
            Journal::Replay(entries) => {
                Inner::Replay { reader: JournalReader::new(entries), difference: None }
            }
        };
        Self(Arc::new(JournalState { inner: Mutex::new(inner), budget }))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the budget of the attempt.
    pub(crate) fn budget(&self) -> &TaskBudget {
        &self.0.budget
    }

    /// Starts a call of the host, and returns the source of its answer. The error ends the attempt: a difference, a limit, or the recorded
    /// end of the attempt.
    pub(crate) fn begin(
        &self,
        interface: &'static str,
        function: &'static str,
        request: &Value,
    ) -> wasmtime::Result<AnswerSource> {
        let answer = self.look_up(interface, function, request)?;
        if let AnswerSource::Recorded(kept) = &answer {
            self.0.budget.charge_models(kept.entry.model_use());
        }
        Ok(answer)
    }

    fn look_up(
        &self,
        interface: &'static str,
        function: &'static str,
        request: &Value,
    ) -> wasmtime::Result<AnswerSource> {
        match &mut *self.inner() {
            Inner::Record { entries, calls, inner_calls, live, .. }
                if (entries.len() as u64).saturating_add(*inner_calls) < *calls =>
            {
                match live.as_mut().map_or(LiveDecision::World, |live| live.ask(interface, function, request))
                {
                    LiveDecision::World => Ok(AnswerSource::World),
                    LiveDecision::Recorded(entry) => {
                        entries.push(entry.clone());
                        if let Some(fault) = GuestFault::from_entry(&entry) {
                            return Err(fault.into());
                        }
                        Ok(AnswerSource::Recorded(RecordedAnswer { place: entries.len() - 1, entry }))
                    }
                    LiveDecision::Refused(failure) => {
                        entries.push(entry(interface, function, request.clone(), Err(fault(&failure))));
                        Err(GuestFault::from(failure).into())
                    }
                }
            }
            Inner::Record { entries, calls, .. } => {
                let message = format!("it called functions of the host more than {calls} times");
                let failure = Failure::new(Category::Limit, message);
                entries.push(entry(interface, function, request.clone(), Err(fault(&failure))));
                Err(GuestFault::from(failure).into())
            }
            Inner::Replay { reader, difference } => match reader.take(interface, function, request) {
                Ok((place, entry)) => {
                    if let Some(fault) = GuestFault::from_entry(&entry) {
                        return Err(fault.into());
                    }
                    Ok(AnswerSource::Recorded(RecordedAnswer { place, entry }))
                }
                Err(found) => {
                    difference.get_or_insert_with(|| found.clone());
                    Err(found.into())
                }
            },
        }
    }

    /// Records the answer of the outside world to a call.
    pub(crate) fn record(
        &self,
        interface: &'static str,
        function: &'static str,
        request: Value,
        answer: Result<Value, Value>,
    ) -> wasmtime::Result<()> {
        if let Inner::Record { entries, bytes, most, .. } = &mut *self.inner() {
            let made = entry(
                interface,
                function,
                request,
                answer.map(CanonicalValue::from).map_err(CanonicalValue::from),
            );
            *bytes = bytes.saturating_add(made.size());
            if *bytes > *most {
                let message =
                    format!("what it asked of the host and what was answered takes more than {most} bytes");
                let failure = Failure::new(Category::Limit, message);
                let result = fault_after(&failure, made.model_use());
                entries.push(JournalEntry { ok: false, result, ..made });
                return Err(GuestFault::from(failure).into());
            }
            entries.push(made);
        }
        Ok(())
    }

    /// Returns the remaining use of the host for a called component; the call itself is subtracted.
    pub(crate) fn left(&self) -> HostUse {
        match &mut *self.inner() {
            Inner::Record { live: Some(live), .. } => live.inside(),
            Inner::Record { entries, calls, most, bytes, inner_calls, .. } => HostUse {
                calls: calls
                    .saturating_sub((entries.len() as u64).saturating_add(*inner_calls).saturating_add(1)),
                bytes: most.saturating_sub(*bytes),
                model: self.0.budget.models_left(),
                ..HostUse::NOTHING
            },
            // In a replay, nothing is called.
            Inner::Replay { .. } => HostUse::default(),
        }
    }

    /// Charges the use of the host by a called component.
    pub(crate) fn used_inside(&self, host: HostUse) {
        if let Inner::Record { bytes, inner_calls, .. } = &mut *self.inner() {
            *inner_calls = inner_calls.saturating_add(host.calls);
            *bytes = bytes.saturating_add(host.bytes);
        }
        // The called component has changed the meter itself.
        self.0.budget.charge_models(host.model);
    }

    /// Checks whether the outside world answers a recorded attempt again.
    pub(crate) fn is_live(&self) -> bool {
        matches!(&*self.inner(), Inner::Record { live: Some(_), .. })
    }

    /// Records that a call has ended its attempt because of the outside world's answer, and returns the same error.
    pub(crate) fn record_end(
        &self,
        interface: &'static str,
        function: &'static str,
        request: Value,
        error: wasmtime::Error,
    ) -> wasmtime::Error {
        let failure = classify(&error).1;
        self.record_fault(interface, function, request, fault(&failure), failure);
        error
    }

    /// Records that a call has ended its attempt, with the given result, and returns the error.
    pub(crate) fn record_fault(
        &self,
        interface: &'static str,
        function: &'static str,
        request: Value,
        result: CanonicalValue,
        failure: Failure,
    ) -> GuestFault {
        let ended = entry(interface, function, request, Err(result));
        let fault = GuestFault::from_entry(&ended).unwrap_or_else(|| failure.into());
        if let Inner::Record { entries, .. } = &mut *self.inner() {
            entries.push(ended);
        }
        fault
    }

    /// Returns the journal's form of repeatable bytes: the bytes or their digest.
    pub(crate) fn content(&self, bytes: &[u8]) -> Value {
        match &mut *self.inner() {
            Inner::Record { to_keep, .. } if bytes.len() <= *to_keep => {
                *to_keep -= bytes.len();
                kept(bytes)
            }
            _ => digested(bytes),
        }
    }

    /// Ends the attempt with a difference, since repeated contents do not match the entry.
    pub(crate) fn content_differs(&self, kept: &RecordedAnswer, reason: String) -> wasmtime::Error {
        let found = JournalReader::content_differs(kept.place, &kept.entry, reason);
        if let Inner::Replay { difference, .. } = &mut *self.inner() {
            difference.get_or_insert_with(|| found.clone());
        }
        found.into()
    }

    /// Ends the attempt with a difference, since the entry does not contain an answer of its function.
    pub(crate) fn malformed(&self, kept: &RecordedAnswer) -> wasmtime::Error {
        self.content_differs(kept, "its result is not one of this function".to_owned())
    }

    /// Ends the attempt; returns the entries, and the difference from a replayed journal.
    pub(crate) fn finish(&self) -> (Vec<JournalEntry>, Option<JournalDifference>) {
        match &mut *self.inner() {
            Inner::Record { entries, .. } => (std::mem::take(entries), None),
            Inner::Replay { reader, difference } => {
                let reader = std::mem::replace(reader, JournalReader::new(Vec::new()));
                (Vec::new(), difference.take().or_else(|| reader.finish().err()))
            }
        }
    }
}

fn entry(
    interface: &'static str,
    function: &'static str,
    request: Value,
    answer: Result<CanonicalValue, CanonicalValue>,
) -> JournalEntry {
    let ok = answer.is_ok();
    JournalEntry {
        function: function.to_owned(),
        interface: interface.to_owned(),
        ok,
        request: request.into(),
        result: answer.unwrap_or_else(|error| error),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use graph_core::limits::ModelUse;
    use graph_core::record::journal::{CALLED, MODEL, as_kept, with_used};
    use serde_json::json;

    use super::*;
    use crate::services::ModelMeter;

    fn of(journal: Journal) -> SharedJournal {
        let budget = TaskBudget::new(&TaskLimits::DEFAULT, ModelMeter::default());
        SharedJournal::new(journal, &TaskLimits::DEFAULT, budget)
    }

    #[test]
    fn an_entry_too_many_ends_the_attempt_the_same_way_twice() {
        let first = of(Journal::Record);
        for number in 0..TaskLimits::DEFAULT.calls {
            assert!(matches!(first.begin("i", "f", &json!(number)).unwrap(), AnswerSource::World));
            first.record("i", "f", json!(number), Ok(Value::Null)).unwrap();
        }
        let error = first.begin("i", "f", &json!("more")).err().unwrap();
        let (entries, _) = first.finish();
        let second = of(Journal::Replay(entries));
        for number in 0..TaskLimits::DEFAULT.calls {
            assert!(matches!(second.begin("i", "f", &json!(number)).unwrap(), AnswerSource::Recorded(_)));
        }
        let again = second.begin("i", "f", &json!("more")).err().unwrap();
        assert_eq!(classify(&error), classify(&again));
        assert_eq!(classify(&error).1.category, Category::Limit);
        assert_eq!(second.finish(), (Vec::new(), None));
    }

    #[test]
    fn a_journal_of_too_many_bytes_ends_the_attempt_the_same_way_twice() {
        let large = json!("x".repeat(6 << 20));
        let first = of(Journal::Record);
        first.record("i", "f", json!(1), Ok(large.clone())).unwrap();
        first.record("i", "f", json!(2), Ok(large.clone())).unwrap();
        let error = first.record("i", "f", json!(3), Ok(large)).unwrap_err();
        let (entries, _) = first.finish();
        assert!(entries[2].size() < 1000);
        let second = of(Journal::Replay(entries));
        second.begin("i", "f", &json!(1)).unwrap();
        second.begin("i", "f", &json!(2)).unwrap();
        let again = second.begin("i", "f", &json!(3)).err().unwrap();
        assert_eq!(classify(&error), classify(&again));
        assert_eq!(classify(&error).1.category, Category::Limit);
    }

    #[test]
    fn what_models_have_used_is_the_same_in_a_replay() {
        let used = ModelUse { calls: 1, input: 100, output: 10, cost: 0 };
        let inner = HostUse { model: used, ..HostUse::NOTHING };
        let first = of(Journal::Record);
        first.budget().charge_models(used);
        first.record(MODEL.0, MODEL.1, json!(1), Ok(with_used(json!({}), used))).unwrap();
        first.used_inside(inner);
        first.record("graph-host:host/tools", "call", json!(2), Ok(json!({ CALLED: inner }))).unwrap();
        let left = first.left().model;
        assert_eq!(left, TaskLimits::DEFAULT.model.less(used.plus(used)));
        let (entries, _) = first.finish();
        let second = of(Journal::Replay(entries));
        second.begin(MODEL.0, MODEL.1, &json!(1)).unwrap();
        second.begin("graph-host:host/tools", "call", &json!(2)).unwrap();
        assert_eq!(second.budget().models_left(), left);
    }

    #[test]
    fn a_journal_that_is_too_long_has_what_models_have_used() {
        let used = ModelUse { calls: 1, input: 100, output: 10, cost: 0 };
        let first = of(Journal::Record);
        let large = with_used(json!({ "response": "x".repeat(17 << 20) }), used);
        first.record(MODEL.0, MODEL.1, json!(1), Ok(large)).unwrap_err();
        let (entries, _) = first.finish();
        assert_eq!(JournalEntry::used_by(&entries), HostUse { model: used, ..HostUse::NOTHING });
    }

    #[test]
    fn small_contents_are_kept_until_there_are_too_many() {
        let journal = of(Journal::Record);
        let half = vec![1; KEPT_BYTES / 2];
        assert_eq!(as_kept(&journal.content(&half)), Some(half.clone()));
        assert_eq!(as_kept(&journal.content(&vec![0; KEPT_BYTES])), None);
        assert!(as_kept(&journal.content(&half)).is_some());
        assert_eq!(as_kept(&journal.content(b"x")), None);
    }
}
