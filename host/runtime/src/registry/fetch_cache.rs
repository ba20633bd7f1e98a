//! Items that a command names by a reference: fetched once for each digest, stored in the user's space, and inspected
//! or run from there.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use graph_core::digest::Digest;
use graph_core::trust::TrustStore;
use graph_registry::companions;
use graph_registry::lock::AllowedDepartures;
use graph_registry::pull::fetch_manifest;
use graph_registry::reference::Reference;

use crate::error::{Error, Result};
use crate::host::Host;
use crate::items::installed::{self, install, mark};
use crate::items::lock_file::LockFile;
use crate::project::text_file;
use crate::project::user_home::{create_private_folder, write_atomic};
use crate::project::{MARK, Project};
use crate::registry::pull::{Network, Puller, reference};
use crate::registry::yank::{Override, YankCheck, is_locked};
use crate::sources::Sources;
use crate::trust::trusted_keys;

/// Name of the file with the path of the folder's main item.
pub(crate) const ITEM: &str = "item";
/// Name of the file with the manifest of the main item's artifact, as it was received.
const ARTIFACT: &str = "artifact.json";
/// Name of the file with the envelope that signs a graph's companions.
const STATEMENT: &str = "companions.json";
/// The prefix of names of folders that are being made or removed.
pub(crate) const UNFINISHED: &str = ".fetch-";

/// An item that was fetched.
#[derive(Clone, Debug)]
pub struct FetchedReference {
    /// The component, graph or text that the reference names.
    pub file: PathBuf,
    /// The folder that contains it and the items that came with it.
    pub items: PathBuf,
    /// The digest of its artifact's manifest.
    pub digest: Digest,
    /// Reference of its artifact, with that digest.
    pub reference: Reference,
}

impl FetchedReference {
    /// Returns the path of the manifest of its artifact. Earlier versions did not write it.
    pub(crate) fn manifest_path(&self) -> PathBuf {
        self.items.with_file_name(ARTIFACT)
    }

    /// Returns the path of the envelope that signs its companions, if it has any.
    pub(crate) fn statement_path(&self) -> PathBuf {
        self.items.with_file_name(STATEMENT)
    }
}

/// Resolves an argument of a command. For a reference, this fetches the item and returns its file, and inserts the
/// folder of the fetched items as the first source.
pub fn named(word: &str, sources: &mut Sources, project: &Project, host: &Host) -> Result<String> {
    match fetched(word, sources, project, host, false)? {
        Some(fetched) => text(&fetched.file),
        None => Ok(word.to_owned()),
    }
}

/// Like [`named`], but returns everything that is known about the fetched item; `None` for a word that is no reference.
/// A yanked item is refused, unless it is locked or `yanked_too` is set.
pub fn fetched(
    word: &str,
    sources: &mut Sources,
    project: &Project,
    host: &Host,
    yanked_too: bool,
) -> Result<Option<FetchedReference>> {
    if !Reference::is_meant(word) {
        return Ok(None);
    }
    let store = trusted_keys::load(&host.home, &sources.trust, &*host.notices)?;
    let fetched = fetch(&reference(word)?, &store, project, host, yanked_too)?;
    sources.items.insert(0, fetched.items.clone());
    Ok(Some(fetched))
}

/// Like [`named`], for commands that read one file.
pub fn named_file(word: &str, project: &Project, host: &Host) -> Result<String> {
    named(word, &mut Sources::default(), project, host)
}

/// Converts a path to an argument of a command.
pub fn text(path: &Path) -> Result<String> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        Error::usage(format!("the path {} is not text in UTF-8", path.display()))
            .help("set GRAPH_HOST_HOME to a folder whose name is")
    })
}

