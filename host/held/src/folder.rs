//! An open folder.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, ErrorKind, Read as _};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{self as sys, AtFlags, CWD, Dir, Mode, OFlags};
use rustix::io::Errno;

use super::entry::Entry;

/// The reason for which something in a held folder is not opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum Refusal {
    /// A link, symbolic.
    #[error("it is a link to {target}, and none is followed here", target = target.display())]
    Link { path: PathBuf, target: PathBuf },
    /// A hard link of a file that would be changed in place.
    #[error(
        "it is a hard link: the same file has a name elsewhere, and would be changed there, too; replace it with a copy"
    )]
    HardLink { path: PathBuf },
    /// A folder was needed.
    #[error("it is not a folder")]
    NotFolder { path: PathBuf },
    /// A regular file was needed.
    #[error("it is not a regular file")]
    NotRegular { path: PathBuf },
    /// A name with a separator, or of the folder itself.
    #[error("it is not the name of a file")]
    NotAName { path: PathBuf },
}

impl Refusal {
    /// Returns the refusal that an I/O error carries, if it carries one.
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref().and_then(|inner| inner.downcast_ref())
    }

    /// Returns the path of the refused entry, for messages.
    pub fn path(&self) -> &Path {
        match self {
            Self::Link { path, .. }
            | Self::HardLink { path }
            | Self::NotFolder { path }
            | Self::NotRegular { path }
            | Self::NotAName { path } => path,
        }
    }
}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> Self {
        Self::other(refusal)
    }
}

/// An open folder. Clones share the handle.
#[derive(Clone, Debug)]
pub struct HeldFolder(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    handle: OwnedFd,
    path: PathBuf,
}

/// The purpose for which a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// Opens an existing file for reading.
    Read,
    /// Opens an existing file for reading and writing. A hard link is refused.
    Change,
    /// Opens a file for reading and writing, and creates it if it is missing. A hard link is refused.
    Make,
    /// Opens a file for appending, and creates it if it is missing. A hard link is refused.
    Append,
    /// Creates a file, which must not exist yet, for writing.
    New,
}

impl Opening {
    const fn flags(self) -> OFlags {
        match self {
            Self::Read => OFlags::RDONLY,
            Self::Change => OFlags::RDWR,
            Self::Make => OFlags::RDWR.union(OFlags::CREATE),
            Self::Append => OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::APPEND),
            Self::New => OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL),
        }
    }
}

/// Opens a folder. On Linux, a folder that may be entered but not read is opened with `O_PATH`: its handle serves only
/// to reach its entries.
fn open_folder(at: impl AsFd + Copy, path: &OsStr, follow: OFlags) -> Result<OwnedFd, Errno> {
    let flags = OFlags::DIRECTORY.union(OFlags::CLOEXEC).union(follow);
    match sys::openat(at, path, flags.union(OFlags::RDONLY), Mode::empty()) {
        #[cfg(target_os = "linux")]
        Err(Errno::ACCESS) => sys::openat(at, path, flags.union(OFlags::PATH), Mode::empty()),
        opened => opened,
    }
}

/// Refuses a name that does not name an entry of the folder: an empty one, `.`, `..`, or one with a `/`.
fn check_name(name: &OsStr) -> io::Result<()> {
    let bytes = name.as_encoded_bytes();
    if matches!(bytes, b"" | b"." | b"..") || bytes.contains(&b'/') {
        return Err(Refusal::NotAName { path: name.into() }.into());
    }
    Ok(())
}

impl HeldFolder {
    /// Opens a folder that the user has named. Links in the path are followed, because the user chose them.
    pub fn open(path: &Path) -> io::Result<Self> {
        let named = if path.as_os_str().is_empty() { OsStr::new(".") } else { path.as_os_str() };
        let handle = open_folder(CWD, named, OFlags::empty())?;
        Ok(Self(Arc::new(Inner { handle, path: path.to_owned() })))
    }

