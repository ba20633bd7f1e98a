//! The metrics of runs.

use std::time::Duration;

use graph_core::node::Failure;
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter};

/// Counters and histograms, each with the graph as an attribute.
#[derive(Debug)]
pub(super) struct Instruments {
    graph: KeyValue,
    supersteps: Counter<u64>,
    attempts: Counter<u64>,
    retries: Counter<u64>,
    failures: Counter<u64>,
    fuel: Counter<u64>,
    superstep_time: Histogram<f64>,
    attempt_time: Histogram<f64>,
}

impl Instruments {
    pub(super) fn new(meter: &Meter, graph: &str) -> Self {
        let count = |name: &'static str, what: &'static str, unit: &'static str| {
            meter.u64_counter(name).with_description(what).with_unit(unit).build()
        };
        let time = |name: &'static str, what: &'static str| {
            // From a call of microseconds to a model's minutes.
            let bounds = vec![0.000_1, 0.001, 0.01, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0];
            meter.f64_histogram(name).with_description(what).with_unit("s").with_boundaries(bounds).build()
        };
        Self {
            graph: KeyValue::new("graph_host.graph", graph.to_owned()),
            supersteps: count("graph_host.supersteps", "Supersteps that have committed", "{superstep}"),
            attempts: count("graph_host.attempts", "Attempts of tasks that have ended", "{attempt}"),
            retries: count("graph_host.retries", "Attempts that another one follows", "{attempt}"),
            failures: count("graph_host.failures", "Attempts that have failed, by category", "{attempt}"),
            fuel: count("graph_host.fuel", "Fuel that attempts have used", "{fuel}"),
            superstep_time: time(
                "graph_host.superstep.duration",
                "From the start of a superstep to its commit",
            ),
            attempt_time: time("graph_host.attempt.duration", "How long attempts took, by node"),
        }
    }

    pub(super) fn committed(&self, took: Duration) {
        self.supersteps.add(1, std::slice::from_ref(&self.graph));
        self.superstep_time.record(took.as_secs_f64(), std::slice::from_ref(&self.graph));
    }

    pub(super) fn retrying(&self) {
        self.retries.add(1, std::slice::from_ref(&self.graph));
    }

    pub(super) fn attempt(&self, node: &str, fuel: u64, took: Duration, failure: Option<&Failure>) {
        let attributes = [self.graph.clone(), KeyValue::new("graph_host.node", node.to_owned())];
        self.attempts.add(1, &attributes);
        self.fuel.add(fuel, &attributes);
        self.attempt_time.record(took.as_secs_f64(), &attributes);
        if let Some(failure) = failure {
            let category = KeyValue::new("graph_host.category", failure.category.as_str());
            self.failures.add(1, &[self.graph.clone(), category]);
        }
    }
}
