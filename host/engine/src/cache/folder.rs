//! Lists the folder of compiled components, and limits its size.
//!
//! Every process of the user works in the folder, and other users may have planted files there. So links are not followed, and only
//! regular files with this cache's names are read or removed. A missing file was removed by another process: a process that has opened it
//! can still read it, and any other compiles again.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The extension of compiled components.
const ENDING: &str = ".artifact";
/// The prefixes of temporary files, which a killed process may leave.
const TEMPORARY: [&str; 2] = [".artifact-", ".key-"];
/// Age from which a temporary file counts as abandoned.
const ABANDONED: Duration = Duration::from_hours(1);
/// Age of the recorded time of use from which it is written again.
const NOTED: Duration = Duration::from_mins(1);

/// A compiled component in a cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedComponent {
    /// The SHA-256 of the component, in hexadecimal digits.
    pub component: String,
    /// The engine for which it was compiled: the first digits of the compatibility digest.
    pub engine: String,
    /// The length of its file, in bytes.
    pub bytes: u64,
    /// The time of its last use, to the minute.
    pub last_used: SystemTime,
    file: PathBuf,
}

/// A selection of compiled components to remove: each condition selects some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CachePolicy {
    /// Selects every entry.
    pub all: bool,
    /// Selects those that were not used for this time.
    pub older_than: Option<Duration>,
    /// Selects the least recently used ones, until the others take at most this many bytes.
    pub most_bytes: Option<u64>,
    /// `true` to list the selected ones without removing them.
    pub dry_run: bool,
}

/// A folder of compiled components.
#[derive(Clone, Debug)]
pub struct CacheFolder(PathBuf);

