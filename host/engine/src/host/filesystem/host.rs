//! The functions of `wasi:filesystem`.

use std::sync::Arc;

use wasmtime::component::{Resource, ResourceTable};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream};

use super::error::code_of;
use super::folder::{hash_of, stat_of};
use super::streams::{MAX_CHUNK, Reader, Writer, read_at, write_at};
use super::{Descriptor, Entries, FsError, OpenFile, OpenFolder};
use crate::bindings::wasi::filesystem::preopens;
use crate::bindings::wasi::filesystem::types::{
    self, Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, ErrorCode,
    MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
};
use crate::state::TaskState;

type FsResult<T> = Result<T, FsError>;

fn folder<'a>(table: &'a ResourceTable, handle: &Resource<Descriptor>) -> FsResult<&'a OpenFolder> {
    match table.get(handle)? {
        Descriptor::Folder(folder) => Ok(folder),
        Descriptor::File(_) => Err(ErrorCode::NotDirectory.into()),
    }
}

fn file<'a>(table: &'a ResourceTable, handle: &Resource<Descriptor>) -> FsResult<&'a OpenFile> {
    match table.get(handle)? {
        Descriptor::File(file) => Ok(file),
        Descriptor::Folder(_) => Err(ErrorCode::IsDirectory.into()),
    }
}

fn readable<'a>(table: &'a ResourceTable, handle: &Resource<Descriptor>) -> FsResult<&'a OpenFile> {
    file(table, handle)
        .and_then(|file| if file.readable { Ok(file) } else { Err(ErrorCode::BadDescriptor.into()) })
}

fn writable<'a>(table: &'a ResourceTable, handle: &Resource<Descriptor>) -> FsResult<&'a OpenFile> {
    file(table, handle)
        .and_then(|file| if file.writable { Ok(file) } else { Err(ErrorCode::BadDescriptor.into()) })
}

impl Descriptor {
    fn stat(&self) -> FsResult<DescriptorStat> {
        Ok(match self {
            Self::File(open) => DescriptorStat {
                type_: DescriptorType::RegularFile,
                link_count: 1,
                size: open.file.metadata()?.len(),
                data_access_timestamp: None,
                data_modification_timestamp: None,
                status_change_timestamp: None,
            },
            Self::Folder(open) => stat_of(&open.dir.dir_metadata()?),
        })
    }

    fn path(&self) -> &str {
        match self {
            Self::File(open) => &open.path,
            Self::Folder(open) => &open.path,
        }
    }
}

impl preopens::Host for TaskState {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
        let mounts = Arc::clone(&self.mounts);
        let open = |mount: &super::OpenMount| {
            let folder = OpenFolder::new(Arc::clone(&mount.dir), mount.guest.clone(), mount.writable);
            Ok((self.table.push(Descriptor::Folder(folder))?, mount.guest.clone()))
        };
        mounts.0.iter().map(open).collect()
    }
}

impl types::Host for TaskState {
    fn filesystem_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        Ok(self.table.get(&error)?.downcast_ref::<std::io::Error>().map(code_of))
    }

    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        match error {
            FsError::Code(code) => Ok(code),
            FsError::Trap(error) => Err(error),
        }
    }
}

impl types::HostDirectoryEntryStream for TaskState {
    fn read_directory_entry(&mut self, stream: Resource<Entries>) -> FsResult<Option<DirectoryEntry>> {
        Ok(self.table.get_mut(&stream)?.0.next())
    }

    fn drop(&mut self, stream: Resource<Entries>) -> wasmtime::Result<()> {
        self.table.delete(stream)?;
        Ok(())
    }
}

impl types::HostDescriptor for TaskState {
    fn read_via_stream(
        &mut self,
        this: Resource<Descriptor>,
        offset: u64,
    ) -> FsResult<Resource<DynInputStream>> {
        let file = Arc::clone(&readable(&self.table, &this)?.file);
        let stream: DynInputStream = Box::new(Reader { file, position: offset });
        Ok(self.table.push(stream)?)
    }

    fn write_via_stream(
        &mut self,
        this: Resource<Descriptor>,
        offset: u64,
    ) -> FsResult<Resource<DynOutputStream>> {
        let file = Arc::clone(&writable(&self.table, &this)?.file);
        let stream: DynOutputStream = Box::new(Writer { file, position: Some(offset) });
        Ok(self.table.push(stream)?)
    }

    fn append_via_stream(&mut self, this: Resource<Descriptor>) -> FsResult<Resource<DynOutputStream>> {
        let file = Arc::clone(&writable(&self.table, &this)?.file);
        let stream: DynOutputStream = Box::new(Writer { file, position: None });
        Ok(self.table.push(stream)?)
    }

    fn advise(&mut self, this: Resource<Descriptor>, _: u64, _: u64, _: Advice) -> FsResult<()> {
        file(&self.table, &this).map(|_| ())
    }

    fn sync_data(&mut self, this: Resource<Descriptor>) -> FsResult<()> {
        Ok(file(&self.table, &this)?.file.sync_data()?)
    }

    fn sync(&mut self, this: Resource<Descriptor>) -> FsResult<()> {
        Ok(file(&self.table, &this)?.file.sync_all()?)
    }

    fn get_flags(&mut self, this: Resource<Descriptor>) -> FsResult<DescriptorFlags> {
        Ok(match self.table.get(&this)? {
            Descriptor::File(open) => {
                let read = if open.readable { DescriptorFlags::READ } else { DescriptorFlags::empty() };
                let write = if open.writable { DescriptorFlags::WRITE } else { DescriptorFlags::empty() };
                read | write
            }
            Descriptor::Folder(open) if open.writable => {
                DescriptorFlags::READ | DescriptorFlags::MUTATE_DIRECTORY
            }
            Descriptor::Folder(_) => DescriptorFlags::READ,
        })
    }

