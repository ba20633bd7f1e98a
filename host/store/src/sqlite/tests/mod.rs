//! Properties that only a database file has: other processes use it, it can be damaged, and the disk can be full.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod damage;
mod durability;
mod fences;
mod growth;
#[cfg(target_os = "linux")]
mod memory;
mod opening;
mod strangers;

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{FileAccess, SqliteOptions, SqliteStore};
use crate::conformance::Subject;
use crate::conformance::sample::{checkpoint, commit, run, whole};
use crate::store::CheckpointStore;

/// Appends a suffix to the name of a file.
fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// A temporary folder for a database.
struct TestFolder(TempDir);

impl TestFolder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("state").join("runs.db")
    }

    fn store(&self) -> SqliteStore {
        SqliteStore::open(&self.file(), SqliteOptions::default()).unwrap()
    }

    fn reader(&self) -> SqliteStore {
        SqliteStore::open(&self.file(), read_only()).unwrap()
    }

    /// Creates the run `r` with checkpoints of about 3 KB each, and closes the file.
    fn fill(&self, checkpoints: u64) {
        let store = self.store();
        store.create_run(&run("r")).unwrap();
        for sequence in 0..checkpoints {
            let text = format!("\"{}\"", "v".repeat(3_000));
            commit(&store, "r", &[checkpoint("r", sequence, vec![whole("a", sequence, &text)])]);
        }
    }
}

impl Subject for TestFolder {
    fn open(&self) -> Box<dyn CheckpointStore> {
        Box::new(self.store())
    }
}

impl crate::conformance::UpkeepSubject for TestFolder {
    fn open(&self) -> Box<dyn crate::store::Upkeep> {
        Box::new(self.store())
    }
}

fn read_only() -> SqliteOptions {
    SqliteOptions { access: FileAccess::ReadOnly, ..SqliteOptions::default() }
}

mod conforms {
    use super::TestFolder;

    crate::conformance!(TestFolder::new());
    crate::upkeep_conformance!(TestFolder::new());
}
