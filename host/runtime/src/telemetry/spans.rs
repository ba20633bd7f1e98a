//! The spans of a run: the run, its supersteps, the attempts of its tasks, and their calls of the host.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

use graph_core::node::{Activation, Failure};
use graph_core::record::HostCall;
use graph_walker::walker::{TaskReport, TaskSpec};
use opentelemetry::trace::{Span as _, SpanContext, SpanKind, Status, TraceContextExt as _, Tracer as _};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::{SdkTracer, Span};

/// The spans that have not ended. Host calls come from the threads that carry out tasks.
#[derive(Debug)]
pub(super) struct Spans {
    tracer: SdkTracer,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    run: Option<Span>,
    /// Runs inside the run, by namespace.
    children: HashMap<String, Span>,
    /// The supersteps under way, by namespace.
    supersteps: HashMap<String, Span>,
    attempts: HashMap<(String, u32), Span>,
    /// The attempts of tasks that run graphs, and the namespaces of those runs.
    graphs: HashMap<String, (u32, String)>,
}

/// Returns the namespace of a task, or the enclosing namespace of a namespace.
fn outer(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(namespace, _)| namespace)
}

fn under(parent: Option<&SpanContext>) -> Context {
    parent.map_or_else(Context::new, |parent| Context::new().with_remote_span_context(parent.clone()))
}

impl Open {
    /// Ends all open spans of a run inside the run, and of the runs inside that one.
    fn end_inside(&mut self, namespace: &str) {
        let below = format!("{namespace}/");
        let is_inside = |name: &str| name == namespace || name.starts_with(&below);
        self.attempts.retain(|(task, _), _| !is_inside(outer(task)));
        self.graphs.retain(|task, _| !is_inside(outer(task)));
        self.supersteps.retain(|name, _| !is_inside(name));
        self.children.retain(|name, _| !is_inside(name));
    }

    /// Returns the span of the superstep under way in a namespace, or else that of its run.
    fn parent(&self, namespace: &str) -> Option<&SpanContext> {
        let of_run = if namespace.is_empty() { self.run.as_ref() } else { self.children.get(namespace) };
        let found = self.supersteps.get(namespace).or(of_run).or(self.run.as_ref());
        found.map(Span::span_context)
    }
}

