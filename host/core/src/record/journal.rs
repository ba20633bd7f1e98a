//! The journal of a task: the calls of the host that its component made, with the world's answers.
//!
//! Virtual clocks, seeded randomness and log lines follow from the run itself and need no entries. Everything else that a
//! component learns has an entry, so that a replay can answer it in the same way. The record digest of the checkpoint
//! covers the journal; the result digest does not.

use std::collections::{BTreeMap, VecDeque};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::value::Canonical;
use crate::digest::Digest;
use crate::json::canonical_size;
use crate::limits::{HostUse, ModelFigure, ModelUse};
use crate::model_budget::ShortFigure;
use crate::node::{Category, Failure};

/// The interface and function of the entry for an attempt that the host ended at its deadline.
const DEADLINE: (&str, &str) = ("graph-host:host", "deadline");

/// The interface and function by which a component calls another item.
const TOOLS: (&str, &str) = ("graph-host:host/tools", "call");

/// The key in the result of such a call for what the called component has used of the host.
pub const CALLED: &str = "host";

/// The interface and function by which a component calls a language model.
pub const MODEL: (&str, &str) = ("graph-host:host/model", "complete");

/// The key in the result of such a call for what it has used of the budget of models. A call of another item has it if it did
/// not return: the called component has used that much.
pub const USED: &str = "used";

/// The interface and function by which a component sends a request.
const REQUEST: (&str, &str) = ("wasi:http/outgoing-handler", "handle");

/// The key in the result of such a call for the number of bytes that the server sent, if that is more than the result
/// shows.
const RECEIVED: &str = "received";

/// A component's call of the host, with the world's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JournalEntry {
    /// The function, for example `open-at`.
    pub function: String,
    /// The interface, for example `wasi:filesystem/types`, without a version.
    pub interface: String,
    /// Whether the call succeeded; otherwise `result` is its error.
    pub ok: bool,
    /// The request. Bytes are in it in the form of [`digested`].
    pub request: Canonical,
    /// The answer. Bytes are in it in the form of [`kept`], or of [`digested`] if they can be obtained again.
    pub result: Canonical,
}

impl JournalEntry {
    /// The entry of an attempt that the host ended because its time was over: the last one of its journal. Time
    /// is the world's, so a replay takes the failure from here and does not call the component.
    pub fn deadline(failure: &Failure) -> Self {
        Self {
            function: DEADLINE.1.to_owned(),
            interface: DEADLINE.0.to_owned(),
            ok: false,
            request: Value::Null.into(),
            result: fault(failure),
        }
    }

    /// The failure of an attempt that the host ended because its time was over.
    pub fn as_deadline(&self) -> Option<Failure> {
        ((&*self.interface, &*self.function) == DEADLINE).then(|| as_fault(&self.result.0)).flatten()
    }

    /// The bytes that the entry adds to the size of its journal. The answer to a request counts as many bytes as the
    /// server sent, interim responses and framing included, if that is more than its text.
    pub fn size(&self) -> u64 {
        let texts = [&self.request, &self.result].map(|part| canonical_size(&part.0));
        let is_request = (&*self.interface, &*self.function) == REQUEST;
        let received = self.result.0.get(RECEIVED).filter(|_| is_request).and_then(Value::as_u64);
        let answer = received.unwrap_or(0).max(texts[1]);
        texts[0].saturating_add(answer).saturating_add((self.interface.len() + self.function.len()) as u64)
    }

    /// The use of the host by this call: one call and the entry's size, and for a call of another item additionally what
    /// that used. A call that a limit refused counts nothing, except for what language models have used until then.
    pub fn host_use(&self) -> HostUse {
        let model = self.own_model_use();
        if self.is_refused() {
            return HostUse { model, ..HostUse::NOTHING };
        }
        let own = HostUse { calls: 1, bytes: self.size(), model, ..HostUse::NOTHING };
        own.plus(self.inner_use())
    }

    /// The use of language models by this call, and by the component that it called.
    pub fn model_use(&self) -> ModelUse {
        let own = self.own_model_use();
        if self.is_refused() { own } else { own.plus(self.inner_use().model) }
    }

    /// The name in the manifest of the language model that was asked, if this is such a call.
    pub fn model(&self) -> Option<&str> {
        self.request.0.get("model").filter(|_| self.is(MODEL))?.as_str()
    }

    /// What the called component has used of the host.
    fn inner_use(&self) -> HostUse {
        let inner = self.result.0.get(CALLED).filter(|_| self.is(TOOLS));
        inner.and_then(|inner| serde_json::from_value(inner.clone()).ok()).unwrap_or_default()
    }

    /// What a call of a language model has used, or a call of another item that did not return.
    fn own_model_use(&self) -> ModelUse {
        let used = self.result.0.get(USED).filter(|_| self.is(MODEL) || self.is(TOOLS));
        used.and_then(|used| serde_json::from_value(used.clone()).ok()).unwrap_or_default()
    }

    fn is(&self, (interface, function): (&str, &str)) -> bool {
        self.interface == interface && self.function == function
    }

    /// The figure of the budget of models that ended the attempt here.
    pub fn refused_figure(&self) -> Option<ModelFigure> {
        self.shortage().map(|short| short.figure)
    }

    /// The same, with by how much it does not suffice.
    pub fn shortage(&self) -> Option<ShortFigure> {
        let fault = self.result.0.get("fault")?;
        (!self.ok && self.is(MODEL)).then(|| ShortFigure::deserialize(fault).ok()).flatten()
    }

    /// Whether a limit on what may be used of the host ended the attempt here.
    pub fn is_refused(&self) -> bool {
        let fault = || as_fault(&self.result.0);
        !self.ok && fault().is_some_and(|failure| failure.category == Category::Limit)
    }

