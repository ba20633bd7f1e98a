//! The commands, one file each. A command is an `Args` for clap and a function `run(args, &Context)` that gives the
//! exit code, or the error that the edge prints.

use clap::Subcommand;
use graph_host::context::Context;
use graph_host::error::Result;
use graph_host::exit::Exit;

/// What graph-host can be asked to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {}

impl Command {
    /// Does it.
    pub(crate) fn run(self, _context: &Context) -> Result<Exit> {
        match self {}
    }
}
