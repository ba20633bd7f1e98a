//! Opens and lists the contents of a granted folder.

use std::io;
use std::sync::Arc;

use cap_std::fs::{Dir, FileType, Metadata, OpenOptions};

use super::{FileDescriptor, FsError, OpenFile, OpenFolder};
use crate::bindings::wasi::filesystem::types::{
    DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, ErrorCode, MetadataHashValue, OpenFlags,
};
use crate::limiter::LimitReached;

/// Largest number of entries of one folder that are listed.
const MAX_ENTRIES: usize = 100_000;

impl OpenFolder {
    pub(super) fn new(dir: Option<Arc<Dir>>, path: String, writable: bool) -> Self {
        Self { dir, path, writable }
    }

    /// Returns the folder itself.
    pub(super) fn dir(&self) -> Result<&Dir, FsError> {
        self.dir.as_deref().ok_or_else(|| FsError::Code(ErrorCode::BadDescriptor))
    }

    /// Refuses changes in a folder that was granted read-only.
    pub(super) fn to_change(&self) -> Result<(), FsError> {
        if self.writable { Ok(()) } else { Err(ErrorCode::ReadOnly.into()) }
    }

    pub(super) fn metadata(&self, path: &str, follow: bool) -> Result<Metadata, FsError> {
        let dir = self.dir()?;
        Ok(if follow { dir.metadata(path) } else { dir.symlink_metadata(path) }?)
    }

    /// Returns the path of an entry of this folder, as the component would name it.
    pub(super) fn path_of(&self, path: &str) -> String {
        format!("{}/{path}", self.path.trim_end_matches('/'))
    }

    pub(super) fn open(
        &self,
        path: &str,
        follow: bool,
        open: OpenFlags,
        flags: DescriptorFlags,
    ) -> Result<FileDescriptor, FsError> {
        let create = open.contains(OpenFlags::CREATE);
        let truncate = open.contains(OpenFlags::TRUNCATE);
        let exclusive = open.contains(OpenFlags::EXCLUSIVE);
        let write = flags.contains(DescriptorFlags::WRITE);

        let kind = match self.metadata(path, follow) {
            Ok(metadata) => Some(metadata.file_type()),
            Err(FsError::Code(ErrorCode::NoEntry)) if create => None,
            Err(error) => return Err(error),
        };
        match kind {
            Some(kind) if kind.is_dir() => {
                if write || truncate || (create && exclusive) {
                    return Err(if exclusive { ErrorCode::Exist } else { ErrorCode::IsDirectory }.into());
                }
                let dir = Some(Arc::new(self.dir()?.open_dir(path)?));
                return Ok(self.opened_folder(dir, path, flags));
            }
            Some(kind) if kind.is_symlink() => return Err(ErrorCode::Loop.into()),
            Some(kind) if !kind.is_file() => return Err(ErrorCode::NotPermitted.into()),
            _ if open.contains(OpenFlags::DIRECTORY) => return Err(ErrorCode::NotDirectory.into()),
            _ => {}
        }

        let mut options = OpenOptions::new();
        options
            .read(flags.contains(DescriptorFlags::READ) || !write)
            .write(write || create || truncate)
            .create(create && !exclusive)
            .create_new(create && exclusive)
            .truncate(truncate);
        never_wait(&mut options, follow);
        let file = self.dir()?.open_with(path, &options)?;
        // The path was checked before it was opened and may name another file now: the open file is checked again.
        if !file.metadata()?.is_file() {
            return Err(ErrorCode::NotPermitted.into());
        }
        Ok(self.opened_file(Some(Arc::new(file.into_std())), path, flags))
    }

    /// Refuses modes of opening that would change a folder that was granted read-only.
    pub(super) fn may_open(&self, open: OpenFlags, flags: DescriptorFlags) -> Result<(), FsError> {
        let changes = OpenFlags::CREATE | OpenFlags::TRUNCATE | OpenFlags::EXCLUSIVE;
        if open.intersects(changes)
            || flags.intersects(DescriptorFlags::WRITE | DescriptorFlags::MUTATE_DIRECTORY)
        {
            self.to_change()?;
        }
        Ok(())
    }

