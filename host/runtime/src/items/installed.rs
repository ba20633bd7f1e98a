//! Pulled items: each is installed whole or not at all, next to a record of its origin.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use graph_core::diagnostic::printable;
use graph_core::digest::Digest;
use graph_core::format;
use graph_core::id::path_of;
use graph_core::item::ItemType;
use graph_core::json::{self, TreeLimit};
use graph_core::time::Timestamp;
use graph_core::trust::KeyId;
use graph_registry::artifact::Kind;
use graph_registry::lock::LockedItem;
use graph_registry::pull::{PulledArtifact, PulledContent};
use graph_registry::reference::Reference;
use graph_store::held::{FolderPlace, HeldFolder, Refusal, WriteOptions};
use serde::{Deserialize, Serialize};

use crate::clock::now;
use crate::error::{Error, Result};
use crate::items::locate::{ItemFile, envelope_path, extensions};
use crate::items::lock_file::LockFile;
use crate::project::Project;
use crate::project::user_home::{create_private_folder, write_atomic};
use crate::project::{BaseFolder, text_file};
use crate::remedy::Remedy;

/// Marks a folder that contains only pulled items.
const MARK: &str = ".pulled";

/// Origin of a pulled file: the record for `x.wasm` is `x.wasm.origin.json`, next to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The id under which it is installed.
    pub id: String,
    /// Kind of the item: component, graph, knowledge or directive.
    pub kind: Kind,
    /// Reference that it was pulled from.
    pub reference: String,
    /// The version that its signature covers.
    pub version: String,
    /// The digest of its manifest.
    pub manifest: Digest,
    /// The digest of its content.
    pub digest: Digest,
    /// The key by whose signature it was admitted.
    pub key: KeyId,
    /// Time of the pull.
    pub pulled: Timestamp,
}

impl Origin {
    /// Makes the record for an item that was pulled from a reference.
    pub fn from_pulled(pulled: &PulledArtifact, reference: &Reference) -> Self {
        Self {
            id: pulled.id.clone(),
            kind: pulled.kind,
            reference: reference.to_string(),
            version: pulled.version.clone(),
            manifest: pulled.manifest,
            digest: pulled.digest,
            key: pulled.key.id,
            pulled: now(),
        }
    }

    /// Returns the item's entry for a lockfile.
    pub fn locked(&self) -> Option<LockedItem> {
        Some(LockedItem {
            kind: self.kind,
            reference: self.reference.parse().ok()?,
            version: self.version.clone(),
            manifest: self.manifest,
            digest: self.digest,
            key: self.key,
        })
    }
}

fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn origin_path(file: &Path) -> PathBuf {
    beside(file, ".origin.json")
}

/// Checks whether a file was pulled: it has a record of its origin, or its folder contains only pulled items.
pub(crate) fn is_pulled(file: &Path) -> bool {
    let marked = |folder: &Path| folder.join(MARK).exists();
    origin_path(file).exists() || file.ancestors().skip(1).any(marked)
}

/// Makes the error of a pulled file without signature.
pub(crate) fn without_signature(file: &ItemFile) -> Error {
    let from = text_file::read(&origin_path(&file.path))
        .ok()
        .and_then(|bytes| json::read::<Origin>(&bytes, TreeLimit::NOTE).ok());
    let from = from.map(|origin| format!(" from {}", printable(&origin.reference))).unwrap_or_default();
    Error::integrity(format!("{} was pulled{from}, and is not signed", file.shown()))
        .help(Remedy::PullUnsignedAgain)
}

/// Checks a pulled item against the lockfile of a project before its use: another project may have pulled another version since.
pub(crate) fn as_locked(
    project: &Project,
    file: &Path,
    item_type: ItemType,
    id: &str,
    digest: &Digest,
) -> Result<()> {
    if !file.ancestors().skip(1).any(|folder| folder.join(MARK).exists()) {
        return Ok(());
    }
    let lock = LockFile::open(project)?;
    let locked = lock.get(item_type, path_of(id));
    match locked.filter(|locked| locked.digest != *digest) {
        None => Ok(()),
        Some(locked) => Err(Error::integrity(format!(
            "{} is not what {} locks: `{id}` is {digest}, locked is version {}, {}",
            project.base().show(file),
            project.base().show(lock.path()),
            locked.version,
            locked.digest
        ))
        .help(Remedy::RestoreLocked)),
    }
}

fn folder_of(root: &Path, item_type: ItemType) -> PathBuf {
    root.join(match item_type {
        ItemType::Tool => "tools",
        ItemType::Knowledge => "knowledge",
        ItemType::Directive => "directives",
    })
}

/// Reads the record of origin of an item in a folder; `None` if no such item was pulled.
pub fn origin(root: &Path, base: &BaseFolder, item_type: ItemType, id: &str) -> Result<Option<Origin>> {
    for extension in extensions(item_type) {
        let path = origin_path(&folder_of(root, item_type).join(format!("{id}.{extension}")));
        let text = match text_file::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(Error::read("the record of origin", &path, &error)),
        };
        let origin: Origin = json::read(&text, TreeLimit::NOTE).map_err(|error| {
            let reason = format::reason(&text, format::CURRENT, &error);
            Error::integrity(format!("the record of origin {} cannot be read: {reason}", base.show(&path)))
                .help("delete it together with the file next to it, and pull the item again")
        })?;
        return Ok(Some(origin));
    }
    Ok(None)
}

/// Checks whether a folder is marked as containing only pulled items. A link is not accepted as a mark.
pub(crate) fn is_marked(root: &Path) -> bool {
    fs::symlink_metadata(root.join(MARK)).is_ok_and(|found| found.is_file())
}