impl CacheFolder {
    /// Creates the cache in a folder, which need not exist.
    pub fn at(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// Lists the components, least recently used first.
    pub fn list(&self) -> io::Result<Vec<CachedComponent>> {
        let mut found = Vec::new();
        for entry in self.entries()? {
            let entry = entry?;
            let name = entry.file_name();
            let Some((component, engine)) = name.to_str().and_then(component_of) else { continue };
            // Links are not followed.
            let Ok(metadata) = fs::symlink_metadata(entry.path()) else { continue };
            if metadata.is_file() {
                found.push(CachedComponent {
                    component: component.to_owned(),
                    engine: engine.to_owned(),
                    bytes: metadata.len(),
                    last_used: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                    file: entry.path(),
                });
            }
        }
        found.sort_by(|one, other| (one.last_used, &one.file).cmp(&(other.last_used, &other.file)));
        Ok(found)
    }

    /// Removes components and abandoned temporary files, and returns the components.
    pub fn prune(&self, policy: CachePolicy) -> io::Result<Vec<CachedComponent>> {
        let _lock = if policy.dry_run || !self.exists() { None } else { Some(self.lock()?) };
        if !policy.dry_run {
            self.remove_abandoned()?;
        }
        self.remove(policy, None)
    }

    /// Limits the folder's size after a component was added, which is kept whatever its size. If another process is doing the same, nothing
    /// is done.
    pub(super) fn keep_within(&self, most: u64, added: &Path) -> io::Result<()> {
        let lock = self.lock_file()?;
        if lock.try_lock().is_ok() {
            self.remove(CachePolicy { most_bytes: Some(most), ..CachePolicy::default() }, Some(added))?;
        }
        Ok(())
    }

    fn remove(&self, policy: CachePolicy, added: Option<&Path>) -> io::Result<Vec<CachedComponent>> {
        let found = self.list()?;
        let mut left: u64 = found.iter().map(|component| component.bytes).sum();
        let now = SystemTime::now();
        let mut removed = Vec::new();
        for component in found {
            let unused = now.duration_since(component.last_used).unwrap_or_default();
            let is_chosen = policy.all
                || policy.older_than.is_some_and(|span| unused >= span)
                || policy.most_bytes.is_some_and(|most| left > most);
            if !is_chosen || added == Some(&component.file) {
                continue;
            }
            if !policy.dry_run {
                match fs::remove_file(&component.file) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
            left = left.saturating_sub(component.bytes);
            removed.push(component);
        }
        Ok(removed)
    }

    fn remove_abandoned(&self) -> io::Result<()> {
        for entry in self.entries()? {
            let entry = entry?;
            let name = entry.file_name();
            let is_temporary =
                name.to_str().is_some_and(|name| TEMPORARY.iter().any(|begin| is_temporary(name, begin)));
            let is_abandoned = || {
                let metadata = fs::symlink_metadata(entry.path()).ok().filter(fs::Metadata::is_file)?;
                Some(metadata.modified().ok()?.elapsed().ok()? > ABANDONED)
            };
            if is_temporary && is_abandoned() == Some(true) {
                // Another process may have removed it.
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(())
    }

    /// Checks whether it is a folder, and not a link to one.
    fn exists(&self) -> bool {
        fs::symlink_metadata(&self.0).is_ok_and(|found| found.is_dir())
    }

    fn entries(&self) -> io::Result<impl Iterator<Item = io::Result<fs::DirEntry>>> {
        Ok(if self.exists() { Some(fs::read_dir(&self.0)?) } else { None }.into_iter().flatten())
    }

    fn lock(&self) -> io::Result<File> {
        let lock = self.lock_file()?;
        lock.lock()?;
        Ok(lock)
    }

    fn lock_file(&self) -> io::Result<File> {
        let mut options = File::options();
        options.create(true).truncate(false).write(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
            options.mode(0o600).custom_flags(flags.bits().cast_signed());
        }
        options.open(self.0.join(".lock"))
    }
}

/// Returns the name of a component's file.
pub(super) fn file_name(component: &str, engine: &str) -> String {
    format!("{component}-{engine}{ENDING}")
}

/// Splits a file's name into the component and the engine.
fn component_of(name: &str) -> Option<(&str, &str)> {
    let (component, engine) = name.strip_suffix(ENDING)?.split_once('-')?;
    let is_hexadecimal =
        |text: &str, length| text.len() == length && text.bytes().all(|b| b"0123456789abcdef".contains(&b));
    (is_hexadecimal(component, 64) && is_hexadecimal(engine, 16)).then_some((component, engine))
}

fn is_temporary(name: &str, begin: &str) -> bool {
    let random = name.strip_prefix(begin);
    random.is_some_and(|random| random.len() == 6 && random.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// Records that a component is used now. If that fails, it keeps its older time.
pub(super) fn note_use(file: &File) {
    let now = SystemTime::now();
    let is_worth_it = |noted: SystemTime| now.duration_since(noted).map_or(true, |since| since >= NOTED);
    if file.metadata().and_then(|found| found.modified()).is_ok_and(is_worth_it) {
        let _ = file.set_modified(now);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn put(&self, name: &str, bytes: usize, age: Duration) -> PathBuf {
            let path = self.0.path().join(name);
            fs::write(&path, vec![0; bytes]).unwrap();
            File::options().write(true).open(&path).unwrap().set_modified(SystemTime::now() - age).unwrap();
            path
        }

        fn component(&self, digit: char, bytes: usize, age: Duration) -> PathBuf {
            self.put(&file_name(&digit.to_string().repeat(64), &"0".repeat(16)), bytes, age)
        }

        fn cache(&self) -> CacheFolder {
            CacheFolder::at(self.0.path().to_owned())
        }
    }

    fn digits(components: &[CachedComponent]) -> String {
        components.iter().map(|component| &component.component[..1]).collect()
    }

    #[test]
    fn what_was_not_used_for_the_longest_time_is_removed_first() {
        let folder = Folder::new();
        let newest = folder.component('a', 10, Duration::ZERO);
        folder.component('b', 20, 3 * HOUR);
        folder.component('c', 30, 2 * HOUR);
        let cache = folder.cache();
        assert_eq!(digits(&cache.list().unwrap()), "bca");
        let within =
            |most, dry_run| CachePolicy { most_bytes: Some(most), dry_run, ..CachePolicy::default() };
        assert_eq!(digits(&cache.prune(within(60, false)).unwrap()), "");
        assert_eq!(digits(&cache.prune(within(40, true)).unwrap()), "b");
        assert_eq!(digits(&cache.prune(within(40, false)).unwrap()), "b");
        let old = CachePolicy { older_than: Some(HOUR), ..CachePolicy::default() };
        assert_eq!(digits(&cache.prune(old).unwrap()), "c");
        // The component that was just added is kept, however small the limit.
        cache.keep_within(1, &newest).unwrap();
        assert_eq!(digits(&cache.list().unwrap()), "a");
        assert_eq!(digits(&cache.prune(CachePolicy { all: true, ..CachePolicy::default() }).unwrap()), "a");
        assert!(CacheFolder::at(folder.0.path().join("nothing")).prune(within(0, false)).unwrap().is_empty());
    }

    #[test]
    fn one_process_at_a_time_removes() {
        let folder = Folder::new();
        let newest = folder.component('a', 10, Duration::ZERO);
        folder.component('b', 10, HOUR);
        let cache = folder.cache();
        let other = cache.lock().unwrap();
        cache.keep_within(10, &newest).unwrap();
        assert_eq!(digits(&cache.list().unwrap()), "ba", "it is left to the other process");
        drop(other);
        cache.keep_within(10, &newest).unwrap();
        assert_eq!(digits(&cache.list().unwrap()), "a");
        // Two processes that have listed the same files remove each of them only once.
        let all = CachePolicy { all: true, ..CachePolicy::default() };
        for digit in '0'..='9' {
            folder.component(digit, 1, HOUR);
        }
        let both: Vec<_> = std::thread::scope(|scope| {
            let prune = || cache.prune(all).unwrap().len();
            [scope.spawn(prune), scope.spawn(prune)].map(|thread| thread.join().unwrap()).into()
        });
        assert_eq!(both.iter().sum::<usize>(), 11, "{both:?}");
    }

    #[test]
    fn a_use_is_noted() {
        let folder = Folder::new();
        let path = folder.component('a', 1, HOUR);
        folder.component('b', 1, HOUR / 2);
        note_use(&File::open(path).unwrap());
        assert_eq!(digits(&folder.cache().list().unwrap()), "ba");
    }

    #[test]
    fn nothing_but_files_of_this_cache_is_removed() {
        let folder = Folder::new();
        let name = |digit: char| file_name(&digit.to_string().repeat(64), &"0".repeat(16));
        let kept = [
            folder.put("key", 32, 9 * HOUR),
            folder.put(&name('A'), 1, 9 * HOUR),
            folder.put(&format!("{}-x.artifact", "a".repeat(64)), 1, 9 * HOUR),
            folder.put(".artifact-abc", 1, 9 * HOUR),
            folder.put(".artifact-young1", 1, Duration::ZERO),
        ];
        let abandoned =
            [folder.put(".artifact-aBcDe1", 1, 2 * HOUR), folder.put(".key-aBcDe1", 32, 2 * HOUR)];
        fs::create_dir(folder.0.path().join(name('d'))).unwrap();
        #[cfg(unix)]
        let outside = {
            let outside = tempfile::tempdir().unwrap();
            let file = outside.path().join(name('e'));
            fs::write(&file, "not ours").unwrap();
            std::os::unix::fs::symlink(&file, folder.0.path().join(name('e'))).unwrap();
            outside
        };
        let all = CachePolicy { all: true, ..CachePolicy::default() };
        assert!(folder.cache().prune(all).unwrap().is_empty());
        assert!(kept.iter().all(|path| path.exists()), "{kept:?}");
        assert!(abandoned.iter().all(|path| !path.exists()));
        assert!(folder.0.path().join(name('d')).is_dir());
        #[cfg(unix)]
        {
            assert!(folder.0.path().join(name('e')).is_symlink() && outside.path().join(name('e')).exists());
            // A cache folder that is a link is not used.
            let link = folder.0.path().join("link");
            std::os::unix::fs::symlink(outside.path(), &link).unwrap();
            let linked = CacheFolder::at(link);
            assert!(linked.list().unwrap().is_empty() && linked.prune(all).unwrap().is_empty());
            assert!(outside.path().join(name('e')).exists());
            // A planted lock file is not followed either.
            fs::remove_file(folder.0.path().join(".lock")).unwrap();
            let target = outside.path().join("made");
            std::os::unix::fs::symlink(&target, folder.0.path().join(".lock")).unwrap();
            folder.cache().prune(all).unwrap_err();
            assert!(!target.exists());
        }
    }
}
