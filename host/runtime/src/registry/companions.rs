//! Companions of published graphs: collected when a graph is published, and written out when it is fetched. The
//! publisher signs them with the key of the graph; nothing here applies them.

use std::fmt;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, OpenOptions};
use graph_core::trust::{KeyId, SigningKey, signed_content};
use graph_registry::companions::{self, Companion, CompanionKind, Companions};
use graph_registry::manifest::ArtifactManifest;
use graph_registry::pull::{PulledContent, fetch_manifest};

use crate::error::{Error, Result};
use crate::project::{BaseFolder, text_file};
use crate::registry::fetch_cache::FetchedReference;
use crate::registry::publish::PublishableItem;
use crate::registry::pull::{PulledItem, Puller};

/// Source of the companions of graphs that are published. `()` gives none.
pub trait CompanionSource: fmt::Debug {
    /// Returns the companions of a graph. It is called before anything is published.
    fn companions(&self, publishable: &PublishableItem) -> Result<Vec<Companion>>;

    /// Returns the private half of the key that has signed a graph, to sign its companions. Without it, they stay unsigned.
    fn signing_key(&self, _ready: &PublishableItem, _signer: KeyId) -> Result<Option<SigningKey>> {
        Ok(None)
    }
}

impl CompanionSource for () {
    fn companions(&self, _: &PublishableItem) -> Result<Vec<Companion>> {
        Ok(Vec::new())
    }
}

/// Returns the name of a graph's file in its artifact, as `oras pull` writes it: cases name their graph by it.
pub fn graph_title(id: &str, extension: &str) -> String {
    let extension = if extension == "yml" { "yaml" } else { extension };
    format!("{}.{extension}", id.rsplit('/').next().unwrap_or(id))
}

/// A companion of a graph, with its content.
#[derive(Clone, Debug)]
pub struct File {
    /// File name, without a folder.
    pub name: String,
    /// Content, which has the digest that the artifact lists.
    pub bytes: Vec<u8>,
}

impl FetchedReference {
    /// Returns the artifact's manifest, from the cache if possible. Items that an earlier version has cached lack it
    /// and are requested once more.
    pub fn manifest(&self, puller: &Puller<'_>) -> Result<ArtifactManifest> {
        let path = self.manifest_path();
        let kept = match text_file::read(&path) {
            Ok(text) => {
                let bytes = text.into_bytes();
                // The folder is the user's own, but its name fixes the digest of its bytes.
                let is_own = graph_core::digest::Digest::of_bytes(&bytes) == self.digest;
                is_own.then_some(bytes)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(Error::read("what was fetched", &path, &error)),
        };
        let bytes = match kept {
            Some(bytes) => bytes,
            None => fetch_manifest(&*puller.open(&self.reference)?, &self.reference)?.bytes,
        };
        ArtifactManifest::read(&bytes).map_err(|error| {
            Error::integrity(format!("the manifest of {} cannot be used: {error}", self.reference))
                .caused_by(error)
        })
    }

    /// Returns the companions of the graph with this id, and verifies their signature by keys that are trusted now.
    /// Only the signature is fetched.
    pub fn companions(
        &self,
        manifest: &ArtifactManifest,
        id: &str,
        puller: &Puller<'_>,
    ) -> Result<Companions> {
        let name = self.reference.to_string();
        let mut found = companions::read(&name, manifest)?;
        if found.statement.is_some() {
            let content = signed_content(&text_file::read_as("the graph", &self.file)?);
            let kept = text_file::read(&self.statement_path()).ok();
            let envelope = match kept {
                Some(envelope) => Some(envelope),
                // An item that an earlier version has cached.
                None => companions::envelope(&*puller.open(&self.reference)?, &name, &found)?,
            };
            if let Some(envelope) = envelope {
                found.sign(&envelope, (id, &content), puller.judge());
            }
        }
        Ok(found)
    }

    /// Fetches the cases of a graph; returns the name and the text of each.
    pub fn cases(&self, companions: &Companions, puller: &Puller<'_>) -> Result<Vec<(String, String)>> {
        let (transport, name) = (puller.open(&self.reference)?, self.reference.to_string());
        let cases = companions.of_kind(CompanionKind::Case);
        cases
            .map(|case| Ok((case.title.clone(), companions::fetch_text(&*transport, &name, case)?)))
            .collect()
    }
}

impl Puller<'_> {
    /// Fetches all companions of a graph, and adds the graph itself, which its cases name; returns nothing for another item.
    pub fn files(&self, brought: &PulledItem) -> Result<Vec<File>> {
        let PulledContent::Text { text, extension, .. } = &brought.pulled.content else {
            return Ok(Vec::new());
        };
        let listed = &brought.pulled.companions.listed;
        if listed.is_empty() {
            return Ok(Vec::new());
        }
        let graph =
            File { name: graph_title(&brought.pulled.id, extension), bytes: text.clone().into_bytes() };
        let (transport, name) = (self.open(&brought.reference)?, brought.reference.to_string());
        let fetched = listed.iter().map(|one| {
            // This name of the graph differs from the artifact's if its publisher chose another one.
            if one.title.eq_ignore_ascii_case(&graph.name) {
                return Err(Error::integrity(format!(
                    "layer {} of {name} has the name of the graph's file, `{}`",
                    one.layer, graph.name
                )));
            }
            Ok(File { name: one.title.clone(), bytes: companions::fetch(&*transport, &name, one)? })
        });
        let fetched = fetched.collect::<Result<Vec<_>>>()?;
        Ok(std::iter::once(graph).chain(fetched).collect())
    }
}

