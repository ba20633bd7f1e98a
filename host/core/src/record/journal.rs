//! The journal of a task: the calls of the host that its component made, with the world's answers.
//!
//! Virtual clocks, seeded randomness and log lines follow from the run itself and need no entries. Everything else that a component
//! observes has an entry, so that a replay returns the same answers. The record digest of the checkpoint covers the journal; the result
//! digest does not.

use std::collections::{BTreeMap, VecDeque};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::value::CanonicalValue;
use crate::digest::Digest;
use crate::json::canonical_size;
use crate::limits::{HostUse, ModelFigure, ModelUse};
use crate::model_budget::ShortFigure;
use crate::node::{Category, Failure};

/// The interface and function of the entry for an attempt that the host ended at its deadline.
const DEADLINE: (&str, &str) = ("graph-host:host", "deadline");

/// The interface and function by which a component calls another item.
const TOOLS: (&str, &str) = ("graph-host:host/tools", "call");

/// The key in the result of such a call for the called component's use of the host.
pub const CALLED: &str = "host";

/// The interface and function by which a component calls a language model.
pub const MODEL: (&str, &str) = ("graph-host:host/model", "complete");

/// The key in the result of such a call for its use of the budget of models. A call of another item has this key if it did not return: the
/// value is the called component's use.
pub const USED: &str = "used";

/// The interface and function by which a component sends a request.
const REQUEST: (&str, &str) = ("wasi:http/outgoing-handler", "handle");

/// The key in the result of such a call for the number of bytes that the server sent, if that exceeds the size of the result.
const RECEIVED: &str = "received";

/// A component's call of the host, with the world's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JournalEntry {
    /// The function, for example `open-at`.
    pub function: String,
    /// The interface, for example `wasi:filesystem/types`, without a version.
    pub interface: String,
    /// `true` if the call succeeded; otherwise `result` is its error.
    pub ok: bool,
    /// The request, with bytes in the form of [`digested`].
    pub request: CanonicalValue,
    /// The answer, with bytes in the form of [`kept`], or of [`digested`] if they can be obtained again.
    pub result: CanonicalValue,
}

impl JournalEntry {
    /// Creates the last entry of an attempt that the host ended at its deadline. Time belongs to the outside world, so a replay takes the
    /// failure from this entry and does not call the component.
    pub fn deadline(failure: &Failure) -> Self {
        Self {
            function: DEADLINE.1.to_owned(),
            interface: DEADLINE.0.to_owned(),
            ok: false,
            request: Value::Null.into(),
            result: fault(failure),
        }
    }

    /// Returns the failure of an attempt that the host ended at its deadline.
    pub fn as_deadline(&self) -> Option<Failure> {
        ((&*self.interface, &*self.function) == DEADLINE).then(|| as_fault(&self.result.0)).flatten()
    }

    /// Returns the bytes that the entry adds to the size of its journal. The answer to a request counts as many bytes as the server sent,
    /// interim responses and framing included, if that exceeds its text.
    pub fn size(&self) -> u64 {
        let texts = [&self.request, &self.result].map(|part| canonical_size(&part.0));
        let is_request = (&*self.interface, &*self.function) == REQUEST;
        let received = self.result.0.get(RECEIVED).filter(|_| is_request).and_then(Value::as_u64);
        let answer = received.unwrap_or(0).max(texts[1]);
        texts[0].saturating_add(answer).saturating_add((self.interface.len() + self.function.len()) as u64)
    }

    /// Returns the use of the host by this call: one call and the entry's size, and for a call of another item additionally that item's
    /// use. A call that a limit refused counts only its use of language models.
    pub fn host_use(&self) -> HostUse {
        let model = self.own_model_use();
        if self.is_refused() {
            return HostUse { model, ..HostUse::NOTHING };
        }
        let own = HostUse { calls: 1, bytes: self.size(), model, ..HostUse::NOTHING };
        own.plus(self.inner_use())
    }

    /// Returns the use of language models by this call, and by the component that it called.
    pub fn model_use(&self) -> ModelUse {
        let own = self.own_model_use();
        if self.is_refused() { own } else { own.plus(self.inner_use().model) }
    }

    /// Returns the manifest's name of the language model, if this is a call of one.
    pub fn model(&self) -> Option<&str> {
        self.request.0.get("model").filter(|_| self.is(MODEL))?.as_str()
    }

    /// Returns the called component's use of the host.
    fn inner_use(&self) -> HostUse {
        let inner = self.result.0.get(CALLED).filter(|_| self.is(TOOLS));
        inner.and_then(|inner| serde_json::from_value(inner.clone()).ok()).unwrap_or_default()
    }

