//! Detection of the format version of stored files, without opening them as stores.
//!
//! SQLite may write next to a database that it opens, and a store migrates older tables. Nothing is written here:
//! only the header of a database is read, from the file or, if it is newer there, from the write-ahead log next to it.

use std::io::{self, BufReader, ErrorKind, Read, Seek as _};

use crate::error::{ReadableData, StorageError, location};
use crate::file::format as files;
use crate::held::{Entry, FilePlace, Opening, Refusal};
use crate::knowledge;
use crate::sqlite::{APPLICATION_ID, SCHEMA_VERSION};
use crate::{FileStore, KnowledgeStore, KnowledgeStoreError, OpenError, SqliteOptions, SqliteStore};

/// A stored format that has a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A database of runs.
    Runs,
    /// A database of knowledge.
    Knowledge,
    /// A store of runs in a folder.
    Files,
}

/// The content of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathContent {
    /// Nothing, or an empty file that its first use fills.
    Nothing,
    /// A file of this version.
    Version(u64),
    /// Something else, which was not read. The text is the reason.
    Other(String),
}

impl Format {
    /// Returns the version that this program writes.
    pub const fn current(self) -> u64 {
        match self {
            Self::Runs => SCHEMA_VERSION as u64,
            Self::Knowledge => knowledge::VERSION.unsigned_abs(),
            Self::Files => files::VERSION,
        }
    }

    /// Migrates the stored data to the current version, as the first command that writes to it does.
    pub fn bring_up_to_date(self, place: impl Into<FilePlace>) -> Result<(), OpenError> {
        let place = place.into();
        match self {
            Self::Runs => SqliteStore::open(&place, SqliteOptions::default()).map(drop),
            Self::Knowledge => {
                KnowledgeStore::at(&place).bring_up_to_date().map_err(|error| not_brought(&place, error))
            }
            Self::Files => Ok(FileStore::at(place.folder().child(place.name())).bring_up_to_date()?),
        }
    }

    /// Inspects a file, or the folder of [`Self::Files`]. Nothing is written, and no link is followed.
    pub fn inspect(self, place: impl Into<FilePlace>) -> io::Result<PathContent> {
        let place = place.into();
        let Some(found) = place.entry()? else { return Ok(PathContent::Nothing) };
        let wanted = if self == Self::Files { found.is_folder() } else { found.is_file() };
        if !wanted {
            let is = if found.is_link() {
                "a link"
            } else if found.is_folder() {
                "a folder"
            } else {
                "no regular file"
            };
            return Ok(PathContent::Other(format!("it is {is}")));
        }
        match self {
            Self::Files => match files::version(&place.folder().child(place.name())) {
                Ok(version) => Ok(PathContent::Version(version)),
                Err(StorageError::Io { reason, .. }) => Err(io::Error::other(reason)),
                Err(error) => Ok(PathContent::Other(error.to_string())),
            },
            Self::Runs => database(&place, APPLICATION_ID, 0),
            // Files without a version are of version 1, which did not write it.
            Self::Knowledge => database(&place, knowledge::APPLICATION_ID, 1),
        }
    }
}

/// Converts the error of a migration of knowledge.
fn not_brought(place: &FilePlace, error: KnowledgeStoreError) -> OpenError {
    let (location, reason) = (location(&place.path()), error.to_string());
    match error {
        KnowledgeStoreError::Place(error) => error.into(),
        KnowledgeStoreError::Altered(_)
        | KnowledgeStoreError::Foreign(_)
        | KnowledgeStoreError::Newer { .. } => {
            let readable = ReadableData::Described("move it away, or put it back from a backup".to_owned());
            StorageError::Corrupt { location, reason, readable }.into()
        }
        _ => StorageError::Io { location, reason }.into(),
    }
}

/// Length of the header of a database, which is at the start of its first page, in bytes.
const HEADER: usize = 100;
/// Length of the header of a write-ahead log, and of that of each page in it, in bytes.
const LOG_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

