//! Cases that a published graph has taken along: they run against that graph, in a folder of their own, with doubles only.

use std::fs;
use std::path::{Path, PathBuf};

use graph_cases::{Case, GraphSource, Items, Options, Report, run as run_cases};
use graph_host::context::Context;
use graph_runtime::error::{Error, Result};
use graph_runtime::graph_registry::reference::Reference;
use graph_runtime::items::graph_file::GraphFile;
use graph_runtime::items::locate::ItemLocator;
use graph_runtime::project::{Project, text_file};
use graph_runtime::registry::companions::graph_title;
use graph_runtime::registry::pull::{Network, Puller};
use graph_runtime::trust::trusted_keys;

use crate::command::args::SourceArgs;

/// The reference that a path of the command line is meant as, if it is.
pub(super) fn reference(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| Reference::is_meant(text))
}

/// Runs the cases of the graph at a reference.
pub(super) fn run(
    reference: &str,
    mut sources: SourceArgs,
    project: &Project,
    options: &Options,
    context: &Context,
) -> Result<Report> {
    let trust = trusted_keys::load(&context.host.home, &sources.trust, &*context.host.notices)?;
    let fetched = sources.fetched(reference, project, context)?;
    let fetched = fetched.ok_or_else(|| Error::usage(format!("{reference} is not a reference")))?;
    let puller = Puller { options: Network::default().options(), trust: &trust };
    let manifest = fetched.manifest(&puller)?;
    let companions = fetched.companions(&manifest)?;
    let cases = fetched.cases(&companions, &puller)?;
    let name = &fetched.reference;
    if cases.is_empty() {
        // A test that found nothing to do must not pass.
        return Err(Error::not_found(format!("{name} has no cases")).help(
            "see what it has: graph-host inspect REF; its publisher can publish it with `--cases DIR`",
        ));
    }
    // The signature counts now: the key may have been revoked since the graph was fetched.
    let places = ItemLocator::new(&sources.items, None, &context.host.home, project);
    let path = fetched.file.to_str().unwrap_or_default();
    let graph = GraphFile::open(path, &places, &trust)?;
    let folder = tempfile::tempdir()
        .map_err(|error| Error::storage(format!("a folder for the cases cannot be made: {error}")))?;
    let write = |path: &Path, text: &str| {
        fs::write(path, text).map_err(|error| Error::write("the published case", path, &error))
    };
    let file = folder.path().join(graph_title(&graph.graph.id, "yaml"));
    write(&file, &text_file::read_as("the graph", &fetched.file)?)?;
    let mut files: Vec<PathBuf> = Vec::new();
    for (title, text) in &cases {
        let path = folder.path().join(title);
        check(title, &path, text, &file, &name.to_string())?;
        write(&path, text)?;
        files.push(path);
    }
    let items = Items::real(sources.sources(), None, project, &context.quiet(true).host)?.with_doubles_only();
    let mut report = run_cases(&files, &items, options);
    for case in &mut report.cases {
        let title = Path::new(&case.file).file_name().map(|title| title.to_string_lossy().into_owned());
        case.file = format!("{reference} {}", title.unwrap_or_default());
    }
    Ok(report)
}

/// Refuses a case that reads other files than its graph. An invalid one is reported as a case that fails.
fn check(title: &str, path: &Path, text: &str, graph: &Path, name: &str) -> Result<()> {
    let Ok(case) = Case::parse(path, text) else { return Ok(()) };
    let reason = match &case.graph {
        GraphSource::File(file) if file == graph => match case.items_dir {
            None => return Ok(()),
            Some(_) => "has `items_dir`, a folder of the machine that it runs on",
        },
        GraphSource::File(_) => "names another graph under `graph_file`",
        GraphSource::Inline(_) => "has a graph of its own instead of the published one",
    };
    Err(Error::integrity(format!("the case `{title}` of {name} {reason}: no case was run"))
        .help("its publisher can publish it again; `graph-host publish` writes cases that run anywhere"))
}
