//! A run's stream on stdout, as JSON lines.

use serde_json::Value;

use crate::terminal::output::Output;
use crate::terminal::remedies;
use graph_runtime::error::{Error, Result};
use graph_runtime::history::events::LineSink;

/// Prints the lines of a stream.
#[derive(Clone, Copy, Debug)]
pub struct PrintedLines(pub Output);

impl LineSink for PrintedLines {
    fn line(&mut self, line: &Value) -> Result<()> {
        self.0.json_line(line)
    }

    fn failed(&mut self, error: &Error) {
        self.0.warn(format_args!("the stream ends here: {}", remedies::message(error)));
    }
}
