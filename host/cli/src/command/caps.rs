//! `graph-host caps`: capability manifests.

use crate::command::args::SourceArgs;
use crate::command::suggestion::{self, SuggestedManifest};
use clap::Subcommand;
use graph_host::context::named_project;

use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_runtime::error::Result;
use graph_runtime::run::stores::StoreKind;
use graph_runtime::{PlanOptions, Runtime};
use serde_json::json;

/// Suggest capability manifests: what a graph needs, and no more
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print the smallest manifest under which a graph would run; read it before you use it
    Suggest {
        /// The graph: a file, an item id, or a reference (`oci://…`, `oci-layout:…`)
        graph: String,
        #[command(flatten)]
        sources: SourceArgs,
    },
}

pub(crate) fn run(args: Args, context: &Context) -> Result<Exit> {
    let Action::Suggest { graph, mut sources } = args.action;
    let project = named_project(sources.project.as_deref())?;
    let graph = sources.fetch(&graph, &project, context)?;
    context.block_on(suggested(&graph, &sources, context))?
}

async fn suggested(graph: &str, sources: &SourceArgs, context: &Context) -> Result<Exit> {
    let output = context.output;
    let project = named_project(sources.project.as_deref())?;
    let runtime = Runtime::new(context.host.clone(), project, StoreKind::default());
    let options = PlanOptions { sources: sources.sources(), ..PlanOptions::default() };
    let opened = runtime.open_graph(graph, &options)?;
    let SuggestedManifest { suggestion, unknown, templates } =
        suggestion::suggest_manifest(&opened.file.graph, &opened.hooks.hooks, &opened.components).await?;
    let notes: Vec<_> = unknown.into_iter().chain(templates).collect();
    if output.is_json() {
        let ungrantable: Vec<_> = suggestion
            .ungrantable
            .iter()
            .map(|(item, interface)| json!({ "item": item, "interface": interface }))
            .collect();
        output
            .document(&json!({ "manifest": suggestion.text, "ungrantable": ungrantable, "notes": notes }))?;
    } else {
        for note in &notes {
            output.warn(note);
        }
        output.line(suggestion.text.trim_end())?;
    }
    Ok(Exit::Ok)
}
