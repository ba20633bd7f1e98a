//! Traces and metrics of runs for an OpenTelemetry collector, over OTLP/HTTP. Off unless it is configured: then there is
//! no thread and no cost.

mod client;
mod config;
mod exporter;
mod metrics;
mod observer;
mod provider;
mod spans;

pub use config::Config;
pub use provider::{Telemetry, start};
