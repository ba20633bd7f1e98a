//! What the user's space knows of runs: the record with which each has stopped last.
//!
//! A store that is put back to what it was earlier is whole and signed. A pause could be taken away so, and a run would go
//! on as after a crash. The note of where it stood lies apart from the project, and whoever verifies the run looks for that
//! record.

use std::fs;
use std::path::PathBuf;

use graph_core::digest::Digest;
use graph_core::format;
use graph_core::record::{RecordKind, SignedRecord};
use graph_store::{At, CheckpointStore};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::project::text_file;
use crate::project::user_home::{Home, create_private_folder};
use crate::run::restore;

/// The record with which a run has stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopNote {
    /// Its digest.
    pub digest: Digest,
    /// Its kind: a status, or the checkpoint that is the run's end.
    pub kind: RecordKind,
    /// The run.
    pub run: String,
    /// The number of the checkpoint that it is, or is under.
    pub sequence: u64,
}

/// The file about a run. It is named after the run's first checkpoint, which no other run has; without that, the run was
/// shortened by its host, and there is none.
pub fn file(home: &Home, store: &dyn CheckpointStore, run: &str) -> Result<Option<PathBuf>> {
    let first = store.checkpoint(run, "", At::Sequence(0))?;
    Ok(first.map(|first| home.root().join("runs").join(format!("{}.json", first.digest.hex()))))
}

/// Notes where a run stands that has stopped.
pub fn note(home: &Home, store: &dyn CheckpointStore, run: &str) -> Result<()> {
    let Some(path) = file(home, store, run)? else { return Ok(()) };
    let status = restore::pending_status(store, run, "")?;
    let Some(SignedRecord { digest, kind, sequence, .. }) = (match status {
        Some(status) => Some(status),
        None => store.checkpoint(run, "", At::Latest)?,
    }) else {
        return Ok(());
    };
    let stop = StopNote { digest, kind, run: run.to_owned(), sequence };
    let text = serde_json::to_string(&stop)
        .map_err(|error| Error::storage(format!("the note about run {run} cannot be written: {error}")))?;
    let folder = home.root().join("runs");
    create_private_folder(&folder)?;
    // It is not synced: a note that a power cut takes away leaves the older one, which holds as well.
    let failed = |error: &std::io::Error| Error::write("the note about the run", &path, error);
    let temp = tempfile::NamedTempFile::new_in(&folder).map_err(|error| failed(&error))?;
    fs::write(temp.path(), text).map_err(|error| failed(&error))?;
    temp.persist(&path).map_err(|error| failed(&error.error))?;
    Ok(())
}

/// Where a run stood when it stopped last, as far as this user's space knows.
pub fn last(home: &Home, store: &dyn CheckpointStore, run: &str) -> Result<Option<StopNote>> {
    let Some(path) = file(home, store, run)?.filter(|path| path.exists()) else { return Ok(None) };
    let text = text_file::read_as("the note about the run", &path)?;
    serde_json::from_str(&text).map(Some).map_err(|error| {
        let reason = format::reason(&text, format::CURRENT, &error);
        Error::integrity(format!("{} is no note about a run: {reason}", path.display()))
            .help("remove it: the run is then checked without it")
    })
}

/// Forgets a run that is gone. `file` is where the note was while the run was there.
pub fn forget(file: Option<PathBuf>) {
    if let Some(file) = file {
        // Without a note there is nothing to forget, and one that stays is about no run.
        let _ = fs::remove_file(file);
    }
}