    /// Returns the use of a call of a language model, or of a call of another item that did not return.
    fn own_model_use(&self) -> ModelUse {
        let used = self.result.0.get(USED).filter(|_| self.is(MODEL) || self.is(TOOLS));
        used.and_then(|used| serde_json::from_value(used.clone()).ok()).unwrap_or_default()
    }

    fn is(&self, (interface, function): (&str, &str)) -> bool {
        self.interface == interface && self.function == function
    }

    /// Returns the figure of the budget of models that ended the attempt at this call.
    pub fn refused_figure(&self) -> Option<ModelFigure> {
        self.shortage().map(|short| short.figure)
    }

    /// Returns that figure with the missing amount.
    pub fn shortage(&self) -> Option<ShortFigure> {
        let fault = self.result.0.get("fault")?;
        (!self.ok && self.is(MODEL)).then(|| ShortFigure::deserialize(fault).ok()).flatten()
    }

    /// Checks whether a limit on the use of the host ended the attempt at this call.
    pub fn is_refused(&self) -> bool {
        let fault = || as_fault(&self.result.0);
        !self.ok && fault().is_some_and(|failure| failure.category == Category::Limit)
    }

    /// Returns the use of the host by all of these calls.
    pub fn used_by(entries: &[Self]) -> HostUse {
        entries.iter().map(Self::host_use).fold(HostUse::default(), HostUse::plus)
    }

    fn call(&self) -> HostCallName {
        HostCallName {
            interface: self.interface.clone(),
            function: self.function.clone(),
            request: self.request.clone(),
        }
    }
}

/// Creates the result of a call that ended its task, because the answer exceeded a limit of the task.
pub fn fault(failure: &Failure) -> CanonicalValue {
    fault_after(failure, ModelUse::NOTHING)
}

/// Creates the result of a call of a language model that ended its task because a figure of the budget does not suffice, or because the
/// provider used more than was set aside; `used` is the call's use.
pub fn model_fault(failure: &Failure, short: impl Into<ShortFigure>, used: ModelUse) -> CanonicalValue {
    let mut fault = json!(short.into());
    fault["category"] = json!(failure.category);
    fault["message"] = json!(failure.message);
    with_used(json!({ "fault": fault }), used).into()
}

/// Creates the result of a call that ended its task after `used` of language models.
pub fn fault_after(failure: &Failure, used: ModelUse) -> CanonicalValue {
    with_used(json!({"fault": {"category": failure.category, "message": failure.message}}), used).into()
}

/// Adds the use of language models to the result of a call.
pub fn with_used(mut result: Value, used: ModelUse) -> Value {
    if let Some(fields) = result.as_object_mut().filter(|_| !used.is_nothing()) {
        fields.insert(USED.to_owned(), json!(used));
    }
    result
}

/// Reads the failure that [`fault`], [`model_fault`] or [`fault_after`] wrote.
pub fn as_fault(result: &Value) -> Option<Failure> {
    let fault = result.get("fault")?;
    let category: Category = serde_json::from_value(fault.get("category")?.clone()).ok()?;
    Some(Failure::new(category, fault.get("message")?.as_str()?))
}

/// Adds to the answer to a request the number of bytes that the server sent, if that exceeds the answer's own text.
pub fn with_received(mut answer: Value, bytes: u64) -> Value {
    let shown = canonical_size(&answer);
    if let Some(fields) = answer.as_object_mut().filter(|_| bytes > shown) {
        fields.insert(RECEIVED.to_owned(), bytes.into());
    }
    answer
}

/// Writes bytes of an entry as a whole: `{bytes: base64, length}`.
pub fn kept(bytes: &[u8]) -> Value {
    json!({"bytes": STANDARD.encode(bytes), "length": bytes.len()})
}

/// Writes only the length and the digest of bytes of an entry: `{length, sha256}`.
pub fn digested(bytes: &[u8]) -> Value {
    json!({"length": bytes.len(), "sha256": Digest::of_bytes(bytes).hex()})
}

/// Reads the bytes that [`kept`] wrote; `None` for any other value.
pub fn as_kept(value: &Value) -> Option<Vec<u8>> {
    let bytes = STANDARD.decode(value.get("bytes")?.as_str()?).ok()?;
    (value.get("length")?.as_u64()? == bytes.len() as u64).then_some(bytes)
}

/// Reads the length and the digest that [`digested`] wrote; `None` for any other value.
pub fn as_digested(value: &Value) -> Option<(u64, Digest)> {
    Some((value.get("length")?.as_u64()?, value.get("sha256")?.as_str()?.parse().ok()?))
}

/// The entries of one attempt of a task. Attempts without entries are left out of a task's journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttemptJournal {
    /// The attempt, from 1. After a resume, attempts are counted from 1 again.
    pub attempt: u32,
    /// The dispatch of the task's item, from 1: unique among the attempts of a task.
    pub dispatch: u32,
    /// The calls with their answers, in order.
    pub entries: Vec<JournalEntry>,
}