fn database(place: &FilePlace, application: i64, unstamped: u64) -> io::Result<PathContent> {
    let mut header = Vec::new();
    place.open(Opening::Read)?.take(HEADER as u64).read_to_end(&mut header)?;
    if let Some(newer) = header_in_log(place)? {
        header = newer;
    }
    if header.is_empty() {
        return Ok(PathContent::Nothing);
    }
    if header.len() < HEADER || !header.starts_with(b"SQLite format 3\0") {
        return Ok(PathContent::Other("it is not a database".to_owned()));
    }
    let number = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let (version, found) = (u64::from(number(60)), i64::from(number(68)));
    // A process is creating the database or was killed while it did: nothing was ever stored in it.
    if (found, version, number(40)) == (0, 0, 0) {
        return Ok(PathContent::Nothing);
    }
    if found != application {
        return Ok(PathContent::Other(format!(
            "it is a database of another program (application id {found})"
        )));
    }
    Ok(PathContent::Version(version.max(unstamped)))
}

/// Returns the header of a database in the newest commit in the write-ahead log next to it; `None` if there is none.
/// Pages that remain from before the log was last started again have another salt.
fn header_in_log(database: &FilePlace) -> io::Result<Option<Vec<u8>>> {
    let place = database.beside("-wal");
    let mut log = match place.open(Opening::Read) {
        Ok(file) => BufReader::new(file),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) if Refusal::of(&error).is_some() => {
            return Err(io::Error::other(format!("{} is not a regular file", place.path().display())));
        }
        Err(error) => return Err(error),
    };
    let mut head = [0; LOG_HEADER];
    let (mut first, mut committed) = (None, None);
    if !fill(&mut log, &mut head)? {
        return Ok(None);
    }
    let page_size = word(&head, 8) as usize;
    if page_size < HEADER {
        return Ok(None);
    }
    let mut frame = [0; FRAME_HEADER];
    while fill(&mut log, &mut frame)? && frame[8..16] == head[16..24] {
        let (page, is_commit) = (word(&frame, 0), word(&frame, 4) != 0);
        let mut rest = page_size;
        if page == 1 {
            let mut header = vec![0; HEADER];
            if !fill(&mut log, &mut header)? {
                break;
            }
            first = Some(header);
            rest -= HEADER;
        }
        log.seek_relative(i64::try_from(rest).unwrap_or(i64::MAX))?;
        if is_commit {
            // If a page was cut short, its commit is missing, too.
            let end = log.stream_position()?;
            if end > Entry::of(log.get_ref())?.length() {
                break;
            }
            committed = first.take().or(committed);
        }
    }
    Ok(committed)
}

