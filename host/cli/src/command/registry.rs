//! `graph-host registry`: operations on a whole registry.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use graph_cases::{CaseReport, Options, Stop};
use graph_core::diagnostic::printable;
use graph_host::context::{Context, current_project};
use graph_host::terminal::drawing;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{BAD, GOOD, styled};
use graph_host::terminal::paths::shown;
use graph_host::terminal::run_report::counted;
use graph_runtime::catalogue::graph_catalogue::{CaseResult, Cases, Catalogue, Text, Trust};
use graph_runtime::catalogue::{Extras, PublishedGraph, collect, replaceable, write};
use graph_runtime::error::Result;
use graph_runtime::project::Project;
use graph_runtime::registry::pull::reference;
use graph_runtime::trust::trusted_keys;
use graph_walker::topology::Topology;
use serde_json::{Value, json};

use crate::command::args::{NetworkArgs, SourceArgs};
use crate::command::published_cases::PublishedCases;
use crate::command::stoppable::until_stopped;

/// Limit of lines about versions that were not verified or not read; JSON has all of them.
const MOST_LINES: usize = 20;

/// Make a catalogue of a registry
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Index(Index),
}

/// Write a static catalogue of a registry or an image-layout directory
///
/// Every artifact is pulled and verified with your trust store, and nothing of it is installed or executed. The pages show who
/// signed a version, what it asks for, its WIT and its schemas, and the commands that pull and run it; `catalogue.json` has the
/// same data. The cases that were signed with a graph are run, with doubles in place of its items. What was not verified is listed as that, with the reason. Any server of static files can serve the folder, and a browser
/// can open it without one.
#[derive(Debug, clap::Args)]
struct Index {
    /// `oci://host`, `oci://host/repository`, or `oci-layout:DIR`
    #[arg(value_name = "REF")]
    place: String,
    /// The folder to write: a new one, an empty one, or one with an older catalogue
    #[arg(long, short, value_name = "DIR")]
    out: PathBuf,
    /// Trust the keys of this file too
    #[arg(long, value_name = "FILE")]
    trust: Vec<PathBuf>,
    #[command(flatten)]
    network: NetworkArgs,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<Exit> {
    match args.action {
        Action::Index(args) => index(args, context),
    }
}

fn index(args: Index, context: &Context) -> Result<Exit> {
    let place = reference(&args.place)?;
    // Checked before any request is sent.
    replaceable(&args.out, context.host.home.base())?;
    let trust = trusted_keys::load(&context.host.home, &args.trust, &*context.host.notices)?;
    let (network, typed) = (args.network.network(), args.place);
    let sources = SourceArgs { trust: args.trust, ..SourceArgs::default() };
    let extras = OfProgram {
        context: context.quiet(true),
        sources,
        project: current_project()?,
        stop: Stop::default(),
    };
    // Requests block and cases compute, hence the thread. Nothing is written before all of them are done.
    let stop = extras.stop.clone();
    let home = context.host.home.clone();
    let collect = move || collect(&place, &typed, &network, (&trust, &home), &extras);
    let outcome = until_stopped("catalogue", &stop, context, collect)?;
    let Some(catalogue) = outcome else {
        context.output.note("interrupted: nothing was written");
        return Ok(Exit::Cancelled);
    };
    let summary = Summary::of(&catalogue);
    let files = write(catalogue, &args.out, context.host.home.base())?;
    summary.show(&files, &args.out, context)?;
    Ok(Exit::Ok)
}

/// Draws pictures as `graph show --format svg` does, and runs cases as `test` does.
struct OfProgram {
    context: Context,
    sources: SourceArgs,
    project: Project,
    /// Request to stop the cases.
    stop: Stop,
}

impl Extras for OfProgram {
    fn picture(&self, topology: &Topology) -> Result<String> {
        drawing::svg(topology)
    }

