//! Paths in messages.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use graph_core::diagnostic::printable;

/// The folder that [`shown`] makes paths relative to.
static SHOWN_FROM: OnceLock<PathBuf> = OnceLock::new();

/// Makes messages show paths in this folder relative to it, for command lines. Otherwise they show paths unchanged.
/// Only the first call has an effect.
pub fn show_paths_from(folder: PathBuf) {
    let _ = SHOWN_FROM.set(folder);
}

/// Formats a path for messages.
pub fn shown(path: &Path) -> String {
    let relative = SHOWN_FROM.get().and_then(|folder| path.strip_prefix(folder).ok());
    let path = relative.filter(|path| !path.as_os_str().is_empty()).unwrap_or(path);
    printable(&path.display().to_string()).into_owned()
}
