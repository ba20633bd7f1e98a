//! Runs a graph that asks a person: prints each superstep as it begins, and answers each question by the run's id alone, as a
//! server would that was restarted meanwhile. Without an answer the run stays as it is. Runs are kept in FOLDER.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use graph_core::record::Status;
use graph_core::time::Timestamp;
use graph_runtime::graph_driver::Observer;
use graph_runtime::{Home, Options, Project, Runtime, Sources};
use graph_walker::walker::{Answers, Notice};
use serde_json::{Map, json};

/// Prints the supersteps of a run.
struct Printer;

impl Observer for Printer {
    fn notice(&mut self, _at: Timestamp, notice: &Notice) {
        if let Notice::SuperstepStarted { superstep, nodes, .. } = notice {
            println!("{superstep:>3}  {}", nodes.join(", "));
        }
    }
}

fn open(folder: &Path) -> anyhow::Result<Runtime> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let options = Options {
        sources: Sources { trust: vec![examples.join("trust.yaml")], ..Sources::default() },
        manifest: Some(examples.join("approval/caps.yaml")),
        ..Options::default()
    };
    Ok(Runtime::open(Project::at(folder.to_owned()), Home::at(folder.join("home")), options)?)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().context("usage: events_and_answers FOLDER [ANSWER]...")?;
    let folder = PathBuf::from(folder);
    let graph = Path::new(env!("CARGO_MANIFEST_DIR")).join("../approval/graph.yaml");

    let runtime = open(&folder)?;
    let plan = runtime.plan(&graph.to_string_lossy()).await?;
    let run = runtime.start(plan, Map::new(), Printer).await?;
    let id = run.id().to_owned();
    let mut summary = run.outcome().await?;
    // Nothing of the run is left in this process: what follows needs its id alone.
    drop(runtime);

    while summary.status == Status::Interrupted {
        for question in &summary.interrupts {
            println!("{} asks: {}", question.node, question.payload.0);
        }
        let Some(answer) = arguments.next() else {
            println!("run {id} waits for an answer");
            return Ok(());
        };
        println!("answer: {answer}");
        let run = open(&folder)?.resume(&id, Answers::Bare(json!(answer)), Printer).await?;
        summary = run.outcome().await?;
    }
    println!("{}: {}", summary.status.as_str(), serde_json::to_string(&summary.output)?);

    // All of it is in the run's history, in order.
    let mut entries = 0;
    open(&folder)?.history(&id)?.after(0, |_| {
        entries += 1;
        Ok(())
    })?;
    println!("{entries} entries of history");
    Ok(())
}