    /// The use of the host by all of these calls.
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

/// The result of a call that ended its task, because the world gave more than the task may have.
pub fn fault(failure: &Failure) -> Canonical {
    fault_after(failure, ModelUse::NOTHING)
}

/// The result of a call of a language model that ended its task because a figure of the budget does not suffice, or because
/// the provider used more than was set aside; `used` is what the call has used nevertheless.
pub fn model_fault(failure: &Failure, short: impl Into<ShortFigure>, used: ModelUse) -> Canonical {
    let mut fault = json!(short.into());
    fault["category"] = json!(failure.category);
    fault["message"] = json!(failure.message);
    with_used(json!({ "fault": fault }), used).into()
}

/// The result of a call that ended its task after language models have used something.
pub fn fault_after(failure: &Failure, used: ModelUse) -> Canonical {
    with_used(json!({"fault": {"category": failure.category, "message": failure.message}}), used).into()
}

/// The result of a call with what language models have used in it.
pub fn with_used(mut result: Value, used: ModelUse) -> Value {
    if let Some(fields) = result.as_object_mut().filter(|_| !used.is_nothing()) {
        fields.insert(USED.to_owned(), json!(used));
    }
    result
}

/// The failure that [`fault`], [`model_fault`] or [`fault_after`] wrote.
pub fn as_fault(result: &Value) -> Option<Failure> {
    let fault = result.get("fault")?;
    let category: Category = serde_json::from_value(fault.get("category")?.clone()).ok()?;
    Some(Failure::new(category, fault.get("message")?.as_str()?))
}

/// The answer to a request, with the number of bytes that the server sent if its own text is shorter.
pub fn with_received(mut answer: Value, bytes: u64) -> Value {
    let shown = canonical_size(&answer);
    if let Some(fields) = answer.as_object_mut().filter(|_| bytes > shown) {
        fields.insert(RECEIVED.to_owned(), bytes.into());
    }
    answer
}

/// Bytes in an entry that are kept whole: `{bytes: base64, length}`.
pub fn kept(bytes: &[u8]) -> Value {
    json!({"bytes": STANDARD.encode(bytes), "length": bytes.len()})
}

/// Bytes in an entry of which only the digest is kept: `{length, sha256}`.
pub fn digested(bytes: &[u8]) -> Value {
    json!({"length": bytes.len(), "sha256": Digest::of_bytes(bytes).hex()})
}

/// The bytes that [`kept`] wrote; none for any other value.
pub fn as_kept(value: &Value) -> Option<Vec<u8>> {
    let bytes = STANDARD.decode(value.get("bytes")?.as_str()?).ok()?;
    (value.get("length")?.as_u64()? == bytes.len() as u64).then_some(bytes)
}

/// The length and the digest that [`digested`] wrote; none for any other value.
pub fn as_digested(value: &Value) -> Option<(u64, Digest)> {
    Some((value.get("length")?.as_u64()?, value.get("sha256")?.as_str()?.parse().ok()?))
}

/// The entries of one attempt of a task. Attempts without entries are left out of a task's journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttemptJournal {
    /// The attempt, from 1. After a resume, attempts are counted from 1 again.
    pub attempt: u32,
    /// Which dispatch of the task's item it was, from 1: no two attempts of a task have the same.
    pub dispatch: u32,
    /// The calls with their answers, in order.
    pub entries: Vec<JournalEntry>,
}

/// What attempts have used of each language model, by its name in the manifest, with what they have `lost`. It leaves out what components have
/// used that the task's own has called: their calls are in no journal.
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

/// A call that a component made of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCallName {
    /// The interface, without a version.
    pub interface: String,
    /// The name of the function in the interface.
    pub function: String,
    /// The request of the call.
    pub request: Canonical,
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

/// A replayed attempt is not what its journal says it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalDifference {
    /// It asked the host for something else than the journal has next, or for more than the journal has.
    #[error(
        "entry {entry} of the journal is {}, and the component called {found}",
        expected.as_ref().map_or_else(|| "missing".to_owned(), ToString::to_string)
    )]
    Call {
        /// The place in the journal, from 0.
        entry: usize,
        /// The next call in the journal; none at its end.
        expected: Option<HostCallName>,
        /// The call that the component made.
        found: HostCallName,
    },
    /// The attempt ended, and the journal has further entries.
    #[error("the component ended, and entry {entry} of the journal is {expected}")]
    Unused {
        /// The place in the journal, from 0.
        entry: usize,
        /// The call in the journal.
        expected: HostCallName,
    },
    /// The journal has only the digest of a content, and the world has another content, or none, now.
    #[error("entry {entry} of the journal is {call}: {reason}")]
    Content {
        /// The place in the journal, from 0.
        entry: usize,
        /// The call in the journal.
        call: HostCallName,
        /// How the content differs.
        reason: String,
    },
}

/// Reads a journal back, call by call.
#[derive(Clone, Debug)]
pub struct JournalReader {
    entries: VecDeque<JournalEntry>,
    /// The place of the next entry.
    next: usize,
}

impl JournalReader {
    /// At the beginning of a journal.
    pub fn new(entries: Vec<JournalEntry>) -> Self {
        Self { entries: entries.into(), next: 0 }
    }

    /// The entry for a call that a component makes, with its index; a difference if the journal has another call next.
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

    /// The attempt has ended: nothing may be left.
    pub fn finish(self) -> Result<(), JournalDifference> {
        match self.entries.front() {
            None => Ok(()),
            Some(entry) => Err(JournalDifference::Unused { entry: self.next, expected: entry.call() }),
        }
    }

    /// The content of an entry cannot be obtained again.
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
        let entry = |(interface, function): (&str, &str), ok: bool, result: Canonical| JournalEntry {
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
