//! Cached results of tasks: a folder for each key, with a file for each run and namespace.

use std::io::ErrorKind;
use std::ops::RangeInclusive;
use std::path::Path;

use graph_core::digest::{Digest, DomainHasher};
use graph_core::json::{self, TreeLimit};
use graph_core::record::SignedCacheEntry;
use graph_core::time::Timestamp;
use graph_core::trust::{KeyId, Signature};
use serde::{Deserialize, Serialize};

use super::format;
use super::log::{fault, write_atomic};
use super::store::FileStore;
use crate::bounds::{self, LARGEST_READ, RESULTS_BYTES};
use crate::error::StorageError;
use crate::held::{FilePlace, FolderPlace};
use crate::names;
use crate::upkeep::ReclaimedData;

/// A result in the form in which its file stores it. The name of the folder is its key.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredEntry {
    at: Timestamp,
    body: String,
    expires: Timestamp,
    key_id: KeyId,
    namespace: String,
    run: String,
    signature: Signature,
}

impl FileStore {
    /// Stores the results of checkpoints. This precedes the checkpoints themselves. A crash in between leaves results
    /// of a superstep that will be executed again, and walkers do not use results of their own superstep.
    pub(super) fn put_results<'r>(
        &self,
        results: impl Iterator<Item = &'r SignedCacheEntry>,
        durable: bool,
    ) -> Result<(), StorageError> {
        for entry in results {
            let folder = self.results_folder().child(entry.key.hex());
            let place = DomainHasher::new("graph-host/result-file/v1")
                .field(entry.run.as_bytes())
                .field(entry.namespace.as_bytes())
                .finish();
            let file = folder.file(place.hex());
            let kept = StoredEntry {
                at: entry.at,
                body: entry.body.to_string(),
                expires: entry.expires,
                key_id: entry.key_id,
                namespace: entry.namespace.clone(),
                run: entry.run.clone(),
                signature: entry.signature,
            };
            let text = serde_json::to_vec(&kept).map_err(|error| fault(&file.path(), &error.into()))?;
            write_atomic(&file, &text, durable)?;
        }
        Ok(())
    }

    pub(super) fn read_results(
        &self,
        key: &Digest,
        window: &RangeInclusive<Timestamp>,
    ) -> Result<Vec<SignedCacheEntry>, StorageError> {
        format::check(self.place_of_all())?;
        let mut found: Vec<SignedCacheEntry> = Vec::new();
        let mut bytes = 0;
        each(&self.results_folder().child(key.hex()), |_, text| {
            // A file that cannot be parsed is ignored.
            let Ok(kept) = json::read::<StoredEntry>(text, TreeLimit::RECORD) else { return Ok(()) };
            if names::run_id("run", &kept.run).is_err() || names::name("namespace", &kept.namespace).is_err()
            {
                return Ok(());
            }
            if window.contains(&kept.at) {
                bytes += bounds::length(&kept.body);
                found.push(SignedCacheEntry {
                    key: *key,
                    at: kept.at,
                    expires: kept.expires,
                    run: kept.run,
                    namespace: kept.namespace,
                    body: kept.body.into(),
                    key_id: kept.key_id,
                    signature: kept.signature,
                });
            }
            if bytes > 2 * RESULTS_BYTES {
                bytes = newest_first(&mut found);
            }
            Ok(())
        })?;
        newest_first(&mut found);
        Ok(found)
    }

    /// Counts the results that have expired by a time, or all results without a time. With `remove`, they are also
    /// removed.
    pub(super) fn expired_results(
        &self,
        expired: Option<Timestamp>,
        remove: bool,
    ) -> Result<ReclaimedData, StorageError> {
        let results = self.results_folder();
        let listed = results.get().and_then(|folder| Ok((folder.names()?, folder)));
        let (names, folder) = match listed {
            Ok(listed) => listed,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(ReclaimedData::default()),
            Err(error) => return Err(fault(results.path(), &error)),
        };
        let mut freed = ReclaimedData::default();
        for name in names {
            each(&results.child(&name), |file, text| {
                let kept = json::read::<StoredEntry>(text, TreeLimit::RECORD).ok();
                let goes = expired.is_none_or(|at| kept.as_ref().is_none_or(|kept| kept.expires <= at));
                if !goes {
                    return Ok(());
                }
                if remove {
                    file.remove().map_err(|error| fault(&file.path(), &error))?;
                }
                let bytes = kept.map_or(text.len(), |kept| kept.body.len());
                freed += ReclaimedData { records: 1, bytes: u64::try_from(bytes).unwrap_or(u64::MAX) };
                Ok(())
            })?;
            if remove {
                // The folder remains if it is not empty.
                let _ = folder.remove_folder(&name);
            }
        }
        Ok(freed)
    }
}

/// Sorts results from the newest to the oldest, and drops those after the first [`RESULTS_BYTES`]. Returns the bytes of
/// the others.
fn newest_first(found: &mut Vec<SignedCacheEntry>) -> u64 {
    found.sort_by(|one, other| {
        (other.at, &other.run, &other.namespace).cmp(&(one.at, &one.run, &one.namespace))
    });
    let mut bytes = 0;
    let wanted = found.iter().take_while(|entry| {
        let has_room = bytes < RESULTS_BYTES;
        bytes += if has_room { bounds::length(&entry.body) } else { 0 };
        has_room
    });
    let count = wanted.count();
    found.truncate(count);
    bytes
}

/// Visits the files of a folder that may not exist, except those that are still being written.
fn each(
    folder: &FolderPlace,
    mut visit: impl FnMut(&FilePlace, &str) -> Result<(), StorageError>,
) -> Result<(), StorageError> {
    let names = match folder.get().and_then(|folder| folder.names()) {
        Ok(names) => names,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(fault(folder.path(), &error)),
    };
    for name in names {
        if Path::new(&name).extension().is_some() {
            continue;
        }
        let file = folder.file(&name);
        match file.read(LARGEST_READ) {
            // A text that is not UTF-8 is invalid: it is ignored, and removed with what has expired.
            Ok(bytes) => visit(&file, &String::from_utf8_lossy(&bytes))?,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(fault(&file.path(), &error)),
        }
    }
    Ok(())
}
