//! The live stream of a run: passes every entry to a sink as soon as it is stored.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use graph_core::node::{Activation, Outcome};
use graph_core::record::{HostCall, ModelDelta};
use graph_core::time::Timestamp;
use graph_store::CheckpointStore;
use graph_walker::walker::{Notice, TaskReport, TaskSpec};
use serde_json::{Value, json};

use super::kind::{Kinds, MESSAGE, TASK_STARTED};
use super::line::Details;
use super::reader::Reader;
use crate::clock::now;
use crate::error::{Error, Result};
use graph_driver::{CallObserver, Observer};

/// Receives the lines of a stream.
pub trait LineSink: Send {
    /// Receives the next line. An error ends the stream.
    fn line(&mut self, line: &Value) -> Result<()>;

    /// The stream ends before the run does: a line was not accepted, or the store cannot be read.
    fn failed(&mut self, error: &Error);
}

/// Passes a run's history to a sink while it grows.
pub struct LiveStream<S> {
    reader: Reader,
    outlet: Arc<Mutex<Outlet<S>>>,
    /// Details of tasks that are not stored, by task; `None` if they are not wanted.
    details: Option<HashMap<String, Details>>,
}

/// The sink of lines, shared by the driver's thread and those of components whose language models answer.
struct Outlet<S> {
    sink: S,
    /// Number of the last stored entry that was passed to the sink.
    after: u64,
    stopped: bool,
}

impl<S: LineSink> Outlet<S> {
    /// Passes a line that is not stored to the sink. It has no number: `after` is the number of the entry before it.
    fn live(&mut self, mut line: Value) {
        if self.stopped {
            return;
        }
        line["after"] = self.after.into();
        if let Err(error) = self.sink.line(&line) {
            self.fail(&error);
        }
    }

    /// Ends the stream, not the run, whose entries can be read later.
    fn fail(&mut self, error: &Error) {
        self.stopped = true;
        self.sink.failed(error);
    }
}

fn lock<S>(outlet: &Mutex<Outlet<S>>) -> MutexGuard<'_, Outlet<S>> {
    outlet.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<S: LineSink> LiveStream<S> {
    /// Makes a stream of everything that the run stores from now on.
    pub fn new(store: Arc<dyn CheckpointStore>, run: &str, kinds: Kinds, sink: S) -> Result<Self> {
        let after = store.history_length(run)?;
        let details = kinds.everything().then(HashMap::new);
        let outlet = Arc::new(Mutex::new(Outlet { sink, after, stopped: false }));
        // This process signs these records itself, so they need not be checked.
        Ok(Self { reader: Reader::new(store, run, None, kinds, after), outlet, details })
    }

    /// Passes a line for an attempt that begins to the sink.
    fn begins(&mut self, at: Timestamp, of: &Activation, node: &str, item: &str, child: Option<&str>) {
        let kinds = self.reader.kinds();
        let namespace = namespace_of(self.reader.run(), of);
        if !kinds.want_starts() || !kinds.want_namespace(namespace) {
            return;
        }
        let mut line = live_line(self.reader.run(), at, of, TASK_STARTED);
        line["node"] = node.into();
        line["item"] = item.into();
        line["visit"] = of.visit.into();
        line["child_run_id"] = child.into();
        lock(&self.outlet).live(line);
    }
}

fn namespace_of<'a>(run: &str, of: &'a Activation) -> &'a str {
    of.run_id.strip_prefix(run).and_then(|rest| rest.strip_prefix('/')).unwrap_or_default()
}

/// Makes a line about an attempt that is not stored.
fn live_line(run: &str, at: Timestamp, of: &Activation, kind: &str) -> Value {
    json!({
        "run": run,
        "run_id": of.run_id,
        "root_run_id": of.root_run_id,
        "parent_run_id": of.parent_run_id,
        "graph_id": of.graph_id,
        "namespace": namespace_of(run, of),
        "step": of.superstep,
        "at": at.to_string(),
        "kind": kind,
        "task": of.task,
        "node": of.node_id,
        "attempt": of.attempt,
    })
}

/// Passes parts of answers of language models to a sink.
struct Messages<S> {
    outlet: Arc<Mutex<Outlet<S>>>,
    run: String,
    kinds: Kinds,
}

impl<S> fmt::Debug for Messages<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Messages").field("run", &self.run).finish_non_exhaustive()
    }
}

impl<S: LineSink> CallObserver for Messages<S> {
    fn host_call(&self, _task: &str, _attempt: u32, _call: &HostCall) {}

    fn model_delta(&self, attempt: &TaskSpec, delta: &ModelDelta) {
        let of = &attempt.activation;
        if !self.kinds.want_namespace(namespace_of(&self.run, of)) {
            return;
        }
        let mut line = live_line(&self.run, now(), of, MESSAGE);
        line["item"] = attempt.item_id.as_str().into();
        line["model"] = delta.model.as_str().into();
        line["model_call"] = delta.call.into();
        line["model_attempt"] = delta.attempt.into();
        line["part"] = delta.part.as_str().into();
        line["text"] = delta.text.as_str().into();
        if let Some(tool) = &delta.tool {
            line["tool"] = tool.as_str().into();
        }
        lock(&self.outlet).live(line);
    }
}

impl<S: LineSink + 'static> Observer for LiveStream<S> {
    fn notice(&mut self, at: Timestamp, notice: &Notice) {
        let Notice::ChildStarted { namespace, path, graph, activation, .. } = notice else { return };
        let child = format!("{}/{namespace}", self.reader.run());
        let node = path.rsplit_once('/').map_or(&**path, |(_, node)| node);
        self.begins(at, activation, node, graph, Some(&child));
    }

    fn started(&mut self, at: Timestamp, spec: &TaskSpec) {
        self.begins(at, &spec.activation, &spec.activation.node_id, &spec.item_id, None);
    }

    fn dispatched(&mut self, _at: Timestamp, spec: &TaskSpec) {
        if let Some(details) = &mut self.details {
            let params = Some(spec.params.clone());
            details.insert(spec.activation.task.clone(), Details { params, result: None });
        }
    }

    fn done(&mut self, _at: Timestamp, task: &str, _attempt: u32, report: &TaskReport) {
        let Some(details) = self.details.as_mut().and_then(|details| details.get_mut(task)) else { return };
        details.result = Some(match &report.result {
            Ok(Outcome::Result(value)) => value.clone(),
            Ok(outcome) => serde_json::to_value(outcome).unwrap_or_default(),
            Err(failure) => json!({ "failure": failure }),
        });
    }

    fn stored(&mut self) {
        let Self { reader, outlet, details } = self;
        let outlet = &mut *lock(outlet);
        if outlet.stopped {
            return;
        }
        let mut none = HashMap::new();
        let details = details.as_mut().unwrap_or(&mut none);
        if let Err(error) = reader.read_with(details, |line| outlet.sink.line(line)) {
            outlet.fail(&error);
        }
        outlet.after = reader.position();
    }

    fn calls(&self) -> Option<Arc<dyn CallObserver>> {
        let kinds = self.reader.kinds().clone();
        kinds.want_messages().then(|| {
            let run = self.reader.run().to_owned();
            Arc::new(Messages { outlet: Arc::clone(&self.outlet), run, kinds }) as Arc<dyn CallObserver>
        })
    }
}
