//! `graph-host run --watch` and `build --watch`.

use crate::command::args::SourceArgs;
use graph_host::context::current_project;
use std::path::PathBuf;

use graph_host::context::Context;
use graph_host::file_watch::FileWatcher;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{self, Output, styled};
use graph_host::terminal::paths::shown;
use graph_runtime::error::Result;
use graph_runtime::project;

/// Runs again whenever the graph, the manifest, a trust file or an item has changed. A failed run does not end the watch; Ctrl-C does.
pub(super) fn run(
    graph: &str,
    caps: Option<&PathBuf>,
    sources: &SourceArgs,
    context: &Context,
    once: impl FnMut() -> Result<Exit>,
) -> Result<Exit> {
    let graph = PathBuf::from(graph);
    let around = graph.canonicalize().ok().and_then(|graph| graph.parent().and_then(project::nearest));
    let project = sources
        .project
        .clone()
        .or(around)
        .map_or_else(|| current_project().map(|project| project.folder().to_path_buf()), Ok)?;
    let mut files: Vec<PathBuf> = sources.trust.clone();
    files.extend(caps.cloned());
    // If the graph is an item, its file is in one of the watched folders.
    files.extend(graph.is_file().then_some(graph));
    let mut folders = sources.items.clone();
    folders.extend(["tools", "knowledge", "directives"].map(|kind| project.join(".ai").join(kind)));
    again(FileWatcher::begin(&files, &folders)?, context.output, once)
}

/// Calls `once`, and again after each change of a file. An error is printed and does not end the loop; Ctrl-C does.
pub(super) fn again(
    mut watching: FileWatcher,
    output: Output,
    mut once: impl FnMut() -> Result<Exit>,
) -> Result<Exit> {
    loop {
        match once() {
            Ok(Exit::Cancelled) => return Ok(Exit::Cancelled),
            Ok(_) => {}
            Err(error) => output.error(&error),
        }
        output.note(styled(output::DIM, "waiting for a change; Ctrl-C ends"));
        let Some(changed) = watching.changed() else { return Ok(Exit::Ok) };
        output.note(styled(output::DIM, format_args!("\n{} has changed", shown(&changed))));
    }
}
