//! Versions of the formats of stored files, and migration of older ones.
//!
//! Inspecting writes nothing: no file is made or changed, nothing is locked, and no link is followed.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use graph_core::diagnostic::Problems;
use graph_core::format;
use graph_core::yaml;
use graph_registry::lock;
use graph_store::held::FilePlace;
use graph_store::{Format, PathContent};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::project::Project;
use crate::project::state::{self, OwnState};
use crate::project::text_file;
use crate::project::user_home::Home;

/// State of a stored file's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It has the current version.
    Current,
    /// It has an older version: `migrate` brings it up to date, and so does the first command that opens it.
    Older,
    /// It has just been brought up to date.
    Migrated,
    /// A later version of this program has written it.
    Newer,
    /// It cannot be read as what it should be.
    Unreadable,
}

/// A file or folder in a versioned format, and its version.
#[derive(Clone, Debug, Serialize)]
pub struct Stored {
    /// Name of its format.
    pub format: &'static str,
    /// Path of the file or folder.
    pub file: String,
    /// Its version, if it can be read.
    pub version: Option<u64>,
    /// Version that this program writes.
    pub current: u64,
    /// State of its format.
    pub state: State,
    /// Reason for which it cannot be read.
    pub reason: Option<String>,
    /// The kind and the place of the store, if it is one.
    #[serde(skip)]
    store: Option<(Format, FilePlace)>,
}

/// The stored files of a project and of the user's space.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// One entry for each file that exists.
    pub files: Vec<Stored>,
}

/// Inspects the stores of a project, its lockfile, and the trust store and the trust log of the user's space.
pub fn inspect(project: &Project, home: &Home) -> Report {
    let shown = |path: &Path| project.base().show(path);
    let store = |format, kind, name: &str, refused| {
        let place = project.state().file(name);
        store(format, shown(&place.path()), kind, place, refused)
    };
    let text = |format, path: &Path, version| text(format, shown(path), path, version);
    let found = [
        store("runs", Format::Runs, "runs.db", state::database(project).err()),
        store("knowledge", Format::Knowledge, "knowledge.db", state::knowledge(project).err()),
        store("files", Format::Files, "files", state::files(project).err()),
        text("lockfile", &project.folder().join(lock::FILE), version_of_yaml),
        text("trust_store", &home.trust_file(), version_of_yaml),
        text("trust_log", &home.root().join("trust.log"), version_of_lines),
    ];
    Report { files: found.into_iter().flatten().collect() }
}

/// Migrates older files that belong to this host.
pub fn migrate(report: &mut Report, project: &Project, home: &Home) -> Result<()> {
    for stored in report.files.iter_mut().filter(|stored| stored.state == State::Older) {
        OwnState::open(project, home)?;
        if let Some((kind, place)) = &stored.store {
            kind.bring_up_to_date(place)?;
        }
        (stored.state, stored.version) = (State::Migrated, Some(stored.current));
    }
    Ok(())
}

impl Report {
    /// Checks whether a file is in one of these states.
    pub fn has(&self, states: &[State]) -> bool {
        self.files.iter().any(|stored| states.contains(&stored.state))
    }
}

fn store(
    format: &'static str,
    file: String,
    kind: Format,
    place: FilePlace,
    refused: Option<Error>,
) -> Option<Stored> {
    // A file outside of the project is not the project's, and must not be migrated with it.
    if let Some(error) = refused {
        return Some(Stored::unreadable(format, file, kind.current(), error.message().to_owned()));
    }
    let found = kind.inspect(&place).unwrap_or_else(|error| PathContent::Other(error.to_string()));
    let current = kind.current();
    match found {
        PathContent::Nothing => None,
        PathContent::Version(version) => {
            Some(Stored { store: Some((kind, place)), ..Stored::of(format, file, version, current) })
        }
        PathContent::Other(reason) => Some(Stored::unreadable(format, file, current, reason)),
    }
}

fn text(
    format: &'static str,
    file: String,
    path: &Path,
    version: fn(&str) -> Result<u64, String>,
) -> Option<Stored> {
    let kind = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        Err(error) => return Some(Stored::unreadable(format, file, format::CURRENT, error.to_string())),
    };
    // A link to a file is followed, as when these files are used: a user may store them elsewhere.
    let read = if kind.is_dir() {
        Err("it is a folder".to_owned())
    } else {
        let text =
            text_file::read(path).map_err(|error| Error::read("the file", path, &error).message().to_owned());
        text.and_then(|text| version(&text))
    };
    Some(match read {
        Ok(version) => Stored::of(format, file, version, format::CURRENT),
        Err(reason) => Stored::unreadable(format, file, format::CURRENT, reason),
    })
}

/// Reads the `version` of a document; 1 if it states none.
fn version_of_yaml(text: &str) -> Result<u64, String> {
    let problems = Problems::new();
    let root = yaml::parse(text, &problems).filter(|_| !problems.has_errors());
    let root = root.as_ref().and_then(yaml::Node::as_mapping).ok_or("it is not a YAML mapping")?;
    match root.get("version") {
        None => Ok(1),
        Some(node) => node
            .as_u64()
            .filter(|version| *version > 0)
            .ok_or_else(|| "its `version` is not a number from 1".to_owned()),
    }
}

/// Returns the highest version among lines of JSON. A last line without a line break was cut short, and does not count.
fn version_of_lines(text: &str) -> Result<u64, String> {
    let whole = text.rfind('\n').map_or(0, |at| at + 1);
    let mut latest = format::CURRENT;
    for (line, number) in text[..whole].lines().zip(1..) {
        if let Some(newer) = format::newer(line, format::CURRENT) {
            latest = latest.max(newer.found);
        } else if !line.starts_with('{') {
            return Err(format!("line {number} is not JSON"));
        }
    }
    Ok(latest)
}

impl Stored {
    fn of(format: &'static str, file: String, version: u64, current: u64) -> Self {
        let state = match version.cmp(&current) {
            std::cmp::Ordering::Less => State::Older,
            std::cmp::Ordering::Equal => State::Current,
            std::cmp::Ordering::Greater => State::Newer,
        };
        Self { format, file, version: Some(version), current, state, reason: None, store: None }
    }

    fn unreadable(format: &'static str, file: String, current: u64, reason: String) -> Self {
        let (state, reason) = (State::Unreadable, Some(reason));
        Self { format, file, version: None, current, state, reason, store: None }
    }

    /// Describes the state in a sentence.
    pub fn sentence(&self) -> String {
        let version = self.version.unwrap_or_default();
        match self.state {
            State::Current => format!("version {version}"),
            State::Older => format!("version {version}, to be migrated to version {}", self.current),
            State::Migrated => format!("migrated to version {version}"),
            State::Newer => format!(
                "version {version}, and this program reads versions up to {}: use a newer graph-host",
                self.current
            ),
            State::Unreadable => self.reason.clone().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_a_text_is_read_or_it_is_said_why_not() {
        assert_eq!(version_of_yaml("keys: []\n"), Ok(1));
        assert_eq!(version_of_yaml("version: 7\nkeys: []\n"), Ok(7));
        for text in ["", "- 1\n", "version: x\n", "version: 0\n", "a: [\n"] {
            assert!(version_of_yaml(text).is_err(), "{text}");
        }
        assert_eq!(version_of_lines("{\"entry\":{}}\n{\"version\":3}\n{\"version\":2}\n"), Ok(3));
        assert_eq!(version_of_lines("{\"entry\":{}}\n{\"version\":3"), Ok(1), "cut short");
        assert!(version_of_lines("keys: []\n").is_err());
    }
}
