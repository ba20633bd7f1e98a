//! The state folder of a project, `.ai/state`: its owner, and the files in it.
//!
//! A project may come from a stranger, with a state folder in it. Such state can be shown and verified on request. It
//! is written, and runs in it are resumed, only if a marker that this host has signed for this very folder proves that
//! this host made it. A copied or moved folder has a marker for another path.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use graph_core::trust::StateMarker;
use graph_store::held::{FilePlace, FolderPlace, HeldFolder, WriteOptions};

use crate::clock::now;
use crate::error::{Error, Result};
use crate::project::paths::{self, FileKind};
use crate::project::user_home::Home;
use crate::project::{BaseFolder, Project};
use crate::remedy::Remedy;

const DATABASE: &str = "runs.db";
const FILES: &str = "files";
const KNOWLEDGE: &str = "knowledge.db";
/// Name of the marker's file in the folder.
const MARKER: &str = "host.json";

/// Returns the place of the database of a project's runs, for reading.
pub fn database(project: &Project) -> Result<FilePlace> {
    file(project, DATABASE, FileKind::File)
}

/// Returns the place of the folder of the project's runs in files, for reading.
pub fn files(project: &Project) -> Result<FolderPlace> {
    file(project, FILES, FileKind::Folder)?;
    Ok(project.state().child(FILES))
}

/// Returns the place of the database of the project's knowledge, for reading.
pub fn knowledge(project: &Project) -> Result<FilePlace> {
    file(project, KNOWLEDGE, FileKind::File)
}

fn file(project: &Project, name: &str, kind: FileKind) -> Result<FilePlace> {
    let place = project.state().file(name);
    paths::entry(&place, kind, project.base())?;
    Ok(place)
}

/// Owner of the state of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// The project has no state yet.
    Absent,
    /// This host made the state, in this folder.
    Own,
    /// Another host made the state, or in another folder; with the reason.
    Foreign(String),
}

impl Ownership {
    /// Determines the owner of the state of a project.
    pub fn determine(project: &Project, home: &Home) -> Result<Self> {
        let shown = |path: &Path| project.base().show(path);
        let Some(folder) = paths::open_folder(project.state(), project.base())? else {
            return Ok(Self::Absent);
        };
        let place = file(project, MARKER, FileKind::File)?;
        let marker = place.path();
        let read = || place.read(StateMarker::MOST_BYTES as u64);
        let is_missing = |read: &io::Result<Vec<u8>>| {
            read.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        };
        let mut found = read();
        if is_missing(&found) {
            if !has_state(&folder, project.base())? {
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
        let is_own = home.is_own_identity(marker.key().id())?;
        if !is_own || home.verifying_identity(marker.key().id())?.as_ref() != Some(marker.key()) {
            let key = marker.key().id();
            return Ok(Self::Foreign(format!(
                "its marker was signed by another host, with key {}",
                key.short()
            )));
        }
        let folder = real(&folder, project.base())?;
        if !marker.is_of(folder.as_os_str().as_encoded_bytes()) {
            return Ok(Self::Foreign(format!("its marker is for {}", marker.folder())));
        }
        Ok(Self::Own)
    }
}

/// The state folder of a project that this host made: it may be written, and runs in it may be resumed.
#[derive(Clone, Debug)]
pub struct OwnState {
    project: Project,
}

impl OwnState {
    /// Opens the state folder of a project. If there is no state yet, the folder and its marker are made; another
    /// host's state is an integrity error, with help.
    pub fn open(project: &Project, home: &Home) -> Result<Self> {
        match Ownership::determine(project, home)? {
            Ownership::Own => {}
            Ownership::Absent => mark(project, home)?,
            Ownership::Foreign(why) => return Err(refused(project, &why)),
        }
        Ok(Self { project: project.clone() })
    }

    /// Fails for another host's state, without making anything.
    pub fn check(project: &Project, home: &Home) -> Result<()> {
        match Ownership::determine(project, home)? {
            Ownership::Own | Ownership::Absent => Ok(()),
            Ownership::Foreign(why) => Err(refused(project, &why)),
        }
    }

    /// Takes over a state folder of any host, at the user's request. Returns `false` if it was this host's already.
    pub fn adopt(project: &Project, home: &Home) -> Result<bool> {
        match Ownership::determine(project, home)? {
            Ownership::Own => Ok(false),
            Ownership::Absent => Err(Error::not_found(format!(
                "there is no state in {}: nothing has to be adopted",
                project.base().show(project.state().path())
            ))),
            Ownership::Foreign(_) => mark(project, home).map(|()| true),
        }
    }

    /// Returns the project.
    pub fn project(&self) -> &Project {
        &self.project
    }

    /// Returns the place of the database of runs.
    pub fn database(&self) -> Result<FilePlace> {
        database(&self.project)
    }

    /// Returns the place of the folder of runs in files.
    pub fn files(&self) -> Result<FolderPlace> {
        files(&self.project)
    }

    /// Returns the place of the database of knowledge.
    pub fn knowledge(&self) -> Result<FilePlace> {
        knowledge(&self.project)
    }
}

fn mark(project: &Project, home: &Home) -> Result<()> {
    let folder = project.state();
    let folder = folder.make().map_err(|error| paths::not_made(&error, folder.path(), project.base()))?;
    let marker = file(project, MARKER, FileKind::File)?;
    let signed = StateMarker::sign(
        &home.identity()?,
        real(&folder, project.base())?.as_os_str().as_encoded_bytes(),
        now(),
    );
    marker
        .replace(WriteOptions::with_mode(0o644), |file| file.write_all(signed.to_text().as_bytes()))
        .map_err(|error| Error::write("the marker of the state folder", &marker.path(), &error))
}

fn refused(project: &Project, why: &str) -> Error {
    let folder = project.base().show(project.state().path());
    Error::integrity(format!("the state in {folder} is not this host's: {why}")).help(Remedy::AdoptState)
}

/// Returns the canonical path of a held folder, which markers are made for. It is an error if the path leads to another folder by now.
fn real(folder: &HeldFolder, base: &BaseFolder) -> Result<PathBuf> {
    let shown = base.show(folder.path());
    let path = folder.canonical().map_err(|error| Error::read("the folder", Path::new(&shown), &error))?;
    path.ok_or_else(|| {
        Error::integrity(format!("{shown} was exchanged for another folder while it was in use"))
            .help("look at what is there, and at what changes it")
    })
}

/// Checks whether a state folder contains anything that a store would read: a database, one of SQLite's files next to
/// it, or a folder of runs.
fn has_state(folder: &HeldFolder, base: &BaseFolder) -> Result<bool> {
    let names = folder.names();
    let names =
        names.map_err(|error| Error::read("the folder", Path::new(&base.show(folder.path())), &error))?;
    let is_state = |name: &OsString| {
        let name = name.to_string_lossy().to_ascii_lowercase();
        [DATABASE, KNOWLEDGE].iter().any(|database| name.starts_with(database)) || name == FILES
    };
    Ok(names.iter().any(is_state))
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
                let state = OwnState::open(&Project::at(folder.path().to_owned()), &home)?;
                std::fs::write(state.database()?.path(), "").unwrap();
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
        let project = Project::at(folder.path().to_owned());
        let state = paths::folder(&project, &["state"]).unwrap();
        assert_eq!(Ownership::determine(&project, &home).unwrap(), Ownership::Absent);
        std::fs::write(state.path().join(DATABASE), "").unwrap();
        assert!(matches!(Ownership::determine(&project, &home).unwrap(), Ownership::Foreign(_)));
    }
}
