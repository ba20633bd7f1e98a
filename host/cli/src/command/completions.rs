//! `graph-host completions`.

use std::io::Write as _;

use clap_complete::env::{Bash, EnvCompleter, Fish, Zsh};
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_runtime::error::{Error, Result};

use super::completion::VARIABLE;

/// Print the completion script of a shell
///
/// For bash, in ~/.bashrc: `source <(graph-host completions bash)`. For zsh, in ~/.zshrc after `compinit`: `source
/// <(graph-host completions zsh)`. For fish, save it as ~/.config/fish/completions/graph-host.fish. The script calls
/// graph-host each time the completion key is pressed.
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
    let shell: &dyn EnvCompleter = match args.shell {
        Shell::Bash => &Bash,
        Shell::Zsh => &Zsh,
        Shell::Fish => &Fish,
    };
    let mut script = Vec::new();
    shell
        .write_registration(VARIABLE, "graph-host", "graph-host", "graph-host", &mut script)
        .map_err(|error| Error::storage(format!("the script cannot be made: {error}")))?;
    match std::io::stdout().lock().write_all(&script) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::storage(format!("stdout cannot be written: {error}")))
        }
        _ => Ok(Exit::Ok),
    }
}
