//! `graph-host graph`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use graph_core::document::load;
use graph_core::topology::Topology;
use graph_host::context::Context;
use graph_host::error::Result;
use graph_host::exit::Exit;
use graph_host::items::id_of_graph;
use serde_json::json;

/// Look at graphs
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Graph,
}

#[derive(Debug, Subcommand)]
enum Graph {
    /// Print a graph's nodes and edges
    Show {
        /// The file of a graph
        graph: PathBuf,
        /// In which form
        #[arg(long, value_enum, default_value_t = Format::Mermaid)]
        format: Format,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A flowchart in Mermaid's language, which many Markdown viewers draw
    Mermaid,
    /// Nodes and edges as JSON
    Json,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<Exit> {
    let Graph::Show { graph: path, format } = args.command;
    let text = graph_host::text_file::read_as("the graph", &path)?;
    let id = id_of_graph(&path);
    let loaded = load(&path.display().to_string(), &text, &id)?;
    let topology = Topology::of(&loaded.graph);
    if format == Format::Json || context.output.is_json() {
        context.output.document(&json!(topology))?;
    } else {
        context.output.line(topology.to_mermaid().trim_end())?;
    }
    Ok(Exit::Ok)
}
