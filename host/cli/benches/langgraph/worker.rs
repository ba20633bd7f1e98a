//! The graph-host side of the comparison with `LangGraph`: runs graphs as `graph-host run` does, one for each line of JSON on stdin, and
//! prints the duration of each. `run` in this folder starts it.

use std::io::{BufRead as _, Write as _};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Parser;
use graph_core::policy::Durability;
use graph_core::record::Status;
use graph_host::context::{Context, current_project};
use graph_host::terminal::output::Output;
use graph_runtime::run::stores::StoreKind;
use graph_runtime::sources::Sources;
use graph_runtime::{PlanOptions, Runtime, StartOptions};
use graph_walker::walker::Event;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Parser)]
struct Args {
    /// Answer requests; without it, a benchmark of all targets passes this one over
    #[arg(long)]
    serve: bool,
    /// Print the path of the binary that was built with this program
    #[arg(long)]
    binary: bool,
    #[arg(long)]
    caps: Option<PathBuf>,
    #[arg(long)]
    trust: Vec<PathBuf>,
    #[arg(long)]
    items: Vec<PathBuf>,
    /// What `cargo bench` says to every benchmark
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    graph: String,
    store: String,
    durability: Durability,
    inputs: Value,
}

fn main() -> Result<()> {
    let args = Args::parse();
    if args.binary {
        println!("{}", env!("CARGO_BIN_EXE_graph-host"));
        return Ok(());
    }
    if !args.serve {
        println!("host/cli/benches/langgraph/run measures graph-host beside LangGraph");
        return Ok(());
    }
    let context = Context::new(Output::new(true), graph_engine::Compiler::InProcess)?.quiet(true);
    let runtime = context.runtime()?;
    answer(&json!({ "graph_host": env!("CARGO_PKG_VERSION") }))?;
    let mut sqlite = None;
    for line in std::io::stdin().lock().lines() {
        let request: Request = serde_json::from_str(&line?)?;
        answer(&runtime.block_on(carry_out(request, &args, &context, &mut sqlite))?)?;
    }
    runtime.shutdown_background();
    Ok(())
}

fn answer(value: &Value) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{value}")?;
    Ok(stdout.flush()?)
}

/// Runs a request. Work that is done once for a graph is not timed, as `LangGraph`'s `compile` is not; the creation of the run is.
async fn carry_out(
    request: Request,
    args: &Args,
    context: &Context,
    sqlite: &mut Option<Runtime>,
) -> Result<Value> {
    let sources = Sources { trust: args.trust.clone(), items: args.items.clone(), ..Sources::default() };
    let new = |kind| Ok::<_, anyhow::Error>(Runtime::new(context.host.clone(), current_project()?, kind));
    let runtime = match (request.store.as_str(), &*sqlite) {
        ("sqlite", Some(runtime)) => runtime.clone(),
        ("sqlite", None) => sqlite.insert(new(StoreKind::Sqlite)?).clone(),
        _ => new(StoreKind::Memory)?,
    };
    let options = PlanOptions { sources, manifest: args.caps.clone(), sign_with: None };
    let Value::Object(inputs) = request.inputs else { bail!("the inputs are a mapping") };
    let opened = runtime.open_graph(&request.graph, &options)?;
    let inputs = opened.read_inputs(inputs)?;
    let planned = opened.planned(inputs).await;
    ensure!(planned.plan().missing().is_empty(), "{:?}", planned.plan().missing());
    let planned = planned.checked(graph_runtime::remedy::ManifestSuggestion::default())?;
    runtime.store()?;
    let options = StartOptions { durability: Some(request.durability), ..StartOptions::default() };
    let began = Instant::now();
    let mut prepared = runtime.prepare(planned, options).await?;
    let status = prepared.driver.drive(Event::Started, &mut ()).await?;
    let summary = prepared.driver.take_summary();
    let took = began.elapsed();
    ensure!(status == Status::Completed, "{status}: {:?}", summary.error);
    let output = summary.output.context("the graph has an output")?;
    Ok(json!({ "seconds": took.as_secs_f64(), "output": *output }))
}
