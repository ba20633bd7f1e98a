//! `graph-host graph`: look at graphs, one file for each subcommand.

mod report;
mod show;

use std::path::PathBuf;

use clap::Subcommand;
use graph_host::context::Context;
use graph_host::error::Result;
use graph_host::exit::Exit;
use graph_host::graph_file::locate;
use graph_host::items::Places;
use graph_host::project;

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

/// The file of a graph that is named by its path or its item id, and its id.
fn find(name: &str, context: &Context) -> Result<(PathBuf, String)> {
    let project = project::nearest(&project::current_folder()?);
    let file = locate(name, &Places::new(&[], project.as_deref(), &context.home))?;
    Ok((file.path, file.id))
}
