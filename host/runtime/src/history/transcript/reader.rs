//! Reads a transcript from the records of a run.

use std::collections::{BTreeMap, BTreeSet};

use graph_core::digest::Digest;
use graph_core::json::canonical_string;
use graph_core::limits::ModelUse;
use graph_core::record::journal::{MODEL, as_fault};
use graph_core::record::{AttemptJournal, Checkpoint, JournalEntry, Record, SignedRecord, StatusRecord};
use graph_core::time::Timestamp;
use graph_core::trust::VerifyingKey;
use graph_store::CheckpointStore;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::conversations::{Asker, Conversations};
use super::message::{Answer, Block, Message, Role, Totals};
use super::node_paths::NodePaths;
use crate::error::{Error, Result};
use crate::remedy::Remedy;
use crate::run::restore;

/// Number of records that are read at a time.
const PAGE: usize = 64;

/// Limit of the models that are counted separately: a manifest has fewer.
const MODELS: usize = 10_000;

/// Receives the messages of a transcript, in order.
pub type Visit<'v> = dyn FnMut(&Message) -> Result<()> + 'v;

/// The transcript of a run, or of one of its child runs, each with the child runs below it.
#[derive(Clone, Copy, Debug)]
pub struct Transcript<'s> {
    /// The store of the run.
    pub store: &'s dyn CheckpointStore,
    /// The id of the run.
    pub run: &'s str,
    /// The namespace of the child run; empty for the run itself.
    pub namespace: &'s str,
    /// The key that checks the records. Without one, as for a run of another host, they can only be shown.
    pub key: Option<&'s VerifyingKey>,
}

impl Transcript<'_> {
    /// Passes each message to `visit`, in the order of the records: those of a child run precede those of the superstep
    /// that started it. Calls of a superstep that has not committed come last.
    pub fn read(&self, visit: &mut Visit<'_>) -> Result<Totals> {
        let namespaces = self.store.namespaces(self.run)?;
        let mut walk = Walk {
            of: *self,
            paths: NodePaths::new(self.store, self.run, self.key, &namespaces),
            conversations: Conversations::default(),
            open: BTreeMap::new(),
            newest: BTreeMap::new(),
            after: 0,
            totals: Totals::default(),
            visit,
        };
        walk.history()?;
        for namespace in namespaces.iter().filter(|namespace| self.covers(namespace)) {
            walk.pending(namespace)?;
        }
        // If the run is under way, supersteps may have committed in between.
        walk.history()?;
        Ok(walk.finish())
    }

    /// Checks whether the transcript includes the run in a namespace.
    fn covers(&self, namespace: &str) -> bool {
        let below = namespace.strip_prefix(self.namespace);
        below.is_some_and(|below| self.namespace.is_empty() || below.is_empty() || below.starts_with('/'))
    }
}

/// The calls of a model in a superstep that has not committed.
#[derive(Debug, Default)]
struct OpenSuperstep {
    /// Dispatches of tasks that were read.
    dispatches: BTreeSet<(String, u32)>,
    /// Model use of attempts that a crash ended, by task.
    lost: BTreeMap<String, ModelUse>,
}

/// The state of reading a transcript.
struct Walk<'s, 'v, 'f> {
    of: Transcript<'s>,
    paths: NodePaths<'s>,
    conversations: Conversations,
    /// Supersteps that have not committed, by namespace. Until then, a task has its journal in several records.
    open: BTreeMap<String, OpenSuperstep>,
    /// The newest checkpoints of runs that have not ended, by namespace.
    newest: BTreeMap<String, Digest>,
    /// Number of entries of the history that were read.
    after: u64,
    totals: Totals,
    visit: &'v mut Visit<'f>,
}

/// Task of a journal, and the record that has the journal.
#[derive(Clone, Copy)]
struct Source<'a> {
    record: &'a SignedRecord,
    superstep: u64,
    at: Timestamp,
    task: &'a str,
    node: &'a str,
}

