//! Paths in what the command line prints.

use std::path::Path;

use graph_runtime::BaseFolder;

/// Returns the folder that the command was typed in, which paths are shown relative to.
pub fn base_folder() -> BaseFolder {
    std::env::current_dir().map(|folder| BaseFolder::at(&folder)).unwrap_or_default()
}

/// Formats a path: one in the current folder is shown relative to it.
pub fn shown(path: &Path) -> String {
    base_folder().show(path)
}

/// Formats the path of a file that a command reads: `-` is stdin.
pub fn shown_input(path: &Path) -> String {
    if path == Path::new("-") { "<stdin>".to_owned() } else { shown(path) }
}
