//! `graph-host new graph`.

use std::path::PathBuf;

use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{self, styled};
use graph_runtime::error::{Error, Result};
use serde_json::json;

use super::folder;

/// Begin a graph: a document that runs, a manifest, a case, and the hooks of the project
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Its name
    name: String,
    /// Where its folder is made
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Exit> {
    let name = &args.name;
    folder::check_name(name)
        .map_err(|why| Error::usage(format!("`{name}` cannot be the name of a graph: {why}")))?;
    let place = args.dir.join(name);
    let case = format!("{name}.case.yaml");
    let files = [
        ("graph.yaml", include_str!("../../../templates/graph/graph.yaml").replace("NAME", name)),
        ("caps.yaml", include_str!("../../../templates/graph/caps.yaml").replace("NAME", name)),
        (case.as_str(), include_str!("../../../templates/graph/case.yaml").replace("NAME", name)),
        (".ai/hooks.yaml", include_str!("../../../templates/graph/hooks.yaml").to_owned()),
    ];
    folder::make(&place, &files)?;
    let graph = place.join("graph.yaml");
    let caps = place.join("caps.yaml");
    let next = [
        format!("graph-host run {} --caps {} --input name=Ada", graph.display(), caps.display()),
        format!("graph-host test {}", place.display()),
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
