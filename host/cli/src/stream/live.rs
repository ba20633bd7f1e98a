//! The stream of a run that is under way: whenever something has been stored, what it tells is printed.

use std::collections::HashMap;
use std::sync::Arc;

use graph_core::node::Outcome;
use graph_core::time::Timestamp;
use graph_core::walker::{Notice, TaskReport, TaskSpec};
use graph_store::CheckpointStore;
use serde_json::json;

use super::kind::Kinds;
use super::line::Details;
use super::reader::Reader;
use crate::error::Result;
use crate::output::Output;
use graph_driver::Observer;

/// Prints a run's history on stdout while it grows.
#[derive(Debug)]
pub struct LiveStream {
    reader: Reader,
    output: Output,
    /// By task, what is not stored; only where it is wanted.
    details: Option<HashMap<String, Details>>,
    stopped: bool,
}

impl LiveStream {
    /// A stream of what a run comes to from now on.
    pub fn new(store: Arc<dyn CheckpointStore>, run: &str, kinds: Kinds, output: Output) -> Result<Self> {
        let after = store.history_length(run)?;
        let details = kinds.everything().then(HashMap::new);
        // What this process writes it has signed itself.
        Ok(Self { reader: Reader::new(store, run, None, kinds, after), output, details, stopped: false })
    }
}

impl Observer for LiveStream {
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
        let output = self.output;
        let mut none = HashMap::new();
        let details = self.details.as_mut().unwrap_or(&mut none);
        if let Err(error) = self.reader.read_with(details, |line| output.raw_line(line)) {
            // The run itself goes on: what it comes to can be read later.
            self.stopped = true;
            output.warn(format_args!("the stream ends here: {}", error.message()));
        }
    }
}
