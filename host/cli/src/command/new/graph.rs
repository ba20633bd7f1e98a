//! `graph-host new graph`.

use std::path::PathBuf;

use graph_host::context::Context;
use graph_host::document_kind::DocumentKind;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{self, styled};
use graph_runtime::error::{Error, Result};
use serde_json::json;

use super::folder::{self, typed};
use crate::command::schema;

/// Create a graph: a document that runs, a manifest, a case, hooks of the project, and schemas for editors
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The name of the graph and of its folder
    name: String,
    /// The folder in which that folder is created
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Exit> {
    let name = &args.name;
    folder::check_name(name)
        .map_err(|why| Error::usage(format!("`{name}` cannot be the name of a graph: {why}")))?;
    let place = args.dir.join(name);
    let case = format!("{name}.case.yaml");
    let documents = [
        ("graph.yaml", DocumentKind::Graph, include_str!("../../../templates/graph/graph.yaml")),
        ("caps.yaml", DocumentKind::Manifest, include_str!("../../../templates/graph/caps.yaml")),
        (case.as_str(), DocumentKind::Case, include_str!("../../../templates/graph/case.yaml")),
        (".ai/hooks.yaml", DocumentKind::Hooks, include_str!("../../../templates/graph/hooks.yaml")),
    ];
    let mut files: Vec<(String, String)> = Vec::new();
    for (file, kind, template) in documents {
        let schema = schema::modeline(file, kind);
        files.push((file.to_owned(), format!("{schema}\n{}", template.replace("NAME", name))));
    }
    for kind in documents.map(|(_, kind, _)| kind) {
        files.push((format!("{}/{}", schema::FOLDER, kind.schema_file()), kind.schema_text()));
    }
    let files: Vec<(&str, String)> = files.iter().map(|(file, text)| (file.as_str(), text.clone())).collect();
    folder::make(&place, &files)?;
    let graph = place.join("graph.yaml");
    let caps = place.join("caps.yaml");
    let next = [
        format!("graph-host run {} --caps {} --input name=Ada", typed(&graph), typed(&caps)),
        format!("graph-host test {}", typed(&place)),
    ];
    if context.output.is_json() {
        let made: Vec<_> = files.iter().map(|(file, _)| place.join(file).display().to_string()).collect();
        context.output.document(&json!({ "made": made, "next": next }))?;
        return Ok(Exit::Ok);
    }
    for (file, _) in &files {
        context.output.line(format_args!("{} {}", styled(output::GOOD, "+"), place.join(file).display()))?;
    }
    for command in next {
        context.output.line(styled(output::DIM, command))?;
    }
    Ok(Exit::Ok)
}
