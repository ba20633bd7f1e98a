//! `graph-host graph report`.

use std::path::PathBuf;

use graph_core::diagnostic::printable;
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{self, styled};
use graph_runtime::error::Result;
use graph_runtime::run::manifest_file::read_manifest;
use graph_walker::document::load;
use graph_walker::structure::{Finding, findings_of, unneeded_capabilities};
use serde_json::json;

/// Report probable mistakes in the structure of a graph: unreachable nodes, dead ends, conditional edges without a default,
/// barriers that never open, writes that conflict, keys that are read and never written, capabilities that no node needs
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The graph: a file, or an item id
    graph: String,
    /// A capability manifest: permissions that the graph does not use are reported too
    #[arg(long, value_name = "FILE")]
    caps: Option<PathBuf>,
}

/// Prints the findings. They are no errors: the graph can run, and the exit code is 0.
pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit> {
    let file = super::find(&args.graph, context)?;
    let text = file.named_graph_text()?;
    let loaded = load(&file.path.display().to_string(), &text, &file.id)?;
    let mut found = findings_of(&loaded);
    if let Some(caps) = &args.caps {
        found.extend(unneeded_capabilities(&[&loaded.graph], &read_manifest(caps, &context.host)?));
    }
    let output = context.output;
    if output.is_json() {
        output.document(&json!({ "graph": loaded.graph.id, "findings": found }))?;
        return Ok(Exit::Ok);
    }
    for finding in &found {
        output.line(line(finding))?;
    }
    let nodes = graph_host::terminal::run_report::counted(loaded.graph.nodes.len() as u64, "node");
    if found.is_empty() {
        output.line(format_args!("{} {nodes}, nothing doubtful", styled(output::GOOD, "✓")))?;
    } else {
        let count = graph_host::terminal::run_report::counted(found.len() as u64, "finding");
        output.line(format_args!("\n{nodes}, {count}"))?;
    }
    Ok(Exit::Ok)
}

fn line(finding: &Finding) -> String {
    format!(
        "{} {}\n    {}",
        styled(output::CAUTION, format_args!("{}:", finding.kind.as_str())),
        printable(&finding.message),
        styled(output::DIM, printable(&finding.help))
    )
}
