//! Cases of other publishers: they run against the graph with which they were published, in a temporary folder, with doubles only.

use std::fs;
use std::path::{Path, PathBuf};

use graph_cases::{Case, GraphSource, Items, Options, Report, run as run_cases};
use graph_core::diagnostic::printable;
use graph_host::context::Context;
use graph_host::terminal::remedies;
use graph_runtime::error::{Error, Result};
use graph_runtime::graph_registry::companions::{CompanionKind, Companions};
use graph_runtime::project::Project;
use graph_runtime::registry::companions::graph_title;

use crate::command::args::SourceArgs;

/// Starts a warning with the unsigned files, those of a kind or all; `None` if there are none.
pub(crate) fn unsigned(companions: &Companions, kind: Option<CompanionKind>) -> Option<String> {
    const SHOWN: usize = 5;
    let names = companions.unsigned(kind);
    let shown: Vec<_> = names.iter().take(SHOWN).map(|name| format!("`{}`", printable(name))).collect();
    let more = if names.len() > SHOWN { format!(" and {} more", names.len() - SHOWN) } else { String::new() };
    (!names.is_empty()).then(|| format!("no key that you trust has signed {}{more}", shown.join(", ")))
}

/// Cases of a graph that was verified.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PublishedCases<'a> {
    /// Reference of the graph, for messages.
    pub(crate) reference: &'a str,
    /// The id of the graph.
    pub(crate) id: &'a str,
    /// The text of the graph.
    pub(crate) graph: &'a str,
    /// File names of the cases, with their texts.
    pub(crate) cases: &'a [(String, String)],
}

impl PublishedCases<'_> {
    /// Runs the cases. In the report, each has the name of its file.
    pub(crate) fn run(
        &self,
        sources: &SourceArgs,
        project: &Project,
        options: &Options,
        context: &Context,
    ) -> Result<Report> {
        let folder = tempfile::tempdir()
            .map_err(|error| Error::storage(format!("a folder for the cases cannot be made: {error}")))?;
        let write = |path: &Path, text: &str| {
            fs::write(path, text).map_err(|error| Error::write("the published case", path, &error))
        };
        let graph = folder.path().join(graph_title(self.id, "yaml"));
        write(&graph, self.graph)?;
        let mut files: Vec<PathBuf> = Vec::new();
        for (title, text) in self.cases {
            let path = folder.path().join(title);
            self.check(title, &path, text, &graph)?;
            write(&path, text)?;
            files.push(path);
        }
        let items = Items::real(sources.sources(), None, project, &context.quiet(true).host)?
            .with_words(remedies::words)
            .with_doubles_only();
        let mut report = run_cases(&files, &items, options);
        for case in &mut report.cases {
            let title = Path::new(&case.file).file_name().map(|title| title.to_string_lossy().into_owned());
            case.file = title.unwrap_or_default();
        }
        Ok(report)
    }

    /// Rejects a case that reads other files than its graph. An invalid case is left to the run, which reports it as failed.
    fn check(&self, title: &str, path: &Path, text: &str, graph: &Path) -> Result<()> {
        let Ok(case) = Case::parse(path, text) else { return Ok(()) };
        let reason = match &case.graph {
            GraphSource::File(file) if file == graph => match case.items_dir {
                None => return Ok(()),
                Some(_) => "has `items_dir`, a folder of the machine that it runs on",
            },
            GraphSource::File(_) => "names another graph under `graph_file`",
            GraphSource::Inline(_) => "has a graph of its own instead of the published one",
        };
        Err(Error::integrity(format!("the case `{title}` of {} {reason}: no case was run", self.reference))
            .help("its publisher can publish it again; `graph-host publish` writes cases that run anywhere"))
    }
}
