//! Keeps runs in a store of the program's own: in memory, with a ledger that has the digest of every record before the run
//! continues. A ledger that cannot be written stops the run. Runs are kept in FOLDER.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use graph_core::record::SignedRecord;
use graph_runtime::graph_store::{
    CheckpointStore, CommitError, MemoryStore, RunGuard, RunUpdate, StorageError, StoreInterceptor, SyncMode,
};
use graph_runtime::{Home, Options, Project, Runtime};
use serde_json::Map;

/// A store with a ledger in front of it.
#[derive(Debug)]
struct Ledger {
    store: MemoryStore,
    path: PathBuf,
    file: Mutex<File>,
}

impl StoreInterceptor for Ledger {
    fn behind(&self) -> &dyn CheckpointStore {
        &self.store
    }

    fn commit(
        &self,
        guard: &RunGuard,
        batch: &[SignedRecord],
        update: &RunUpdate,
        synchronous: SyncMode,
    ) -> Result<(), CommitError> {
        // The store refuses what a former holder of the run writes; only what it takes belongs in the ledger.
        self.store.commit(guard, batch, update, synchronous)?;
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        for record in batch {
            writeln!(file, "{} {} {}", guard.run(), record.kind.as_str(), record.digest).map_err(
                |error| {
                    let location = self.path.display().to_string();
                    StorageError::Io { location, reason: error.to_string() }
                },
            )?;
        }
        Ok(())
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).context("usage: own_store FOLDER")?);
    let path = folder.join("ledger.txt");
    let file = Mutex::new(File::options().create(true).append(true).open(&path)?);
    let ledger = Arc::new(Ledger { store: MemoryStore::new(), path: path.clone(), file });
    let options = Options { store: Some(ledger), ..Options::default() };
    let runtime = Runtime::open(Project::at(folder.clone()), Home::at(folder.join("home")), options)?;

    let graph = folder.join("count.yaml");
    std::fs::write(&graph, COUNT)?;
    let plan = runtime.plan(&graph.to_string_lossy()).await?;
    let summary = runtime.start(plan, Map::new(), ()).await?.outcome().await?;
    println!("{} after {} steps", summary.status.as_str(), summary.steps);
    print!("{}", std::fs::read_to_string(&path)?);
    Ok(())
}

const COUNT: &str = "\
tool_type: graph
config:
  start: count
  nodes:
    count:
      assign: { n: '${run.step}' }
      next: [{ to: count, when: { path: state.n, op: lt, value: 3 } }]
";
