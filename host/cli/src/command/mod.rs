//! The commands, one file each. A command is an `Args` for clap and a function `run(args, &Context)` that gives the
//! exit code, or the error that the edge prints.

mod keys;
mod sign;
mod trust;
mod verify;

use clap::Subcommand;
use graph_host::context::Context;
use graph_host::error::Result;
use graph_host::exit::Exit;

/// What graph-host can be asked to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Keys(keys::Args),
    Trust(trust::Args),
    Sign(sign::Args),
    Verify(verify::Args),
}

impl Command {
    /// Does it.
    pub(crate) fn run(self, context: &Context) -> Result<Exit> {
        match self {
            Self::Keys(args) => keys::run(args, context),
            Self::Trust(args) => trust::run(args, context),
            Self::Sign(args) => sign::run(&args, context),
            Self::Verify(args) => verify::run(&args, context),
        }
    }
}
