//! Runs a graph that this program builds, with a state of a type of this program. No document is read; `graph-host` shows,
//! resumes and replays the run like any other. Runs are kept in FOLDER.

use std::path::PathBuf;

use anyhow::Context as _;
use graph_core::node::Outcome;
use graph_core::policy::Reducer;
use graph_runtime::{Functions, Home, Options, Project, Runtime};
use graph_walker::builder::{Branch, GraphBuilder, NodeBuilder, When};
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};

#[derive(Debug, Serialize, Deserialize)]
struct Search {
    low: u64,
    high: u64,
    guesses: Vec<u64>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).context("usage: built_graph FOLDER")?);
    let mut builder = GraphBuilder::new("games/search");
    builder
        .description("Looks for a number by halves")
        .channel("guesses", Reducer::Append)
        .state(&Search { low: 0, high: 1_000, guesses: Vec::new() })
        .node(
            "guess",
            NodeBuilder::tool("games/guess", json!({ "low": "${state.low}", "high": "${state.high}" }))
                .assign("guesses", json!(["${result.guess}"]))
                .assign("low", "${result.low}")
                .assign("high", "${result.high}"),
        )
        .node("found", NodeBuilder::end())
        .start("guess")
        .conditional_edges(
            "guess",
            [Branch::when(When::path("result.found").eq(true), "found"), Branch::otherwise("guess")],
        );
    let graph = builder.compile()?;
    // The same graph as a document, for people, for `graph-host graph`, and for other programs.
    std::fs::write(folder.join("search.yaml"), builder.to_yaml()?)?;
    std::fs::write(folder.join("caps.yaml"), MANIFEST)?;

    let functions = Functions::default().with("games/guess", |call| async move {
        let read = |key: &str| call.params[key].as_u64().unwrap_or_default();
        let (low, high) = (read("low"), read("high"));
        let guess = u64::midpoint(low, high);
        let (low, high) = if guess < 618 { (guess + 1, high) } else { (low, guess) };
        Ok(Outcome::Result(json!({ "guess": guess, "low": low, "high": high, "found": guess == 618 })))
    })?;
    let options = Options { functions, manifest: Some(folder.join("caps.yaml")), ..Options::default() };
    let home = Home::at(folder.join("home"));
    let runtime = Runtime::open(Project::at(folder.clone()), home, options)?;
    let plan = runtime.plan_built(&graph).await?;
    let run = runtime.start(plan, Map::new(), ()).await?;
    println!("run {}", run.id());
    let summary = run.outcome().await?;
    let search: Search = summary.state_as()?;
    let found = search.guesses.last().context("the run has not guessed")?;
    println!("{}: found {found} after {} guesses", summary.status.as_str(), search.guesses.len());
    Ok(())
}

const MANIFEST: &str = "\
dispatch: [execute.tool.games.guess]
items:
  games/guess: { unsandboxed: true }
";
