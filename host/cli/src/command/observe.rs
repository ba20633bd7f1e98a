//! Streams and telemetry, which `run` and `resume` share.

use crate::command::args;
use graph_host::terminal::live_stream::PrintedLines;
use std::sync::Arc;

use graph_host::context::Context;
use graph_runtime::error::Result;
use graph_runtime::graph_driver::Observers;
use graph_runtime::graph_store::CheckpointStore;
use graph_runtime::history::events::{Kinds, LiveStream, Namespaces, StreamKind};
use graph_runtime::telemetry::{self, Config, Telemetry};

/// Where events of the run are sent.
#[derive(Clone, Debug, Default, clap::Args)]
#[group(skip)]
pub(crate) struct Args {
    /// Print events of these kinds as JSON lines on stdout, once they are stored; several kinds are separated by commas.
    /// With --json, the result is the last line
    #[arg(long, value_parser = args::stream(), value_name = "KIND", value_delimiter = ',', help_heading = "Output")]
    stream: Vec<StreamKind>,
    /// With --stream: whether events of child runs are printed, too
    #[arg(long, value_parser = args::namespaces(), value_name = "WHICH", default_value = "all", requires = "stream", help_heading = "Output")]
    namespaces: Namespaces,
    /// Send traces and metrics to an OpenTelemetry collector, such as <http://localhost:4318>; the variables
    /// `OTEL_EXPORTER_OTLP_*` name one, too
    #[arg(long, value_name = "URL", help_heading = "Output")]
    otlp: Option<String>,
}

impl Args {
    /// Returns whether stdout is a stream of JSON lines.
    pub(crate) fn streams(&self) -> bool {
        !self.stream.is_empty()
    }

    /// Returns whether a stream or telemetry observes the run.
    pub(crate) fn is_used(&self) -> bool {
        self.streams() || self.otlp.is_some()
    }

    /// Returns the option for a process in the background: streams stay in the foreground.
    pub(super) fn for_background(&self) -> Option<std::ffi::OsString> {
        self.otlp.as_ref().map(|url| format!("--otlp={url}").into())
    }

    /// Starts the telemetry, if it is configured.
    pub(super) fn telemetry(&self) -> Result<Option<Telemetry>> {
        let variable = |name: &str| std::env::var(name).ok();
        Config::find(self.otlp.as_deref(), variable)?.map(|config| telemetry::start(&config)).transpose()
    }

    /// Returns the observers of a run: its stream and its telemetry.
    pub(super) fn observers(
        &self,
        store: Arc<dyn CheckpointStore>,
        run: &str,
        graph: &str,
        telemetry: Option<&Telemetry>,
        context: &Context,
    ) -> Result<Observers> {
        let mut observers = Observers::default();
        if self.streams() {
            let kinds = Kinds::or_all(&self.stream).within(self.namespaces);
            observers.push(LiveStream::new(store, run, kinds, PrintedLines(context.output))?);
        }
        if let Some(telemetry) = telemetry {
            observers.push(telemetry.observer(run, graph));
        }
        Ok(observers)
    }
}
