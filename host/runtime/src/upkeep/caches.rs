//! The caches in the user's space: compiled components, items that commands have named by a reference, and build
//! folders of nodes. All of these can be compiled, fetched or built again.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use graph_core::digest::Digest;
use graph_core::record::Status;
use graph_engine::{CacheFolder, CachePolicy, CachedComponent};
use graph_store::RunFilter;

use crate::error::{Error, Result};
use crate::items::installed::is_marked;
use crate::items::lock_file::LockFile;
use crate::project::Project;
use crate::project::paths::absolute;
use crate::project::text_file;
use crate::project::user_home::Home;
use crate::registry::fetch_cache::{ITEM, UNFINISHED};
use crate::run::pins::Pins;
use crate::run::restore;
use crate::run::stores::{self, Stores};

/// The file that cargo writes into each of its build folders.
const CARGO_FILE: &str = ".rustc_info.json";
/// Age from which an unfinished fetch counts as abandoned.
const ABANDONED: Duration = Duration::from_hours(24);

/// An item that a command has named by a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedItem {
    /// The digest of its manifest.
    pub manifest: String,
    /// Path of its file in its folder.
    pub item: String,
    /// Size of its files and of those that came with it, in bytes.
    pub bytes: u64,
    /// Time of its last use.
    pub last_used: SystemTime,
    /// The lockfile or run that needs it, if any: then nothing removes it.
    pub needed_by: Option<String>,
    folder: PathBuf,
}

/// The contents of the caches, least recently used first.
#[derive(Clone, Debug)]
pub struct Cached {
    /// Compiled components, for all engines.
    pub compiled: Vec<CachedComponent>,
    /// Items that were named by a reference, with those that came with them.
    pub fetched: Vec<FetchedItem>,
    /// Build folder of nodes, if it exists.
    pub built: Option<BuiltNodes>,
}

/// The folder that `build` compiles nodes into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltNodes {
    /// Size of its files, in bytes.
    pub bytes: u64,
    /// Time of the last build.
    pub last_used: SystemTime,
}

/// Lists the contents of the caches. Items that the project around the current folder needs are marked.
pub fn list(home: &Home, project: &Project) -> Result<Cached> {
    let compiled = CacheFolder::at(home.cache().to_owned()).list();
    let compiled = compiled.map_err(|error| Error::read("the cache", home.cache(), &error))?;
    Ok(Cached { compiled, fetched: fetched(home, project)?, built: built(home) })
}

/// Removes the data that the policy selects, and returns what was removed. The limit applies to compiled components;
/// fetched items are removed if they were not used for the given time, or all of them, except those that the project
/// needs.
pub fn prune(home: &Home, project: &Project, policy: CachePolicy) -> Result<Cached> {
    let compiled = CacheFolder::at(home.cache().to_owned()).prune(policy);
    let compiled = compiled.map_err(|error| Error::write("the cache", home.cache(), &error))?;
    let now = SystemTime::now();
    let is_chosen = |item: &FetchedItem| {
        let unused = now.duration_since(item.last_used).unwrap_or_default();
        item.needed_by.is_none() && (policy.all || policy.older_than.is_some_and(|span| unused >= span))
    };
    let fetched: Vec<_> = fetched(home, project)?.into_iter().filter(is_chosen).collect();
    if !policy.dry_run {
        for item in &fetched {
            remove(home, &item.folder)
                .map_err(|error| Error::write("what was fetched", &item.folder, &error))?;
        }
        remove_abandoned(home);
    }
    let unused = |built: &BuiltNodes| now.duration_since(built.last_used).unwrap_or_default();
    let built =
        built(home).filter(|built| policy.all || policy.older_than.is_some_and(|span| unused(built) >= span));
    if !policy.dry_run && built.is_some() {
        let folder = home.built();
        remove(home, &folder).map_err(|error| Error::write("what nodes were built into", &folder, &error))?;
    }
    Ok(Cached { compiled, fetched, built })
}

