//! `graph-host migrate`: lists the versions of stored files, and migrates older ones.

use graph_host::context::named_project;
use std::path::PathBuf;

use graph_core::diagnostic::printable;
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{self, styled};
use graph_runtime::error::Result;
use graph_runtime::project::stored_formats::{self, Report, State};

/// Bring the stores of a project up to date
///
/// Each database of an older version is migrated in one transaction, as the first command that opens it would do. What a
/// newer graph-host has written is reported and left unchanged.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Migrate nothing and only list what is to be migrated; the exit code is 5 if there is something to migrate, and 8 if
    /// something cannot be read
    #[arg(long)]
    check: bool,
    /// The project to migrate; without it, the one around the current folder
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit> {
    let project = named_project(args.project.as_deref())?;
    let mut report = stored_formats::inspect(&project, &context.host.home);
    if !args.check {
        stored_formats::migrate(&mut report, &project, &context.host.home)?;
    }
    let output = context.output;
    if output.is_json() {
        output.document(&report)?;
        return Ok(exit(&report));
    }
    if report.files.is_empty() {
        output.line("nothing is stored yet")?;
    }
    for stored in &report.files {
        let mark = match stored.state {
            State::Current | State::Migrated => styled(output::GOOD, "✓"),
            State::Older => styled(output::CAUTION, "!"),
            State::Newer | State::Unreadable => styled(output::BAD, "✗"),
        };
        let format = stored.format.replace('_', " ");
        output.line(format_args!(
            "{mark} {format:<12} {}: {}",
            stored.file,
            printable(&stored.sentence())
        ))?;
    }
    if args.check && exit(&report) == Exit::Failed {
        output.note("bring it up to date with: graph-host migrate");
    }
    Ok(exit(&report))
}

fn exit(report: &Report) -> Exit {
    if report.has(&[State::Newer, State::Unreadable]) {
        Exit::Integrity
    } else if report.has(&[State::Older]) {
        Exit::Failed
    } else {
        Exit::Ok
    }
}
