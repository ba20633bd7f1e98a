//! The stores of a project: a database, and a folder of files. A run lies in the one that it was begun in.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use graph_core::trust::SigningKey;
use graph_store::{CheckpointStore, FileStore, MemoryStore, ResolveError, RunFilter, RunRow};

use crate::error::{Error, Result};
use crate::output::Output;
use crate::project::{self, MARK};
use crate::projection::Projection;
use crate::runs;

/// Where a run is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum StoreKind {
    /// In the project's database, .ai/state/runs.db
    #[default]
    Sqlite,
    /// As files in .ai/state/files, and as knowledge that graphs can load
    File,
    /// Nowhere: it is gone when it ends
    Memory,
}

/// The folder of the runs of a project that are kept as files.
pub fn folder(project: &Path) -> PathBuf {
    project.join(MARK).join("state").join("files")
}

/// Whether a project has runs in any store.
pub fn any(project: &Path) -> bool {
    project::database(project).exists() || FileStore::at(&folder(project)).exists()
}

/// A store for a run that begins or goes on.
pub fn open(
    project: &Path,
    kind: StoreKind,
    key: SigningKey,
    output: Output,
) -> Result<Arc<dyn CheckpointStore>> {
    Ok(match kind {
        StoreKind::Sqlite => runs::open(project)?,
        StoreKind::Memory => Arc::new(MemoryStore::new()),
        StoreKind::File => {
            let projection = Projection::new(project, key);
            let store = FileStore::at(&folder(project)).notifying(Arc::new(move |store, run| {
                if let Err(error) = projection.write(store, run) {
                    output.warn(format_args!("the knowledge item of run {run} is not up to date: {error}"));
                }
            }));
            Arc::new(store)
        }
    })
}

/// The stores of a project, to look at.
#[derive(Clone, Debug)]
pub struct Stores {
    stores: Vec<(StoreKind, Arc<dyn CheckpointStore>)>,
}

impl Stores {
    /// Those that are there; none at all is an error.
    pub fn to_read(project: &Path) -> Result<Self> {
        let mut stores: Vec<(StoreKind, Arc<dyn CheckpointStore>)> = Vec::new();
        let files = FileStore::at(&folder(project));
        // Where there is neither, the error is that of the database.
        if project::database(project).exists() || !files.exists() {
            stores.push((StoreKind::Sqlite, runs::open_to_read(project)?));
        }
        if files.exists() {
            stores.push((StoreKind::File, Arc::new(files)));
        }
        Ok(Self { stores })
    }

    /// The store that has the run that a person names, and its row.
    pub fn find(&self, name: &str) -> Result<(StoreKind, Arc<dyn CheckpointStore>, RunRow)> {
        let mut found: Vec<(StoreKind, &Arc<dyn CheckpointStore>, RunRow)> = Vec::new();
        let mut refused = None;
        for (kind, store) in &self.stores {
            match store.resolve(name) {
                Ok(run) => {
                    if let Some(row) = store.run(&run)? {
                        found.push((*kind, store, row));
                    }
                }
                Err(error @ (ResolveError::NotFound { .. } | ResolveError::NoRuns)) => {
                    refused.get_or_insert(Error::from(error));
                }
                Err(error) => return Err(error.into()),
            }
        }
        if name == "@last" {
            found.sort_by_key(|(_, _, row)| std::cmp::Reverse(row.created_at));
        } else if found.iter().any(|(_, _, row)| row.run_id == name) {
            found.retain(|(_, _, row)| row.run_id == name);
        } else if let [(_, _, one), (_, _, other), ..] = found.as_slice() {
            let candidates = vec![one.run_id.clone(), other.run_id.clone()];
            return Err(ResolveError::Ambiguous { name: name.to_owned(), candidates, more: false }.into());
        }
        match found.into_iter().next() {
            Some((kind, store, row)) => Ok((kind, Arc::clone(store), row)),
            None => Err(refused.unwrap_or_else(|| Error::not_found(format!("there is no run {name}")))),
        }
    }

    /// The rows of runs with the stores that they lie in, the newest first.
    pub fn list(&self, filter: &RunFilter) -> Result<Vec<(Arc<dyn CheckpointStore>, RunRow)>> {
        let mut rows = Vec::new();
        for (_, store) in &self.stores {
            rows.extend(store.runs(filter)?.into_iter().map(|row| (Arc::clone(store), row)));
        }
        if self.stores.len() > 1 {
            // Each store has an order of its own: between them the clock decides.
            rows.sort_by_key(|(_, row)| std::cmp::Reverse(row.created_at));
            rows.truncate(filter.limit.unwrap_or(usize::MAX));
        }
        Ok(rows)
    }
}
