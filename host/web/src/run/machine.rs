//! A run: events in, effects out.

use std::collections::BTreeMap;
use std::sync::Arc;

use graph_core::json;
use graph_core::question::Question;
use graph_core::record::{ErrorCode, Record};
use graph_core::time::Timestamp;
use graph_core::trust::SigningKey;
use graph_walker::walker::{
    Edit, Effect, Event, Lookup, Persist, PersistId, RunTree, TaskSpec, Update, inputs_digest,
};
use serde_json::{Value, json};

use super::dispatches::Dispatches;
use super::document::{EventDocument, ParsedSetup, TimerDocument, public_key, resume};
use super::effects;
use super::stored::{StoredRun, StoredText};
use crate::trust::Component;
use crate::{Problem, read};

/// A run with its child runs, behind JSON.
#[derive(Debug)]
pub struct Run {
    tree: RunTree,
    key: SigningKey,
    /// Dispatches without an answer.
    under_way: Dispatches,
    /// Cache lookups without an answer, by task.
    lookups: BTreeMap<Arc<str>, Lookup>,
}

impl Run {
    /// Starts a run. Its first event is `started`.
    pub fn start(setup: &str) -> Result<Self, Problem> {
        let ParsedSetup { graph, setup, key, .. } = ParsedSetup::read(setup)?;
        Ok(Self::new(RunTree::new(graph, setup), key))
    }

    /// Restores a run from its stored records. Its first event is `resumed`.
    pub fn restore(setup: &str, stored: &str) -> Result<Self, Problem> {
        let mut beginning = ParsedSetup::read(setup)?;
        let stored = StoredRun::read(stored, beginning.stored_by)?;
        let restored = stored.tree()?;
        if let Some(inputs) = stored.inputs(&restored.root.checkpoint)? {
            beginning.set_inputs(inputs);
        }
        let ParsedSetup { graph, setup, key, .. } = beginning;
        let tree = RunTree::restore(graph, setup, restored).map_err(Problem::integrity)?;
        Ok(Self::new(tree, key))
    }

    /// Starts a run from a checkpoint of a stored run. Its first event is `forked`.
    pub fn fork(setup: &str, stored: &str, checkpoint: u64) -> Result<Self, Problem> {
        let mut beginning = ParsedSetup::read(setup)?;
        let stored = StoredRun::read(stored, beginning.stored_by)?;
        let (restored, visited) = stored.at(checkpoint)?;
        if let Some(inputs) = stored.inputs(&restored.checkpoint)? {
            beginning.set_inputs(inputs);
        }
        let ParsedSetup { graph, setup, key, .. } = beginning;
        let tree = RunTree::fork(graph, setup, restored, &visited).map_err(Problem::integrity)?;
        Ok(Self::new(tree, key))
    }

    /// Verifies all stored records of a run, with the public key of the host that made it; returns their counts, as JSON.
    pub fn verify(run: &str, key: &str, stored: &str) -> Result<String, Problem> {
        let verified = StoredRun::read(stored, public_key(key)?)?.verify(run)?;
        Ok(json!(verified).to_string())
    }

    fn new(tree: RunTree, key: SigningKey) -> Self {
        Self { tree, key, under_way: Dispatches::default(), lookups: BTreeMap::new() }
    }

    /// Handles an event that happened at `now`, in milliseconds; returns the list of effects, as JSON.
    pub fn handle(&mut self, now: u64, event: &str) -> Result<String, Problem> {
        let event = self.event(read::tagged("event", "event", read::value("event", event)?)?)?;
        let answered = match &event {
            Event::TaskDone { task, .. } => Some(Arc::clone(task)),
            Event::HookDone { hook, .. } => Some(Arc::clone(hook)),
            _ => None,
        };
        let looked_up = match &event {
            Event::LookedUp { task, .. } => Some(Arc::clone(task)),
            _ => None,
        };
        let effects = self.tree.handle(Timestamp(now), event)?;
        if let Some(task) = answered {
            self.under_way.remove(&task);
        }
        looked_up.and_then(|task| self.lookups.remove(&task));
        let written = effects.into_iter().map(|effect| self.effect(effect));
        // Canonical, as in records: a page forwards params unchanged.
        Ok(json::canonical_string(&Value::Array(written.collect::<Result<_, _>>()?)))
    }

    /// Returns the current summary of the run, as JSON.
    pub fn summary(&self) -> String {
        effects::summary(&self.tree.summary()).to_string()
    }

    /// Returns the grant of a verified component for a task or a hook under way, as JSON.
    pub fn grant(&self, task: &str, component: &Component) -> Result<String, Problem> {
        self.under_way.grant(task, component)
    }

    /// Checks whether a component that performs a task may call an item at this depth of calls.
    pub fn check_call(&self, task: &str, item: &str, depth: u32) -> Result<(), Problem> {
        self.under_way.check_call(task, item, depth)
    }

    /// Returns the grant of a component that another one calls: at most `caller`, the grant of that one as JSON.
    pub fn grant_call(&self, task: &str, component: &Component, caller: &str) -> Result<String, Problem> {
        self.under_way.grant_call(task, component, caller)
    }

    /// Returns the cache key of a task's results, if `performer` performs it.
    pub fn cache_key(&self, task: &str, performer: &str) -> Result<String, Problem> {
        let lookup = self.lookup(task)?;
        Ok(lookup.key(&read::digest("performer", performer)?).to_string())
    }

    fn lookup(&self, task: &str) -> Result<&Lookup, Problem> {
        let missing = || Problem::new("not_found", format!("nothing is looked up for task `{task}`"));
        self.lookups.get(task).ok_or_else(missing)
    }

