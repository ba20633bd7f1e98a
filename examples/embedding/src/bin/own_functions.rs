//! Runs a graph with items that this program performs itself. No sandbox holds them, so the manifest has to say so, and the
//! records do. Runs are kept in FOLDER.

use std::path::PathBuf;

use anyhow::Context as _;
use graph_core::node::{Category, Failure, Outcome};
use graph_runtime::{Functions, Home, Options, Project, Runtime};
use serde_json::{Map, json};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).context("usage: own_functions FOLDER")?);
    let functions = Functions::default().with("shop/price", |call| async move {
        let pieces = call.params["pieces"].as_u64();
        let pieces =
            pieces.ok_or_else(|| Failure::new(Category::InvalidInput, "`pieces` is not a number"))?;
        Ok(Outcome::Result(json!({ "cents": 250 * pieces })))
    })?;
    let (graph, manifest) = (folder.join("order.yaml"), folder.join("caps.yaml"));
    std::fs::write(&graph, ORDER)?;
    std::fs::write(&manifest, MANIFEST)?;

    // Without the manifest it is refused before anything runs.
    let home = || Home::at(folder.join("home"));
    let options = Options { functions: functions.clone(), ..Options::default() };
    let runtime = Runtime::open(Project::at(folder.clone()), home(), options)?;
    let plan = runtime.plan(&graph.to_string_lossy()).await?;
    if let Err(refusal) = runtime.start(plan, Map::new(), ()).await {
        println!("{}", refusal.message());
    }

    let options = Options { functions, manifest: Some(manifest), ..Options::default() };
    let runtime = Runtime::open(Project::at(folder.clone()), home(), options)?;
    let plan = runtime.plan(&graph.to_string_lossy()).await?;
    let summary = runtime.start(plan, Map::new(), ()).await?.outcome().await?;
    println!("{}: {}", summary.status.as_str(), summary.state["price"]);
    Ok(())
}

const ORDER: &str = "\
tool_type: graph
config:
  start: price
  nodes:
    price:
      action: { item_id: shop/price, params: { pieces: 3 } }
      assign: { price: '${result.cents}' }
";

const MANIFEST: &str = "\
dispatch: [execute.tool.shop.price]
items:
  shop/price: { unsandboxed: true }
";
