//! Sends telemetry from threads of the OpenTelemetry crates, from the start of a run until shortly after its end.

use std::sync::mpsc;
use std::time::Duration;

use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{MetricExporter, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider};

use super::client::Sender;
use super::config::Config;
use super::exporter::{Heard, Trouble};
use super::metrics::Instruments;
use super::observer::TelemetryObserver;
use super::spans::Spans;
use crate::error::{Error, Result};
use crate::remedy::Remedy;

/// Default time limit of a request.
const REQUEST: Duration = Duration::from_secs(3);
/// Time limit of the last export, for which the end of a run waits.
const FLUSH: Duration = Duration::from_secs(4);
/// Limit of the spans that wait to be sent. Further ones are dropped, so that telemetry never delays a run.
const QUEUE: usize = 16_384;
/// The service name unless `OTEL_SERVICE_NAME` is set.
const SERVICE: &str = "graph-host";

/// Sends telemetry until it is finished.
#[derive(Debug)]
pub struct Telemetry {
    traces: Option<SdkTracerProvider>,
    metrics: Option<SdkMeterProvider>,
    trouble: Trouble,
    place: String,
}

/// Starts to send telemetry as configured.
pub fn start(config: &Config) -> Result<Telemetry> {
    let failed = |error: &dyn std::fmt::Display| {
        Error::usage(format!("telemetry cannot be sent: {error}")).help(Remedy::CheckTelemetry)
    };
    let client = graph_http::Client::new().map_err(|error| failed(&error))?;
    let trouble = Trouble::default();
    let mut traces = None;
    if let Some(url) = &config.traces {
        let time = request_time("TRACES");
        let sender = Sender { client: client.clone(), time };
        let exporter = SpanExporter::builder().with_http().with_endpoint(url).with_timeout(time);
        let exporter = exporter.with_http_client(sender).build().map_err(|error| failed(&error))?;
        let batches = BatchConfigBuilder::default().with_max_queue_size(QUEUE).build();
        let processor = BatchSpanProcessor::builder(Heard { exporter, trouble: trouble.clone() })
            .with_batch_config(batches)
            .build();
        traces = Some(
            SdkTracerProvider::builder().with_span_processor(processor).with_resource(resource()).build(),
        );
    }
    let mut metrics = None;
    if let Some(url) = &config.metrics {
        let time = request_time("METRICS");
        let sender = Sender { client, time };
        let exporter = MetricExporter::builder().with_http().with_endpoint(url).with_timeout(time);
        let exporter = exporter.with_http_client(sender).build().map_err(|error| failed(&error))?;
        let exporter = Heard { exporter, trouble: trouble.clone() };
        metrics = Some(
            SdkMeterProvider::builder().with_periodic_exporter(exporter).with_resource(resource()).build(),
        );
    }
    // Dropping the last clone of a provider blocks until it has sent what is left, which must not happen on an
    // asynchronous thread: these clones are never dropped.
    std::mem::forget((traces.clone(), metrics.clone()));
    let place = config.traces.iter().chain(&config.metrics).next().cloned().unwrap_or_default();
    Ok(Telemetry { traces, metrics, trouble, place })
}

/// Reads the time limit of a request of a signal. The variables are in milliseconds.
fn request_time(signal: &str) -> Duration {
    let own = format!("OTEL_EXPORTER_OTLP_{signal}_TIMEOUT");
    let milliseconds = |name: &str| std::env::var(name).ok()?.trim().parse().ok();
    milliseconds(&own)
        .or_else(|| milliseconds("OTEL_EXPORTER_OTLP_TIMEOUT"))
        .map_or(REQUEST, Duration::from_millis)
}

/// The resource attributes: `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`, with the default service name if they
/// name none.
fn resource() -> Resource {
    let named = std::env::var("OTEL_SERVICE_NAME").is_ok_and(|name| !name.is_empty())
        || std::env::var("OTEL_RESOURCE_ATTRIBUTES").is_ok_and(|text| text.contains("service.name="));
    let builder = Resource::builder();
    if named { builder.build() } else { builder.with_service_name(SERVICE).build() }
}

impl Telemetry {
    /// Makes an observer that reports a run.
    pub fn observer(&self, run: &str, graph: &str) -> TelemetryObserver {
        let spans = self.traces.as_ref().map(|provider| Spans::new(provider.tracer(SERVICE), run, graph));
        let instruments =
            self.metrics.as_ref().map(|provider| Instruments::new(&provider.meter(SERVICE), graph));
        TelemetryObserver::new(spans, instruments)
    }

    /// Sends what was not sent yet, within four seconds, and reports the first failure.
    pub fn finish(self) -> Result<(), String> {
        let Self { traces, metrics, trouble, place } = self;
        let (sender, receiver) = mpsc::channel();
        let flush = move || {
            let traced = traces.map_or(Ok(()), |provider| provider.shutdown_with_timeout(FLUSH));
            let measured = metrics.map_or(Ok(()), |provider| provider.shutdown_with_timeout(FLUSH));
            // The receiver is dropped once the time is up.
            let _ = sender.send(traced.and(measured));
        };
        let began = std::thread::Builder::new().name("graph-host-telemetry".to_owned()).spawn(flush);
        let ended = match began {
            Err(error) => Some(error.to_string()),
            Ok(_) => match receiver.recv_timeout(FLUSH) {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(error.to_string()),
                Err(_) => Some(format!("the collector did not answer within {} s", FLUSH.as_secs())),
            },
        };
        match trouble.take().or(ended) {
            None => Ok(()),
            Some(reason) => Err(format!("telemetry could not be sent to {place}: {reason}")),
        }
    }
}
