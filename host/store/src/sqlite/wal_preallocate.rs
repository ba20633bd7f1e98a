//! Preallocation of the write-ahead log.
//!
//! A commit that makes the log longer also changes the length of the file, and on many file systems that change has to
//! reach the disk as well: the commit takes two to four times as long as one that overwrites existing bytes. SQLite
//! starts each log with an empty file, so that every commit of a short run would make it longer. The log may end in
//! zeros, which are not a valid frame: a recovery ends where they begin.

use std::io::{self, Seek as _, SeekFrom, Write as _};

use crate::held::{Entry, FilePlace, Opening};

/// The durable commits of a process at which the log is extended, each with the new length in bytes. The last length is
/// that to which a log grows before SQLite starts it again (1,000 pages).
const ROOM: [(u32, u64); 2] = [(2, 512 << 10), (16, 4_200 << 10)];

/// Extends the log before commits need the room.
#[derive(Debug)]
pub(super) struct WalPreallocation {
    log: FilePlace,
    /// Number of commits of this process that have waited for the disk.
    durable: u32,
}

impl WalPreallocation {
    /// Returns the preallocation for the log of a database.
    pub(super) fn for_database(database: &FilePlace) -> Self {
        Self { log: database.beside("-wal"), durable: 0 }
    }

    /// Extends the log if it is time. It has to be called in a transaction that will wait for the disk, while no other
    /// process writes to the log. A process that waits for the disk only once does not pay for the room.
    pub(super) fn prepare(&mut self) {
        self.durable = self.durable.saturating_add(1);
        if let Some((_, bytes)) = ROOM.iter().find(|(commits, _)| *commits == self.durable) {
            // Without the room, commits only take longer.
            let _ = extend(&self.log, *bytes);
        }
    }
}

/// Extends a log with zeros to a length in bytes.
fn extend(log: &FilePlace, length: u64) -> io::Result<()> {
    let mut file = log.open(Opening::Change)?;
    let missing = usize::try_from(length.saturating_sub(Entry::of(&file)?.length())).unwrap_or(0);
    if missing == 0 {
        return Ok(());
    }
    file.seek(SeekFrom::End(0))?;
    file.write_all(&vec![0; missing])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::conformance::sample;
    use crate::{CheckpointStore as _, RunUpdate, SqliteOptions, SqliteStore, SyncMode};

    /// Returns the length of the log after each of `count` commits, and the number of checkpoints that a recovered copy
    /// contains.
    fn commits(count: u64, synchronous: SyncMode) -> (Vec<u64>, usize) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("runs.db");
        let store = SqliteStore::open(&file, SqliteOptions::default()).unwrap();
        store.create_run(&sample::run("r")).unwrap();
        let guard = sample::acquire_run(&store, "r");
        let log = folder.path().join("runs.db-wal");
        let mut lengths = Vec::new();
        for number in 0..count {
            let batch = [sample::checkpoint("r", number, vec![sample::whole("c", number, "1")])];
            store.commit(&guard, &batch, &RunUpdate::default(), synchronous).unwrap();
            lengths.push(fs::metadata(&log).unwrap().len());
        }
        // A copy is in the state after a kill: its log is recovered.
        let copy = folder.path().join("copy.db");
        fs::copy(&file, &copy).unwrap();
        fs::copy(&log, folder.path().join("copy.db-wal")).unwrap();
        let found = SqliteStore::open(&copy, SqliteOptions::default()).unwrap();
        (lengths, found.checkpoints("r", "", None, 1_000).unwrap().len())
    }

    #[test]
    fn durable_commits_after_the_first_one_do_not_make_the_log_longer() {
        let (lengths, found) = commits(40, SyncMode::Full);
        assert_eq!(found, 40);
        let changes = lengths.windows(2).filter(|pair| pair[0] != pair[1]).count();
        // The log is extended at the second commit and at the sixteenth.
        assert!(changes <= 2, "{lengths:?}");
        assert_eq!(lengths.last(), Some(&(4_200 << 10)));
    }

    #[test]
    fn a_process_that_does_not_wait_for_the_disk_needs_no_room() {
        let (lengths, found) = commits(38, SyncMode::Normal);
        assert_eq!(found, 38);
        assert!(lengths.iter().all(|length| *length < 512 << 10), "{lengths:?}");
    }

    #[test]
    fn only_a_file_is_extended() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        fs::write(&file, "x").unwrap();
        let link = folder.path().join("b");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let extend = |path: &Path, length| extend(&FilePlace::at(path), length);
        assert!(extend(&link, 100).is_err());
        assert_eq!(fs::read(&file).unwrap(), b"x");
        extend(&file, 3).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"x\0\0");
        extend(&file, 2).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"x\0\0");
        assert!(extend(&folder.path().join("none"), 3).is_err());
    }
}
