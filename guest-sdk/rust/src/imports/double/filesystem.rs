//! Descriptors of files and folders in memory.

use crate::bindings::wasi::filesystem::types::{
    DescriptorFlags, DescriptorStat, DirectoryEntry, ErrorCode, OpenFlags, PathFlags,
};

/// A file or a folder, by its path.
#[derive(Debug)]
pub(crate) struct Descriptor {
    path: String,
}

/// Remaining entries of a folder.
#[derive(Debug)]
pub(crate) struct DirectoryEntryStream(std::cell::RefCell<std::vec::IntoIter<DirectoryEntry>>);

impl Descriptor {
    pub(crate) fn new(path: String) -> Self {
        Self { path }
    }

    /// Returns the path of an entry below this folder. A path that leads out of the folder is an error.
    fn below(&self, rest: &str) -> Result<String, ErrorCode> {
        let mut names: Vec<&str> = Vec::new();
        for name in rest.split('/') {
            match name {
                "" | "." => {}
                ".." => names.pop().map(|_| ()).ok_or(ErrorCode::NotPermitted)?,
                name => names.push(name),
            }
        }
        if names.is_empty() {
            return Ok(self.path.clone());
        }
        Ok(format!("{}/{}", self.path.trim_end_matches('/'), names.join("/")))
    }

    pub(crate) fn open_at(
        &self,
        _follow: PathFlags,
        rest: &str,
        open: OpenFlags,
        _access: DescriptorFlags,
    ) -> Result<Self, ErrorCode> {
        let path = self.below(rest)?;
        super::with(|state| {
            if open.contains(OpenFlags::DIRECTORY) {
                state.files.folder(&path)
            } else {
                state.files.open(&path, open.contains(OpenFlags::CREATE), open.contains(OpenFlags::TRUNCATE))
            }
        })?;
        Ok(Self { path })
    }

    pub(crate) fn read(&self, length: u64, offset: u64) -> Result<(Vec<u8>, bool), ErrorCode> {
        super::with(|state| {
            let content = state.files.content(&self.path).ok_or(ErrorCode::NoEntry)?;
            let start = usize::try_from(offset).unwrap_or(usize::MAX).min(content.len());
            let end = start.saturating_add(usize::try_from(length).unwrap_or(usize::MAX)).min(content.len());
            Ok((content[start..end].to_vec(), end == content.len()))
        })
    }

    pub(crate) fn write(&self, bytes: &[u8], offset: u64) -> Result<u64, ErrorCode> {
        super::with(|state| {
            let content = state.files.content_mut(&self.path).ok_or(ErrorCode::NoEntry)?;
            let start = usize::try_from(offset).map_err(|_| ErrorCode::FileTooLarge)?;
            let end = start.checked_add(bytes.len()).ok_or(ErrorCode::FileTooLarge)?;
            if content.len() < end {
                content.resize(end, 0);
            }
            content[start..end].copy_from_slice(bytes);
            Ok(bytes.len() as u64)
        })
    }

    pub(crate) fn stat(&self) -> Result<DescriptorStat, ErrorCode> {
        let (type_, size) = super::with(|state| state.files.stat(&self.path))?;
        Ok(DescriptorStat {
            type_,
            link_count: 1,
            size,
            data_access_timestamp: None,
            data_modification_timestamp: None,
            status_change_timestamp: None,
        })
    }

    pub(crate) fn stat_at(&self, _follow: PathFlags, rest: &str) -> Result<DescriptorStat, ErrorCode> {
        Self { path: self.below(rest)? }.stat()
    }

    pub(crate) fn read_directory(&self) -> Result<DirectoryEntryStream, ErrorCode> {
        let entries = super::with(|state| state.files.entries(&self.path))?;
        let entries: Vec<DirectoryEntry> =
            entries.into_iter().map(|(name, type_)| DirectoryEntry { type_, name }).collect();
        Ok(DirectoryEntryStream(std::cell::RefCell::new(entries.into_iter())))
    }

    pub(crate) fn create_directory_at(&self, rest: &str) -> Result<(), ErrorCode> {
        let path = self.below(rest)?;
        super::with(|state| state.files.create_folder(&path))
    }

    pub(crate) fn unlink_file_at(&self, rest: &str) -> Result<(), ErrorCode> {
        let path = self.below(rest)?;
        super::with(|state| state.files.remove(&path))
    }
}

impl DirectoryEntryStream {
    #[expect(clippy::unnecessary_wraps, reason = "a component's import can fail")]
    pub(crate) fn read_directory_entry(&self) -> Result<Option<DirectoryEntry>, ErrorCode> {
        Ok(self.0.borrow_mut().next())
    }
}
