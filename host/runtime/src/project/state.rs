//! The state folder of a project, `.ai/state`: which host it belongs to, and the files in it.
//!
//! A project may come from a stranger, with a state folder in it. Such state can be shown and verified on request. It is
//! written, and runs in it are resumed, only if a marker that this host has signed for this very folder proves that this
//! host made it. A copied or moved folder has a marker for another path.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use graph_core::trust::StateMarker;

use crate::error::{Error, Result};
use crate::host::now;
use crate::project::paths::{self, FileKind};
use crate::project::user_home::{Home, write_atomic};
use crate::project::{self, shown};

const STATE: &str = "state";
const DATABASE: &str = "runs.db";
const FILES: &str = "files";
const KNOWLEDGE: &str = "knowledge.db";
/// The marker's file, in the folder.
const MARKER: &str = "host.json";

/// The path of the database of a project's runs, for reading.
pub fn database(project: &Path) -> Result<PathBuf> {
    paths::path(project, &[STATE, DATABASE], FileKind::File)
}

/// The path of the folder of the project's runs in files, for reading.
pub fn files(project: &Path) -> Result<PathBuf> {
    paths::path(project, &[STATE, FILES], FileKind::Folder)
}

/// The path of the database of the project's knowledge, for reading.
pub fn knowledge(project: &Path) -> Result<PathBuf> {
    paths::path(project, &[STATE, KNOWLEDGE], FileKind::File)
}

/// Which host the state of a project belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// The project has no state yet.
    Absent,
    /// It is this host's, and of this folder.
    Own,
    /// It is another host's, or of another folder; with the reason.
    Foreign(String),
}

impl Ownership {
    /// Determines which host the state of a project belongs to.
    pub fn of(project: &Path, home: &Home) -> Result<Self> {
        let folder = paths::path(project, &[STATE], FileKind::Folder)?;
        let marker = paths::path(project, &[STATE, MARKER], FileKind::File)?;
        let read = || paths::read(&marker, StateMarker::MOST_BYTES as u64);
        let is_missing = |read: &io::Result<Vec<u8>>| {
            read.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        };
        let mut found = read();
        if is_missing(&found) {
            if !has_state(&folder)? {
                return Ok(Self::Absent);
            }
            // Another process may have made the state meanwhile. It writes the marker first, so the marker exists by now.
            found = read();
        }
        let text = match found {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self::Foreign(format!(
                    "no marker {} says that this host made it",
                    shown(&marker)
                )));
            }
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                return Ok(Self::Foreign(format!("{} is too large for a marker", shown(&marker))));
            }
            Err(error) => return Err(Error::read("the marker", Path::new(&shown(&marker)), &error)),
        };
        let marker = match StateMarker::parse(&text) {
            Ok(marker) => marker,
            Err(error) => return Ok(Self::Foreign(format!("{} is no marker: {error}", shown(&marker)))),
        };
        if home.verifying_identity(marker.key().id())?.as_ref() != Some(marker.key()) {
            let key = marker.key().id();
            return Ok(Self::Foreign(format!(
                "its marker was signed by another host, with key {}",
                key.short()
            )));
        }
        let folder = real(&folder)?;
        if !marker.is_of(folder.as_os_str().as_encoded_bytes()) {
            return Ok(Self::Foreign(format!("its marker is for {}", marker.folder())));
        }
        Ok(Self::Own)
    }
}

/// The state folder of a project, known to be this host's: it may be written, and runs in it may be resumed.
#[derive(Clone, Debug)]
pub struct OwnState {
    project: PathBuf,
}

impl OwnState {
    /// Opens the state folder of a project. Where there is no state yet, the folder and its marker are made; another
    /// host's state is an integrity error, with help.
    pub fn open(project: &Path, home: &Home) -> Result<Self> {
        match Ownership::of(project, home)? {
            Ownership::Own => {}
            Ownership::Absent => mark(project, home)?,
            Ownership::Foreign(why) => return Err(refused(project, &why)),
        }
        Ok(Self { project: project.to_path_buf() })
    }

