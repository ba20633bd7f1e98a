//! `graph-host graph show`.

use graph_host::context::current_project;
use std::collections::BTreeMap;
use std::path::Path;

use clap::ValueEnum;
use graph_core::format;
use graph_core::json::{self, TreeLimit};
use graph_core::record::{Checkpoint, Record};
use graph_host::context::Context;
use graph_host::terminal::drawing;
use graph_host::terminal::exit::Exit;
use graph_runtime::error::{Error, Result};
use graph_runtime::graph_store::{CheckpointStore, RunRow};
use graph_runtime::registry::fetch_cache;
use graph_runtime::run::pins::Pins;
use graph_runtime::run::restore;
use graph_runtime::run::stores::Stores;
use graph_walker::document::{load, load_snapshot};
use graph_walker::structure::{findings, findings_of};
use graph_walker::topology::{Topology, TopologyReport, VERSION};
use serde_json::json;

/// Draw a graph, or the path that a run took through it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The graph: a file, an item id, or a reference (`oci://…`); or a .json file that `graph show --format json` has printed
    #[arg(required_unless_present = "run")]
    graph: Option<String>,
    /// Draw the graph of this run, with how often nodes were visited and edges were taken
    #[arg(long, value_name = "RUN", conflicts_with = "graph")]
    run: Option<String>,
    /// The format of the output
    #[arg(long, value_enum, default_value_t = Format::Mermaid)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A flowchart in Mermaid's language, which many Markdown viewers draw
    Mermaid,
    /// The DOT language of Graphviz
    Dot,
    /// The whole graph as JSON: nodes, edges, limits, channels, policies and findings. It can be drawn again
    Json,
    /// A picture that a browser shows
    Svg,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit> {
    let topology = match (&args.run, &args.graph) {
        (Some(run), _) => of_run(run, context)?,
        (None, Some(name)) if Path::new(name).extension().is_some_and(|it| it == "json") => {
            printed(Path::new(name))?
        }
        (None, Some(name)) => {
            of_file(&fetch_cache::named_file(name, &current_project()?, &context.host)?, context)?
        }
        (None, None) => return Err(Error::usage("name the file of a graph, or a run with --run")),
    };
    let output = context.output;
    match args.format {
        _ if output.is_json() => output.document(&json!(topology))?,
        Format::Json => output.document(&json!(topology))?,
        Format::Mermaid => output.line(topology.to_mermaid().trim_end())?,
        Format::Dot => output.line(topology.to_dot().trim_end())?,
        Format::Svg => output.line(drawing::svg(&topology)?.trim_end())?,
    }
    Ok(Exit::Ok)
}

fn of_file(name: &str, context: &Context) -> Result<Topology> {
    let file = super::find(name, context)?;
    let text = file.named_graph_text()?;
    let loaded = load(&file.path.display().to_string(), &text, &file.id)?;
    let report = Some(TopologyReport::from_warnings(findings_of(&loaded)));
    Ok(Topology { report, ..Topology::of(&loaded.graph) })
}

/// Reads a topology that was printed as JSON.
fn printed(path: &Path) -> Result<Topology> {
    let text = graph_runtime::project::text_file::read_named_as("the printed graph", path)?;
    json::read(&text, TreeLimit::DOCUMENT).map_err(|error| {
        Error::invalid(format!(
            "{} is not a graph as `graph show --format json` prints it: {error}",
            path.display(),
            error = format::reason(&text, VERSION, error)
        ))
        .help("a graph itself is a YAML file")
    })
}

/// Returns the topology of a run's graph, with the visits and edges of its checkpoints.
fn of_run(name: &str, context: &Context) -> Result<Topology> {
    let (_, store, row) = Stores::to_read(&current_project()?, &context.host.home)?.find(name)?;
    of_row(&*store, &row)
}

/// Returns the topology of the run in a row of a store.
pub(in crate::command) fn of_row(store: &dyn CheckpointStore, row: &RunRow) -> Result<Topology> {
    let mut checkpoints: Vec<Checkpoint> = Vec::new();
    restore::each_checkpoint(store, &row.run_id, "", |record| match record.decode() {
        Ok(Record::Checkpoint(checkpoint)) => {
            // Only edges and visits are drawn; other large parts are dropped.
            checkpoints.push(Checkpoint {
                tasks: Vec::new(),
                hooked: Vec::new(),
                next: Vec::new(),
                deferred: Vec::new(),
                updates: BTreeMap::new(),
                end: None,
                ..*checkpoint
            });
            Ok(())
        }
        Ok(_) => Err(Error::integrity(format!("record {} is not a checkpoint", record.sequence))),
        Err(error) => Err(Error::integrity(error.to_string())),
    })?;
    let pins = Pins::read(&restore::snapshot(store, &row.pins, "what it is pinned to")?)?;
    let unreadable = |error: String| {
        Error::integrity(format!("the graph that run {} keeps cannot be read: {error}", row.run_id))
    };
    let document = restore::document(store, &pins.graph_text, "the graph")?;
    let graph = load_snapshot(&document).map_err(|error| unreadable(error.to_string()))?;
    let report = Some(TopologyReport::from_warnings(findings(&graph)));
    Ok(Topology { report, ..Topology::of(&graph) }.of_run(&checkpoints))
}
