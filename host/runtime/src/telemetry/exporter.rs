//! The exporters of the OpenTelemetry crates, wrapped so that the first failure is kept and can be reported once.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::Temporality;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};

/// First reason for which telemetry could not be sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Trouble(Arc<Mutex<Option<String>>>);

impl Trouble {
    fn note_outcome(&self, sent: OTelSdkResult) -> OTelSdkResult {
        if let Err(error) = &sent {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| error.to_string());
        }
        sent
    }

    /// Takes the reason, if there is one.
    pub(super) fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Wraps an exporter and records its first failure.
#[derive(Debug)]
pub(super) struct Heard<E> {
    pub(super) exporter: E,
    pub(super) trouble: Trouble,
}

impl<E: SpanExporter> SpanExporter for Heard<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.trouble.note_outcome(self.exporter.export(batch).await)
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

impl<E: PushMetricExporter> PushMetricExporter for Heard<E> {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        self.trouble.note_outcome(self.exporter.export(metrics).await)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn temporality(&self) -> Temporality {
        self.exporter.temporality()
    }
}