    /// Converts the document of an event.
    fn event(&self, document: EventDocument) -> Result<Event, Problem> {
        Ok(match document {
            EventDocument::Started {} => Event::Started,
            EventDocument::TaskDone { task, attempt, report } => {
                Event::TaskDone { task, attempt, report: report.read()? }
            }
            EventDocument::ModelReserved { task, attempt, model, name } => {
                Event::ModelReserved { task, attempt, model, name }
            }
            EventDocument::LookedUp { task, attempt, key: None, .. } => {
                Event::LookedUp { task, attempt, key: None, found: None, trouble: None }
            }
            EventDocument::LookedUp { task, attempt, key: Some(key), results } => {
                let chosen = self.lookup(&task)?.choose(key, &results, [], &self.key.verifying_key());
                let found = chosen.found.map(Box::new);
                Event::LookedUp { task, attempt, key: chosen.key, found, trouble: chosen.trouble }
            }
            EventDocument::HookDone { hook, report } => Event::HookDone { hook, report: report.read()? },
            EventDocument::Persisted { id } => Event::Persisted(PersistId(id)),
            EventDocument::PersistFailed { id, message } => {
                Event::PersistFailed { id: PersistId(id), message }
            }
            EventDocument::Resumed { answer, mut answers, typed, max_steps, inputs, update } => {
                answers.extend(self.read_typed(typed)?);
                Event::Resumed(resume(answer, answers, max_steps, inputs, update)?)
            }
            EventDocument::Updated { values, as_node } => {
                Event::Updated(Box::new(Update { edit: Edit { values, as_node }, back_to: None }))
            }
            EventDocument::Forked { edit } => Event::Forked(edit.map(Into::into)),
            EventDocument::TimerFired { timer } => {
                Event::TimerFired(read::tagged::<TimerDocument>("event", "kind", timer)?.into())
            }
            EventDocument::CancelRequested {} => Event::CancelRequested,
            EventDocument::KillRequested {} => Event::KillRequested,
            EventDocument::Continued {} => Event::Continued,
        })
    }

    /// Parses typed answers, as the command line does.
    fn read_typed(&self, typed: BTreeMap<String, String>) -> Result<BTreeMap<String, Value>, Problem> {
        if typed.is_empty() {
            return Ok(BTreeMap::new());
        }
        let open = self.tree.summary().interrupts;
        let read = |(id, text): (String, String)| {
            let asked = open.iter().find(|asked| asked.id == id);
            let question = asked.map(|asked| Question::from_payload(&asked.payload.0)).unwrap_or_default();
            match question.read(&text) {
                Ok(answer) => Ok((id, answer)),
                // A late answer is left to the walker, which refuses it as such.
                Err(_) if question.until().is_some() => Ok((id, Value::from(text))),
                Err(error) => {
                    let message = format!("the answer to `{id}` is not accepted: {error}");
                    Err(Problem::new(ErrorCode::AnswerNeeded.as_str(), message))
                }
            }
        };
        typed.into_iter().map(read).collect()
    }

    /// Converts an effect to its document.
    fn effect(&mut self, effect: Effect) -> Result<Value, Problem> {
        Ok(match effect {
            Effect::RunTask(spec) => {
                let mut written = effects::spec(&spec);
                written["effect"] = json!("run_task");
                self.under_way.insert(*spec, false);
                written
            }
            Effect::RunHook(hook) => {
                let written = effects::hook(&hook);
                self.under_way.insert(hook.call, true);
                written
            }
            Effect::LookUp(lookup) => {
                let window = lookup.window();
                let mut written = effects::spec(&lookup.spec);
                written["effect"] = json!("look_up");
                written["not_before"] = json!(window.start());
                written["not_after"] = json!(window.end());
                // The grant of its component may be needed, to determine who would perform it.
                self.under_way.insert(TaskSpec::clone(&lookup.spec), false);
                self.lookups.insert(lookup.spec.activation.task.as_str().into(), *lookup);
                written
            }
            Effect::ModelRecorded { task, attempt } => {
                json!({ "effect": "model_recorded", "task": task, "attempt": attempt })
            }
            Effect::Abort { task, attempt } => {
                self.under_way.remove(&task);
                self.lookups.remove(&task);
                json!({ "effect": "abort", "task": task, "attempt": attempt })
            }
            Effect::AbortHook { hook } => {
                self.under_way.remove(&hook);
                json!({ "effect": "abort_hook", "hook": hook })
            }
            Effect::Persist(persist) => self.persist(*persist)?,
            Effect::SetTimer { timer, at } => {
                json!({ "effect": "set_timer", "timer": effects::timer(&timer), "at": at })
            }
            Effect::Emit(notice) => json!({ "effect": "emit", "notice": effects::notice(&notice) }),
            Effect::Continue => json!({ "effect": "continue" }),
            Effect::Suspend(status) => json!({ "effect": "suspend", "status": status }),
            Effect::Finish(status) => json!({ "effect": "finish", "status": status }),
        })
    }

    /// Signs a record; returns it with the inputs that it names, if they are new.
    fn persist(&self, persist: Persist) -> Result<Value, Problem> {
        let mut written = json!({ "effect": "persist", "id": persist.id.0 });
        if let Record::Checkpoint(checkpoint) = &persist.record {
            written["result_digest"] = json!(checkpoint.result.0);
            written["fuel"] = json!(checkpoint.fuel);
        }
        if let Some(inputs) = self.tree.new_inputs(&persist.record) {
            let text = json::canonical_string(&inputs);
            written["text"] = json!(StoredText { digest: inputs_digest(&inputs), text });
        }
        let signed = persist.sign(&self.key).map_err(Problem::integrity)?;
        written["record"] = json!(signed);
        Ok(written)
    }
}
