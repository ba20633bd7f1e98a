//! Starts a run of 900 supersteps and prints each as it begins: to be stopped in the middle, by whatever means. The run
//! can be resumed. Runs are kept in FOLDER.

use std::path::PathBuf;

use anyhow::Context as _;
use graph_core::time::Timestamp;
use graph_runtime::graph_driver::Observer;
use graph_runtime::{Home, Options, Project, Runtime};
use graph_walker::walker::Notice;
use serde_json::Map;

struct Printer;

impl Observer for Printer {
    fn notice(&mut self, _at: Timestamp, notice: &Notice) {
        if let Notice::SuperstepStarted { superstep, .. } = notice {
            println!("{superstep}");
        }
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).context("usage: long_run FOLDER")?);
    let graph = folder.join("count.yaml");
    std::fs::write(&graph, COUNT)?;
    let home = Home::at(folder.join("home"));
    let runtime = Runtime::open(Project::at(folder), home, Options::default())?;
    let plan = runtime.plan(&graph.to_string_lossy()).await?;
    let summary = runtime.start(plan, Map::new(), Printer).await?.outcome().await?;
    println!("{} after {} steps", summary.status.as_str(), summary.steps);
    Ok(())
}

const COUNT: &str = "\
tool_type: graph
config:
  start: count
  max_steps: 1000
  nodes:
    count:
      assign: { n: '${run.step}' }
      next: [{ to: count, when: { path: state.n, op: lt, value: 900 } }]
";
