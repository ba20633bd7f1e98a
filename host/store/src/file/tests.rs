//! Properties that only files have: they can be cut short, be damaged, and be used by other processes.

#![allow(clippy::unwrap_used)]

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;

use graph_core::record::ErrorCode;
use tempfile::TempDir;

use super::FileStore;
use super::store::tests::LOOKED_AT;
use crate::conformance::Subject;
use crate::conformance::sample::{
    acquire_run, checkpoint, commit, late, owner, run, task, update, whole, write,
};
use crate::error::{CommitError, Loss, ReadError, StorageError};
use crate::run::RunFilter;
use crate::store::{CheckpointPosition, CheckpointStore, Fence, Holder, SyncMode, Upkeep, WantedChannel};
use crate::upkeep::Cut;

struct TestFolder(TempDir);

impl TestFolder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn store(&self) -> FileStore {
        FileStore::at(&self.0.path().join("state/files"))
    }

    /// Returns a folder with the run `r` and this number of checkpoints.
    fn filled(checkpoints: u64) -> Self {
        let place = Self::new();
        let store = place.store();
        store.create_run(&run("r")).unwrap();
        for sequence in 0..checkpoints {
            commit(&store, "r", &[checkpoint("r", sequence, vec![whole("a", sequence, "1")])]);
        }
        place
    }

    fn log(&self) -> PathBuf {
        self.store().folder().join("runs/0000000001-r/log")
    }
}

impl crate::conformance::UpkeepSubject for TestFolder {
    fn open(&self) -> Box<dyn Upkeep> {
        Box::new(self.store())
    }
}

impl Subject for TestFolder {
    fn open(&self) -> Box<dyn CheckpointStore> {
        Box::new(self.store())
    }
}

mod conforms {
    use super::TestFolder;

    crate::conformance!(TestFolder::new());
    crate::upkeep_conformance!(TestFolder::new());
}

#[test]
fn a_log_that_was_written_anew_is_read_anew() {
    let place = TestFolder::filled(6);
    let (store, other) = (place.store(), place.store());
    assert_eq!(sequences(&other), [0, 1, 2, 3, 4, 5]);
    let guard = store.acquire("r", &owner(1)).unwrap();
    for first in [2, 4] {
        let channels = [WantedChannel { channel: "a", base: first, version: first }];
        store.prune(&guard, "", &Cut { first, channels: &channels, note: "said" }).unwrap();
        assert_eq!(sequences(&other), (first..6).collect::<Vec<_>>());
    }
    write(&other, &guard, &[checkpoint("r", 6, vec![whole("a", 6, "1")])]);
    assert_eq!(sequences(&store), [4, 5, 6]);
    assert_eq!(sequences(&place.store()), [4, 5, 6]);
}

fn sequences(store: &FileStore) -> Vec<u64> {
    store.checkpoints("r", "", None, 1_000).unwrap().iter().map(|record| record.sequence).collect()
}

#[test]
fn a_commit_that_was_cut_short_anywhere_never_was() {
    let place = TestFolder::filled(2);
    let before = fs::read(place.log()).unwrap();
    commit(&place.store(), "r", &[checkpoint("r", 2, vec![whole("a", 2, "\"\\n\"")])]);
    let after = fs::read(place.log()).unwrap();
    for length in before.len()..after.len() {
        fs::write(place.log(), &after[..length]).unwrap();
        let store = place.store();
        assert_eq!(sequences(&store), [0, 1], "{length}");
        // The next commit replaces it.
        commit(&store, "r", &[checkpoint("r", 5, vec![])]);
        assert_eq!(sequences(&place.store()), [0, 1, 5], "{length}");
    }
    fs::write(place.log(), &after).unwrap();
    assert_eq!(sequences(&place.store()), [0, 1, 2]);
    // A system that has allocated room for the line and not written it leaves zeros.
    fs::write(place.log(), [&before[..], &[0; 100]].concat()).unwrap();
    assert_eq!(sequences(&place.store()), [0, 1]);
}

