//! `graph-host graph`: shows graphs, one file for each subcommand.

mod report;
mod show;

pub(in crate::command) use show::of_row;

use graph_host::context::current_project;

use clap::Subcommand;
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_runtime::error::Result;
use graph_runtime::items::graph_file::locate;
use graph_runtime::items::locate::{ItemFile, ItemLocator};
use graph_runtime::project;

/// Draw graphs and report probable mistakes in their structure
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

/// Finds the file of a graph by its path or its item id.
fn find(name: &str, context: &Context) -> Result<ItemFile> {
    let keeper = current_project()?;
    let project = project::nearest(keeper.folder());
    locate(name, &ItemLocator::new(&[], project.as_deref(), &context.host.home, &keeper))
}