/// Marks a folder as containing only pulled items.
pub fn mark(root: &Path) -> Result<()> {
    create_private_folder(root)?;
    let path = root.join(MARK);
    if path.exists() {
        return Ok(());
    }
    write_atomic(
        &path,
        b"The items in this folder were pulled: they run only with a valid signature.\n",
        false,
    )
    .map_err(|error| Error::write("the mark", &path, &error))
}

/// The result of installing an item.
#[derive(Clone, Debug)]
pub struct Installed {
    /// The file that was written.
    pub path: PathBuf,
    /// `true` if the same bytes were installed already.
    pub was_there: bool,
}

/// Installs an item below a folder: first the record of origin, so that an item never exists without one, then the
/// signature, then the item. After an interruption, the item does not verify, and pulling it again repairs it.
pub fn install(
    root: &Path,
    base: &BaseFolder,
    pulled: &PulledArtifact,
    reference: &Reference,
) -> Result<Installed> {
    let (extension, bytes) = match &pulled.content {
        PulledContent::Component { component, .. } => ("wasm", &component.bytes()[..]),
        PulledContent::Text { text, extension, .. } => (*extension, text.as_bytes()),
    };
    let item_type = pulled.kind.item_type();
    let of_type = folder_of(root, item_type);
    let path = of_type.join(format!("{}.{extension}", pulled.id));
    let folder = path.parent().unwrap_or(&of_type);
    create_private_folder(folder)?;
    stays_in(folder, root, base)?;
    let mut parts: Vec<(PathBuf, &[u8])> = Vec::new();
    if let PulledContent::Component { envelope, .. } = &pulled.content {
        parts.push((envelope_path(&path), envelope.as_bytes()));
    }
    parts.push((path.clone(), bytes));
    let there = origin(root, base, item_type, &pulled.id)?;
    let same = |(path, bytes): &(PathBuf, &[u8])| {
        fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.len() == bytes.len() as u64)
            && fs::read(path).is_ok_and(|there| there == *bytes)
    };
    if there.is_some_and(|there| there.manifest == pulled.manifest && there.key == pulled.key.id)
        && parts.iter().all(same)
    {
        return Ok(Installed { path, was_there: true });
    }
    if path.exists() && !is_pulled(&path) {
        return Err(Error::denied(format!(
            "{} is there already, and was not pulled: it is left alone",
            base.show(&path)
        ))
        .help(Remedy::PullElsewhere));
    }
    let record = serde_json::to_string_pretty(&Origin::from_pulled(pulled, reference))
        .map_err(|error| Error::storage(error.to_string()).caused_by(error))?;
    // From here on, writes go to the held folder, even if its path is exchanged.
    let held = held_below(root, folder, base)?;
    let write = |path: &Path, bytes: &[u8]| {
        let name = path.file_name().unwrap_or_default();
        held.replace(name, WriteOptions::with_mode(0o644), |file| file.write_all(bytes))
            .map_err(|error| Error::write("the pulled item", path, &error))
    };
    write(&origin_path(&path), format!("{record}\n").as_bytes())?;
    for (path, bytes) in parts {
        write(&path, bytes)?;
    }
    // An item with this id in another format would be found instead.
    for other in extensions(item_type).iter().filter(|other| **other != extension) {
        let other = of_type.join(format!("{}.{other}", pulled.id));
        if origin_path(&other).exists() {
            for path in [other.clone(), envelope_path(&other), origin_path(&other)] {
                match held.remove(path.file_name().unwrap_or_default()) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                        return Err(Error::write("what was pulled before", &path, &error));
                    }
                    _ => {}
                }
            }
        }
    }
    Ok(Installed { path, was_there: false })
}

/// Opens a folder below `root`, without following links from there on.
fn held_below(root: &Path, folder: &Path, base: &BaseFolder) -> Result<HeldFolder> {
    let names = folder.strip_prefix(root).unwrap_or(folder).components();
    let place = names.fold(FolderPlace::at(root), |folder, name| folder.child(name.as_os_str()));
    place.get().map_err(|error| {
        if Refusal::of(&error).is_some() {
            let shown = base.show(folder);
            return Error::denied(format!("{shown} is reached through a link: nothing is written there"));
        }
        Error::write("the folder", folder, &error)
    })
}

/// Refuses a folder that is reached through a link out of `root`.
fn stays_in(folder: &Path, root: &Path, base: &BaseFolder) -> Result<()> {
    let real = |path: &Path| fs::canonicalize(path).map_err(|error| Error::read("the folder", path, &error));
    if real(folder)?.starts_with(real(root)?) {
        return Ok(());
    }
    let (folder, root) = (base.show(folder), base.show(root));
    Err(Error::denied(format!("a link leads from {folder} out of {root}: nothing is written there")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use graph_core::trust::SigningKey;

    use super::*;

    #[test]
    fn the_record_of_every_file_that_may_be_an_item_is_found() {
        for item_type in [ItemType::Tool, ItemType::Knowledge, ItemType::Directive] {
            for extension in extensions(item_type) {
                let root = tempfile::tempdir().unwrap();
                let digest = Digest::of_bytes(b"");
                let pulled = Origin {
                    id: "c/w".to_owned(),
                    kind: Kind::Graph,
                    reference: "oci-layout:out:c/w:1.0.0".to_owned(),
                    version: "1.0.0".to_owned(),
                    manifest: digest,
                    digest,
                    key: SigningKey::from_seed(&[7; 32]).id(),
                    pulled: Timestamp(1),
                };
                let file = folder_of(root.path(), item_type).join(format!("c/w.{extension}"));
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(origin_path(&file), serde_json::to_string(&pulled).unwrap()).unwrap();
                assert_eq!(
                    origin(root.path(), &BaseFolder::default(), item_type, "c/w").unwrap(),
                    Some(pulled),
                    "{extension}"
                );
            }
        }
    }
}