impl Spans {
    pub(super) fn new(tracer: SdkTracer, run: &str, graph: &str) -> Self {
        let span = tracer
            .span_builder(format!("run {graph}"))
            .with_kind(SpanKind::Internal)
            .with_attributes([
                KeyValue::new("graph_host.run", run.to_owned()),
                KeyValue::new("graph_host.graph", graph.to_owned()),
            ])
            .start_with_context(&tracer, &Context::new());
        Self { tracer, open: Mutex::new(Open { run: Some(span), ..Open::default() }) }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn superstep(&self, namespace: &str, number: u64, nodes: &[String], tasks: u64) {
        let mut open = self.open();
        open.supersteps.remove(namespace);
        let parent = under(open.parent(namespace));
        let builder = self.tracer.span_builder("superstep").with_attributes([
            KeyValue::new("graph_host.superstep", signed(number)),
            KeyValue::new("graph_host.namespace", namespace.to_owned()),
            KeyValue::new("graph_host.nodes", nodes.join(", ")),
            KeyValue::new("graph_host.tasks", signed(tasks)),
        ]);
        open.supersteps.insert(namespace.to_owned(), builder.start_with_context(&self.tracer, &parent));
    }

    pub(super) fn committed(&self, namespace: &str, fuel: u64) {
        if let Some(mut span) = self.open().supersteps.remove(namespace) {
            span.set_attribute(KeyValue::new("graph_host.fuel", signed(fuel)));
            span.set_status(Status::Ok);
            span.end();
        }
    }

    pub(super) fn dispatched(&self, spec: &TaskSpec) {
        let activation = &spec.activation;
        let mut open = self.open();
        let parent = under(open.parent(outer(&activation.task)));
        let span = self.task_span(activation, &spec.item_id, &parent);
        open.attempts.insert((activation.task.clone(), activation.attempt), span);
    }

    pub(super) fn done(&self, task: &str, attempt: u32, report: &TaskReport) {
        let Some(span) = self.open().attempts.remove(&(task.to_owned(), attempt)) else { return };
        end(span, Some(report.fuel), report.result.as_ref().err());
    }

    /// Opens the spans of a task that starts or resumes a run of a graph, and of that run.
    pub(super) fn graph_started(&self, namespace: &str, graph: &str, activation: &Activation) {
        let mut open = self.open();
        open.end_inside(namespace);
        let parent = under(open.parent(outer(&activation.task)));
        let task = self.task_span(activation, graph, &parent);
        let inside = under(Some(task.span_context()));
        let builder = self.tracer.span_builder(format!("run {graph}")).with_attributes([
            KeyValue::new("graph_host.graph", graph.to_owned()),
            KeyValue::new("graph_host.namespace", namespace.to_owned()),
        ]);
        open.children.insert(namespace.to_owned(), builder.start_with_context(&self.tracer, &inside));
        open.attempts.insert((activation.task.clone(), activation.attempt), task);
        open.graphs.insert(activation.task.clone(), (activation.attempt, namespace.to_owned()));
    }

    /// Ends the spans of an attempt that ran a graph: `done` is not called for those.
    pub(super) fn graph_done(&self, task: &str, fuel: Option<u64>, failure: Option<&Failure>) {
        let mut open = self.open();
        let Some((attempt, namespace)) = open.graphs.remove(task) else { return };
        if let Some(span) = open.children.remove(&namespace) {
            end(span, None, failure);
        }
        open.end_inside(&namespace);
        if let Some(span) = open.attempts.remove(&(task.to_owned(), attempt)) {
            end(span, fuel, failure);
        }
    }

    fn task_span(&self, activation: &Activation, item: &str, parent: &Context) -> Span {
        let builder = self.tracer.span_builder(format!("task {}", activation.node_id)).with_attributes([
            KeyValue::new("graph_host.node", activation.node_id.clone()),
            KeyValue::new("graph_host.item", item.to_owned()),
            KeyValue::new("graph_host.task", activation.task.clone()),
            KeyValue::new("graph_host.attempt", i64::from(activation.attempt)),
            KeyValue::new("graph_host.visit", signed(activation.visit)),
        ]);
        builder.start_with_context(&self.tracer, parent)
    }

    pub(super) fn aborted(&self, task: &str, attempt: u32) {
        if let Some(mut span) = self.open().attempts.remove(&(task.to_owned(), attempt)) {
            span.set_status(Status::error("given up"));
            span.end();
        }
    }

    pub(super) fn host_call(&self, task: &str, attempt: u32, call: &HostCall) {
        let open = self.open();
        let Some(parent) = open.attempts.get(&(task.to_owned(), attempt)).map(Span::span_context) else {
            return;
        };
        let parent = under(Some(parent));
        let name = format!("{}#{}", call.interface, call.function);
        let began = UNIX_EPOCH + call.began;
        let builder = self.tracer.span_builder(name).with_start_time(began).with_attributes([
            KeyValue::new("graph_host.interface", call.interface),
            KeyValue::new("graph_host.function", call.function),
        ]);
        let mut span = builder.start_with_context(&self.tracer, &parent);
        span.set_status(if call.succeeded { Status::Ok } else { Status::error("refused") });
        span.end_with_timestamp(began + call.took);
    }

    /// Ends every span that is still open, because the run has stopped.
    pub(super) fn stopped(&self, status: graph_core::record::Status) {
        let mut open = self.open();
        let Open { run, children, supersteps, attempts, .. } = std::mem::take(&mut *open);
        for mut span in attempts.into_values().chain(supersteps.into_values()).chain(children.into_values()) {
            span.end();
        }
        if let Some(mut span) = run {
            span.set_attribute(KeyValue::new("graph_host.status", status.as_str()));
            let failed =
                matches!(status, graph_core::record::Status::Failed | graph_core::record::Status::Limit);
            span.set_status(if failed { Status::error(status.as_str()) } else { Status::Ok });
            span.end();
        }
    }
}

/// Ends the span of an attempt, or of the run of its graph.
fn end(mut span: Span, fuel: Option<u64>, failure: Option<&Failure>) {
    if let Some(fuel) = fuel {
        span.set_attribute(KeyValue::new("graph_host.fuel", signed(fuel)));
    }
    match failure {
        None => span.set_status(Status::Ok),
        Some(failure) => {
            span.set_attribute(KeyValue::new("graph_host.category", failure.category.as_str()));
            span.set_status(Status::error(failure.message.clone()));
        }
    }
    span.end();
}

/// Attributes support signed numbers only.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
