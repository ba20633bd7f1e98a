//! Files and folders as the system describes them.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{self as sys, FileType, Stat};

/// A file, folder or link that has a name.
#[derive(Clone, Copy, Debug)]
pub struct Entry(pub(super) Stat);

impl Entry {
    fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.0.st_mode)
    }

    /// True for a regular file.
    pub fn is_file(&self) -> bool {
        self.kind() == FileType::RegularFile
    }

    /// True for a folder.
    pub fn is_folder(&self) -> bool {
        self.kind() == FileType::Directory
    }

    /// True for a symbolic link.
    pub fn is_link(&self) -> bool {
        self.kind() == FileType::Symlink
    }

    /// Returns the number of its names (hard links).
    #[allow(clippy::useless_conversion, reason = "its type differs between platforms")]
    pub fn names(&self) -> u64 {
        u64::from(self.0.st_nlink)
    }

    /// Its length, in bytes.
    pub fn length(&self) -> u64 {
        u64::try_from(self.0.st_size).unwrap_or(0)
    }

    /// Returns the number of bytes that it occupies on the disk, which is less than its length if it has holes.
    pub fn on_disk(&self) -> u64 {
        u64::try_from(self.0.st_blocks).unwrap_or(0).saturating_mul(512)
    }

    /// Returns the time of its last modification; 1970-01-01 if the system's value is out of range.
    pub fn modified(&self) -> SystemTime {
        let seconds = u64::try_from(self.0.st_mtime).unwrap_or(0);
        #[allow(clippy::useless_conversion, reason = "its type differs between platforms")]
        let nanoseconds = u32::try_from(self.0.st_mtime_nsec).unwrap_or(0);
        UNIX_EPOCH.checked_add(Duration::new(seconds, nanoseconds)).unwrap_or(UNIX_EPOCH)
    }

    /// True if both are the same file or folder.
    pub fn is_same(&self, other: &Self) -> bool {
        (self.0.st_dev, self.0.st_ino) == (other.0.st_dev, other.0.st_ino)
    }

    /// Returns the entry of the file or folder that a path leads to. Links are followed.
    pub fn at(path: &Path) -> io::Result<Self> {
        Ok(Self(sys::stat(path)?))
    }

    /// Returns the entry of an open file.
    pub fn of(file: &File) -> io::Result<Self> {
        Ok(Self(sys::fstat(file)?))
    }
}
