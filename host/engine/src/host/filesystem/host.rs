//! The functions of `wasi:filesystem`.

use std::sync::Arc;

use graph_core::record::journal::digested;
use serde_json::json;
use wasmtime::component::{Resource, ResourceTable};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream};

use super::folder::{hash_of, stat_of};
use super::recorded::{self, bytes_again};
use super::streams::{FileReader, FileWriter, MAX_CHUNK, MAX_FILE, StreamFault, read_at, write_at};
use super::{FileDescriptor, FolderEntries, FsError, OpenFile, OpenFolder};
use crate::bindings::wasi::filesystem::preopens;
use crate::bindings::wasi::filesystem::types::{
    self, Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, ErrorCode,
    MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
};
use crate::state::TaskState;

type FsResult<T> = Result<T, FsError>;

fn folder<'a>(table: &'a ResourceTable, handle: &Resource<FileDescriptor>) -> FsResult<&'a OpenFolder> {
    match table.get(handle)? {
        FileDescriptor::Folder(folder) => Ok(folder),
        FileDescriptor::File(_) => Err(ErrorCode::NotDirectory.into()),
    }
}

fn file<'a>(table: &'a ResourceTable, handle: &Resource<FileDescriptor>) -> FsResult<&'a OpenFile> {
    match table.get(handle)? {
        FileDescriptor::File(file) => Ok(file),
        FileDescriptor::Folder(_) => Err(ErrorCode::IsDirectory.into()),
    }
}

fn readable<'a>(table: &'a ResourceTable, handle: &Resource<FileDescriptor>) -> FsResult<&'a OpenFile> {
    file(table, handle)
        .and_then(|file| if file.readable { Ok(file) } else { Err(ErrorCode::BadDescriptor.into()) })
}

fn writable<'a>(table: &'a ResourceTable, handle: &Resource<FileDescriptor>) -> FsResult<&'a OpenFile> {
    file(table, handle)
        .and_then(|file| if file.writable { Ok(file) } else { Err(ErrorCode::BadDescriptor.into()) })
}

/// Refuses writes that would make a file larger than the limit.
fn may_grow(offset: u64, length: usize) -> FsResult<()> {
    let end = offset.saturating_add(length as u64);
    if end > MAX_FILE { Err(ErrorCode::FileTooLarge.into()) } else { Ok(()) }
}

impl OpenFile {
    /// Returns the file itself.
    pub(super) fn handle(&self) -> std::io::Result<&std::fs::File> {
        self.file.as_deref().ok_or_else(|| std::io::ErrorKind::NotFound.into())
    }
}

impl FileDescriptor {
    fn stat(&self) -> FsResult<DescriptorStat> {
        Ok(match self {
            Self::File(open) => DescriptorStat {
                type_: DescriptorType::RegularFile,
                link_count: 1,
                size: open.handle()?.metadata()?.len(),
                data_access_timestamp: None,
                data_modification_timestamp: None,
                status_change_timestamp: None,
            },
            Self::Folder(open) => stat_of(&open.dir()?.dir_metadata()?),
        })
    }
}

impl TaskState {
    fn stat_of(&mut self, this: &Resource<FileDescriptor>) -> FsResult<DescriptorStat> {
        let request = json!({"path": self.table.get(this)?.path()});
        self.file_call(
            "stat",
            request,
            |state| {
                let stat = state.table.get(this)?.stat()?;
                Ok((stat, recorded::stat(&stat)))
            },
            |_, _, answer| Ok(recorded::as_stat(answer)),
        )
    }

    fn stat_of_path(
        &mut self,
        this: &Resource<FileDescriptor>,
        flags: PathFlags,
        path: &str,
    ) -> FsResult<DescriptorStat> {
        let follow = flags.contains(PathFlags::SYMLINK_FOLLOW);
        let request = json!({"path": folder(&self.table, this)?.path_of(path), "follow": follow});
        self.file_call(
            "stat-at",
            request,
            |state| {
                let stat = stat_of(&folder(&state.table, this)?.metadata(path, follow)?);
                Ok((stat, recorded::stat(&stat)))
            },
            |_, _, answer| Ok(recorded::as_stat(answer)),
        )
    }

