//! Options of `runs update` and `runs fork`.

use std::path::Path;

use graph_host::terminal::inputs;
use graph_runtime::error::{Error, Result};
use graph_walker::walker::Edit;
use serde_json::{Map, Value};

/// Writes from the command line
#[derive(Debug, clap::Args)]
pub(super) struct EditArgs {
    /// The values to write, through the reducers of the channels: a JSON object, or a JSON or YAML file, `-` for stdin
    #[arg(long, value_name = "JSON|FILE")]
    values: Option<String>,
    /// Write as if this node had run: in its place, the nodes that its edges lead to are next
    #[arg(long, value_name = "NODE")]
    as_node: Option<String>,
}

impl EditArgs {
    /// Reads the edit, if one is given.
    pub(super) fn read(&self) -> Result<Option<Edit>> {
        if self.values.is_none() && self.as_node.is_none() {
            return Ok(None);
        }
        let values = self.values.as_deref().map(read_values).transpose()?.unwrap_or_default();
        Ok(Some(Edit { values, as_node: self.as_node.clone() }))
    }
}

fn read_values(text: &str) -> Result<Map<String, Value>> {
    if !text.trim_start().starts_with(['{', '[', '"']) {
        return inputs::read("values", Path::new(text));
    }
    match graph_core::json::parse_strict(text.trim(), 128, graph_core::json::TreeLimit::INPUTS) {
        Ok(Value::Object(values)) => Ok(values),
        Ok(_) => Err(Error::usage("--values needs a JSON object, a value by each channel")
            .help("write it as --values '{\"channel\": value}'")),
        Err(error) => Err(Error::usage(format!("--values is not JSON: {error}"))
            .help("write it as --values '{\"channel\": value}', or name a file")),
    }
}