impl Walk<'_, '_, '_> {
    fn history(&mut self) -> Result<()> {
        loop {
            let page = self.of.store.history(self.of.run, self.after, PAGE)?;
            let begun = self.after;
            for numbered in &page {
                self.after = self.after.max(numbered.before.saturating_add(numbered.record.events));
                if !self.of.covers(&numbered.record.namespace) {
                    continue;
                }
                match restore::open_record(&numbered.record, self.of.key)? {
                    Record::Checkpoint(checkpoint) => self.checkpoint(&numbered.record, &checkpoint)?,
                    Record::Status(status) => self.status(&numbered.record, &status)?,
                    _ => {}
                }
            }
            if page.is_empty() || self.after == begun {
                return Ok(());
            }
        }
    }

    fn checkpoint(&mut self, record: &SignedRecord, checkpoint: &Checkpoint) -> Result<()> {
        let namespace = &record.namespace;
        let mut open = self.open.remove(namespace).unwrap_or_default();
        for task in &checkpoint.tasks {
            let source = Source {
                record,
                superstep: checkpoint.step,
                at: task.at.unwrap_or(checkpoint.at),
                task: &task.task,
                node: &task.node,
            };
            self.attempts(source, &task.journal, &mut open)?;
            open.lost.remove(&task.task);
            self.totals.lost = self.totals.lost.plus(task.lost);
        }
        // Tasks of a superstep that an edit has replaced.
        self.totals.lost = open.lost.into_values().fold(self.totals.lost, ModelUse::plus);
        if checkpoint.end.is_some() {
            self.newest.remove(namespace);
        } else {
            self.newest.insert(namespace.clone(), record.digest);
        }
        Ok(())
    }

    fn status(&mut self, record: &SignedRecord, status: &StatusRecord) -> Result<()> {
        let mut open = self.open.remove(&record.namespace).unwrap_or_default();
        for (task, used) in &status.tasks {
            let source = Source { record, superstep: record.step + 1, at: status.at, task, node: &used.node };
            self.attempts(source, &used.journal, &mut open)?;
            open.lost.insert(task.clone(), used.lost);
        }
        self.open.insert(record.namespace.clone(), open);
        Ok(())
    }

    /// Reads the tasks of the superstep after the newest checkpoint of a namespace.
    fn pending(&mut self, namespace: &str) -> Result<()> {
        let Transcript { store, run, key, .. } = self.of;
        let Some(newest) = self.newest.get(namespace).copied() else { return Ok(()) };
        let mut open = self.open.remove(namespace).unwrap_or_default();
        restore::each_pending(store, run, namespace, |record| {
            match restore::open_record(&record, key)? {
                // A task under another checkpoint is of a superstep that began after `history` was read.
                Record::Task(task) if task.checkpoint == newest => {
                    let source = Source {
                        record: &record,
                        superstep: record.step + 1,
                        at: task.at,
                        task: &task.task,
                        node: &task.node,
                    };
                    self.attempts(source, &task.journal, &mut open)?;
                    open.lost.insert(task.task.clone(), task.lost);
                }
                _ => {}
            }
            Ok(())
        })?;
        self.open.insert(namespace.to_owned(), open);
        Ok(())
    }

    /// Reads the attempts of a task that were not read before.
    fn attempts(
        &mut self,
        source: Source<'_>,
        attempts: &[AttemptJournal],
        open: &mut OpenSuperstep,
    ) -> Result<()> {
        for attempt in attempts {
            if !open.dispatches.insert((source.task.to_owned(), attempt.dispatch)) {
                continue;
            }
            for entry in &attempt.entries {
                if (&*entry.interface, &*entry.function) == MODEL {
                    self.call(source, attempt.attempt, entry)?;
                } else {
                    self.totals.called = self.totals.called.plus(entry.model_use());
                }
            }
        }
        Ok(())
    }

    fn call(&mut self, source: Source<'_>, attempt: u32, entry: &JournalEntry) -> Result<()> {
        let asked = AskedRequest::of(&entry.request.0).ok_or_else(|| unreadable(source))?;
        let path = self.paths.of(&source.record.namespace, source.node)?;
        let caller = Asker { path: &path, namespace: &source.record.namespace, task: source.task };
        let place = self.conversations.enter(caller, asked.system, asked.messages);
        let template = Message {
            number: 0,
            conversation: place.conversation,
            at: source.at,
            superstep: source.superstep,
            namespace: source.record.namespace.clone(),
            path: path.clone(),
            task: source.task.to_owned(),
            attempt,
            model: asked.model.to_owned(),
            role: Role::System,
            blocks: Vec::new(),
            answer: None,
            request: Digest::of_bytes(canonical_string(&entry.request.0).as_bytes()),
            record: source.record.kind,
            checkpoint: source.record.sequence,
            digest: source.record.digest,
        };
        if let Some(system) = asked.system.filter(|_| place.is_system_new) {
            let blocks = vec![Block::Text(system.to_owned())];
            self.pass(Message { blocks, ..template.clone() })?;
        }
        for message in asked.messages.iter().skip(place.known) {
            let said = SaidMessage::deserialize(message).map_err(|_| unreadable(source))?;
            self.pass(Message { role: said.role, blocks: said.blocks, ..template.clone() })?;
        }
        let answered = entry.result.0.pointer("/response/message").filter(|_| entry.ok);
        let said = match answered {
            Some(message) => {
                self.conversations.answer(caller, &place, message);
                Some(SaidMessage::deserialize(message).map_err(|_| unreadable(source))?)
            }
            None => None,
        };
        let blocks = said.map(|said| said.blocks).unwrap_or_default();
        let used = entry.model_use();
        self.count(asked.model, used, answered.is_some());
        let answer = Some(answer(entry, used));
        self.pass(Message { role: Role::Assistant, blocks, answer, ..template })
    }

    fn count(&mut self, model: &str, used: ModelUse, is_answered: bool) {
        let totals = &mut self.totals;
        totals.calls += 1;
        totals.failed += u64::from(!is_answered);
        totals.used = totals.used.plus(used);
        if let Some(known) = totals.models.get_mut(model) {
            *known = known.plus(used);
        } else if totals.models.len() < MODELS {
            totals.models.insert(model.to_owned(), used);
        }
    }

    fn pass(&mut self, message: Message) -> Result<()> {
        self.totals.messages += 1;
        (self.visit)(&Message { number: self.totals.messages, ..message })
    }

    fn finish(self) -> Totals {
        let lost = self.open.into_values().flat_map(|open| open.lost.into_values());
        let lost = lost.fold(self.totals.lost, ModelUse::plus);
        Totals { conversations: self.conversations.count(), lost, ..self.totals }
    }
}

