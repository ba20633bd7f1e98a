//! Fences of runs in a file.

use std::fs;

use graph_core::digest::Digest;
use graph_core::record::ErrorCode;
use rusqlite::Connection;

use super::super::SqliteStore;
use super::TestFolder;
use super::opening::older;
use crate::conformance::sample::{acquire_run, checkpoint, owner, run, task, update, within, write};
use crate::error::{CommitError, Loss};
use crate::store::{CheckpointStore, Fence, Holder, SyncMode};

#[test]
fn whoever_takes_a_lock_away_takes_nothing_from_the_next_holder() {
    let place = TestFolder::new();
    place.fill(2);
    let (store, other) = (place.store(), place.store());
    let former = store.acquire("r", &owner(1)).unwrap();
    let lock = SqliteStore::lock_file(&place.file(), "r");
    fs::remove_file(&lock).unwrap();
    let guard = other.acquire("r", &owner(2)).unwrap();
    assert_eq!(guard.abandoned(), Some(&owner(1)));
    let refused = store.commit(&former, &[checkpoint("r", 2, vec![])], &update(1), SyncMode::Full);
    assert_eq!(refused, Err(CommitError::Lost { run: "r".to_owned(), loss: Loss::TakenUp }));
    drop(former);
    assert_eq!(store.holder("r").unwrap(), Holder::Known(owner(2)));
    assert!(lock.exists() && store.acquire("r", &owner(3)).is_err());
    write(&other, &guard, &[checkpoint("r", 2, vec![])]);
    drop(guard);
    assert_eq!(store.holder("r").unwrap(), Holder::Nobody);
    assert!(!lock.exists());
}

#[test]
fn a_run_of_an_older_version_has_its_newest_checkpoint_as_its_head() {
    let place = TestFolder::new();
    older(
        &place,
        6,
        "INSERT INTO runs VALUES (7, 'r', 'g', NULL, NULL, 'r', NULL, NULL, NULL, 'running', NULL, 0, 0, NULL, NULL, \
         zeroblob(32), zeroblob(32), zeroblob(32), zeroblob(32), zeroblob(32), zeroblob(32), 'sync', NULL, 1, 1);
         INSERT INTO checkpoints VALUES \
         (1, 7, '', 0, 0, 1, 0, zeroblob(32), zeroblob(32), zeroblob(64), '{}', 0, 1), \
         (2, 7, '1.0', 0, 0, 1, 0, x'ff', zeroblob(32), zeroblob(64), '{}', 1, 1);",
    );
    let store = place.store();
    let guard = acquire_run(&store, "r");
    assert_eq!(guard.fence(), Fence { epoch: 1, head: Some(Digest::from_bytes([0; 32])) });
    write(&store, &guard, &[task("r", 0, "t", "x")]);
    write(&place.store(), &guard, &[within("1.0", checkpoint("r", 1, vec![]))]);
    write(&store, &guard, &[checkpoint("r", 1, vec![])]);
}

#[test]
fn a_fence_that_is_none_is_damage() {
    for (statement, commits) in [
        ("UPDATE fences SET head = x'00'", true),
        ("UPDATE fences SET head = zeroblob(2000000)", true),
        ("UPDATE fences SET epoch = -1", true),
        ("UPDATE epochs SET last = 9223372036854775807", false),
    ] {
        let place = TestFolder::new();
        let store = place.store();
        store.create_run(&run("r")).unwrap();
        let guard = acquire_run(&store, "r");
        Connection::open(place.file()).unwrap().execute_batch(statement).unwrap();
        if commits {
            let refused = store.commit(&guard, &[checkpoint("r", 0, vec![])], &update(1), SyncMode::Full);
            assert_eq!(refused.unwrap_err().code(), ErrorCode::Integrity, "{statement}");
        }
        drop(guard);
        let _ = fs::remove_file(SqliteStore::lock_file(&place.file(), "r"));
        let refused = store.acquire("r", &owner(2));
        let spared = statement.contains("epoch = -1");
        assert!(spared || refused.is_err_and(|error| error.code() == ErrorCode::Integrity), "{statement}");
        assert_eq!(store.checkpoints("r", "", None, 9).unwrap(), []);
    }
}
