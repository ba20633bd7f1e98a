//! The yanks that this user has seen, in the user's space: who may write to a registry can remove them there, and does not
//! thereby offer the version again. They are signed, and judged again each time.

use std::io::{self, Read as _};
use std::path::PathBuf;

use graph_registry::yank::{MOST_LIST, read_list, tag_of, write_list};

use crate::project::user_home::{Home, create_private_folder, write_atomic};

/// The envelopes about the versions of an item that were seen before, none if they cannot be read.
pub(crate) fn remembered(home: &Home, id: &str) -> Vec<String> {
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let most = MOST_LIST as u64 + 1;
        std::fs::File::open(file(home, id))?.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().ok().and_then(|bytes| read_list(&bytes)).unwrap_or_default()
}

/// Adds envelopes whose statements count. If they cannot be written, the command continues: the next one reads them again,
/// unless someone hides them until then.
pub(crate) fn remember(home: &Home, id: &str, known: &[String], seen: &[String]) {
    let new = seen.iter().filter(|text| !known.contains(text));
    let all: Vec<String> = known.iter().chain(new).cloned().collect();
    if all.len() > known.len() {
        let path = file(home, id);
        if create_private_folder(&home.yanks()).is_ok() {
            let _ = write_atomic(&path, &write_list(all), true);
        }
    }
}

fn file(home: &Home, id: &str) -> PathBuf {
    home.yanks().join(format!("{}.json", tag_of(id)))
}
