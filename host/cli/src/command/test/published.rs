//! Cases of a published graph.

use std::path::Path;

use graph_cases::{Options, Report};
use graph_host::context::Context;
use graph_runtime::error::{Error, Result};
use graph_runtime::graph_registry::companions::CompanionKind;
use graph_runtime::graph_registry::reference::Reference;
use graph_runtime::items::graph_file::GraphFile;
use graph_runtime::items::locate::ItemLocator;
use graph_runtime::project::{Project, text_file};
use graph_runtime::registry::pull::{Network, Puller};
use graph_runtime::trust::trusted_keys;

use crate::command::args::SourceArgs;
use crate::command::published_cases::{PublishedCases, unsigned};

/// Returns the reference that a path of the command line stands for, if it does.
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
    let home = &context.host.home;
    let network = Network::default().options(home, std::slice::from_ref(&fetched.reference));
    let puller = Puller { options: network, trust: &trust, home };
    let manifest = fetched.manifest(&puller)?;
    // The signature is checked again: the key may have been revoked since the graph was fetched.
    let locator = ItemLocator::new(&sources.items, None, &context.host.home, project);
    let path = fetched.file.to_str().unwrap_or_default();
    let graph = GraphFile::open(path, &locator, &trust)?;
    let companions = fetched.companions(&manifest, &graph.graph.id, &puller)?;
    let cases = fetched.cases(&companions, &puller)?;
    let name = fetched.reference.to_string();
    if cases.is_empty() {
        // A test that found nothing to do must not pass.
        return Err(Error::not_found(format!("{name} has no cases")).help(
            "see what it has: graph-host inspect REF; its publisher can publish it with `--cases DIR`",
        ));
    }
    if let Some(unsigned) = unsigned(&companions, Some(CompanionKind::Case)) {
        context.output.warn(format_args!(
            "{unsigned}: anyone who may write to {name} can have written them; they run with doubles only, within the limits of a run \
             without a manifest"
        ));
    }
    let text = text_file::read_as("the graph", &fetched.file)?;
    let published = PublishedCases { reference: &name, id: &graph.graph.id, graph: &text, cases: &cases };
    let mut report = published.run(&sources, project, options, context)?;
    for case in &mut report.cases {
        case.file = format!("{reference} {}", case.file);
    }
    Ok(report)
}
