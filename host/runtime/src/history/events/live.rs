//! The live stream of a run: passes on every entry as soon as it is stored.

use std::collections::HashMap;
use std::sync::Arc;

use graph_core::node::{Activation, Outcome};
use graph_core::time::Timestamp;
use graph_core::walker::{Notice, TaskReport, TaskSpec};
use graph_store::CheckpointStore;
use serde_json::{Value, json};

use super::kind::{Kinds, TASK_STARTED};
use super::line::Details;
use super::reader::Reader;
use crate::error::{Error, Result};
use graph_driver::Observer;

/// Receives the lines of a stream.
pub trait LineSink: Send {
    /// Receives the next line. An error ends the stream.
    fn line(&mut self, line: &Value) -> Result<()>;

    /// The stream ends before the run does: a line was not accepted, or the store cannot be read.
    fn failed(&mut self, error: &Error);
}

/// Passes on a run's history while it grows.
pub struct LiveStream<S> {
    reader: Reader,
    sink: S,
    /// What is not stored of tasks, by task; only kept where it is wanted.
    details: Option<HashMap<String, Details>>,
    stopped: bool,
}

impl<S: LineSink> LiveStream<S> {
    /// A stream of everything that the run stores from now on.
    pub fn new(store: Arc<dyn CheckpointStore>, run: &str, kinds: Kinds, sink: S) -> Result<Self> {
        let after = store.history_length(run)?;
        let details = kinds.everything().then(HashMap::new);
        // This process signs these records itself, so that they need not be checked.
        Ok(Self { reader: Reader::new(store, run, None, kinds, after), sink, details, stopped: false })
    }
}

impl<S: LineSink> LiveStream<S> {
    /// A line for an attempt that begins. It has no number, as it is not stored: `after` is the number of the entry
    /// before it.
    fn begins(&mut self, at: Timestamp, of: &Activation, node: &str, item: &str, child: Option<&str>) {
        let Self { reader, sink, stopped, .. } = self;
        let inside = of.run_id.strip_prefix(reader.run()).and_then(|rest| rest.strip_prefix('/'));
        let namespace = inside.unwrap_or_default();
        if *stopped || !reader.kinds().want_starts() || !reader.kinds().want_namespace(namespace) {
            return;
        }
        let line = json!({
            "after": reader.position(),
            "run": reader.run(),
            "run_id": of.run_id,
            "root_run_id": of.root_run_id,
            "parent_run_id": of.parent_run_id,
            "graph_id": of.graph_id,
            "namespace": namespace,
            "step": of.superstep,
            "at": at.to_string(),
            "kind": TASK_STARTED,
            "task": of.task,
            "node": node,
            "item": item,
            "attempt": of.attempt,
            "visit": of.visit,
            "child_run_id": child,
        });
        if let Err(error) = sink.line(&line) {
            *stopped = true;
            sink.failed(&error);
        }
    }
}

impl<S: LineSink> Observer for LiveStream<S> {
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
        if self.stopped {
            return;
        }
        let Self { reader, sink, details, .. } = self;
        let mut none = HashMap::new();
        let details = details.as_mut().unwrap_or(&mut none);
        if let Err(error) = reader.read_with(details, |line| sink.line(line)) {
            // Only the stream ends. The run continues, and its entries can be read later.
            self.stopped = true;
            self.sink.failed(&error);
        }
    }
}