/// A folder for files of strangers: nothing is overwritten, and no link leads out of it.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    base: BaseFolder,
}

/// A file that was written.
#[derive(Clone, Debug)]
pub struct WrittenFile {
    /// Path of the file.
    pub path: PathBuf,
    /// `true` if the same bytes were there already.
    pub was_there: bool,
}

impl Folder {
    /// Makes a folder that need not exist: the first write creates it.
    pub fn at(path: &Path, base: &BaseFolder) -> Self {
        Self { path: path.to_path_buf(), base: base.clone() }
    }

    /// Fails for files that would replace others. `id` is the item, whose files are in a folder of that name.
    pub fn check(&self, id: &str, files: &[File]) -> Result<()> {
        match self.open(id) {
            Ok(folder) => files.iter().try_for_each(|file| self.is_there(&folder, id, file).map(|_| ())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(self.failed(id, &error)),
        }
    }

    /// Writes files that do not exist yet.
    pub fn write(&self, id: &str, files: &[File]) -> Result<Vec<WrittenFile>> {
        self.check(id, files)?;
        let made = || {
            fs::create_dir_all(&self.path)?;
            Dir::open_ambient_dir(&self.path, cap_std::ambient_authority())?.create_dir_all(id)?;
            self.open(id)
        };
        let folder = made().map_err(|error| self.failed(id, &error))?;
        let mut written = Vec::new();
        for file in files {
            let path = self.path.join(id).join(&file.name);
            let was_there = self.is_there(&folder, id, file)?;
            if !was_there {
                let write = || {
                    // Fails if the file has been created since.
                    let mut made =
                        folder.open_with(&file.name, OpenOptions::new().write(true).create_new(true))?;
                    made.write_all(&file.bytes)?;
                    made.sync_all()
                };
                write().map_err(|error| Error::write("what the graph takes along", &path, &error))?;
            }
            written.push(WrittenFile { path, was_there });
        }
        Ok(written)
    }

    fn open(&self, id: &str) -> io::Result<Dir> {
        Dir::open_ambient_dir(&self.path, cap_std::ambient_authority())?.open_dir(id)
    }

    fn failed(&self, id: &str, error: &io::Error) -> Error {
        Error::write("the folder", &self.path.join(id), error)
    }

    /// Checks whether a file exists with the same bytes. Other bytes are an error.
    fn is_there(&self, folder: &Dir, id: &str, file: &File) -> Result<bool> {
        let path = self.path.join(id).join(&file.name);
        let other = |what: &str| {
            Error::denied(format!("{} {what}: it is not overwritten", self.base.show(&path)))
                .help("name another folder, or move the file away")
        };
        match folder.symlink_metadata(&file.name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::read("the file", &path, &error)),
            // A pipe would block, and a link may lead anywhere.
            Ok(found) if !found.is_file() => Err(other("exists, and is not a file")),
            Ok(_) => {
                let mut bytes = Vec::new();
                let most = file.bytes.len() as u64 + 1;
                let read = folder.open(&file.name).and_then(|there| there.take(most).read_to_end(&mut bytes));
                read.map_err(|error| Error::read("the file", &path, &error))?;
                if bytes == file.bytes { Ok(true) } else { Err(other("exists with other content")) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::error::Kind;

    fn file(name: &str, text: &str) -> File {
        File { name: name.to_owned(), bytes: text.as_bytes().to_vec() }
    }

    #[test]
    fn files_are_written_once_and_never_over_others() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::at(&root.path().join("out"), &BaseFolder::default());
        let files = [file("flow.yaml", "graph"), file("a.case.yaml", "case")];
        let written = folder.write("t/flow", &files).unwrap();
        assert!(written.iter().all(|one| !one.was_there));
        assert_eq!(fs::read_to_string(root.path().join("out/t/flow/a.case.yaml")).unwrap(), "case");
        assert!(folder.write("t/flow", &files).unwrap().iter().all(|one| one.was_there));
        // A file that differs is kept, and the others are not written either.
        let changed = [file("new.case.yaml", "new"), file("a.case.yaml", "other")];
        let refused = folder.write("t/flow", &changed).unwrap_err();
        assert_eq!(refused.kind(), Kind::Denied);
        assert!(refused.message().contains("exists with other content"), "{refused}");
        assert_eq!(fs::read_to_string(root.path().join("out/t/flow/a.case.yaml")).unwrap(), "case");
        assert!(!root.path().join("out/t/flow/new.case.yaml").exists());
    }

    #[cfg(unix)]
    #[test]
    fn no_link_leads_out_of_the_folder() {
        let root = tempfile::tempdir().unwrap();
        let (out, away) = (root.path().join("out"), root.path().join("away"));
        fs::create_dir_all(&out).unwrap();
        fs::create_dir_all(&away).unwrap();
        std::os::unix::fs::symlink(&away, out.join("t")).unwrap();
        let folder = Folder::at(&out, &BaseFolder::default());
        assert!(folder.write("t/flow", &[file("a.case.yaml", "case")]).is_err());
        assert_eq!(fs::read_dir(&away).unwrap().count(), 0);
        // Nor is a link followed in place of a file.
        fs::create_dir_all(out.join("u")).unwrap();
        std::os::unix::fs::symlink(away.join("made"), out.join("u/a.case.yaml")).unwrap();
        assert!(folder.write("u", &[file("a.case.yaml", "case")]).is_err());
        assert!(!away.join("made").exists());
    }

    #[test]
    fn a_graph_has_the_name_of_its_id() {
        assert_eq!(graph_title("t/flow", "yml"), "flow.yaml");
        assert_eq!(graph_title("flow", "yaml"), "flow.yaml");
    }
}
