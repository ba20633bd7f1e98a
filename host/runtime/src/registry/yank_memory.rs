//! The yanks that this user has seen, in the user's space: if they are removed from a registry, the versions stay
//! yanked here. They are signed, and judged again each time.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;

use graph_core::trust::Yank;
use graph_registry::pull::Judge;
use graph_registry::yank::{MOST_LIST, SortedYanks, read_list, tag_of, write_list};

use crate::error::{Error, Result};
use crate::project::user_home::{Home, create_private_folder, write_atomic};

/// Limit of the remembered statements about an item's versions. Only keys that are trusted for the item can reach it.
const MOST_REMEMBERED: usize = 4_096;

/// Reads the remembered envelopes about the versions of an item; none if they cannot be read.
pub(crate) fn remembered(home: &Home, id: &str) -> Vec<String> {
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let most = MOST_LIST as u64 + 1;
        File::open(file(home, id))?.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().ok().and_then(|bytes| read_list(&bytes, MOST_REMEMBERED)).unwrap_or_default()
}

/// Adds statements to the remembered ones. For each key, version and content, the deciding statement is kept, whatever
/// others state. If the statements cannot be written, the next command reads them again, unless they are removed until
/// then.
pub(crate) fn remember(
    home: &Home,
    id: &str,
    judge: Judge<'_>,
    known: &[String],
    seen: &[Yank],
) -> Result<()> {
    if seen.iter().all(|yank| known.iter().any(|text| text == yank.envelope())) {
        return Ok(());
    }
    let path = file(home, id);
    let _lock = lock(home)?;
    // Another process may have added some meanwhile.
    let there = remembered(home, id);
    let all = there.iter().map(String::as_str).chain(seen.iter().map(Yank::envelope));
    // A statement that is not trusted now was verified with another trust store, and is kept for that one.
    let sorted = SortedYanks::new(all, id, judge);
    let list = write_list(&sorted.all(), MOST_REMEMBERED).ok_or_else(|| {
        let shown = home.base().show(&path);
        Error::limit(format!("{shown} has no room for more yanks: those that it has are kept, and no others"))
    })?;
    write_atomic(&path, &list, true).map_err(|error| Error::write("the yanks that were seen", &path, &error))
}

/// Locks the remembered yanks for this process.
fn lock(home: &Home) -> Result<File> {
    create_private_folder(&home.yanks())?;
    let path = home.yanks().join(".lock");
    let failed = |error: &io::Error| Error::write("the lock file", &path, error);
    let lock = File::create(&path).map_err(|error| failed(&error))?;
    lock.lock().map_err(|error| failed(&error))?;
    Ok(lock)
}

fn file(home: &Home, id: &str) -> PathBuf {
    home.yanks().join(format!("{}.json", tag_of(id)))
}

#[cfg(test)]
mod tests;
