//! `graph-host man`.

mod reference;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::CommandFactory as _;
use clap_mangen::Man;
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::paths::shown;
use graph_host::terminal::run_report::counted;
use graph_runtime::error::{Error, Result};
use graph_runtime::project::user_home::write_atomic;

/// Print the manual page of a command, write all manual pages, or print the reference of all commands
///
/// To read a page: `graph-host man runs show | man -l -`. A package installs all of them with `graph-host man --to DIR`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The command, such as `runs show`; without it, graph-host itself
    command: Vec<String>,
    /// Write a page for every command into this folder: graph-host.1, graph-host-run.1 and so on
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    to: Option<PathBuf>,
    /// Print all commands with their options as one page of Markdown
    #[arg(long, conflicts_with_all = ["command", "to"])]
    markdown: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit> {
    // The subcommand `help` would repeat every command.
    let mut root = crate::Cli::command().disable_help_subcommand(true);
    root.build();
    if args.markdown {
        return print(reference::page(&root).as_bytes());
    }
    if let Some(folder) = &args.to {
        std::fs::create_dir_all(folder)
            .map_err(|error| Error::write("the folder of the manual pages", folder, &error))?;
        let written = write_all(&root, folder)?;
        let text = format!("{} to {}", counted(written, "manual page"), shown(folder));
        context.output.line(format_args!("wrote {text}"))?;
        return Ok(Exit::Ok);
    }
    let mut command = &root;
    for word in &args.command {
        command = command.find_subcommand(word).ok_or_else(|| {
            let whole = args.command.join(" ");
            Error::usage(format!("graph-host has no command `{whole}`")).help("graph-host --help lists them")
        })?;
    }
    print(&page(command)?)
}

fn print(text: &[u8]) -> Result<Exit> {
    match std::io::stdout().lock().write_all(text) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::storage(format!("stdout cannot be written: {error}")))
        }
        _ => Ok(Exit::Ok),
    }
}

/// Renders a manual page for `man`.
fn page(command: &clap::Command) -> Result<Vec<u8>> {
    let mut page = Vec::new();
    let manual = Man::new(command.clone()).manual("graph-host");
    manual
        .render(&mut page)
        .map_err(|error| Error::storage(format!("no manual page can be made: {error}")))?;
    Ok(page)
}

/// Writes the pages of a command and its subcommands; returns their number.
fn write_all(command: &clap::Command, folder: &Path) -> Result<u64> {
    let file = folder.join(Man::new(command.clone()).get_filename());
    write_atomic(&file, &page(command)?, false)
        .map_err(|error| Error::write("the manual page", &file, &error))?;
    let mut written = 1;
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        written += write_all(below, folder)?;
    }
    Ok(written)
}