    fn get_type(&mut self, this: Resource<Descriptor>) -> FsResult<DescriptorType> {
        Ok(match self.table.get(&this)? {
            Descriptor::File(_) => DescriptorType::RegularFile,
            Descriptor::Folder(_) => DescriptorType::Directory,
        })
    }

    fn set_size(&mut self, this: Resource<Descriptor>, size: u64) -> FsResult<()> {
        Ok(writable(&self.table, &this)?.file.set_len(size)?)
    }

    // Times are hidden, so there are none to set.
    fn set_times(&mut self, _: Resource<Descriptor>, _: NewTimestamp, _: NewTimestamp) -> FsResult<()> {
        Err(ErrorCode::Unsupported.into())
    }

    fn set_times_at(
        &mut self,
        _: Resource<Descriptor>,
        _: PathFlags,
        _: String,
        _: NewTimestamp,
        _: NewTimestamp,
    ) -> FsResult<()> {
        Err(ErrorCode::Unsupported.into())
    }

    fn read(&mut self, this: Resource<Descriptor>, length: u64, offset: u64) -> FsResult<(Vec<u8>, bool)> {
        let open = readable(&self.table, &this)?;
        let length = usize::try_from(length).unwrap_or(usize::MAX).min(MAX_CHUNK);
        let mut buffer = vec![0; length];
        let count = read_at(&open.file, &mut buffer, offset)?;
        buffer.truncate(count);
        Ok((buffer, count == 0 && length > 0))
    }

    fn write(&mut self, this: Resource<Descriptor>, buffer: Vec<u8>, offset: u64) -> FsResult<u64> {
        Ok(write_at(&writable(&self.table, &this)?.file, &buffer, offset)? as u64)
    }

    fn read_directory(&mut self, this: Resource<Descriptor>) -> FsResult<Resource<Entries>> {
        let entries = folder(&self.table, &this)?.entries()?;
        Ok(self.table.push(Entries(entries.into_iter()))?)
    }

    fn create_directory_at(&mut self, this: Resource<Descriptor>, path: String) -> FsResult<()> {
        Ok(folder(&self.table, &this)?.to_change()?.create_dir(path)?)
    }

    fn stat(&mut self, this: Resource<Descriptor>) -> FsResult<DescriptorStat> {
        self.table.get(&this)?.stat()
    }

    fn stat_at(
        &mut self,
        this: Resource<Descriptor>,
        flags: PathFlags,
        path: String,
    ) -> FsResult<DescriptorStat> {
        let follow = flags.contains(PathFlags::SYMLINK_FOLLOW);
        Ok(stat_of(&folder(&self.table, &this)?.metadata(&path, follow)?))
    }

    // A second name for a file could give a read-only file a writable path, and a link could mislead whoever reads the
    // folder later: components make neither.
    fn link_at(
        &mut self,
        _: Resource<Descriptor>,
        _: PathFlags,
        _: String,
        _: Resource<Descriptor>,
        _: String,
    ) -> FsResult<()> {
        Err(ErrorCode::NotPermitted.into())
    }

    fn symlink_at(&mut self, _: Resource<Descriptor>, _: String, _: String) -> FsResult<()> {
        Err(ErrorCode::NotPermitted.into())
    }

    fn open_at(
        &mut self,
        this: Resource<Descriptor>,
        path_flags: PathFlags,
        path: String,
        open: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Resource<Descriptor>> {
        let follow = path_flags.contains(PathFlags::SYMLINK_FOLLOW);
        let opened = folder(&self.table, &this)?.open(&path, follow, open, flags)?;
        Ok(self.table.push(opened)?)
    }

    fn readlink_at(&mut self, this: Resource<Descriptor>, path: String) -> FsResult<String> {
        let target = folder(&self.table, &this)?.dir.read_link(path)?;
        target.into_os_string().into_string().map_err(|_| ErrorCode::IllegalByteSequence.into())
    }

    fn remove_directory_at(&mut self, this: Resource<Descriptor>, path: String) -> FsResult<()> {
        Ok(folder(&self.table, &this)?.to_change()?.remove_dir(path)?)
    }

    fn rename_at(
        &mut self,
        this: Resource<Descriptor>,
        old: String,
        target: Resource<Descriptor>,
        new: String,
    ) -> FsResult<()> {
        let from = folder(&self.table, &this)?.to_change()?;
        let to = folder(&self.table, &target)?.to_change()?;
        Ok(from.rename(old, to, new)?)
    }

    fn unlink_file_at(&mut self, this: Resource<Descriptor>, path: String) -> FsResult<()> {
        Ok(folder(&self.table, &this)?.to_change()?.remove_file(path)?)
    }

    fn is_same_object(
        &mut self,
        this: Resource<Descriptor>,
        other: Resource<Descriptor>,
    ) -> wasmtime::Result<bool> {
        let (this, other) = (self.table.get(&this)?, self.table.get(&other)?);
        Ok(this.path() == other.path())
    }

    fn metadata_hash(&mut self, this: Resource<Descriptor>) -> FsResult<MetadataHashValue> {
        let this = self.table.get(&this)?;
        Ok(hash_of(this.path(), &this.stat()?))
    }

    fn metadata_hash_at(
        &mut self,
        this: Resource<Descriptor>,
        flags: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        let folder = folder(&self.table, &this)?;
        let metadata = folder.metadata(&path, flags.contains(PathFlags::SYMLINK_FOLLOW))?;
        Ok(hash_of(&folder.path_of(&path), &stat_of(&metadata)))
    }

    fn drop(&mut self, this: Resource<Descriptor>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}
