//! The graph-host command.

mod command;

use std::ffi::OsStr;
use std::io::Write as _;
use std::process::ExitCode;

use clap::{FromArgMatches as _, Parser};
use clap_complete::CompleteEnv;
use graph_host::context::Context;
use graph_host::terminal::exit::{self, Exit};
use graph_host::terminal::output::Output;
use graph_runtime::error::Error;

use crate::command::{Command, completion};

/// Runs state graphs of sandboxed, signed WebAssembly components.
#[derive(Debug, Parser)]
#[command(name = "graph-host", version, propagate_version = true, max_term_width = 100)]
struct Cli {
    /// Print one JSON document on stdout, errors included
    #[arg(long, global = true)]
    json: bool,

    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    // A child process that compiles a component: nothing else of the program runs in it.
    if std::env::args_os().skip(1).eq([OsStr::new(graph_runtime::graph_engine::COMPILE_ARGUMENT)]) {
        return graph_runtime::graph_engine::compile_for_parent().into();
    }
    // A shell asks for completions; errors are not shown on its command line.
    if std::env::var_os(completion::VARIABLE).is_some() {
        let candidates = CompleteEnv::with_factory(completion::command).var(completion::VARIABLE);
        if candidates.try_complete(std::env::args_os(), None).unwrap_or(true) {
            return ExitCode::SUCCESS;
        }
    }
    let parsed = command::help::command().try_get_matches().and_then(|found| {
        graph_host::terminal::typed::name_files(&found);
        Cli::from_arg_matches(&found)
    });
    let cli = match parsed {
        Ok(cli) => cli,
        Err(mut error) => {
            let arguments: Vec<_> =
                std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
            command::hyphen_value::advise(&mut error, &arguments, &command::help::command());
            return usage(&error);
        }
    };
    let output = Output::new(cli.json).in_lines(cli.command.streams(cli.json));
    let compiler = graph_host::compiling::by_this_program();
    let ended = Context::new(output, compiler).and_then(|context| {
        context.host.home.clean_up();
        cli.command.run(&context)
    });
    graph_host::terminal::live_line::turn(false);
    ended
        .unwrap_or_else(|error| {
            output.error(&error);
            exit::of_error(&error)
        })
        .into()
}

/// Prints the error of a command line that clap does not accept. Help and version are no errors; with `--json` an error is JSON.
fn usage(error: &clap::Error) -> ExitCode {
    let asked_for_json =
        std::env::args_os().take_while(|arg| arg != OsStr::new("--")).any(|arg| arg == "--json");
    if !error.use_stderr() {
        let _ = write!(anstream::stdout(), "{}", error.render().ansi());
        return Exit::Ok.into();
    }
    if asked_for_json {
        let text = error.render().to_string();
        let message = text.trim().trim_start_matches("error: ");
        Output::new(true).error(&Error::usage(message));
    } else {
        let _ = write!(anstream::stderr(), "{}", error.render().ansi());
    }
    Exit::Usage.into()
}
