//! The stream of a run that is under way: whenever something has been stored, it is handed on.

use std::collections::HashMap;
use std::sync::Arc;

use graph_core::node::Outcome;
use graph_core::time::Timestamp;
use graph_core::walker::{Notice, TaskReport, TaskSpec};
use graph_store::CheckpointStore;
use serde_json::{Value, json};

use super::kind::Kinds;
use super::line::Details;
use super::reader::Reader;
use crate::error::{Error, Result};
use graph_driver::Observer;

/// Takes the lines of a stream.
pub trait LineSink: Send {
    /// Takes the next line.
    fn line(&mut self, line: &Value) -> Result<()>;

    /// The stream ends here, before the run does: a line was not taken, or the store cannot be read.
    fn failed(&mut self, error: &Error);
}

/// Hands on a run's history while it grows.
pub struct LiveStream<S> {
    reader: Reader,
    sink: S,
    /// By task, what is not stored; only where it is wanted.
    details: Option<HashMap<String, Details>>,
    stopped: bool,
}

impl<S: LineSink> LiveStream<S> {
    /// A stream of what a run comes to from now on.
    pub fn new(store: Arc<dyn CheckpointStore>, run: &str, kinds: Kinds, sink: S) -> Result<Self> {
        let after = store.history_length(run)?;
        let details = kinds.everything().then(HashMap::new);
        // What this process writes it has signed itself.
        Ok(Self { reader: Reader::new(store, run, None, kinds, after), sink, details, stopped: false })
    }
}

impl<S: LineSink> Observer for LiveStream<S> {
    fn notice(&mut self, _at: Timestamp, _notice: &Notice) {}

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
            // The run itself goes on: what it comes to can be read later.
            self.stopped = true;
            self.sink.failed(&error);
        }
    }
}
