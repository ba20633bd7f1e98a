//! A run that a [`Runtime`](super::Runtime) drives, and the stored history of a run.

use std::sync::Arc;

use graph_driver::StopRequest;
use graph_store::CheckpointStore;
use graph_walker::walker::Summary;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::error::{Error, Kind, Result};
use crate::history::events::{Kinds, Reader};

/// A run that is under way. If it is dropped before its outcome is awaited, its tasks are abandoned; the run can be
/// resumed from what is stored.
#[derive(Debug)]
pub struct RunHandle {
    pub(super) id: String,
    pub(super) control: mpsc::UnboundedSender<StopRequest>,
    pub(super) task: JoinHandle<Result<Summary>>,
}

impl RunHandle {
    /// The id by which the run is resumed, shown and verified.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Asks the run to stop: once the tasks under way are done, or at once.
    pub fn stop(&self, how: StopRequest) {
        // If the driver is gone, the run has stopped already.
        let _ = self.control.send(how);
    }

    /// Waits until the run has ended or is suspended.
    pub async fn outcome(mut self) -> Result<Summary> {
        match (&mut self.task).await {
            Ok(outcome) => outcome,
            Err(error) => {
                let message = format!("the host broke down while it drove run {}: {error}", self.id);
                Err(Error::new(Kind::Internal, "internal", message))
            }
        }
    }
}

impl Drop for RunHandle {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The stored history of a run, as a stream of numbered lines.
#[derive(Clone, Debug)]
pub struct History {
    pub(super) store: Arc<dyn CheckpointStore>,
    pub(super) run: String,
}

impl History {
    /// Passes every line after number `offset` to `line`; 0 for all. The run may store more later: call this again with
    /// the number of the last line.
    pub fn after(&self, offset: u64, line: impl FnMut(&Value) -> Result<()>) -> Result<()> {
        let kinds = Kinds::or_all(&[]);
        Reader::new(Arc::clone(&self.store), &self.run, None, kinds, offset).read(line)
    }
}