    /// Performs a change of a granted folder at a path.
    fn change(
        &mut self,
        function: &'static str,
        this: &Resource<FileDescriptor>,
        path: &str,
        change: impl FnOnce(&cap_std::fs::Dir) -> std::io::Result<()>,
    ) -> FsResult<()> {
        let open = folder(&self.table, this)?;
        open.to_change()?;
        let request = json!({"path": open.path_of(path)});
        self.file_change(function, request, |state| Ok(change(folder(&state.table, this)?.dir()?)?))
    }
}

impl preopens::Host for TaskState {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Resource<FileDescriptor>, String)>> {
        let granted = Arc::clone(&self.granted);
        let open = |mount: &super::OpenMount| {
            let folder = OpenFolder::new(mount.dir.clone(), mount.guest.clone(), mount.writable);
            Ok((self.table.push(FileDescriptor::Folder(folder))?, mount.guest.clone()))
        };
        granted.mounts.0.iter().map(open).collect()
    }
}

impl types::Host for TaskState {
    fn filesystem_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        Ok(self.table.get(&error)?.downcast_ref::<StreamFault>().map(|fault| fault.0))
    }

    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        match error {
            FsError::Code(code) => Ok(code),
            FsError::Trap(error) => Err(error),
        }
    }
}

impl types::HostDirectoryEntryStream for TaskState {
    fn read_directory_entry(&mut self, stream: Resource<FolderEntries>) -> FsResult<Option<DirectoryEntry>> {
        Ok(self.table.get_mut(&stream)?.0.next())
    }

    fn drop(&mut self, stream: Resource<FolderEntries>) -> wasmtime::Result<()> {
        self.table.delete(stream)?;
        Ok(())
    }
}

impl types::HostDescriptor for TaskState {
    fn read_via_stream(
        &mut self,
        this: Resource<FileDescriptor>,
        offset: u64,
    ) -> FsResult<Resource<DynInputStream>> {
        let file = readable(&self.table, &this)?.clone();
        let (granted, journal) = (Arc::clone(&self.granted), self.journal.clone());
        let stream: DynInputStream = Box::new(FileReader { file, position: offset, granted, journal });
        Ok(self.table.push(stream)?)
    }

    fn write_via_stream(
        &mut self,
        this: Resource<FileDescriptor>,
        offset: u64,
    ) -> FsResult<Resource<DynOutputStream>> {
        let (file, journal) = (writable(&self.table, &this)?.clone(), self.journal.clone());
        let stream: DynOutputStream = Box::new(FileWriter { file, position: Some(offset), journal });
        Ok(self.table.push(stream)?)
    }

    fn append_via_stream(&mut self, this: Resource<FileDescriptor>) -> FsResult<Resource<DynOutputStream>> {
        let (file, journal) = (writable(&self.table, &this)?.clone(), self.journal.clone());
        let stream: DynOutputStream = Box::new(FileWriter { file, position: None, journal });
        Ok(self.table.push(stream)?)
    }

    fn advise(&mut self, this: Resource<FileDescriptor>, _: u64, _: u64, _: Advice) -> FsResult<()> {
        file(&self.table, &this).map(|_| ())
    }

    fn sync_data(&mut self, this: Resource<FileDescriptor>) -> FsResult<()> {
        let request = json!({"path": file(&self.table, &this)?.path});
        self.file_change("sync-data", request, |state| {
            Ok(file(&state.table, &this)?.handle()?.sync_data()?)
        })
    }

    fn sync(&mut self, this: Resource<FileDescriptor>) -> FsResult<()> {
        let request = json!({"path": file(&self.table, &this)?.path});
        self.file_change("sync", request, |state| Ok(file(&state.table, &this)?.handle()?.sync_all()?))
    }

    fn get_flags(&mut self, this: Resource<FileDescriptor>) -> FsResult<DescriptorFlags> {
        Ok(match self.table.get(&this)? {
            FileDescriptor::File(open) => {
                let read = if open.readable { DescriptorFlags::READ } else { DescriptorFlags::empty() };
                let write = if open.writable { DescriptorFlags::WRITE } else { DescriptorFlags::empty() };
                read | write
            }
            FileDescriptor::Folder(open) if open.writable => {
                DescriptorFlags::READ | DescriptorFlags::MUTATE_DIRECTORY
            }
            FileDescriptor::Folder(_) => DescriptorFlags::READ,
        })
    }

