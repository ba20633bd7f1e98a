//! `graph-host new`: creates graphs and nodes, one file for each subcommand.

mod folder;
mod graph;
mod node;

use clap::Subcommand;
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_runtime::error::Result;

/// Create a graph or a node in a folder of its own
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Graph(graph::Args),
    Node(node::Args),
}

pub(crate) fn run(args: Args, context: &Context) -> Result<Exit> {
    match args.what {
        What::Graph(args) => graph::run(&args, context),
        What::Node(args) => node::run(&args, context),
    }
}