    fn run_cases(&self, graph: PublishedGraph<'_>) -> Result<Cases> {
        let PublishedGraph { reference, id, text, cases, until } = graph;
        if self.stop.is_requested() {
            return Ok(Cases::NotRun { reason: Text::line("the command was stopped") });
        }
        let reference = reference.to_string();
        let published = PublishedCases { reference: &reference, id, graph: text, cases };
        let options = Options { until: Some(until), stop: Some(self.stop.clone()), ..Options::default() };
        let report = published.run(&self.sources, &self.project, &options, &self.context)?;
        let result = |case: &CaseReport| CaseResult {
            name: Text::line(case.name.as_deref().unwrap_or(&case.file)),
            about: case.about.as_deref().map(Text::line),
            passed: case.passed(),
            problem: case.problems.first().map(|problem| Text::line(&problem.summary())),
        };
        Ok(Cases::Ran { results: report.cases.iter().map(result).collect() })
    }
}

/// A reference, and the reason for its listing.
type ListedReference = (Text, Text);

/// Counts of a catalogue, printed at the end of the command.
struct Summary {
    items: usize,
    versions: usize,
    not_verified: Vec<ListedReference>,
    unreadable: Vec<ListedReference>,
    failed_cases: usize,
    cut_off: Vec<Text>,
}

impl Summary {
    fn of(catalogue: &Catalogue) -> Self {
        let not_verified = catalogue.versions().filter_map(|version| match &version.trust {
            Trust::NotVerified { reason, .. } => Some((version.references.first()?.clone(), reason.clone())),
            Trust::Trusted { .. } => None,
        });
        let failed = |cases: &Cases| match cases {
            Cases::Ran { results } => results.iter().filter(|case| !case.passed).count(),
            Cases::None | Cases::NotRun { .. } => 0,
        };
        Self {
            items: catalogue.items.len(),
            versions: catalogue.versions().count(),
            not_verified: not_verified.collect(),
            unreadable: catalogue
                .unreadable
                .iter()
                .map(|one| (one.reference.clone(), one.reason.clone()))
                .collect(),
            failed_cases: catalogue.versions().map(|version| failed(&version.cases)).sum(),
            cut_off: catalogue.cut_off.clone(),
        }
    }

    fn show(&self, files: &BTreeMap<String, Vec<u8>>, out: &Path, context: &Context) -> Result<()> {
        let output = context.output;
        for reason in &self.cut_off {
            output.warn(format_args!("{reason}; the catalogue is not complete, and says so"));
        }
        let bytes: usize = files.values().map(Vec::len).sum();
        let said = |said: &[ListedReference]| -> Vec<Value> {
            said.iter()
                .map(|(reference, reason)| json!({ "reference": reference, "reason": reason }))
                .collect()
        };
        let document = json!({
            "folder": out.display().to_string(),
            "items": self.items,
            "versions": self.versions,
            "not_verified": said(&self.not_verified),
            "not_readable": said(&self.unreadable),
            "failed_cases": self.failed_cases,
            "complete": self.cut_off.is_empty(),
            "files": files.len(),
            "bytes": bytes,
        });
        output.show(&document, || self.text(files.len(), out))
    }

    fn text(&self, files: usize, out: &Path) -> String {
        let mut lines = vec![format!(
            "{} {}: {}, {}, {}",
            styled(GOOD, "✓"),
            shown(out),
            counted(self.items as u64, "item"),
            counted(self.versions as u64, "version"),
            counted(files as u64, "file"),
        )];
        for (what, list) in [("not verified", &self.not_verified), ("not readable", &self.unreadable)] {
            if list.is_empty() {
                continue;
            }
            lines.push(format!("{} {what}:", styled(BAD, list.len())));
            let line = |(reference, reason): &ListedReference| {
                format!("  {}: {}", printable(reference.as_str()), printable(reason.as_str()))
            };
            lines.extend(list.iter().take(MOST_LINES).map(line));
            if list.len() > MOST_LINES {
                lines.push(format!("  … {} more are on the pages", list.len() - MOST_LINES));
            }
        }
        if self.failed_cases > 0 {
            lines.push(format!("{} failed", counted(self.failed_cases as u64, "case")));
        }
        lines.join("\n")
    }
}
