#![allow(clippy::unwrap_used, clippy::expect_used)]

use tempfile::TempDir;

use super::*;
use crate::conformance::Subject;
use crate::store::CheckpointStore;

/// A folder with a database in it.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self) -> std::path::PathBuf {
        self.0.path().join("state").join("runs.db")
    }

    fn store(&self) -> SqliteStore {
        SqliteStore::open(&self.file(), Options::default()).unwrap()
    }
}

impl Subject for Place {
    fn open(&self) -> Box<dyn CheckpointStore> {
        Box::new(self.store())
    }
}

mod conforms {
    use super::Place;

    crate::conformance!(Place::new());
}
