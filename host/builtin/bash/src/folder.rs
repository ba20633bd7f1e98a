//! A granted folder as a file system of the shell.

use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use bashkit::time::{SystemTime, UNIX_EPOCH};
use bashkit::{DirEntry, FileType, FsBackend, Metadata, Result, async_trait};
use graph_sdk::bindings::wasi::filesystem::preopens::get_directories;
use graph_sdk::bindings::wasi::filesystem::types::{
    Descriptor, DescriptorFlags, DescriptorStat, DescriptorType, ErrorCode, OpenFlags, PathFlags,
};

/// Maximum number of bytes of one read or write call of the host.
const PIECE: usize = 256 << 10;

/// A folder of the manifest's `filesystem`.
pub(crate) struct Folder {
    descriptor: Descriptor,
    path: String,
}

/// Returns the granted folders, in the manifest's order.
pub(crate) fn granted() -> Vec<Folder> {
    get_directories().into_iter().map(|(descriptor, path)| Folder { descriptor, path }).collect()
}

impl Folder {
    /// Returns the path of the folder in the shell.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    fn open(&self, path: &Path, open: OpenFlags, flags: DescriptorFlags) -> Result<Descriptor> {
        Ok(self.descriptor.open_at(PathFlags::empty(), &within(path), open, flags).map_err(error)?)
    }

    fn lookup(&self, path: &Path) -> Result<DescriptorStat> {
        let path = within(path);
        if path == "." {
            return Ok(self.descriptor.stat().map_err(error)?);
        }
        Ok(self.descriptor.stat_at(PathFlags::empty(), &path).map_err(error)?)
    }

    fn put(&self, path: &Path, content: &[u8], open: OpenFlags, from: u64) -> Result<()> {
        let file = self.open(path, open, DescriptorFlags::WRITE)?;
        let mut at = 0;
        while at < content.len() {
            let end = content.len().min(at + PIECE);
            let written = file.write(&content[at..end], from + at as u64).map_err(error)?;
            if written == 0 {
                return Err(Error::from(ErrorKind::WriteZero).into());
            }
            at += usize::try_from(written).unwrap_or(usize::MAX);
        }
        Ok(())
    }

    fn delete(&self, path: &Path, recursive: bool) -> Result<()> {
        if !matches!(self.lookup(path)?.type_, DescriptorType::Directory) {
            return Ok(self.descriptor.unlink_file_at(&within(path)).map_err(error)?);
        }
        if recursive {
            for entry in self.entries(path)? {
                self.delete(&path.join(entry), true)?;
            }
        }
        Ok(self.descriptor.remove_directory_at(&within(path)).map_err(error)?)
    }

    fn entries(&self, path: &Path) -> Result<Vec<String>> {
        let folder = self.open(path, OpenFlags::DIRECTORY, DescriptorFlags::READ)?;
        let stream = folder.read_directory().map_err(error)?;
        let mut names = Vec::new();
        while let Some(entry) = stream.read_directory_entry().map_err(error)? {
            names.push(entry.name);
        }
        Ok(names)
    }
}

#[async_trait]
impl FsBackend for Folder {
    async fn read(&self, path: &Path) -> Result<Vec<u8>> {
        let file = self.open(path, OpenFlags::empty(), DescriptorFlags::READ)?;
        let mut content = Vec::new();
        loop {
            let (piece, end) = file.read(PIECE as u64, content.len() as u64).map_err(error)?;
            content.extend_from_slice(&piece);
            if end {
                return Ok(content);
            }
        }
    }

    async fn write(&self, path: &Path, content: &[u8]) -> Result<()> {
        self.put(path, content, OpenFlags::CREATE | OpenFlags::TRUNCATE, 0)
    }

    async fn append(&self, path: &Path, content: &[u8]) -> Result<()> {
        let size = self.lookup(path).map_or(0, |found| found.size);
        self.put(path, content, OpenFlags::CREATE, size)
    }

