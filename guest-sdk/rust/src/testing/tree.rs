//! Files and folders in memory.

use std::collections::{BTreeMap, BTreeSet};

use crate::bindings::wasi::filesystem::types::{DescriptorType, ErrorCode};

/// Files and folders, by absolute path. A folder exists if it is granted, was created, or has an entry.
#[derive(Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, Vec<u8>>,
    folders: BTreeSet<String>,
    granted: Vec<String>,
}

impl Tree {
    pub(super) fn put(&mut self, path: String, content: Vec<u8>) {
        self.files.insert(path, content);
    }

    pub(super) fn grant(&mut self, path: String) {
        self.granted.push(path);
    }

    /// Returns the granted folders: `/` if the test names none.
    pub(crate) fn granted(&self) -> Vec<String> {
        if self.granted.is_empty() { vec!["/".to_owned()] } else { self.granted.clone() }
    }

    pub(crate) fn content(&self, path: &str) -> Option<&Vec<u8>> {
        self.files.get(path)
    }

    pub(crate) fn content_mut(&mut self, path: &str) -> Option<&mut Vec<u8>> {
        self.files.get_mut(path)
    }

    fn is_folder(&self, path: &str) -> bool {
        let prefix = with_slash(path);
        path == "/"
            || self.granted.iter().any(|granted| granted.trim_end_matches('/') == path)
            || self.folders.contains(path)
            || self.paths().any(|other| other.starts_with(&prefix))
    }

    fn paths(&self) -> impl Iterator<Item = &String> {
        self.files.keys().chain(&self.folders).chain(&self.granted)
    }

    /// Checks that a folder exists.
    pub(crate) fn folder(&self, path: &str) -> Result<(), ErrorCode> {
        match self.stat(path)?.0 {
            DescriptorType::Directory => Ok(()),
            _ => Err(ErrorCode::NotDirectory),
        }
    }

    /// Checks that a file exists, or creates it in an existing folder.
    pub(crate) fn open(&mut self, path: &str, create: bool, truncate: bool) -> Result<(), ErrorCode> {
        if self.is_folder(path) {
            return Err(ErrorCode::IsDirectory);
        }
        match self.files.get_mut(path) {
            Some(content) if truncate => content.clear(),
            Some(_) => {}
            None if create => {
                self.folder(parent(path))?;
                self.files.insert(path.to_owned(), Vec::new());
            }
            None => return Err(ErrorCode::NoEntry),
        }
        Ok(())
    }

    pub(crate) fn stat(&self, path: &str) -> Result<(DescriptorType, u64), ErrorCode> {
        match self.files.get(path) {
            Some(content) => Ok((DescriptorType::RegularFile, content.len() as u64)),
            None if self.is_folder(path) => Ok((DescriptorType::Directory, 0)),
            None => Err(ErrorCode::NoEntry),
        }
    }

    /// Returns the entries of a folder in the order of their names, as the host does.
    pub(crate) fn entries(&self, path: &str) -> Result<BTreeMap<String, DescriptorType>, ErrorCode> {
        self.folder(path)?;
        let prefix = with_slash(path);
        let mut entries = BTreeMap::new();
        for other in self.paths() {
            let Some(name) = other.strip_prefix(&prefix).and_then(|rest| rest.split('/').next()) else {
                continue;
            };
            if !name.is_empty() {
                entries.insert(name.to_owned(), self.stat(&format!("{prefix}{name}"))?.0);
            }
        }
        Ok(entries)
    }

    pub(crate) fn create_folder(&mut self, path: &str) -> Result<(), ErrorCode> {
        if self.stat(path).is_ok() {
            return Err(ErrorCode::Exist);
        }
        self.folder(parent(path))?;
        self.folders.insert(path.to_owned());
        Ok(())
    }

    pub(crate) fn remove(&mut self, path: &str) -> Result<(), ErrorCode> {
        if self.is_folder(path) {
            return Err(ErrorCode::IsDirectory);
        }
        self.files.remove(path).map(|_| ()).ok_or(ErrorCode::NoEntry)?;
        // The folder remains if it is empty now.
        self.folders.insert(parent(path).to_owned());
        Ok(())
    }
}

fn with_slash(path: &str) -> String {
    format!("{}/", path.trim_end_matches('/'))
}

fn parent(path: &str) -> &str {
    match path.rsplit_once('/') {
        None | Some(("", _)) => "/",
        Some((parent, _)) => parent,
    }
}
