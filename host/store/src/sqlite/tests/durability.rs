//! Tests that committed records survive, and that the runs of a process are free after it has ended.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use super::super::{OpenError, SqliteOptions, SqliteStore};
use super::{TestFolder, read_only};
use crate::conformance::sample::{acquire_run, checkpoint, commit, owner, run, task, whole, write};
use crate::error::StorageError;
use crate::run::RunFilter;
use crate::store::{CheckpointPosition, CheckpointStore, Holder};

/// The variable with the path of the file on which this test program works when it is started by itself.
const FILE: &str = "GRAPH_STORE_TEST_FILE";

fn child(program: &Path, test: &str, file: &Path) -> Command {
    let mut command = Command::new(program);
    let name = format!("sqlite::tests::durability::{test}");
    command.args(["--exact", &name, "--nocapture", "--test-threads=1"]).env(FILE, file);
    command
}

/// The child process of the next test. It does nothing if it is not started by that test.
#[test]
fn writes_until_it_is_killed() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let store = SqliteStore::open(Path::new(&file), SqliteOptions::default()).unwrap();
    let guard = store.acquire("r", &owner(4711)).unwrap();
    let newest = store.checkpoint("r", "", CheckpointPosition::Latest).unwrap();
    for sequence in newest.map_or(0, |newest| newest.sequence + 1).. {
        let value = sequence.to_string();
        write(&store, &guard, &[checkpoint("r", sequence, vec![whole("a", sequence, &value)])]);
        write(&store, &guard, &[task("r", sequence, "t", "x")]);
        println!("committed {sequence}");
    }
}

#[test]
fn a_killed_process_loses_nothing_and_holds_nothing() {
    let place = TestFolder::new();
    place.store().create_run(&run("r")).unwrap();
    let program = std::env::current_exe().unwrap();
    for lines in [1, 7, 30] {
        let mut writer = child(&program, "writes_until_it_is_killed", &place.file())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(writer.stdout.take().unwrap());
        // The pipe stays open: a child that cannot write any more would end by itself.
        let mut said = output.lines().map(Result::unwrap).filter_map(|line| {
            line.split_once("committed ").map(|(_, number)| number.parse::<u64>().unwrap())
        });
        let last = said.by_ref().take(lines).last().expect("the child commits");
        let store = place.store();
        assert_eq!(store.holder("r").unwrap(), Holder::Known(owner(4711)));
        writer.kill().unwrap();
        writer.wait().unwrap();

        let newest = store.checkpoint("r", "", CheckpointPosition::Latest).unwrap().unwrap().sequence;
        assert!(newest >= last, "{newest} < {last}");
        let all = store.checkpoints("r", "", None, 1_000_000).unwrap();
        assert_eq!(all.len() as u64, newest + 1);
        assert!(
            all.iter()
                .all(|record| record.values == [whole("a", record.sequence, &record.sequence.to_string())])
        );
        let pending = store.pending("r", "").unwrap();
        assert!(pending.is_empty() || pending == [task("r", newest, "t", "x")]);
        assert_eq!(store.holder("r").unwrap(), Holder::Nobody);
        let guard = store.acquire("r", &owner(1)).unwrap();
        assert_eq!(guard.abandoned(), Some(&owner(4711)));
    }
}

/// Copies the database and its log while they are open: that is their state after a power failure.
fn copy_as_it_lies(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    for suffix in ["", "-wal"] {
        let name = |path: &Path| format!("{}{suffix}", path.display());
        fs::copy(name(from), name(to)).unwrap();
    }
}

#[test]
fn a_copy_without_a_goodbye_has_everything() {
    let (place, other) = (TestFolder::new(), TestFolder::new());
    let store = place.store();
    store.create_run(&run("r")).unwrap();
    let all: Vec<_> =
        (0..50).map(|sequence| checkpoint("r", sequence, vec![whole("a", sequence, "1")])).collect();
    let guard = acquire_run(&store, "r");
    for record in &all {
        write(&store, &guard, std::slice::from_ref(record));
    }
    copy_as_it_lies(&place.file(), &other.file());
    assert_eq!(other.store().checkpoints("r", "", None, 100).unwrap(), all);

    // A log that ends in the middle of a commit is read as if that commit had not been made.
    copy_as_it_lies(&place.file(), &other.file());
    let wal = other.file().with_extension("db-wal");
    let length = fs::metadata(&wal).unwrap().len();
    fs::OpenOptions::new().write(true).open(&wal).unwrap().set_len(length - 100).unwrap();
    assert_eq!(other.store().checkpoints("r", "", None, 100).unwrap(), all[..49]);
}

/// The child process of the next test, which may have a user id that may not write there. It does nothing if it is not
/// started by that test.
#[test]
fn reads_where_it_cannot_write() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let file = Path::new(&file);
    let reader = SqliteStore::open(file, read_only()).unwrap();
    assert_eq!(reader.runs(&RunFilter::default()).unwrap(), [run("r").row]);
    assert_eq!(reader.checkpoints("r", "", None, 10).unwrap(), []);
    let refused = SqliteStore::open(file, SqliteOptions::default()).unwrap_err();
    assert!(matches!(refused, OpenError::Storage(StorageError::NotWritable { .. })), "{refused}");

    let unmerged = file.with_file_name("unmerged ?#%.db");
    let wal = file.with_file_name("unmerged ?#%.db-wal");
    assert_eq!(
        SqliteStore::open(&unmerged, read_only()).unwrap_err(),
        OpenError::Unmerged { file: unmerged.clone(), wal }
    );
    let merged = file.with_file_name("merged ?#%.db");
    assert_eq!(
        SqliteStore::open(&merged, read_only()).unwrap().runs(&RunFilter::default()).unwrap().len(),
        1
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_cannot_be_written_can_be_read() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::os::unix::process::CommandExt as _;

    let place = TestFolder::new();
    let file = place.file();
    place.store().create_run(&run("r")).unwrap();
    fs::copy(&file, file.with_file_name("merged ?#%.db")).unwrap();
    let store = place.store();
    commit(&store, "r", &[checkpoint("r", 0, vec![])]);
    copy_as_it_lies(&file, &file.with_file_name("unmerged ?#%.db"));
    drop(store);
    fs::copy(file.with_file_name("merged ?#%.db"), &file).unwrap();

    let program = place.0.path().join("program");
    // A child process copies it: a child that another thread starts would inherit this process's descriptor, and executing
    // a file that is open for writing fails with ETXTBSY.
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&program).status().unwrap();
    assert!(copied.success());
    let folder = file.parent().unwrap();
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    for path in [&*program, place.0.path(), folder] {
        mode(path, 0o555);
    }
    let mut command = child(&program, "reads_where_it_cannot_write", &file);
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        // The superuser may do everything, so that the child runs as another user.
        command.uid(65_534);
    }
    let output = command.output().unwrap();
    for path in [place.0.path(), folder] {
        mode(path, 0o755);
    }
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
}