/// Returns the use of each language model by attempts, by the model's name in the manifest, `lost` included. The use by components that the
/// task's component has called is not included, since their calls are in no journal.
pub fn model_uses(
    journal: &[AttemptJournal],
    lost: &BTreeMap<String, ModelUse>,
) -> BTreeMap<String, ModelUse> {
    let mut by_model = lost.clone();
    for entry in journal.iter().flat_map(|attempt| &attempt.entries) {
        let Some(name) = entry.model() else { continue };
        let used = entry.model_use();
        if used.is_nothing() {
            continue;
        }
        if let Some(known) = by_model.get_mut(name) {
            *known = known.plus(used);
        } else {
            by_model.insert(name.to_owned(), used);
        }
    }
    by_model
}

/// A call of the host by a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCallName {
    /// The interface, without a version.
    pub interface: String,
    /// The name of the function in the interface.
    pub function: String,
    /// The request of the call.
    pub request: CanonicalValue,
}

impl std::fmt::Display for HostCallName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const MOST: usize = 300;
        let request = crate::json::canonical_string(&self.request.0);
        let end = (0..=MOST.min(request.len())).rev().find(|at| request.is_char_boundary(*at)).unwrap_or(0);
        let more = if end < request.len() { ".." } else { "" };
        write!(f, "{}#{}({}{more})", self.interface, self.function, &request[..end])
    }
}

/// A difference between a replayed attempt and its journal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalDifference {
    /// The component's call differs from the next one in the journal, or the journal has ended.
    #[error(
        "entry {entry} of the journal is {}, and the component called {found}",
        expected.as_ref().map_or_else(|| "missing".to_owned(), ToString::to_string)
    )]
    Call {
        /// The index in the journal, from 0.
        entry: usize,
        /// The next call in the journal; none at its end.
        expected: Option<HostCallName>,
        /// The call that the component made.
        found: HostCallName,
    },
    /// The attempt ended, and the journal has further entries.
    #[error("the component ended, and entry {entry} of the journal is {expected}")]
    Unused {
        /// The index in the journal, from 0.
        entry: usize,
        /// The call in the journal.
        expected: HostCallName,
    },
    /// The journal has only the digest of a content, and the content has changed or is missing now.
    #[error("entry {entry} of the journal is {call}: {reason}")]
    Content {
        /// The index in the journal, from 0.
        entry: usize,
        /// The call in the journal.
        call: HostCallName,
        /// The description of the difference.
        reason: String,
    },
}

/// Reads a journal call by call.
#[derive(Clone, Debug)]
pub struct JournalReader {
    entries: VecDeque<JournalEntry>,
    /// The index of the next entry.
    next: usize,
}

impl JournalReader {
    /// Creates a reader at the beginning of a journal.
    pub fn new(entries: Vec<JournalEntry>) -> Self {
        Self { entries: entries.into(), next: 0 }
    }

    /// Returns the entry for a call that a component makes, with its index; fails if the journal has another call next.
    pub fn take(
        &mut self,
        interface: &str,
        function: &str,
        request: &Value,
    ) -> Result<(usize, JournalEntry), JournalDifference> {
        let place = self.next;
        match self.entries.pop_front() {
            Some(entry)
                if entry.interface == interface
                    && entry.function == function
                    && *entry.request.0 == *request =>
            {
                self.next += 1;
                Ok((place, entry))
            }
            other => {
                let expected = other.as_ref().map(JournalEntry::call);
                if let Some(entry) = other {
                    self.entries.push_front(entry);
                }
                let found = HostCallName {
                    interface: interface.to_owned(),
                    function: function.to_owned(),
                    request: request.clone().into(),
                };
                Err(JournalDifference::Call { entry: place, expected, found })
            }
        }
    }

    /// Checks, at the end of the attempt, that no entry is left.
    pub fn finish(self) -> Result<(), JournalDifference> {
        match self.entries.front() {
            None => Ok(()),
            Some(entry) => Err(JournalDifference::Unused { entry: self.next, expected: entry.call() }),
        }
    }

