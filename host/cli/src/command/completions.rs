//! `graph-host completions`.

use std::io::Write as _;

use clap::CommandFactory as _;
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_runtime::error::{Error, Result};

/// Print what lets a shell complete graph-host's commands
///
/// For bash: `source <(graph-host completions bash)`. For zsh, save it as `_graph-host` in a folder of $fpath. For fish,
/// save it as ~/.config/fish/completions/graph-host.fish.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

pub(crate) fn run(args: &Args, _: &Context) -> Result<Exit> {
    let shell = match args.shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut crate::Cli::command(), "graph-host", &mut script);
    match std::io::stdout().lock().write_all(&script) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::storage(format!("stdout cannot be written: {error}")))
        }
        _ => Ok(Exit::Ok),
    }
}