    /// Refuses another host's state, without making anything.
    pub fn check(project: &Path, home: &Home) -> Result<()> {
        match Ownership::of(project, home)? {
            Ownership::Own | Ownership::Absent => Ok(()),
            Ownership::Foreign(why) => Err(refused(project, &why)),
        }
    }

    /// Takes over a state folder, whichever host made it, at its user's request. `false` if it was this host's already.
    pub fn adopt(project: &Path, home: &Home) -> Result<bool> {
        match Ownership::of(project, home)? {
            Ownership::Own => Ok(false),
            Ownership::Absent => Err(Error::not_found(format!(
                "there is no state in {}: nothing has to be adopted",
                shown(&project.join(project::MARK).join(STATE))
            ))),
            Ownership::Foreign(_) => mark(project, home).map(|()| true),
        }
    }

    /// The folder of the project.
    pub fn project(&self) -> &Path {
        &self.project
    }

    /// The path of the database of runs.
    pub fn database(&self) -> Result<PathBuf> {
        database(&self.project)
    }

    /// The path of the folder of runs in files.
    pub fn files(&self) -> Result<PathBuf> {
        files(&self.project)
    }

    /// The path of the database of knowledge.
    pub fn knowledge(&self) -> Result<PathBuf> {
        knowledge(&self.project)
    }
}

fn mark(project: &Path, home: &Home) -> Result<()> {
    let folder = paths::folder(project, &[STATE])?;
    let marker = paths::path(project, &[STATE, MARKER], FileKind::File)?;
    let signed = StateMarker::sign(&home.identity()?, real(&folder)?.as_os_str().as_encoded_bytes(), now());
    write_atomic(&marker, signed.to_text().as_bytes(), false)
        .map_err(|error| Error::write("the marker of the state folder", &marker, &error))
}

fn refused(project: &Path, why: &str) -> Error {
    let folder = shown(&project.join(project::MARK).join(STATE));
    Error::integrity(format!("the state in {folder} is not this host's: {why}"))
        .help(
            "it can be shown and verified; to resume here after you have moved or copied the project yourself, or with \
             state from before markers: graph-host runs adopt. Of a stranger's project, take single runs over with \
             graph-host runs export and, in a project of your own, graph-host runs import",
        )
}

/// The folder's canonical path.
fn real(folder: &Path) -> Result<PathBuf> {
    fs::canonicalize(folder).map_err(|error| Error::read("the folder", Path::new(&shown(folder)), &error))
}

/// Whether a state folder contains anything that a store would read: a database, one of SQLite's files next to it, or a
/// folder of runs.
fn has_state(folder: &Path) -> Result<bool> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(Error::read("the folder", Path::new(&shown(folder)), &error)),
    };
    for entry in entries {
        let entry = entry.map_err(|error| Error::read("the folder", Path::new(&shown(folder)), &error))?;
        let name = entry.file_name().to_string_lossy().to_ascii_lowercase();
        if [DATABASE, KNOWLEDGE].iter().any(|database| name.starts_with(database)) || name == FILES {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn state_that_others_are_making_is_not_taken_for_a_strangers() {
        for _ in 0..200 {
            let folder = tempfile::tempdir().unwrap();
            let home = Home::at(folder.path().join("home"));
            home.identity().unwrap();
            let open = || {
                let state = OwnState::open(folder.path(), &home)?;
                fs::write(state.database()?, "").unwrap();
                Ok::<_, Error>(())
            };
            std::thread::scope(|scope| {
                let others: Vec<_> = (0..3).map(|_| scope.spawn(open)).collect();
                for other in others {
                    other.join().unwrap().unwrap();
                }
            });
        }
    }

    #[test]
    fn state_without_a_marker_is_not_this_hosts() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("home"));
        let state = paths::folder(folder.path(), &[STATE]).unwrap();
        assert_eq!(Ownership::of(folder.path(), &home).unwrap(), Ownership::Absent);
        fs::write(state.join(DATABASE), "").unwrap();
        assert!(matches!(Ownership::of(folder.path(), &home).unwrap(), Ownership::Foreign(_)));
    }
}