    fn get_type(&mut self, this: Resource<FileDescriptor>) -> FsResult<DescriptorType> {
        Ok(match self.table.get(&this)? {
            FileDescriptor::File(_) => DescriptorType::RegularFile,
            FileDescriptor::Folder(_) => DescriptorType::Directory,
        })
    }

    fn set_size(&mut self, this: Resource<FileDescriptor>, size: u64) -> FsResult<()> {
        let request = json!({"path": writable(&self.table, &this)?.path, "size": size});
        may_grow(size, 0)?;
        self.file_change("set-size", request, |state| {
            Ok(writable(&state.table, &this)?.handle()?.set_len(size)?)
        })
    }

    // Times are hidden, so none can be set.
    fn set_times(&mut self, _: Resource<FileDescriptor>, _: NewTimestamp, _: NewTimestamp) -> FsResult<()> {
        Err(ErrorCode::Unsupported.into())
    }

    fn set_times_at(
        &mut self,
        _: Resource<FileDescriptor>,
        _: PathFlags,
        _: String,
        _: NewTimestamp,
        _: NewTimestamp,
    ) -> FsResult<()> {
        Err(ErrorCode::Unsupported.into())
    }

    fn read(
        &mut self,
        this: Resource<FileDescriptor>,
        length: u64,
        offset: u64,
    ) -> FsResult<(Vec<u8>, bool)> {
        let path = readable(&self.table, &this)?.path.clone();
        let length = usize::try_from(length).unwrap_or(usize::MAX).min(MAX_CHUNK);
        let bytes = self.file_call(
            "read",
            json!({"path": path, "offset": offset, "length": length}),
            |state| {
                let mut buffer = vec![0; length];
                let count = read_at(readable(&state.table, &this)?.handle()?, &mut buffer, offset)?;
                buffer.truncate(count);
                let kept = state.journal.content(&buffer);
                Ok((buffer, kept))
            },
            |state, kept, answer| {
                bytes_again(&state.journal, kept, answer, &state.granted.mounts, (&path, offset)).map(Some)
            },
        )?;
        let end = bytes.is_empty() && length > 0;
        Ok((bytes, end))
    }

    fn write(&mut self, this: Resource<FileDescriptor>, buffer: Vec<u8>, offset: u64) -> FsResult<u64> {
        let path = &writable(&self.table, &this)?.path;
        may_grow(offset, buffer.len())?;
        self.budget.charge_written(buffer.len()).map_err(FsError::Trap)?;
        self.file_call(
            "write",
            json!({"path": path, "offset": offset, "bytes": digested(&buffer)}),
            |state| {
                let count = write_at(writable(&state.table, &this)?.handle()?, &buffer, offset)? as u64;
                Ok((count, count.into()))
            },
            |_, _, answer| Ok(answer.as_u64()),
        )
    }

    fn read_directory(&mut self, this: Resource<FileDescriptor>) -> FsResult<Resource<FolderEntries>> {
        let request = json!({"path": folder(&self.table, &this)?.path});
        let entries = self.file_call(
            "read-directory",
            request,
            |state| {
                let entries = folder(&state.table, &this)?.entries()?;
                let kept = recorded::entries(&entries);
                Ok((entries, kept))
            },
            |_, _, answer| Ok(recorded::as_entries(answer)),
        )?;
        Ok(self.table.push(FolderEntries(entries.into_iter()))?)
    }

    fn create_directory_at(&mut self, this: Resource<FileDescriptor>, path: String) -> FsResult<()> {
        self.change("create-directory-at", &this, &path, |dir| dir.create_dir(&path))
    }

    fn stat(&mut self, this: Resource<FileDescriptor>) -> FsResult<DescriptorStat> {
        self.stat_of(&this)
    }

    fn stat_at(
        &mut self,
        this: Resource<FileDescriptor>,
        flags: PathFlags,
        path: String,
    ) -> FsResult<DescriptorStat> {
        self.stat_of_path(&this, flags, &path)
    }