fn unreadable(source: Source<'_>) -> Error {
    Error::integrity(format!(
        "the journal of task {} of run {} has a call of a language model that cannot be read",
        source.task, source.record.run
    ))
    .help(Remedy::VerifyRun)
}

fn answer(entry: &JournalEntry, used: ModelUse) -> Answer {
    let result = &*entry.result.0;
    let failure = match result.get("failure") {
        Some(failure) => serde_json::from_value(failure.clone()).ok(),
        None => as_fault(result),
    };
    let stop = result.pointer("/response/stop").and_then(Value::as_str).map(str::to_owned);
    // For a call without an answer, the tokens that it is charged.
    let charged =
        [("input", used.input), ("output", used.output)].into_iter().filter(|(_, tokens)| *tokens > 0);
    let charged =
        || -> Map<_, _> { charged.map(|(name, tokens)| (name.to_owned(), tokens.into())).collect() };
    let usage = result.pointer("/response/usage").and_then(Value::as_object).cloned();
    let cost = used.cost.max(result.get("cost").and_then(Value::as_u64).unwrap_or(0));
    Answer { stop, usage: usage.unwrap_or_else(charged), cost, requests: used.calls, failure }
}

/// The parts of a request that are shown in transcripts.
struct AskedRequest<'a> {
    model: &'a str,
    system: Option<&'a str>,
    messages: &'a [Value],
}

impl<'a> AskedRequest<'a> {
    fn of(request: &'a Value) -> Option<Self> {
        let asked = request.get("request")?;
        let system = match asked.get("system") {
            None | Some(Value::Null) => None,
            Some(system) => Some(system.as_str()?),
        };
        Some(Self {
            model: request.get("model")?.as_str()?,
            system,
            messages: asked.get("messages")?.as_array()?,
        })
    }
}

/// A message of a request, or of an answer.
#[derive(Deserialize)]
struct SaidMessage {
    role: Role,
    blocks: Vec<Block>,
}
