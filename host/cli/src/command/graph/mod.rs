//! `graph-host graph`: look at graphs, one file for each subcommand.

mod report;
mod show;

use clap::Subcommand;
use graph_host::context::Context;
use graph_host::error::Result;
use graph_host::exit::Exit;

/// Look at graphs: draw them, and tell what is doubtful about their shape
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Show(show::Args),
    Report(report::Args),
}

pub(crate) fn run(args: Args, context: &Context) -> Result<Exit> {
    match args.action {
        Action::Show(args) => show::run(&args, context),
        Action::Report(args) => report::run(&args, context),
    }
}
