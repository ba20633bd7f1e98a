//! The state folder of a project, `.ai/state`: whose it is, and what lies there.
//!
//! A project may come from a stranger, with a state folder in it. What is there is shown and verified when somebody asks
//! for it; it is written, and runs in it go on, only where a marker that this host has signed for this very folder says
//! that this host made it. A copy of the folder, or one that was moved, has a marker for another path.

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

/// The database of the runs of a project, to look at.
pub fn database(project: &Path) -> Result<PathBuf> {
    paths::path(project, &[STATE, DATABASE], FileKind::File)
}

/// The folder of the runs of a project that are kept as files, to look at.
pub fn files(project: &Path) -> Result<PathBuf> {
    paths::path(project, &[STATE, FILES], FileKind::Folder)
}

/// The database of what components keep, to look at.
pub fn knowledge(project: &Path) -> Result<PathBuf> {
    paths::path(project, &[STATE, KNOWLEDGE], FileKind::File)
}

/// Whose the state of a project is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// There is none.
    Absent,
    /// This host's.
    Own,
    /// Not this host's, or of another folder; this is why.
    Foreign(String),
}

impl Ownership {
    /// Whose the state of a project is.
    pub fn of(project: &Path, home: &Home) -> Result<Self> {
        let folder = paths::path(project, &[STATE], FileKind::Folder)?;
        let marker = paths::path(project, &[STATE, MARKER], FileKind::File)?;
        let text = match paths::read(&marker, StateMarker::MOST_BYTES as u64) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let why = || format!("no marker {} says that this host made it", shown(&marker));
                return Ok(if has_state(&folder)? { Self::Foreign(why()) } else { Self::Absent });
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

/// The state folder of a project, which is this host's: what may be written, and where runs may go on.
#[derive(Clone, Debug)]
pub struct OwnState {
    project: PathBuf,
}

impl OwnState {
    /// The state folder of a project. It is made, with its marker, where there is no state yet; state that is not this
    /// host's is an integrity error that says what to do.
    pub fn open(project: &Path, home: &Home) -> Result<Self> {
        match Ownership::of(project, home)? {
            Ownership::Own => {}
            Ownership::Absent => mark(project, home)?,
            Ownership::Foreign(why) => return Err(refused(project, &why)),
        }
        Ok(Self { project: project.to_path_buf() })
    }

    /// Refuses state that is not this host's, and makes nothing.
    pub fn check(project: &Path, home: &Home) -> Result<()> {
        match Ownership::of(project, home)? {
            Ownership::Own | Ownership::Absent => Ok(()),
            Ownership::Foreign(why) => Err(refused(project, &why)),
        }
    }

    /// Takes over a state folder, whoever made it: its user says that it is this host's. `false`: it was already.
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

    /// The project.
    pub fn project(&self) -> &Path {
        &self.project
    }

    /// The database of the runs.
    pub fn database(&self) -> Result<PathBuf> {
        database(&self.project)
    }

    /// The folder of the runs that are kept as files.
    pub fn files(&self) -> Result<PathBuf> {
        files(&self.project)
    }

    /// The database of what components keep.
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
            "it can be shown and verified; to go on here after you have moved or copied the project yourself, or with \
             state from before markers: graph-host runs adopt. Of a stranger's project, take single runs over with \
             graph-host runs export and, in a project of your own, graph-host runs import",
        )
}

/// The folder's path without links and without steps back.
fn real(folder: &Path) -> Result<PathBuf> {
    fs::canonicalize(folder).map_err(|error| Error::read("the folder", Path::new(&shown(folder)), &error))
}

/// Whether there is anything in a state folder that a store would read: a database, a file beside one, or a folder of runs.
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
