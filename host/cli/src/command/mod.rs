//! The commands, one file each. A command is an `Args` for clap and a function `run(args, &Context)`, which returns the exit code, or
//! the error that `main` prints.

mod args;
mod build;
mod bundle;
mod cache;
mod caps;
pub(crate) mod completion;
mod completions;
mod doctor;
mod explain;
mod foreground;
mod graph;
pub(crate) mod help;
pub(crate) mod hyphen_value;
mod inspect;
mod keys;
mod lock;
mod man;
mod migrate;
mod new;
mod number;
mod observe;
mod plan_view;
mod publish;
mod published_cases;
mod pull;
mod registry;
mod replay;
mod resume;
mod resume_by_input;
mod run;
mod runs;
mod schema;
mod search;
mod sign;
mod stoppable;
mod suggestion;
mod test;
mod trust;
mod trust_log;
mod trust_set;
mod uncallable;
mod validate;
mod verify;
mod watch;
mod yank;

use clap::Subcommand;
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_runtime::error::Result;

/// What graph-host can be asked to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(run::Args),
    Resume(resume::Args),
    Runs(runs::Args),
    Replay(replay::Args),
    New(new::Args),
    Inspect(inspect::Args),
    Build(build::Args),
    Bundle(bundle::Args),
    Caps(caps::Args),
    Test(test::Args),
    Validate(validate::Args),
    Graph(graph::Args),
    Schema(schema::Args),
    Explain(explain::Args),
    Keys(keys::Args),
    Trust(trust::Args),
    Sign(sign::Args),
    Verify(verify::Args),
    Publish(publish::Args),
    Yank(yank::Args),
    Pull(pull::Args),
    Registry(registry::Args),
    Lock(lock::Args),
    Search(search::Args),
    Cache(cache::Args),
    Migrate(migrate::Args),
    Doctor(doctor::Args),
    Completions(completions::Args),
    Man(man::Args),
}

impl Command {
    /// Returns whether the command's stdout is a stream of JSON lines.
    pub(crate) fn streams(&self, json: bool) -> bool {
        match self {
            Self::Run(args) => args.observe.streams(),
            Self::Resume(args) => args.observe.streams(),
            Self::Runs(args) => args.streams(json),
            _ => false,
        }
    }

    pub(crate) fn run(self, context: &Context) -> Result<Exit> {
        match self {
            Self::Run(args) => run::run(args, context),
            Self::Resume(args) => resume::run(args, context),
            Self::Runs(args) => runs::run(args, context),
            Self::Replay(args) => replay::run(&args, context),
            Self::New(args) => new::run(args, context),
            Self::Inspect(args) => inspect::run(&args, context),
            Self::Build(args) => build::run(&args, context),
            Self::Bundle(args) => bundle::run(args, context),
            Self::Caps(args) => caps::run(args, context),
            Self::Test(args) => test::run(args, context),
            Self::Validate(args) => validate::run(&args, context),
            Self::Graph(args) => graph::run(args, context),
            Self::Schema(args) => schema::run(args, context),
            Self::Explain(args) => explain::run(args, context),
            Self::Keys(args) => keys::run(args, context),
            Self::Trust(args) => trust::run(args, context),
            Self::Sign(args) => sign::run(&args, context),
            Self::Verify(args) => verify::run(&args, context),
            Self::Publish(args) => publish::run(args, context),
            Self::Yank(args) => yank::run(&args, context),
            Self::Pull(args) => pull::run(&args, context),
            Self::Registry(args) => registry::run(args, context),
            Self::Lock(args) => lock::run(&args, context),
            Self::Search(args) => search::run(&args, context),
            Self::Cache(args) => cache::run(args, context),
            Self::Migrate(args) => migrate::run(&args, context),
            Self::Doctor(args) => doctor::run(&args, context),
            Self::Completions(args) => completions::run(&args, context),
            Self::Man(args) => man::run(&args, context),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use graph_host::terminal::width::COMMANDS;

    #[derive(clap::Parser)]
    struct Line {
        #[command(subcommand)]
        _command: super::Command,
    }

    #[test]
    fn every_command_is_known_where_texts_are_wrapped() {
        for command in Line::command().get_subcommands() {
            assert!(COMMANDS.contains(&command.get_name()), "{}", command.get_name());
        }
        assert!(COMMANDS.is_sorted());
    }
}
