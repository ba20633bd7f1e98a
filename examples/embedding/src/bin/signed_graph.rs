//! Runs a graph of signed components, under a manifest, and prints what it results in. Runs are kept in FOLDER.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use graph_runtime::{Home, Options, Project, Runtime, Sources};
use serde_json::{Map, json};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).context("usage: signed_graph FOLDER")?);
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let example = examples.join("map-reduce");
    let options = Options {
        sources: Sources { trust: vec![examples.join("trust.yaml")], ..Sources::default() },
        manifest: Some(example.join("caps.yaml")),
        ..Options::default()
    };
    let runtime = Runtime::open(Project::at(folder.clone()), Home::at(folder.join("home")), options)?;
    let plan = runtime.plan(&example.join("graph.yaml").to_string_lossy()).await?;
    let inputs = Map::from_iter([("folder".to_owned(), json!("/src/wit"))]);
    let inputs = inputs.into_iter().chain([("ending".to_owned(), json!(".wit"))]).collect();
    let run = runtime.start(plan, inputs, ()).await?;
    println!("run {}", run.id());
    let summary = run.outcome().await?;
    println!("{} after {} steps", summary.status.as_str(), summary.steps);
    println!("{}", serde_json::to_string_pretty(&summary.output)?);
    Ok(())
}