    /// Creates the error for a content that cannot be obtained again.
    pub fn content_differs(place: usize, entry: &JournalEntry, reason: String) -> JournalDifference {
        JournalDifference::Content { entry: place, call: entry.call(), reason }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn entry(function: &str, request: Value) -> JournalEntry {
        JournalEntry {
            function: function.to_owned(),
            interface: "wasi:filesystem/types".to_owned(),
            ok: true,
            request: request.into(),
            result: json!(1).into(),
        }
    }

    #[test]
    fn the_answer_to_a_request_counts_what_the_server_sent() {
        let sized = |interface: &str, result: Value| {
            let entry = entry("handle", json!({}));
            JournalEntry { interface: interface.to_owned(), result: result.into(), ..entry }.size()
        };
        let request = (REQUEST.0.len() + REQUEST.1.len() + "{}".len()) as u64;
        let answer = json!({"status": 200});
        let shown = answer.to_string().len() as u64;
        assert_eq!(
            with_received(answer.clone(), shown),
            answer,
            "what is shown in full counts as what is shown"
        );
        assert_eq!(sized(REQUEST.0, answer.clone()), request + shown);
        let more = with_received(answer, 1000);
        assert_eq!(more, json!({"received": 1000, "status": 200}));
        assert_eq!(sized(REQUEST.0, more.clone()), request + 1000);
        let other = "wasi:filesystem/types";
        let texts = (other.len() + REQUEST.1.len() + "{}".len() + more.to_string().len()) as u64;
        assert_eq!(sized(other, more), texts, "a component's own result says nothing about the network");
    }

    #[test]
    fn entries_come_in_order_and_have_to_match() {
        let mut reader =
            JournalReader::new(vec![entry("stat", json!({"path": "/a"})), entry("read", json!(1))]);
        let (place, first) = reader.take("wasi:filesystem/types", "stat", &json!({"path": "/a"})).unwrap();
        assert_eq!((place, &*first.result.0), (0, &json!(1)));

        for (interface, function, request) in [
            ("wasi:filesystem/types", "read", json!(2)),
            ("wasi:filesystem/types", "write", json!(1)),
            ("wasi:http/outgoing-handler", "read", json!(1)),
        ] {
            let difference = reader.clone().take(interface, function, &request).unwrap_err();
            let JournalDifference::Call { entry: 1, expected: Some(expected), found } = &difference else {
                panic!("{difference:?}")
            };
            assert_eq!((&*expected.function, &*found.function), ("read", function));
        }

        assert_eq!(
            reader.clone().finish().unwrap_err().to_string(),
            "the component ended, and entry 1 of the journal is wasi:filesystem/types#read(1)"
        );
        reader.take("wasi:filesystem/types", "read", &json!(1)).unwrap();
        assert_eq!(
            reader.take("wasi:filesystem/types", "read", &json!(1)).unwrap_err().to_string(),
            "entry 2 of the journal is missing, and the component called wasi:filesystem/types#read(1)"
        );
        reader.finish().unwrap();
    }

    #[test]
    fn bytes_are_kept_whole_or_as_digests() {
        assert_eq!(as_kept(&kept(b"ab\0")), Some(b"ab\0".to_vec()));
        assert_eq!(as_kept(&digested(b"ab\0")), None);
        assert_eq!(as_kept(&json!({"bytes": "YQ==", "length": 2})), None);
        assert_eq!(as_digested(&digested(b"abc")), Some((3, Digest::of_bytes(b"abc"))));
        assert_eq!(as_digested(&kept(b"abc")), None);
    }

    #[test]
    fn what_models_have_used_counts_whatever_became_of_the_call() {
        let used = ModelUse { calls: 2, input: 10, output: 5, cost: 3 };
        let entry = |(interface, function): (&str, &str), ok: bool, result: CanonicalValue| JournalEntry {
            function: function.to_owned(),
            interface: interface.to_owned(),
            ok,
            request: json!({}).into(),
            result,
        };
        let limit = Failure::new(Category::Limit, "too much");
        let late = Failure::new(Category::Timeout, "too late");
        for (entry, is_counted, figure) in [
            (entry(MODEL, true, with_used(json!({"response": {}}), used).into()), true, None),
            (entry(MODEL, false, with_used(json!({"failure": {}}), used).into()), true, None),
            (entry(MODEL, false, fault_after(&late, used)), true, None),
            (entry(MODEL, false, fault_after(&limit, used)), false, None),
            (
                entry(MODEL, false, model_fault(&limit, ModelFigure::Cost, used)),
                false,
                Some(ModelFigure::Cost),
            ),
            (entry(TOOLS, true, json!({ CALLED: { "model": used } }).into()), true, None),
            (entry(TOOLS, false, fault_after(&limit, used)), false, None),
        ] {
            assert_eq!(entry.model_use(), used, "{entry:?}");
            let counted = entry.host_use();
            assert_eq!((counted.model, counted.calls == 1), (used, is_counted), "{entry:?}");
            assert_eq!(entry.refused_figure(), figure);
        }
        let other = entry(REQUEST, true, with_used(json!({}), used).into());
        assert_eq!(other.model_use(), ModelUse::NOTHING, "a server's answer says nothing about models");
    }

    #[test]
    fn a_deadline_is_an_entry_of_its_own() {
        let failure = Failure::new(Category::Timeout, "too long");
        assert_eq!(JournalEntry::deadline(&failure).as_deadline(), Some(failure));
        assert_eq!(entry("deadline", Value::Null).as_deadline(), None);
    }
}