/// Tests that holes are skipped. They occupy no room on the disk, but reading them takes as much time as reading data
/// of their length.
#[test]
fn holes_are_not_read() {
    use std::io::{Seek as _, SeekFrom};
    let sequences = |store: &FileStore| -> Vec<u64> {
        let found = store.checkpoints("r", "", None, 100).unwrap_or_default();
        found.iter().map(|record| record.sequence).collect()
    };
    // Length of the hole, the bytes after it, and true if that is damage.
    for (hole, after, is_damage) in [
        (100, "", false),
        (9 << 20, "", false),
        (1 << 30, "", false),
        (9 << 20, "x", false),
        (9 << 20, "\n", true),
        (1 << 30, "{}\n", true),
        (3 << 30, "", true),
        (6 << 30, "\n", true),
        (1 << 40, "", true),
    ] {
        let place = TestFolder::filled(2);
        let mut log = OpenOptions::new().read(true).write(true).open(place.log()).unwrap();
        let end = log.seek(SeekFrom::End(0)).unwrap();
        log.set_len(end + hole).unwrap();
        log.seek(SeekFrom::End(0)).unwrap();
        log.write_all(after.as_bytes()).unwrap();
        let store = place.store();
        let what = format!("{hole} {after:?}");
        let read = store.checkpoints("r", "", None, 1_000);
        assert_eq!(read.is_err(), is_damage, "{what}: {read:?}");
        if let Err(ReadError::Storage(error)) = read {
            assert_eq!(error.code(), ErrorCode::Integrity, "{what}");
        }
        // The records before the hole can be read, and the run is listed.
        assert!(store.run("r").unwrap().is_some(), "{what}");
        assert_eq!(store.list(&RunFilter::default()).unwrap().rows.len(), 1, "{what}");
        let guard = acquire_run(&store, "r");
        let more = [checkpoint("r", 2, vec![whole("a", 2, "1")])];
        let written = store.commit(&guard, &more, &update(9), SyncMode::Full);
        assert_eq!(written.is_err(), is_damage, "{what}: {written:?}");
        if !is_damage {
            assert_eq!(sequences(&place.store()), [0, 1, 2], "{what}");
        }
    }
    // A log that consists of a hole only, and one that begins like a line and has a hole in it.
    for start in ["", "0000000000000000000000000000000000000000000000000000000000000000 {\"row\":"] {
        let place = TestFolder::filled(1);
        fs::write(place.log(), start).unwrap();
        let log = OpenOptions::new().write(true).open(place.log()).unwrap();
        log.set_len(6 << 30).unwrap();
        assert!(place.store().run("r").is_err() || place.store().run("r").unwrap().is_none(), "{start}");
    }
}