/// Fetches the item that a reference names, unless its digest is stored already. A yanked item is refused, unless it is
/// locked or `yanked_too` is set.
pub fn fetch(
    wanted: &Reference,
    trust: &TrustStore,
    project: &Project,
    host: &Host,
    yanked_too: bool,
) -> Result<FetchedReference> {
    let options = Network::default().options(&host.home, std::slice::from_ref(wanted));
    let puller = Puller { options, trust, home: &host.home };
    if !wanted.names_one() {
        return Err(Error::usage(format!("{wanted} names no artifact"))
            .help("add a tag or a digest: `:1.0.0`, `@sha256:…`"));
    }
    let digest = match wanted.digest {
        Some(digest) => digest,
        None => fetch_manifest(&*puller.open(wanted)?, wanted)?.digest,
    };
    let all_pulled = host.home.fetched();
    let folder = all_pulled.join(digest.hex());
    let pinned = wanted.pinned(digest);
    if let Some(there) = kept(&folder, digest, &pinned)? {
        return Ok(there);
    }
    let manifest = fetch_manifest(&*puller.open(&pinned)?, &pinned)?;
    let mut all = puller.with_items(&pinned)?;
    let lock = LockFile::open(project)?;
    if !yanked_too {
        let check = YankCheck::new(&puller, Override::Pull, &*host.notices);
        check.refuse(&all, |one| is_locked(&lock.lock, one))?;
    }
    for one in &mut all {
        one.reference.digest = None;
        if let Some(held) = lock.get(one.pulled.kind.item_type(), &one.pulled.id) {
            one.follows(&held, "locked", AllowedDepartures::default())?;
        }
    }
    create_private_folder(&all_pulled)?;
    let failed = |error: &std::io::Error| Error::write("the folder", &folder, error);
    // The folder is made next to its final path and renamed, so that it is always complete.
    let made = tempfile::Builder::new()
        .prefix(UNFINISHED)
        .tempdir_in(&all_pulled)
        .map_err(|error| failed(&error))?;
    mark(made.path())?;
    let items = made.path().join(MARK);
    let mut first = None;
    for one in &all {
        let placed = install(&items, host.home.base(), &one.pulled, &one.reference)?;
        first.get_or_insert(placed.path);
    }
    let file = first.as_deref().and_then(|path| path.strip_prefix(made.path()).ok()).unwrap_or(Path::new(""));
    write_atomic(&made.path().join(ITEM), text(file)?.as_bytes(), false).map_err(|error| failed(&error))?;
    write_atomic(&made.path().join(ARTIFACT), &manifest.bytes, false).map_err(|error| failed(&error))?;
    if let Some(one) = all.first() {
        let name = pinned.to_string();
        if let Some(statement) = companions::envelope(&*puller.open(&pinned)?, &name, &one.pulled.companions)?
        {
            let path = made.path().join(STATEMENT);
            write_atomic(&path, statement.as_bytes(), false).map_err(|error| failed(&error))?;
        }
    }
    match fs::rename(made.path(), &folder) {
        Ok(()) => {
            let _ = made.keep();
        }
        // Another process fetched it first.
        Err(_) if folder.is_dir() => {}
        Err(error) => return Err(failed(&error)),
    }
    kept(&folder, digest, &pinned)?
        .ok_or_else(|| Error::storage(format!("{} is gone again", folder.display())))
}

/// Reads the folder of a digest; `None` if it does not exist.
fn kept(folder: &Path, digest: Digest, pinned: &Reference) -> Result<Option<FetchedReference>> {
    let path = folder.join(ITEM);
    let item = match text_file::read(&path) {
        Ok(item) => item,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::read("what was fetched", &path, &error)),
    };
    let file = folder.join(item.trim());
    if !file.is_file() || !installed::is_pulled(&file) {
        return Err(Error::integrity(format!("what was fetched into {} is not whole", folder.display()))
            .help("delete that folder: it is fetched again"));
    }
    // The least recently used items are removed first. If the time cannot be set, the item counts as older.
    let _ = fs::File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
    Ok(Some(FetchedReference { file, items: folder.join(MARK), digest, reference: pinned.clone() }))
}
