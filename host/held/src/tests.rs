//! Folders that another folder replaces while they are held, and links, pipes and folders in the place of files.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{FilePlace, FolderPlace, HeldFolder, Opening, Refusal, WriteOptions};

/// A folder with a project in it, and another project next to it.
struct Projects(TempDir);

impl Projects {
    fn new() -> Self {
        let projects = Self(tempfile::tempdir().unwrap());
        for name in ["mine", "other"] {
            fs::create_dir_all(projects.at(name).join("state/deep")).unwrap();
            fs::write(projects.at(name).join("state/a"), name).unwrap();
            fs::write(projects.at(name).join("state/deep/a"), name).unwrap();
        }
        projects
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    /// Everything in the other project, with its content.
    fn other(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        list(&self.at("other"), &mut found);
        found.sort();
        found
    }
}

fn list(folder: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.push((path.clone(), Vec::new()));
            list(&path, found);
        } else {
            found.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
}

/// The ways to put another folder in the place of `mine/state`.
const SWAPS: [fn(&Projects); 4] = [
    // By a link.
    |projects| {
        fs::rename(projects.at("mine/state"), projects.at("mine/kept")).unwrap();
        symlink(projects.at("other/state"), projects.at("mine/state")).unwrap();
    },
    // By two renames.
    |projects| {
        fs::rename(projects.at("mine/state"), projects.at("mine/kept")).unwrap();
        fs::rename(projects.at("other/state"), projects.at("mine/state")).unwrap();
        symlink(projects.at("mine/state"), projects.at("other/state")).unwrap();
    },
    // Higher up, by a link.
    |projects| {
        fs::rename(projects.at("mine"), projects.at("kept")).unwrap();
        symlink(projects.at("other"), projects.at("mine")).unwrap();
    },
    // By removing it.
    |projects| {
        fs::remove_dir_all(projects.at("mine/state")).unwrap();
        symlink(projects.at("other/state"), projects.at("mine/state")).unwrap();
    },
];

fn put(text: &'static str) -> impl FnOnce(&mut fs::File) -> io::Result<()> {
    move |file| file.write_all(text.as_bytes())
}

#[test]
fn whatever_takes_the_place_of_a_held_folder_is_not_touched() {
    type Operation = fn(&FolderPlace) -> io::Result<()>;
    let operations: [(&str, Operation); 13] = [
        ("read", |folder| {
            let text = folder.file("a").read(100)?;
            assert_eq!(text, b"mine");
            Ok(())
        }),
        ("change", |folder| folder.file("a").open(Opening::Change)?.write_all(b"x")),
        ("make", |folder| folder.file("made").open(Opening::Make).map(drop)),
        ("append", |folder| folder.file("a").open(Opening::Append)?.write_all(b"x")),
        ("new", |folder| folder.file("new").open(Opening::New).map(drop)),
        ("replace", |folder| folder.file("a").replace(WriteOptions::shared(true), put("x"))),
        ("replace deeper", |folder| {
            folder.child("deep").file("a").replace(WriteOptions::shared(true), put("x"))
        }),
        ("remove", |folder| folder.file("a").remove()),
        ("remove all", |folder| folder.get()?.remove_all("deep")),
        ("rename", |folder| folder.get()?.rename("a", "b")),
        ("link", |folder| folder.get()?.link("a", "b")),
        ("make a folder", |folder| folder.child("more").child("still").make().map(drop)),
        ("list", |folder| {
            assert!(!folder.get()?.names()?.iter().any(|name| name == "of the other"));
            Ok(())
        }),
    ];
    for swap in SWAPS {
        for (name, operation) in operations {
            let projects = Projects::new();
            fs::write(projects.at("other/state/of the other"), "").unwrap();
            let folder = FolderPlace::at(&projects.at("mine")).child("state");
            folder.get().unwrap();
            swap(&projects);
            let before = projects.other();
            // The operation takes effect in the folder that is held, or it fails because that folder was removed.
            let _: io::Result<()> = operation(&folder);
            assert!(projects.other() == before, "{name}");
        }
    }
}

#[test]
fn a_link_that_leads_out_is_neither_entered_nor_opened() {
    let projects = Projects::new();
    symlink(projects.at("other/state"), projects.at("mine/evil")).unwrap();
    symlink(projects.at("other/state/a"), projects.at("mine/state/evil")).unwrap();
    let before = projects.other();
    let mine = FolderPlace::at(&projects.at("mine"));
    let refused = |error: io::Error| match Refusal::of(&error) {
        Some(Refusal::Link { path, target }) => (path.clone(), target.clone()),
        other => panic!("{other:?}: {error}"),
    };
    for folder in [mine.child("evil"), mine.child("evil").child("deep")] {
        let expected = (projects.at("mine/evil"), projects.at("other/state"));
        assert_eq!(refused(folder.get().unwrap_err()), expected);
        assert_eq!(refused(folder.make().unwrap_err()), expected);
        assert_eq!(refused(folder.file("a").read(9).unwrap_err()), expected);
        assert_eq!(
            refused(folder.file("a").replace(WriteOptions::shared(false), put("x")).unwrap_err()),
            expected
        );
        assert!(folder.exists() && folder.file("a").exists());
    }
    let state = mine.child("state");
    for opening in [Opening::Read, Opening::Change, Opening::Make, Opening::Append] {
        let error = state.file("evil").open(opening).unwrap_err();
        assert_eq!(refused(error), (projects.at("mine/state/evil"), projects.at("other/state/a")));
    }
    assert_eq!(state.file("evil").open(Opening::New).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    // The link itself is replaced and removed, not its target.
    state.file("evil").replace(WriteOptions::with_mode(0o600), put("own")).unwrap();
    assert_eq!(fs::read(projects.at("mine/state/evil")).unwrap(), b"own");
    mine.get().unwrap().remove_all("evil").unwrap();
    assert!(!projects.at("mine/evil").is_symlink());
    assert!(projects.other() == before);
}

#[test]
fn what_is_no_file_is_refused_and_nothing_waits() {
    let projects = Projects::new();
    let state = FolderPlace::at(&projects.at("mine")).child("state");
    assert!(
        std::process::Command::new("mkfifo").arg(projects.at("mine/state/pipe")).status().unwrap().success()
    );
    std::os::unix::net::UnixListener::bind(projects.at("mine/state/socket")).unwrap();
    for name in ["pipe", "socket"] {
        for opening in [Opening::Read, Opening::Change, Opening::Append] {
            let error = state.file(name).open(opening).unwrap_err();
            assert!(
                matches!(Refusal::of(&error), Some(Refusal::NotRegular { .. })),
                "{name} {opening:?} {error}"
            );
        }
    }
    assert_eq!(state.file("deep").open(Opening::Read).unwrap_err().kind(), io::ErrorKind::IsADirectory);
    let error = state.child("a").get().unwrap_err();
    assert!(matches!(Refusal::of(&error), Some(Refusal::NotFolder { .. })));
    fs::hard_link(projects.at("other/state/a"), projects.at("mine/state/hard")).unwrap();
    for opening in [Opening::Change, Opening::Make, Opening::Append] {
        let error = state.file("hard").open(opening).unwrap_err();
        assert!(matches!(Refusal::of(&error), Some(Refusal::HardLink { .. })));
    }
    for name in ["", ".", "..", "../other", "/etc/passwd"] {
        let error = state.get().unwrap().file(name, Opening::Read).unwrap_err();
        assert!(matches!(Refusal::of(&error), Some(Refusal::NotAName { .. })), "{name}");
        assert!(state.get().unwrap().step(name).is_err() && state.get().unwrap().remove_all(name).is_err());
    }
    assert_eq!(state.file("a").read(3).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    assert_eq!(state.file("a").read(4).unwrap(), b"mine");
}

#[test]
fn a_file_that_cannot_be_looked_at_is_not_a_file_that_was_opened() {
    let projects = Projects::new();
    let state = FolderPlace::at(&projects.at("mine")).child("state");
    let opened = state.file("a").found().unwrap();
    assert!(state.file("a").is_still(&opened));
    assert_eq!(state.file("none").found().unwrap_err().kind(), io::ErrorKind::NotFound);
    assert!(!state.file("none").is_still(&opened));
    // A folder that may be read and not entered, and one that is a link.
    fs::set_permissions(projects.at("mine/state/deep"), fs::Permissions::from_mode(0o444)).unwrap();
    let shut = state.child("deep").file("x").found();
    fs::set_permissions(projects.at("mine/state/deep"), fs::Permissions::from_mode(0o755)).unwrap();
    // The superuser may enter every folder.
    let kind = shut.unwrap_err().kind();
    assert!([io::ErrorKind::PermissionDenied, io::ErrorKind::NotFound].contains(&kind), "{kind:?}");
    std::os::unix::fs::symlink(projects.at("other/state"), projects.at("mine/linked")).unwrap();
    let linked = FolderPlace::at(&projects.at("mine")).child("linked").file("a");
    assert!(matches!(Refusal::of(&linked.found().unwrap_err()), Some(Refusal::Link { .. })));
    assert!(!linked.is_still(&opened));
}

#[test]
fn a_file_is_replaced_whole_or_not_at_all() {
    let projects = Projects::new();
    let place = FilePlace::at(&projects.at("mine/state/a"));
    let failed = place.replace(WriteOptions::with_mode(0o600), |file| {
        file.write_all(b"half")?;
        Err(io::ErrorKind::StorageFull.into())
    });
    assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(fs::read(projects.at("mine/state/a")).unwrap(), b"mine");
    place.replace(WriteOptions::with_mode(0o640), put("whole")).unwrap();
    assert_eq!(fs::read(projects.at("mine/state/a")).unwrap(), b"whole");
    assert_eq!(fs::metadata(projects.at("mine/state/a")).unwrap().mode() & 0o777, 0o640);
    // A folder is not replaced, and nothing is left of the attempt.
    assert!(
        FilePlace::at(&projects.at("mine/state/deep"))
            .replace(WriteOptions::shared(false), put("x"))
            .is_err()
    );
    assert_eq!(HeldFolder::open(&projects.at("mine/state")).unwrap().names().unwrap().len(), 2);
}

#[test]
fn a_folder_that_was_exchanged_has_no_canonical_path() {
    let projects = Projects::new();
    let held = FolderPlace::at(&projects.at("mine")).child("state").get().unwrap();
    assert_eq!(held.canonical().unwrap(), Some(fs::canonicalize(projects.at("mine/state")).unwrap()));
    SWAPS[1](&projects);
    assert_eq!(held.canonical().unwrap(), None);
}

#[test]
fn a_folder_that_may_be_entered_and_not_read_leads_on() {
    let projects = Projects::new();
    fs::set_permissions(projects.at("mine"), fs::Permissions::from_mode(0o311)).unwrap();
    let read = FolderPlace::at(&projects.at("mine")).child("state").file("a").read(9);
    fs::set_permissions(projects.at("mine"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(read.unwrap(), b"mine");
}
