//! `graph-host runs`: shows and manages runs, one file for each subcommand.

mod accepted;
mod adopt;
mod cancel;
mod chain;
mod diff;
mod edit;
mod events;
mod expired;
mod export;
mod failures;
mod fork;
mod gc;
mod history;
mod import;
mod kill;
mod list;
mod logs;
mod namespace;
mod open;
pub(super) mod relations;
mod row;
mod run_view;
mod show;
mod span;
mod state;
mod stop;
mod transcript;
mod tree;
mod update;
mod usage;
mod verify;
mod wait;
mod walk;
mod watch;

use graph_host::context::named_project;
use std::path::PathBuf;

pub(super) use span::parse_span;
pub(super) use verify::read_key;

use clap::Subcommand;
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_runtime::error::Result;
use graph_runtime::run::stores::Stores;

/// Look at runs, wait for them, stop them, edit them, fork them
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The project whose runs these are; without it, the one around the current folder
    #[arg(long, value_name = "DIR", global = true)]
    project: Option<PathBuf>,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    List(list::Args),
    Show(show::Args),
    Open(open::Args),
    History(history::Args),
    State(state::Args),
    Diff(diff::Args),
    Chain(chain::Args),
    Update(update::Args),
    Fork(Box<fork::Args>),
    Events(events::Args),
    Logs(logs::Args),
    Transcript(transcript::Args),
    Watch(watch::Args),
    Wait(wait::Args),
    Cancel(cancel::Args),
    Kill(kill::Args),
    Verify(verify::Args),
    Export(export::Args),
    Import(import::Args),
    Gc(gc::Args),
    Adopt(adopt::Args),
}

impl Args {
    /// Returns whether stdout is a stream of JSON lines.
    pub(crate) fn streams(&self, json: bool) -> bool {
        match &self.action {
            Action::Watch(args) => args.streams(json),
            Action::Logs(_) => json,
            Action::Fork(args) => args.streams(),
            _ => false,
        }
    }
}

pub(crate) fn run(args: Args, context: &Context) -> Result<Exit> {
    let project = &named_project(args.project.as_deref())?;
    let stores = || Stores::to_read(project, &context.host.home);
    match args.action {
        Action::List(args) => list::run(&args, &stores()?, context),
        Action::Show(args) => show::run(&args, &stores()?, project, context),
        Action::Open(args) => {
            let (_, store, row) = stores()?.find(&args.run)?;
            open::run(&args, &*store, &row, context)
        }
        Action::Chain(args) => chain::run(&args, &stores()?, context),
        Action::History(args) => history::run(&args, &*stores()?.find(&args.run)?.1, context),
        Action::State(args) => state::run(&args, &stores()?, project, context),
        Action::Diff(args) => diff::run(&args, &stores()?, context),
        Action::Update(args) => update::run(args, project, context),
        Action::Fork(args) => fork::run(*args, project, context),
        Action::Verify(args) => verify::run(&args, &*stores()?.find(&args.run)?.1, context),
        Action::Events(args) => {
            let (_, store, row) = stores()?.find(&args.run)?;
            events::run(&args, &store, &row, context)
        }
        Action::Logs(args) => {
            let (_, store, row) = stores()?.find(&args.run)?;
            logs::run(&args, &store, &row, context)
        }
        Action::Transcript(args) => transcript::run(&args, &stores()?, project, context),
        Action::Watch(args) => watch::run(&args, project, context),
        Action::Wait(args) => wait::run(&args, project, context),
        Action::Cancel(args) => cancel::run(&args, project, context),
        Action::Kill(args) => kill::run(&args, project, context),
        Action::Export(args) => export::run(&args, project, context),
        Action::Import(args) => import::run(&args, project, context),
        Action::Gc(args) => gc::run(&args, project, context),
        Action::Adopt(args) => adopt::run(&args, project, context),
    }
}
