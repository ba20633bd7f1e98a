//! The files of folders that components may read.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use graph_bundle::site::{FileDocument, FolderDocument, Site};
use graph_core::digest::Digest;

use crate::error::{Error, Result};
use crate::project::{BaseFolder, text_file};
use crate::remedy::Remedy;

/// Limit of all packed files together, in bytes.
const MOST_BYTES: u64 = 12 << 20;
/// Limit of the number of packed files and of the entries of a folder.
const MOST_ENTRIES: usize = 4096;
/// Limit of the depth of folders.
const DEEPEST: usize = 64;

/// Adds all regular files of the folders to pack. Links and other files are left out, as they are for components.
pub(super) fn pack(
    folders: &BTreeSet<FolderDocument>,
    site: &mut Site,
    base: &BaseFolder,
) -> Result<Vec<FileDocument>> {
    let mut packer = Packer { left: MOST_BYTES, files: Vec::new(), site, base };
    let mut seen = BTreeSet::new();
    for folder in folders.iter().filter(|folder| folder.packed) {
        if seen.insert(&folder.host) {
            packer.folder(Path::new(&folder.host), &folder.host, "", 0)?;
        }
    }
    Ok(packer.files)
}

struct Packer<'s> {
    left: u64,
    files: Vec<FileDocument>,
    site: &'s mut Site,
    base: &'s BaseFolder,
}

impl Packer<'_> {
    fn folder(&mut self, path: &Path, folder: &str, at: &str, depth: usize) -> Result<()> {
        let failed = |error: &std::io::Error| Error::read("the folder", path, error);
        let entries = fs::read_dir(path).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
        let mut entries = entries.map_err(|error| failed(&error))?;
        entries.sort_by_key(fs::DirEntry::file_name);
        if entries.len() + self.files.len() > MOST_ENTRIES || depth > DEEPEST {
            return Err(Error::limit(format!(
                "{} has more than {MOST_ENTRIES} files and folders, or folders deeper than {DEEPEST} levels: too many for a page",
                self.base.show(Path::new(folder))
            ))
            .help(Remedy::GrantSmallerFolder));
        }
        if entries.is_empty() {
            let path = String::new();
            let digest = Digest::of_bytes(b"");
            self.files.push(FileDocument { path, digest, at: format!("{}/", placed(folder, at)) });
        }
        for entry in entries {
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
            let kind = entry.file_type().map_err(|error| failed(&error))?;
            let at = if at.is_empty() { name } else { format!("{at}/{name}") };
            if kind.is_dir() {
                self.folder(&entry.path(), folder, &at, depth + 1)?;
            } else if kind.is_file() {
                let bytes = self.read(&entry.path())?;
                let (path, digest) = self.site.add_file("files", bytes);
                self.files.push(FileDocument { path, digest, at: placed(folder, &at) });
            }
        }
        Ok(())
    }

    fn read(&mut self, path: &Path) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read =
            text_file::open_unlinked(path).and_then(|file| file.take(self.left + 1).read_to_end(&mut bytes));
        read.map_err(|error| Error::read("the file", path, &error))?;
        self.left = self.left.checked_sub(bytes.len() as u64).ok_or_else(|| {
            Error::limit(format!(
                "the files of granted folders have more than {} MiB, which is the most that a bundle packs: {} does not fit any more",
                MOST_BYTES >> 20,
                self.base.show(path)
            ))
            .help(Remedy::GrantSmallerFolder)
        })?;
        Ok(bytes)
    }
}

fn placed(folder: &str, at: &str) -> String {
    if at.is_empty() { folder.to_owned() } else { format!("{}/{at}", folder.trim_end_matches('/')) }
}