#[test]
fn damage_is_refused_where_it_lies() {
    let place = TestFolder::filled(6);
    let text = fs::read_to_string(place.log()).unwrap();
    let at = text.find(r#"\"sequence\":3}"#).unwrap();
    let mut bytes = text.into_bytes();
    bytes[at + 13] = b'4';
    fs::write(place.log(), &bytes).unwrap();

    let store = place.store();
    let Err(ReadError::Storage(error)) = store.checkpoints("r", "", None, 1_000) else { panic!("read") };
    assert_eq!(error.code(), ErrorCode::Integrity);
    let message = error.to_string();
    assert!(
        message.contains("log is damaged: at byte ") && message.contains("not what its digest says"),
        "{message}"
    );
    assert!(message.ends_with("the checkpoints of run r up to number 2 can still be read"), "{message}");
    assert_eq!(store.checkpoints("r", "", None, 3).unwrap().len(), 3);
    assert_eq!(
        store.checkpoint("r", "", CheckpointPosition::Sequence(2)).unwrap(),
        Some(checkpoint("r", 2, vec![]))
    );
    assert_eq!(store.checkpoint("r", "", CheckpointPosition::Latest), Err(ReadError::Storage(error.clone())));
    assert_eq!(store.pending("r", ""), Err(ReadError::Storage(error.clone())));
    assert!(store.run("r").unwrap().is_some());
    // Nothing is written behind the damage.
    let guard = acquire_run(&store, "r");
    let refused = store.commit(&guard, &[checkpoint("r", 9, vec![])], &update(9), SyncMode::Full);
    assert_eq!(refused, Err(CommitError::Storage(error)));
    assert_eq!(fs::read(place.log()).unwrap(), bytes);
}

#[test]
fn lines_of_another_run_or_out_of_order_are_damage() {
    let place = TestFolder::filled(2);
    let store = place.store();
    store.create_run(&run("s")).unwrap();
    let other = fs::read(store.folder().join("runs/0000000002-s/log")).unwrap();
    let own = fs::read(place.log()).unwrap();
    let last = own.split_inclusive(|byte| *byte == b'\n').next_back().unwrap().to_vec();
    for line in [other, last, b"\n".to_vec(), b"no\n".to_vec()] {
        fs::write(place.log(), [&own[..], &line].concat()).unwrap();
        let read = place.store().checkpoints("r", "", None, 10);
        assert!(matches!(read, Err(ReadError::Storage(StorageError::Corrupt { .. }))), "{read:?}");
    }
}

#[test]
fn what_a_killed_process_leaves_is_in_nobodys_way() {
    let place = TestFolder::filled(1);
    let store = place.store();
    // A run whose creation was not completed, and the name of a holder that was not removed.
    let half = store.folder().join("runs/new");
    fs::create_dir(&half).unwrap();
    fs::write(half.join("log"), "half").unwrap();
    fs::write(store.folder().join("runs/0000000001-r/owner"), serde_json::to_vec(&owner(7)).unwrap())
        .unwrap();
    assert_eq!(store.runs(&crate::run::RunFilter::default()).unwrap().len(), 1);
    store.create_run(&run("t")).unwrap();
    assert_eq!(store.holder("r").unwrap(), Holder::Nobody);
    assert_eq!(store.acquire("r", &owner(8)).unwrap().abandoned(), Some(&owner(7)));
}

#[test]
fn a_folder_whose_name_is_no_id_takes_no_other_run_with_it() {
    let place = TestFolder::filled(1);
    let store = place.store();
    let runs = store.folder().join("runs");
    for name in ["0000000002-%2e%2e%2f%2e%2e%2fx", "0000000003-%1b[2J", "0000000004-"] {
        fs::create_dir(runs.join(name)).unwrap();
        fs::copy(place.log(), runs.join(name).join("log")).unwrap();
    }
    let listed = store.list(&RunFilter::default()).unwrap();
    assert_eq!(listed.rows.iter().map(|row| row.run_id.as_str()).collect::<Vec<_>>(), ["r"]);
    assert_eq!(listed.refused.len(), 3);
    for refused in &listed.refused {
        assert_eq!(refused.code(), ErrorCode::Integrity);
        assert!(!refused.to_string().contains('\u{1b}'), "{refused}");
    }
    assert_eq!(store.runs(&RunFilter::default()).unwrap_err().code(), ErrorCode::Integrity);
    for name in ["../../x", "..", "\u{1b}"] {
        assert!(store.resolve(name).is_err(), "{name:?}");
        assert_eq!(store.run(name).unwrap(), None);
    }
    assert_eq!(store.resolve("@last").unwrap(), "r");
}

#[test]
fn names_in_lines_are_checked_when_they_are_read() {
    let changes = [
        (r#""parent_id":null"#, r#""parent_id":"../../x""#),
        (r#""root_id":"r""#, r#""root_id":"""#),
        (r#""graph_id":"examples/loop""#, r#""graph_id":"a\u001b[2J""#),
        (r#""graph_path":null"#, r#""graph_path":"a\nb""#),
        (r#""namespace":"""#, r#""namespace":"\u202e""#),
        (r#""channel":"a""#, r#""channel":"a\n""#),
        (r#""task":"""#, r#""task":"\u0007""#),
    ];
    for (from, to) in changes {
        let place = TestFolder::filled(1);
        place.store().create_run(&run("s")).unwrap();
        let log = fs::read_to_string(place.log()).unwrap();
        assert!(log.contains(from), "{from}: {log}");
        let change = |line: &str| {
            let text = line.split_once(' ').unwrap().1.replace(from, to);
            format!("{} {text}\n", graph_core::digest::Digest::of_bytes(text.as_bytes()).hex())
        };
        fs::write(place.log(), log.lines().map(change).collect::<String>()).unwrap();
        let store = place.store();
        let error = store.checkpoints("r", "", None, 9).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Integrity, "{to}");
        assert!(!error.to_string().contains(['\u{1b}', '\n', '\u{202e}', '\u{7}']), "{error}");
        let listed = store.list(&RunFilter::default()).unwrap();
        assert!(listed.rows.iter().any(|row| row.run_id == "s"), "{to}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_said_so() {
    let place = TestFolder::new();
    let blocked = place.0.path().join("file");
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(&blocked)
        .unwrap()
        .write_all(b"x")
        .unwrap();
    let store = FileStore::at(&blocked.join("state"));
    let refused = store.create_run(&run("r")).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Storage);
    assert!(!store.exists());
}

#[cfg(target_os = "linux")]
mod memory {
    use super::TestFolder;
    use crate::conformance::memory::{SLACK, figures_of, reading, report, steps, writing};

    #[test]
    #[ignore = "a part of the next one, in a process of its own"]
    fn measured() {
        let place = TestFolder::new();
        let written = writing(&place, steps());
        report(&[written, reading(&place, steps())]);
    }

    #[test]
    fn a_long_run_takes_no_more_memory_than_a_short_one() {
        let of = |steps| figures_of("file::tests::memory::measured", steps);
        let (short, long) = (of(500), of(20_000));
        for (short, long) in short.iter().zip(&long) {
            assert!(*long < short + SLACK, "{short} bytes for 500 steps, {long} for 20,000");
        }
    }
}

#[test]
fn each_of_many_runs_is_found_without_the_others() {
    let cost = |count: u64| {
        let place = TestFolder::new();
        let ids: Vec<String> = (0..count).map(|number| format!("r{number}")).collect();
        for id in &ids {
            place.store().create_run(&run(id)).unwrap();
            commit(&place.store(), id, &[checkpoint(id, 0, vec![whole("a", 0, "1")])]);
        }
        let store = place.store();
        LOOKED_AT.set(0);
        let names: Vec<&str> = ids.iter().map(String::as_str).collect();
        let guards: Vec<_> =
            store.acquire_all(&names, &owner(1)).into_iter().collect::<Result<_, _>>().unwrap();
        for id in &ids {
            assert_eq!(store.holder(id).unwrap(), Holder::Known(owner(1)));
            assert!(store.checkpoint(id, "", CheckpointPosition::Latest).unwrap().is_some());
        }
        assert_eq!(store.remove_runs(&guards).unwrap().len() as u64, count);
        LOOKED_AT.get()
    };
    assert_eq!((cost(20), cost(200)), (20, 200));
}

#[test]
fn a_run_that_another_process_has_made_anew_is_found_where_it_is() {
    let place = TestFolder::filled(3);
    let (store, other) = (place.store(), place.store());
    assert!(store.checkpoint("r", "", CheckpointPosition::Sequence(2)).unwrap().is_some());
    other.create_run(&run("s")).unwrap();
    assert!(store.run("s").unwrap().is_some());
    let guard = other.acquire("r", &owner(1)).unwrap();
    other.remove_run(&guard).unwrap();
    drop(guard);
    assert!(store.lock_file("r").is_none());
    assert!(store.acquire("r", &owner(2)).is_err());
    other.create_run(&run("r")).unwrap();
    assert!(store.lock_file("r").unwrap().path().ends_with("0000000003-r/lock"));
    assert_eq!(store.holder("r").unwrap(), Holder::Nobody);
    drop(store.acquire("r", &owner(2)).unwrap());
}

/// Returns a log without the lines that processes wrote when they acquired the run, as version 1 wrote it.
fn without_epochs(log: &str) -> String {
    log.split_inclusive('\n').filter(|line| !line.contains("\"epoch\"")).collect()
}

#[test]
fn a_log_without_epochs_has_a_head_and_gets_an_epoch() {
    let place = TestFolder::filled(2);
    commit(&place.store(), "r", &[task("r", 1, "t", "x")]);
    let log = fs::read_to_string(place.log()).unwrap();
    let older = without_epochs(&log);
    assert_eq!((log.lines().count(), older.lines().count()), (7, 4));
    fs::write(place.log(), older).unwrap();
    fs::write(place.store().folder().join("format"), "graph-host/files 1\n").unwrap();
    let store = place.store();
    let refused = store.commit(&late("r", Fence { epoch: 0, head: None }), &[], &update(1), SyncMode::Full);
    assert_eq!(refused, Err(CommitError::Lost { run: "r".to_owned(), loss: Loss::Removed }));
    let guard = acquire_run(&store, "r");
    assert_eq!(guard.fence(), Fence { epoch: 1, head: Some(task("r", 1, "t", "x").digest) });
    // The store states the version that an older version of this program would refuse.
    assert_eq!(fs::read_to_string(store.folder().join("format")).unwrap(), "graph-host/files 2\n");
    write(&store, &guard, &[checkpoint("r", 2, vec![])]);
    // In a log that was then shortened, the head is the newest own checkpoint.
    store.prune(&guard, "", &Cut { first: 1, channels: &[], note: "said" }).unwrap();
    let log = fs::read_to_string(place.log()).unwrap();
    let (first, rest) = log.split_once('\n').unwrap();
    let text = first.split_once(' ').unwrap().1;
    let head = format!(",\"head\":\"{}\"", guard.fence().head.unwrap());
    let text = text.replace(&head, "").replace(",\"epoch\":1", "");
    assert!(!text.contains("epoch") && !text.contains("head"), "{text}");
    let digest = graph_core::digest::Digest::of_bytes(text.as_bytes()).hex();
    fs::write(place.log(), format!("{digest} {text}\n{rest}")).unwrap();
    drop(guard);
    let guard = acquire_run(&place.store(), "r");
    assert_eq!(guard.fence(), Fence { epoch: 1, head: Some(checkpoint("r", 2, vec![]).digest) });
}

#[test]
fn epochs_rise_in_every_line_and_stay_when_runs_go() {
    let place = TestFolder::filled(2);
    let (store, log) = (place.store(), fs::read_to_string(place.log()).unwrap());
    let line =
        |text: &str| format!("{} {text}\n", graph_core::digest::Digest::of_bytes(text.as_bytes()).hex());
    let last = log.lines().rfind(|line| line.contains("\"epoch\":2")).unwrap().split_once(' ').unwrap().1;
    for (epoch, is_damage) in [("1", true), ("2", true), ("3", false), ("9223372036854775807", false)] {
        let changed = last.replace("\"epoch\":2", &format!("\"epoch\":{epoch}"));
        fs::write(place.log(), [log.clone(), line(&changed)].concat()).unwrap();
        let read = place.store().pending("r", "");
        assert_eq!(read.is_err(), is_damage, "{epoch}: {read:?}");
    }
    // There is no epoch above the last one, so that the run is left unchanged.
    let refused = place.store().acquire("r", &owner(1)).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Integrity, "{refused}");
    fs::write(place.log(), &log).unwrap();

    let guard = acquire_run(&store, "r");
    assert_eq!(guard.fence().epoch, 3);
    let retired = store.folder().join("epoch");
    assert!(!retired.exists());
    store.remove_run(&guard).unwrap();
    assert_eq!(fs::read_to_string(&retired).unwrap(), "3\n");
    drop(guard);
    store.create_run(&run("s")).unwrap();
    let guard = acquire_run(&store, "s");
    assert_eq!(guard.fence().epoch, 4);
    store.remove_run(&guard).unwrap();
    fs::write(&retired, "no number").unwrap();
    assert_eq!(store.create_run(&run("r")).unwrap_err().code(), ErrorCode::Integrity);
}

#[test]
fn whoever_takes_a_lock_away_takes_nothing_from_the_next_holder() {
    let place = TestFolder::filled(2);
    let (store, other) = (place.store(), place.store());
    let former = store.acquire("r", &owner(1)).unwrap();
    let lock = store.lock_file("r").unwrap().path();
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
fn what_takes_the_place_of_a_folder_is_not_touched() {
    // All folders from that of the store to that of the run, and those of texts and results.
    for swapped in ["", "runs", "runs/0000000001-r", "snapshots", "results"] {
        let (mine, other) = (TestFolder::filled(1), TestFolder::filled(1));
        let (store, stranger) = (mine.store(), other.store());
        for store in [&store, &stranger] {
            store.put_snapshot(&graph_core::digest::Digest::of_bytes(b"a"), "a").unwrap();
            fs::create_dir_all(store.folder().join("results")).unwrap();
        }
        // Each folder is used once before.
        let guard = acquire_run(&store, "r");
        store.expired_results(None, false).unwrap();
        let at = |store: &FileStore| match swapped {
            "" => store.folder().to_owned(),
            inner => store.folder().join(inner),
        };
        let (folder, of_stranger) = (at(&store), at(&stranger));
        fs::rename(&folder, folder.with_file_name("kept")).unwrap();
        std::os::unix::fs::symlink(&of_stranger, &folder).unwrap();
        let before = contents(stranger.folder());
        let ended = crate::run::RunUpdate {
            status: Some(graph_core::record::Status::Completed),
            ..crate::run::RunUpdate::default()
        };
        // The operation takes effect in the folder that is held, or it fails.
        let _ = store.commit(&guard, &[checkpoint("r", 1, vec![whole("a", 1, "1")])], &ended, SyncMode::Full);
        let _ = store.put_snapshot(&graph_core::digest::Digest::of_bytes(b"b"), "b");
        let _ = store.put_snapshot(&graph_core::digest::Digest::of_bytes(b"a"), "a");
        let _ = store.create_run(&run("s"));
        let _ = store.expired_results(None, true);
        if let Ok(mark) = store.mark() {
            let _ = store.remove_snapshots(&[graph_core::digest::Digest::of_bytes(b"a")], mark);
        }
        let _ = store.remove_run(&guard);
        drop(guard);
        assert!(contents(stranger.folder()) == before, "{swapped}");
        // A new handle refuses the link. It neither reads what is behind it nor reports that the run does not exist,
        // unless the name was removed from the folder that is held.
        if ["runs", "runs/0000000001-r"].contains(&swapped) {
            let found = mine.store().run("r");
            let is_there = fs::symlink_metadata(&folder).is_ok();
            assert!(is_there || swapped != "runs", "{swapped}");
            assert!(if is_there { found.is_err() } else { found == Ok(None) }, "{swapped}: {found:?}");
        }
    }
}

/// Returns the files below a folder, with their contents and times.
fn contents(folder: &std::path::Path) -> Vec<(PathBuf, Vec<u8>, std::time::SystemTime)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.push((
                path.clone(),
                fs::read(&path).unwrap(),
                fs::metadata(&path).unwrap().modified().unwrap(),
            ));
        }
    }
    found.sort();
    found
}
