//! Watches a run for telemetry.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use graph_core::node::Failure;
use graph_core::record::{HostCall, Status};
use graph_core::time::Timestamp;
use graph_walker::walker::{Notice, TaskReport, TaskSpec};

use super::metrics::Instruments;
use super::spans::Spans;
use graph_driver::{CallObserver, Observer};

/// Turns the notices of a run into spans and metrics.
#[derive(Clone, Debug)]
pub struct TelemetryObserver {
    spans: Arc<Option<Spans>>,
    instruments: Option<Arc<Instruments>>,
    /// Start of the superstep under way, by namespace.
    began: HashMap<String, Instant>,
    /// The nodes of attempts under way.
    nodes: HashMap<(String, u32), String>,
    /// The nodes of attempts that run a graph, by task, with the start of each.
    graphs: HashMap<String, (String, Instant)>,
}

impl TelemetryObserver {
    pub(super) fn new(spans: Option<Spans>, instruments: Option<Instruments>) -> Self {
        Self {
            spans: Arc::new(spans),
            instruments: instruments.map(Arc::new),
            began: HashMap::new(),
            nodes: HashMap::new(),
            graphs: HashMap::new(),
        }
    }

    fn record_notice(&mut self, namespace: &str, notice: &Notice) {
        let (spans, instruments) = (self.spans.as_ref().as_ref(), self.instruments.as_deref());
        match notice {
            Notice::SuperstepStarted { superstep, nodes, tasks } => {
                self.began.insert(namespace.to_owned(), Instant::now());
                if let Some(spans) = spans {
                    spans.superstep(namespace, *superstep, nodes, *tasks);
                }
            }
            Notice::Committed { fuel, .. } => {
                let took = self.began.remove(namespace).map(|began| began.elapsed());
                if let Some(spans) = spans {
                    spans.committed(namespace, *fuel);
                }
                if let Some(instruments) = instruments {
                    instruments.committed(took.unwrap_or_default());
                }
            }
            Notice::ChildStarted { namespace, graph, activation, .. } => {
                self.graphs.insert(activation.task.clone(), (activation.node_id.clone(), Instant::now()));
                if let Some(spans) = spans {
                    spans.graph_started(namespace, graph, activation);
                }
            }
            Notice::TaskFinished { task, fuel, failure, .. } => {
                graph_done(&mut self.graphs, instruments, task, failure.as_ref());
                if let Some(spans) = spans {
                    spans.graph_done(task, Some(*fuel), failure.as_ref());
                }
            }
            Notice::Retrying { task, failure, .. } => {
                graph_done(&mut self.graphs, instruments, task, Some(failure));
                if let Some(instruments) = instruments {
                    instruments.retrying();
                }
                if let Some(spans) = spans {
                    spans.graph_done(task, None, Some(failure));
                }
            }
            Notice::Child { namespace, notice, .. } => {
                let namespace = namespace.to_string();
                self.record_notice(&namespace, notice);
            }
            _ => {}
        }
    }
}

/// Counts an attempt that ran a graph: `done` is not called for those. Its fuel is that of the attempts inside, which are
/// counted themselves.
fn graph_done(
    graphs: &mut HashMap<String, (String, Instant)>,
    instruments: Option<&Instruments>,
    task: &str,
    failure: Option<&Failure>,
) {
    if let (Some((node, began)), Some(instruments)) = (graphs.remove(task), instruments) {
        instruments.attempt(&node, 0, began.elapsed(), failure);
    }
}

impl Observer for TelemetryObserver {
    fn notice(&mut self, _at: Timestamp, notice: &Notice) {
        self.record_notice("", notice);
    }

    fn dispatched(&mut self, _at: Timestamp, spec: &TaskSpec) {
        let activation = &spec.activation;
        self.nodes.insert((activation.task.clone(), activation.attempt), activation.node_id.clone());
        if let Some(spans) = self.spans.as_ref() {
            spans.dispatched(spec);
        }
    }

    fn done(&mut self, _at: Timestamp, task: &str, attempt: u32, report: &TaskReport) {
        let node = self.nodes.remove(&(task.to_owned(), attempt)).unwrap_or_default();
        if let Some(instruments) = &self.instruments {
            instruments.attempt(&node, report.fuel, report.timing.took, report.result.as_ref().err());
        }
        if let Some(spans) = self.spans.as_ref() {
            spans.done(task, attempt, report);
        }
    }

    fn aborted(&mut self, task: &str, attempt: u32) {
        self.nodes.remove(&(task.to_owned(), attempt));
        if let Some(spans) = self.spans.as_ref() {
            spans.aborted(task, attempt);
        }
    }

    fn stopped(&mut self, status: Status) {
        if let Some(spans) = self.spans.as_ref() {
            spans.stopped(status);
        }
    }

    fn calls(&self) -> Option<Arc<dyn CallObserver>> {
        self.spans.is_some().then(|| Arc::new(Calls(Arc::clone(&self.spans))) as Arc<dyn CallObserver>)
    }
}

/// Makes spans of the calls that components make.
#[derive(Debug)]
struct Calls(Arc<Option<Spans>>);

impl CallObserver for Calls {
    fn host_call(&self, task: &str, attempt: u32, call: &HostCall) {
        if let Some(spans) = self.0.as_ref() {
            spans.host_call(task, attempt, call);
        }
    }
}