/// Inspects the build folder of nodes. A folder that cargo has not built in is not this program's, and is not reported.
fn built(home: &Home) -> Option<BuiltNodes> {
    let folder = home.built();
    let is_folder = fs::symlink_metadata(&folder).is_ok_and(|found| found.is_dir());
    if !is_folder || !folder.join(CARGO_FILE).is_file() {
        return None;
    }
    let newest = [folder.clone(), folder.join("wasm32-unknown-unknown/release")];
    let newest = newest.iter().filter_map(|path| fs::symlink_metadata(path).ok()?.modified().ok()).max();
    Some(BuiltNodes { bytes: size(&folder), last_used: newest.unwrap_or(SystemTime::UNIX_EPOCH) })
}

/// Removes a folder. It is renamed first, so that no process finds half of it.
fn remove(home: &Home, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(home.fetched())?;
    let away = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(home.fetched())?;
    match fs::rename(folder, away.path().join("removed")) {
        // Another process removed it first.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        // Links in it are removed, not followed.
        Ok(()) => away.close(),
    }
}

/// Removes leftovers of killed processes in the folder of fetched items.
fn remove_abandoned(home: &Home) {
    for (name, path) in folders(&home.fetched()) {
        let is_unfinished = name.strip_prefix(UNFINISHED).is_some_and(|random| random.len() == 6);
        let age = fs::symlink_metadata(&path).and_then(|found| found.modified()).ok();
        let is_old = age.and_then(|age| age.elapsed().ok()).is_some_and(|age| age > ABANDONED);
        if is_unfinished && is_old {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// Lists the folders in a folder; links are left out, and not followed.
fn folders(folder: &Path) -> Vec<(String, PathBuf)> {
    let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    let entries = is_folder(folder).then(|| fs::read_dir(folder).ok()).flatten();
    let named = entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()));
    named.filter(|(_, path)| is_folder(path)).collect()
}

fn fetched(home: &Home, project: &Project) -> Result<Vec<FetchedItem>> {
    let mut found = Vec::new();
    let is_digest = |name: &str| name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    for (name, folder) in folders(&home.fetched()) {
        // Only folders that `run oci://…` has made: a folder without the mark is not this program's.
        if !is_digest(&name) || !is_marked(&folder) {
            continue;
        }
        let file = folder.join(ITEM);
        let Ok(metadata) = fs::symlink_metadata(&file) else { continue };
        if !metadata.is_file() || metadata.len() > 4096 {
            continue;
        }
        found.push(FetchedItem {
            manifest: format!("sha256:{name}"),
            item: text_file::read(&file).unwrap_or_default().trim().to_owned(),
            bytes: size(&folder),
            last_used: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
            needed_by: None,
            folder,
        });
    }
    if !found.is_empty() {
        mark_needed(&mut found, home, project)?;
    }
    found.sort_by(|one, other| (one.last_used, &one.folder).cmp(&(other.last_used, &other.folder)));
    Ok(found)
}

/// Returns the size of all files below a folder, in bytes; links are not followed.
fn size(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let sizes = entries.flatten().map(|entry| match fs::symlink_metadata(entry.path()) {
        Ok(found) if found.is_dir() => size(&entry.path()),
        Ok(found) if found.is_file() => found.len(),
        _ => 0,
    });
    sizes.sum()
}

/// Marks the items that the project's lockfile names, and those that a run of the project could be resumed with.
fn mark_needed(items: &mut [FetchedItem], home: &Home, project: &Project) -> Result<()> {
    let lock = LockFile::open(project)?;
    let locked: BTreeSet<Digest> = lock.lock.iter().map(|(_, locked)| locked.manifest).collect();
    for item in items.iter_mut() {
        if locked.iter().any(|digest| digest.to_string() == item.manifest) {
            item.needed_by = Some(project.base().show(lock.path()));
        }
    }
    if !stores::any(project)? {
        return Ok(());
    }
    Stores::to_read(project, home)?.each(&RunFilter::default(), |store, row| {
        if row.status == Status::Completed {
            return Ok(());
        }
        let pins = Pins::read(&restore::snapshot(store, &row.pins, "what it is pinned to")?)?;
        for item in items.iter_mut().filter(|item| item.needed_by.is_none()) {
            let folder = absolute(&item.folder);
            let paths = pins.item_folders.iter().chain([&pins.graph_file]);
            if paths.into_iter().any(|path| path.starts_with(&folder)) {
                item.needed_by = Some(format!("run {}", row.run_id));
            }
        }
        Ok(())
    })
}
