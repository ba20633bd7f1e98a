//! Files that were damaged after they were written.

use std::fs::{self, OpenOptions};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;

use graph_core::record::ErrorCode;
use rusqlite::Connection;

use super::super::{OpenError, SqliteOptions, SqliteStore};
use super::TestFolder;
use crate::conformance::sample::{acquire_run, checkpoint, run, update, whole, write};
use crate::error::{CommitError, ReadError, StorageError};
use crate::store::{CheckpointPosition, CheckpointStore, SyncMode};

const PAGE: usize = 4096;

/// Returns the index of the page that contains a text.
fn page_of(file: &Path, text: &str) -> usize {
    let bytes = fs::read(file).unwrap();
    let at = bytes.windows(text.len()).position(|window| window == text.as_bytes());
    at.expect("the text is in the file") / PAGE
}

fn overwrite(file: &Path, page: usize) {
    let mut file = OpenOptions::new().write(true).open(file).unwrap();
    file.seek(SeekFrom::Start((page * PAGE) as u64)).unwrap();
    file.write_all(&[0xA5; PAGE]).unwrap();
}

/// Reads the run until an error occurs, and returns the number of the last checkpoint and the error.
fn read_until_it_breaks(store: &SqliteStore) -> (u64, StorageError) {
    let mut last = None;
    loop {
        match store.checkpoints("r", "", last, 1) {
            Ok(page) => last = Some(page.last().expect("it breaks before it ends").sequence),
            Err(ReadError::Storage(error)) => return (last.expect("something can be read"), error),
            Err(other) => panic!("{other}"),
        }
    }
}

fn check_message(error: &StorageError, last: u64) {
    assert_eq!(error.code(), ErrorCode::Integrity);
    let message = error.to_string();
    assert!(message.contains("runs.db is damaged: "), "{message}");
    assert!(
        message.ends_with(&format!("the checkpoints of run r up to number {last} can still be read")),
        "{message}"
    );
}

#[test]
fn what_lies_before_a_damaged_page_stays_readable() {
    let place = TestFolder::new();
    place.fill(200);
    let page = page_of(&place.file(), r#""sequence":150}"#);
    overwrite(&place.file(), page);
    let store = place.store();
    let (last, error) = read_until_it_breaks(&store);
    assert!((100..150).contains(&last), "{last}");
    check_message(&error, last);
    // A read of everything at once returns the same error, and the checkpoints before it can be read.
    assert_eq!(store.checkpoints("r", "", None, 1_000), Err(ReadError::Storage(error)));
    let count = usize::try_from(last).unwrap() + 1;
    assert_eq!(store.checkpoints("r", "", None, count).unwrap().len(), count);
    assert_eq!(
        store.checkpoint("r", "", CheckpointPosition::Sequence(last)).unwrap(),
        Some(checkpoint("r", last, vec![]))
    );
    assert!(store.run("r").unwrap().is_some());
}

#[test]
fn a_truncated_file_is_read_as_far_as_it_goes() {
    let place = TestFolder::new();
    place.fill(200);
    let whole_length = fs::metadata(place.file()).unwrap().len();
    OpenOptions::new().write(true).open(place.file()).unwrap().set_len(whole_length / 2).unwrap();
    let error = SqliteStore::open(&place.file(), SqliteOptions::default()).unwrap_err();
    let OpenError::Storage(StorageError::Corrupt { location, .. }) = &error else { panic!("{error}") };
    assert_eq!((location, error.code()), (&place.file().display().to_string(), ErrorCode::Integrity));
    assert_eq!(fs::metadata(place.file()).unwrap().len(), whole_length / 2);

    let reader = place.reader();
    assert!(reader.run("r").unwrap().is_some());
    let (last, error) = read_until_it_breaks(&reader);
    assert!((50..150).contains(&last), "{last}");
    check_message(&error, last);
}

#[test]
fn a_column_that_is_not_what_was_written_is_damage() {
    let place = TestFolder::new();
    place.fill(5);
    let break_with =
        |statement: &str| Connection::open(place.file()).unwrap().execute_batch(statement).unwrap();
    break_with("UPDATE checkpoints SET digest = x'00' WHERE sequence = 3");
    let store = place.store();
    let (last, error) = read_until_it_breaks(&store);
    assert_eq!(last, 2);
    check_message(&error, 2);
    assert!(store.checkpoint("r", "", CheckpointPosition::Latest).unwrap().is_some());
    break_with("UPDATE runs SET status = 'happy'");
    let Err(ReadError::Storage(StorageError::Run { reason, .. })) = store.run("r") else { panic!("read") };
    assert!(reason.contains("happy"), "{reason}");
}

#[test]
fn tables_that_are_not_as_they_were_made_are_damage() {
    let place = TestFolder::new();
    place.fill(2);
    let store = place.store();
    let guard = acquire_run(&store, "r");
    Connection::open(place.file()).unwrap().execute_batch("DROP TABLE pending").unwrap();
    let error = store.commit(&guard, &[checkpoint("r", 2, vec![])], &update(9), SyncMode::Full).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Integrity);
    assert!(error.to_string().contains("no such table: pending"), "{error}");
    assert_eq!(
        store.checkpoint("r", "", CheckpointPosition::Latest).unwrap(),
        Some(checkpoint("r", 1, vec![]))
    );
    let error = SqliteStore::open(&place.file(), SqliteOptions::default()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Integrity);
    assert!(error.to_string().contains("the table `pending` is missing"), "{error}");
}

#[test]
fn a_full_disk_keeps_what_was_committed() {
    let place = TestFolder::new();
    let store = place.store();
    store.create_run(&run("r")).unwrap();
    store.lock().connection.pragma_update(None, "max_page_count", 60).unwrap();
    let value = format!("\"{}\"", "v".repeat(3_000));
    let step = |sequence| [checkpoint("r", sequence, vec![whole("a", sequence, &value)])];
    let mut sequence = 0;
    let guard = acquire_run(&store, "r");
    let error = loop {
        match store.commit(&guard, &step(sequence), &update(sequence), SyncMode::Full) {
            Ok(()) => sequence += 1,
            Err(error) => break error,
        }
    };
    assert!(sequence > 10, "{sequence}");
    assert_eq!(
        error,
        CommitError::Storage(StorageError::Full { location: place.file().display().to_string() })
    );
    assert_eq!(error.code(), ErrorCode::Storage);
    let kept = |store: &SqliteStore| store.checkpoints("r", "", None, 1_000).unwrap().len() as u64;
    assert_eq!(kept(&store), sequence);
    assert_eq!(store.run("r").unwrap().unwrap().updated_at.0, sequence - 1);
    // With room again the run continues, here and in another process.
    store.lock().connection.pragma_update(None, "max_page_count", 1_000_000).unwrap();
    write(&store, &guard, &step(sequence));
    write(&place.store(), &guard, &step(sequence + 1));
    assert_eq!(kept(&store), sequence + 2);
}