    pub(super) fn opened_folder(
        &self,
        dir: Option<Arc<Dir>>,
        path: &str,
        flags: DescriptorFlags,
    ) -> FileDescriptor {
        let writable = self.writable && flags.contains(DescriptorFlags::MUTATE_DIRECTORY);
        FileDescriptor::Folder(OpenFolder::new(dir, self.path_of(path), writable))
    }

    pub(super) fn opened_file(
        &self,
        file: Option<Arc<std::fs::File>>,
        path: &str,
        flags: DescriptorFlags,
    ) -> FileDescriptor {
        let write = flags.contains(DescriptorFlags::WRITE);
        FileDescriptor::File(OpenFile {
            file,
            path: self.path_of(path),
            readable: flags.contains(DescriptorFlags::READ) || !write,
            writable: write,
        })
    }

    /// Returns all entries by name. A name that is not Unicode cannot be passed to a component, and is left out.
    pub(super) fn entries(&self) -> Result<Vec<DirectoryEntry>, FsError> {
        let mut entries = Vec::new();
        for entry in self.dir()?.entries()? {
            let entry = entry?;
            if entries.len() == MAX_ENTRIES {
                return Err(LimitReached::Entries { limit: MAX_ENTRIES }.into());
            }
            if let Ok(name) = entry.file_name().into_string() {
                entries.push(DirectoryEntry { type_: kind_of(entry.file_type()?), name });
            }
        }
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }
}

/// Opens the file at a path for reading.
pub(super) fn open_to_read(dir: &Dir, path: &str) -> io::Result<std::fs::File> {
    let mut options = OpenOptions::new();
    options.read(true);
    never_wait(&mut options, true);
    Ok(dir.open_with(path, &options)?.into_std())
}

/// Sets flags with which opening a pipe does not wait for its other end.
#[cfg(unix)]
fn never_wait(options: &mut OpenOptions, follow: bool) {
    use cap_std::fs::OpenOptionsExt as _;
    use rustix::fs::OFlags;

    let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    if !follow {
        flags |= OFlags::NOFOLLOW;
    }
    options.custom_flags(flags.bits().cast_signed());
}

#[cfg(not(unix))]
fn never_wait(_: &mut OpenOptions, _: bool) {}

pub(super) fn kind_of(kind: FileType) -> DescriptorType {
    if kind.is_file() {
        DescriptorType::RegularFile
    } else if kind.is_dir() {
        DescriptorType::Directory
    } else if kind.is_symlink() {
        DescriptorType::SymbolicLink
    } else {
        DescriptorType::Unknown
    }
}

pub(super) fn stat_of(metadata: &Metadata) -> DescriptorStat {
    let kind = kind_of(metadata.file_type());
    DescriptorStat {
        type_: kind,
        link_count: 1,
        // A folder's size is a detail of the host's file system.
        size: if kind == DescriptorType::RegularFile { metadata.len() } else { 0 },
        data_access_timestamp: None,
        data_modification_timestamp: None,
        status_change_timestamp: None,
    }
}

pub(super) fn hash_of(path: &str, stat: &DescriptorStat) -> MetadataHashValue {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[stat.type_ as u8]);
    hasher.update(&stat.size.to_le_bytes());
    hasher.update(path.as_bytes());
    let mut lower = [0; 8];
    let mut upper = [0; 8];
    let digest = hasher.finalize();
    lower.copy_from_slice(&digest.as_bytes()[..8]);
    upper.copy_from_slice(&digest.as_bytes()[8..16]);
    MetadataHashValue { lower: u64::from_le_bytes(lower), upper: u64::from_le_bytes(upper) }
}