    async fn mkdir(&self, path: &Path, recursive: bool) -> Result<()> {
        if recursive && let Some(parent) = path.parent() {
            if self.lookup(parent).is_err() {
                self.mkdir(parent, true).await?;
            }
            if self.lookup(path).is_ok_and(|found| matches!(found.type_, DescriptorType::Directory)) {
                return Ok(());
            }
        }
        Ok(self.descriptor.create_directory_at(&within(path)).map_err(error)?)
    }

    async fn remove(&self, path: &Path, recursive: bool) -> Result<()> {
        self.delete(path, recursive)
    }

    async fn stat(&self, path: &Path) -> Result<Metadata> {
        self.lookup(path).map(|found| metadata(found.type_, found.size))
    }

    async fn read_dir(&self, path: &Path) -> Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for name in self.entries(path)? {
            // The entry may have been removed since then.
            if let Ok(found) = self.lookup(&path.join(&name)) {
                entries.push(DirEntry { name, metadata: metadata(found.type_, found.size) });
            }
        }
        Ok(entries)
    }

    async fn exists(&self, path: &Path) -> Result<bool> {
        Ok(self.lookup(path).is_ok())
    }

    async fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        Ok(self.descriptor.rename_at(&within(from), &self.descriptor, &within(to)).map_err(error)?)
    }

    async fn copy(&self, from: &Path, to: &Path) -> Result<()> {
        let content = self.read(from).await?;
        self.write(to, &content).await
    }

    async fn symlink(&self, _: &Path, _: &Path) -> Result<()> {
        Err(Error::from(ErrorKind::PermissionDenied).into())
    }

    async fn read_link(&self, path: &Path) -> Result<PathBuf> {
        Ok(self.descriptor.readlink_at(&within(path)).map(PathBuf::from).map_err(error)?)
    }

    /// Reports success if the path exists, so that `chmod +x` succeeds. Permissions of granted folders cannot be changed.
    async fn chmod(&self, path: &Path, _: u32) -> Result<()> {
        self.lookup(path).map(|_| ())
    }

    /// Reports success if the path exists. Times of granted folders are hidden.
    async fn set_modified_time(&self, path: &Path, _: SystemTime) -> Result<()> {
        self.lookup(path).map(|_| ())
    }
}

/// Converts a path that is relative to the folder to the form of the host.
fn within(path: &Path) -> String {
    match path.to_string_lossy().trim_matches('/') {
        "" => ".".to_owned(),
        path => path.to_owned(),
    }
}

fn metadata(kind: DescriptorType, size: u64) -> Metadata {
    let (file_type, mode) = match kind {
        DescriptorType::Directory => (FileType::Directory, 0o755),
        DescriptorType::SymbolicLink => (FileType::Symlink, 0o777),
        DescriptorType::Fifo => (FileType::Fifo, 0o644),
        _ => (FileType::File, 0o644),
    };
    let size = if file_type == FileType::Directory { 0 } else { size };
    Metadata { file_type, size, mode, modified: UNIX_EPOCH, created: UNIX_EPOCH }
}

fn error(code: ErrorCode) -> Error {
    Error::from(match code {
        ErrorCode::NoEntry => ErrorKind::NotFound,
        ErrorCode::Access | ErrorCode::NotPermitted => ErrorKind::PermissionDenied,
        ErrorCode::ReadOnly => ErrorKind::ReadOnlyFilesystem,
        ErrorCode::NotDirectory => ErrorKind::NotADirectory,
        ErrorCode::IsDirectory => ErrorKind::IsADirectory,
        ErrorCode::Exist => ErrorKind::AlreadyExists,
        ErrorCode::NotEmpty => ErrorKind::DirectoryNotEmpty,
        ErrorCode::Invalid | ErrorCode::IllegalByteSequence | ErrorCode::NameTooLong | ErrorCode::Loop => {
            ErrorKind::InvalidInput
        }
        ErrorCode::InsufficientSpace | ErrorCode::Quota => ErrorKind::StorageFull,
        ErrorCode::FileTooLarge => ErrorKind::FileTooLarge,
        _ => ErrorKind::Other,
    })
}
