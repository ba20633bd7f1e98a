//! The sources that a command or a program names.

use std::fmt::Write as _;
use std::path::PathBuf;

use graph_core::diagnostic::shell_path;

/// Sources of items and trusted keys.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// Trust files whose keys are trusted, in addition to those of the user's trust store.
    pub trust: Vec<PathBuf>,
    /// Folders that are searched first for items, as `DIR/ID.wasm`.
    pub items: Vec<PathBuf>,
    /// Project with items in its `.ai/tools`. Without it, the nearest folder with `.ai` at or above the graph.
    pub project: Option<PathBuf>,
    /// Admits components without a signature: for components under development.
    pub allow_unsigned: bool,
}

impl Sources {
    /// Returns the command that suggests a manifest for the graph.
    pub fn suggest_command(&self, graph: &str) -> String {
        let mut command = format!("graph-host caps suggest {}", shell_path(graph));
        let named = [("--trust", &self.trust[..]), ("--items", &self.items[..])];
        for (option, paths) in named.into_iter().chain([("--project", self.project.as_slice())]) {
            for path in paths {
                let _ = write!(command, " {option} {}", shell_path(&path.to_string_lossy()));
            }
        }
        if self.allow_unsigned {
            command.push_str(" --allow-unsigned");
        }
        command
    }
}
