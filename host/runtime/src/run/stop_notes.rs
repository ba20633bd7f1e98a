//! Notes in the user's space about the record with which each run last stopped.
//!
//! A store that is restored from an older copy is intact and signed, but it may lack a pause, so that the run would be
//! resumed as after a crash. A note of the run's last record is stored outside of the project, and `runs verify` checks
//! that this record exists.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use graph_core::digest::Digest;
use graph_core::format;
use graph_core::json::{self, TreeLimit};
use graph_core::record::{RecordKind, SignedRecord};
use graph_store::held::{FilePlace, WriteOptions};
use graph_store::{CheckpointPosition, CheckpointStore};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::project::text_file;
use crate::project::user_home::{Home, create_private_folder};
use crate::run::restore;

/// The record with which a run has stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopNote {
    /// Digest of the record.
    pub digest: Digest,
    /// Kind of the record: a status, or the checkpoint that is the run's end.
    pub kind: RecordKind,
    /// Id of the run.
    pub run: String,
    /// Number of the checkpoint that it is, or is under.
    pub sequence: u64,
}

/// Returns the path of the note. It is named after the run's first checkpoint, which no other run has. A run whose host
/// has removed that checkpoint has no note.
pub fn file(home: &Home, store: &dyn CheckpointStore, run: &str) -> Result<Option<PathBuf>> {
    let first = store.checkpoint(run, "", CheckpointPosition::Sequence(0))?;
    Ok(first.map(|first| home.root().join("runs").join(format!("{}.json", first.digest.hex()))))
}

/// Writes a note of the record with which a run has stopped.
pub fn note(home: &Home, store: &dyn CheckpointStore, run: &str) -> Result<()> {
    let Some(path) = file(home, store, run)? else { return Ok(()) };
    let status = restore::pending_status(store, run, "")?;
    let Some(SignedRecord { digest, kind, sequence, .. }) = (match status {
        Some(status) => Some(status),
        None => store.checkpoint(run, "", CheckpointPosition::Latest)?,
    }) else {
        return Ok(());
    };
    let stop = StopNote { digest, kind, run: run.to_owned(), sequence };
    let text = serde_json::to_string(&stop).map_err(|error| {
        Error::storage(format!("the note about run {run} cannot be written: {error}")).caused_by(error)
    })?;
    let folder = home.root().join("runs");
    create_private_folder(&folder)?;
    // Not synced: if a power failure loses the note, the older one remains, which is valid as well.
    let failed = |error: &std::io::Error| Error::write("the note about the run", &path, error);
    let written = WriteOptions { is_durable: false, mode: Some(0o600) };
    FilePlace::at(&path)
        .replace(written, |file| file.write_all(text.as_bytes()))
        .map_err(|error| failed(&error))
}

/// Reads the note of the record with which a run last stopped; `None` if this user's space has none.
pub fn last(home: &Home, store: &dyn CheckpointStore, run: &str) -> Result<Option<StopNote>> {
    let Some(path) = file(home, store, run)?.filter(|path| path.exists()) else { return Ok(None) };
    let text = text_file::read_as("the note about the run", &path)?;
    json::read(&text, TreeLimit::NOTE).map(Some).map_err(|error| {
        let reason = format::reason(&text, format::CURRENT, &error);
        Error::integrity(format!("{} is no note about a run: {reason}", path.display()))
            .help("remove it: the run is then checked without it")
    })
}

/// Removes the note about a run that was removed. `file` is the note's path from before the removal.
pub fn forget(file: Option<PathBuf>) {
    if let Some(file) = file {
        // The note may not exist, and a remaining note is about no run.
        let _ = fs::remove_file(file);
    }
}