    /// Returns the path by which it was opened, for messages.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Opens a folder in this one, without following a link.
    pub fn step(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = name.as_ref();
        check_name(name)?;
        match open_folder(&self.0.handle, name, OFlags::NOFOLLOW) {
            Ok(handle) => Ok(Self(Arc::new(Inner { handle, path: self.0.path.join(name) }))),
            Err(Errno::NOTDIR | Errno::LOOP) => {
                Err(self.refusal(name, Refusal::NotFolder { path: self.0.path.join(name) }))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a folder in this one, and creates it if it is missing.
    pub fn make(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = name.as_ref();
        match self.step(name) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            stepped => return stepped,
        }
        match sys::mkdirat(&self.0.handle, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => self.step(name),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the error for an entry that could not be opened: [`Refusal::Link`] if it is a link, `other` otherwise.
    fn refusal(&self, name: &OsStr, other: Refusal) -> io::Error {
        match self.entry(name) {
            Ok(Some(found)) if found.is_link() => self.link_at(name).into(),
            _ => other.into(),
        }
    }

    /// Returns the refusal of a link, with its target.
    pub fn link_at(&self, name: impl AsRef<OsStr>) -> Refusal {
        use std::os::unix::ffi::OsStringExt as _;
        let name = name.as_ref();
        let target = sys::readlinkat(&self.0.handle, name, Vec::new());
        let target = target.map(|target| OsString::from_vec(target.into_bytes())).unwrap_or_default();
        Refusal::Link { path: self.0.path.join(name), target: target.into() }
    }

    /// Returns the entry of a name; `None` if there is none. A link is not followed.
    pub fn entry(&self, name: impl AsRef<OsStr>) -> io::Result<Option<Entry>> {
        let name = name.as_ref();
        check_name(name)?;
        match sys::statat(&self.0.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(Entry(found))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a regular file. A link is refused, and a pipe does not block.
    pub fn file(&self, name: impl AsRef<OsStr>, opening: Opening) -> io::Result<File> {
        self.file_with(name.as_ref(), opening, 0o666)
    }

    fn file_with(&self, name: &OsStr, opening: Opening, mode: u32) -> io::Result<File> {
        check_name(name)?;
        let not_regular = || Refusal::NotRegular { path: self.0.path.join(name) };
        let flags = opening.flags().union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
        let file = match sys::openat(&self.0.handle, name, flags, Mode::from_raw_mode(mode)) {
            Ok(file) => file,
            // A pipe without a reader, or a socket.
            Err(Errno::LOOP | Errno::NXIO) => return Err(self.refusal(name, not_regular())),
            Err(error) => return Err(error.into()),
        };
        let found = Entry(sys::fstat(&file)?);
        if !found.is_file() {
            return Err(if found.is_folder() {
                ErrorKind::IsADirectory.into()
            } else {
                not_regular().into()
            });
        }
        if opening != Opening::Read && found.names() > 1 {
            return Err(Refusal::HardLink { path: self.0.path.join(name) }.into());
        }
        Ok(file.into())
    }

    /// Reads a regular file of at most `most` bytes. A longer file is the error [`ErrorKind::FileTooLarge`].
    pub fn read(&self, name: impl AsRef<OsStr>, most: u64) -> io::Result<Vec<u8>> {
        let file = self.file(name, Opening::Read)?;
        let mut bytes = Vec::new();
        file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        let is_longer = u64::try_from(bytes.len()).is_ok_and(|length| length > most);
        if is_longer { Err(ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
    }

    /// Writes a file, and replaces the file or link of that name if there is one. It appears complete or not at all. A
    /// link is replaced, not followed.
    pub fn replace(
        &self,
        name: impl AsRef<OsStr>,
        options: WriteOptions,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        let name = name.as_ref();
        check_name(name)?;
        let draft = self.draft(options, fill)?;
        let renamed = sys::renameat(&self.0.handle, &draft, &self.0.handle, name);
        if let Err(error) = renamed {
            let _ = self.remove(&draft);
            return Err(error.into());
        }
        if options.is_durable { self.sync() } else { Ok(()) }
    }

    /// Writes a file under a random name. A file with given permissions is locked until it is complete, so
    /// that one that a killed process has left can be recognized.
    pub fn draft(
        &self,
        options: WriteOptions,
        contents: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<OsString> {
        let (name, mut file) = loop {
            let name = OsString::from(format!("{DRAFT}{}{DRAFT_END}", random_name()));
            match self.file_with(&name, Opening::New, options.mode.unwrap_or(0o666) & 0o666) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                file => break (name, file?),
            }
        };
        let write = || -> io::Result<()> {
            if let Some(mode) = options.mode {
                file.lock()?;
                contents(&mut file)?;
                sys::fchmod(&file, Mode::from_raw_mode(mode))?;
            } else {
                contents(&mut file)?;
            }
            if options.is_durable { file.sync_all() } else { Ok(()) }
        };
        match write() {
            Ok(()) => Ok(name),
            Err(error) => {
                let _ = self.remove(&name);
                Err(error)
            }
        }
    }

    /// Removes a file, or a link (not its target).
    pub fn remove(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        check_name(name.as_ref())?;
        Ok(sys::unlinkat(&self.0.handle, name.as_ref(), AtFlags::empty())?)
    }

    /// Removes an empty folder.
    pub fn remove_folder(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        check_name(name.as_ref())?;
        Ok(sys::unlinkat(&self.0.handle, name.as_ref(), AtFlags::REMOVEDIR)?)
    }

    /// Removes a folder with everything in it. Links in it are removed, not followed. It is no error if there is no
    /// such folder.
    pub fn remove_all(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        let missing = |error: io::Error| {
            if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) }
        };
        let inner = match self.step(name.as_ref()) {
            Ok(inner) => inner,
            Err(error) if Refusal::of(&error).is_some() => return self.remove(name).or_else(missing),
            Err(error) => return missing(error),
        };
        for name in inner.names()? {
            match inner.remove(&name) {
                // Linux reports the former, other systems the latter.
                Err(error)
                    if matches!(error.kind(), ErrorKind::IsADirectory | ErrorKind::PermissionDenied) =>
                {
                    inner.remove_all(&name)?;
                }
                removed => removed.or_else(missing)?,
            }
        }
        self.remove_folder(name).or_else(missing)
    }

    /// Renames an entry within this folder.
    pub fn rename(&self, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) -> io::Result<()> {
        check_name(from.as_ref())?;
        check_name(to.as_ref())?;
        Ok(sys::renameat(&self.0.handle, from.as_ref(), &self.0.handle, to.as_ref())?)
    }

    /// Gives a file a second name (a hard link) in this folder.
    pub fn link(&self, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) -> io::Result<()> {
        check_name(from.as_ref())?;
        check_name(to.as_ref())?;
        let here = &self.0.handle;
        Ok(sys::linkat(here, from.as_ref(), here, to.as_ref(), AtFlags::empty())?)
    }

    /// Returns the names of its entries, in no particular order.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        use std::os::unix::ffi::OsStrExt as _;
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.0.handle)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    /// Syncs the folder, so that the names in it survive a power failure.
    pub fn sync(&self) -> io::Result<()> {
        match sys::fsync(&self.0.handle) {
            // Some systems cannot sync folders, and one that cannot be read cannot be synced. The file itself is on the disk.
            Ok(()) | Err(Errno::BADF | Errno::INVAL) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the entry of the folder itself.
    pub fn itself(&self) -> io::Result<Entry> {
        Ok(Entry(sys::fstat(&self.0.handle)?))
    }

    /// True if it was removed: nothing can be made in it any more.
    pub fn is_removed(&self) -> io::Result<bool> {
        Ok(self.itself()?.names() == 0)
    }

    /// True if a path leads to this folder at this moment, links included.
    pub fn is_at(&self, path: &Path) -> io::Result<bool> {
        let named = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        match sys::stat(named) {
            Ok(found) => Ok(self.itself()?.is_same(&Entry(found))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the canonical path of the folder; `None` if that path now leads to another folder.
    pub fn canonical(&self) -> io::Result<Option<PathBuf>> {
        let named = if self.path().as_os_str().is_empty() { Path::new(".") } else { self.path() };
        let path = std::fs::canonicalize(named)?;
        Ok(self.is_at(&path)?.then_some(path))
    }

    /// Returns a path to a name in the folder that leads through the folder's handle (`/proc/self/fd/…`), for libraries
    /// that open files by their paths; `None` if the system has no such paths. The path is valid as long as the folder
    /// is held.
    pub fn through_handle(&self, name: &OsStr) -> Option<PathBuf> {
        if !cfg!(target_os = "linux") {
            return None;
        }
        let folder = PathBuf::from(format!("/proc/self/fd/{}", self.0.handle.as_raw_fd()));
        self.is_at(&folder).is_ok_and(|is_at| is_at).then(|| folder.join(name))
    }
}

impl AsFd for HeldFolder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.handle.as_fd()
    }
}

/// The beginning of a draft's name: [`HeldFolder::replace`] writes to a draft first.
pub const DRAFT: &str = ".graph-host-";
/// The end of a draft's name, after six letters or digits.
pub const DRAFT_END: &str = ".tmp";

/// Six letters and digits.
fn random_name() -> String {
    let mut number = RandomState::new().hash_one(std::process::id());
    let digits = (0..6).map(|_| {
        let digit = u32::try_from(number % 36).unwrap_or(0);
        number /= 36;
        char::from_digit(digit, 36).unwrap_or('0')
    });
    digits.collect()
}

/// The options of writing a file that replaces another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteOptions {
    /// True if the write waits until the file and its name are on stable storage.
    pub is_durable: bool,
    /// Its permissions; without a value, those of any new file.
    pub mode: Option<u32>,
}

impl WriteOptions {
    /// Returns the options for a file with the permissions of any new file.
    pub const fn shared(is_durable: bool) -> Self {
        Self { is_durable, mode: None }
    }

    /// Returns the options for a durable file with these permissions.
    pub const fn with_mode(mode: u32) -> Self {
        Self { is_durable: true, mode: Some(mode) }
    }
}