/// Fills `bytes` from the file; `false` if fewer bytes are left.
fn fill(file: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|word| word.try_into().ok()).map_or(0, u32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;

    use rusqlite::Connection;

    use super::*;
    use crate::conformance::sample::run;
    use crate::store::CheckpointStore as _;

    #[test]
    fn versions_are_read_from_the_file_and_from_the_log_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("runs.db");
        assert_eq!(Format::Runs.inspect(&file).unwrap(), PathContent::Nothing);
        fs::write(&file, "").unwrap();
        assert_eq!(Format::Runs.inspect(&file).unwrap(), PathContent::Nothing);
        let store = SqliteStore::open(&file, SqliteOptions::default()).unwrap();
        store.create_run(&run("r")).unwrap();
        let current = PathContent::Version(Format::Runs.current());
        assert!(fs::metadata(folder.path().join("runs.db-wal")).unwrap().len() > 0);
        assert_eq!(Format::Runs.inspect(&file).unwrap(), current);
        // The version in the log is used, and the remains of an older log are ignored.
        let other = Connection::open(&file).unwrap();
        for version in [3_u32, 9] {
            other.pragma_update(None, "user_version", version).unwrap();
            assert_eq!(Format::Runs.inspect(&file).unwrap(), PathContent::Version(version.into()));
        }
        other.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(())).unwrap();
        other.pragma_update(None, "user_version", 4).unwrap();
        assert_eq!(Format::Runs.inspect(&file).unwrap(), PathContent::Version(4));
        drop((store, other));
        assert_eq!(Format::Runs.inspect(&file).unwrap(), PathContent::Version(4));
    }

    #[test]
    fn what_is_something_else_is_said_so() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("garbage"), "id: examples/loop\n".repeat(100)).unwrap();
        fs::create_dir(at("folder")).unwrap();
        Connection::open(at("foreign")).unwrap().pragma_update(None, "application_id", 77).unwrap();
        let mut expected = vec![("garbage", "not a database"), ("folder", "a folder"), ("foreign", "id 77")];
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(at("foreign"), at("link")).unwrap();
            expected.push(("link", "a link"));
        }
        for format in [Format::Runs, Format::Knowledge] {
            for (name, reason) in &expected {
                let found = format.inspect(&at(name)).unwrap();
                assert!(
                    matches!(&found, PathContent::Other(told) if told.contains(reason)),
                    "{name}: {found:?}"
                );
            }
        }
        assert!(matches!(Format::Files.inspect(&at("garbage")).unwrap(), PathContent::Other(_)));
        // An invalid log, or one that is cut short, is ignored.
        fs::write(at("foreign-wal"), [0xff; 20]).unwrap();
        assert!(matches!(Format::Runs.inspect(&at("foreign")).unwrap(), PathContent::Other(_)));
    }

    #[test]
    fn a_log_that_is_cut_short_anywhere_is_read_as_far_as_its_commits_go() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("runs.db");
        let store = SqliteStore::open(&file, SqliteOptions::default()).unwrap();
        store.create_run(&run("r")).unwrap();
        let log = fs::read(folder.path().join("runs.db-wal")).unwrap();
        let copy = folder.path().join("copy.db");
        fs::copy(&file, &copy).unwrap();
        for length in (0..log.len()).step_by(509).chain([log.len()]) {
            fs::write(folder.path().join("copy.db-wal"), &log[..length]).unwrap();
            let seen = Format::Runs.inspect(&copy).unwrap();
            let connection = Connection::open(&copy).unwrap();
            let version: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
            drop(connection);
            fs::copy(&file, &copy).unwrap();
            match seen {
                PathContent::Version(seen) => assert_eq!(seen, u64::from(version), "{length}"),
                // None of this program's commits was complete yet.
                PathContent::Other(_) | PathContent::Nothing => assert_eq!(version, 0, "{length}"),
            }
        }
    }

    #[test]
    fn knowledge_and_files_say_their_versions() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("knowledge.db");
        KnowledgeStore::at(&file).put("a", "b").unwrap();
        assert_eq!(Format::Knowledge.inspect(&file).unwrap(), PathContent::Version(2));
        Connection::open(&file).unwrap().pragma_update(None, "user_version", 0).unwrap();
        assert_eq!(Format::Knowledge.inspect(&file).unwrap(), PathContent::Version(1));

        let files = folder.path().join("files");
        assert_eq!(Format::Files.inspect(&files).unwrap(), PathContent::Nothing);
        let store = FileStore::at(&files);
        store.create_run(&run("r")).unwrap();
        assert_eq!(fs::read_to_string(files.join("format")).unwrap(), "graph-host/files 2\n");
        // A store without the file is of version 1, and gets the file with the next run.
        fs::remove_file(files.join("format")).unwrap();
        assert_eq!(Format::Files.inspect(&files).unwrap(), PathContent::Version(1));
        assert!(store.run("r").unwrap().is_some());
        store.create_run(&run("s")).unwrap();
        assert!(files.join("format").exists());
        // The next write gives a store of version 1 this version.
        fs::write(files.join("format"), "graph-host/files 1\n").unwrap();
        FileStore::at(&files).bring_up_to_date().unwrap();
        assert_eq!(Format::Files.inspect(&files).unwrap(), PathContent::Version(2));
        // A store of a later version is refused before anything in it is read or written.
        fs::write(files.join("format"), "graph-host/files 3\n").unwrap();
        assert_eq!(Format::Files.inspect(&files).unwrap(), PathContent::Version(3));
        let newer = StorageError::Newer { location: files.display().to_string(), found: 3, supported: 2 };
        assert_eq!(newer.code(), graph_core::record::ErrorCode::Integrity);
        let store = FileStore::at(&files);
        assert_eq!(store.run("r").unwrap_err().to_string(), newer.to_string());
        assert_eq!(store.create_run(&run("t")).unwrap_err().to_string(), newer.to_string());
        assert_eq!(
            store.put_snapshot(&graph_core::digest::Digest::of_bytes(b""), "").unwrap_err().to_string(),
            newer.to_string()
        );
        for text in ["", "graph-host/files x", "graph-host/files 0", "another 1"] {
            fs::write(files.join("format"), text).unwrap();
            assert!(matches!(Format::Files.inspect(&files).unwrap(), PathContent::Other(_)), "{text}");
            assert!(matches!(
                store.run("r").unwrap_err(),
                crate::ReadError::Storage(StorageError::Corrupt { .. })
            ));
        }
    }
}