    // A hard link to a file could make a read-only file writable, and a symbolic link could mislead people who read the folder later:
    // components can create neither.
    fn link_at(
        &mut self,
        _: Resource<FileDescriptor>,
        _: PathFlags,
        _: String,
        _: Resource<FileDescriptor>,
        _: String,
    ) -> FsResult<()> {
        Err(ErrorCode::NotPermitted.into())
    }

    fn symlink_at(&mut self, _: Resource<FileDescriptor>, _: String, _: String) -> FsResult<()> {
        Err(ErrorCode::NotPermitted.into())
    }

    fn open_at(
        &mut self,
        this: Resource<FileDescriptor>,
        path_flags: PathFlags,
        path: String,
        open: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Resource<FileDescriptor>> {
        let within = folder(&self.table, &this)?;
        within.may_open(open, flags)?;
        let request =
            json!({"path": within.path_of(&path), "flags": recorded::flags(path_flags, open, flags)});
        let follow = path_flags.contains(PathFlags::SYMLINK_FOLLOW);
        let opened = self.file_call(
            "open-at",
            request,
            |state| {
                let opened = folder(&state.table, &this)?.open(&path, follow, open, flags)?;
                let kind = match opened {
                    FileDescriptor::File(_) => "file",
                    FileDescriptor::Folder(_) => "folder",
                };
                Ok((opened, kind.into()))
            },
            |state, _, answer| {
                let FileDescriptor::Folder(within) = state.table.get(&this)? else { return Ok(None) };
                Ok(match answer.as_str() {
                    Some("file") => Some(within.opened_file(None, &path, flags)),
                    Some("folder") => Some(within.opened_folder(None, &path, flags)),
                    _ => None,
                })
            },
        )?;
        Ok(self.table.push(opened)?)
    }

    fn readlink_at(&mut self, this: Resource<FileDescriptor>, path: String) -> FsResult<String> {
        let request = json!({"path": folder(&self.table, &this)?.path_of(&path)});
        self.file_call(
            "readlink-at",
            request,
            |state| {
                let target = folder(&state.table, &this)?.dir()?.read_link(&path)?;
                let target = target.into_os_string().into_string();
                let target = target.map_err(|_| FsError::Code(ErrorCode::IllegalByteSequence))?;
                let kept = target.as_str().into();
                Ok((target, kept))
            },
            |_, _, answer| Ok(answer.as_str().map(str::to_owned)),
        )
    }

    fn remove_directory_at(&mut self, this: Resource<FileDescriptor>, path: String) -> FsResult<()> {
        self.change("remove-directory-at", &this, &path, |dir| dir.remove_dir(&path))
    }

    fn rename_at(
        &mut self,
        this: Resource<FileDescriptor>,
        old: String,
        target: Resource<FileDescriptor>,
        new: String,
    ) -> FsResult<()> {
        let (from, to) = (folder(&self.table, &this)?, folder(&self.table, &target)?);
        from.to_change()?;
        to.to_change()?;
        let request = json!({"path": from.path_of(&old), "to": to.path_of(&new)});
        self.file_change("rename-at", request, |state| {
            let (from, to) = (folder(&state.table, &this)?, folder(&state.table, &target)?);
            Ok(from.dir()?.rename(old, to.dir()?, new)?)
        })
    }

    fn unlink_file_at(&mut self, this: Resource<FileDescriptor>, path: String) -> FsResult<()> {
        self.change("unlink-file-at", &this, &path, |dir| dir.remove_file(&path))
    }

    fn is_same_object(
        &mut self,
        this: Resource<FileDescriptor>,
        other: Resource<FileDescriptor>,
    ) -> wasmtime::Result<bool> {
        let (this, other) = (self.table.get(&this)?, self.table.get(&other)?);
        Ok(this.path() == other.path())
    }

    fn metadata_hash(&mut self, this: Resource<FileDescriptor>) -> FsResult<MetadataHashValue> {
        let stat = self.stat_of(&this)?;
        Ok(hash_of(self.table.get(&this)?.path(), &stat))
    }

    fn metadata_hash_at(
        &mut self,
        this: Resource<FileDescriptor>,
        flags: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        let stat = self.stat_of_path(&this, flags, &path)?;
        Ok(hash_of(&folder(&self.table, &this)?.path_of(&path), &stat))
    }

    fn drop(&mut self, this: Resource<FileDescriptor>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}
