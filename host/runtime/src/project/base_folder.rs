//! Paths in messages.

use std::path::Path;
use std::sync::Arc;

use graph_core::diagnostic::printable;

/// The folder that messages show paths relative to, such as the current folder of a command line. The default is none:
/// paths are shown unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BaseFolder(Option<Arc<Path>>);

impl BaseFolder {
    /// Makes messages show paths in this folder relative to it.
    pub fn at(folder: &Path) -> Self {
        Self(Some(folder.into()))
    }

    /// Formats a path for messages.
    pub fn show(&self, path: &Path) -> String {
        let relative = self.0.as_deref().and_then(|folder| path.strip_prefix(folder).ok());
        let path = relative.filter(|path| !path.as_os_str().is_empty()).unwrap_or(path);
        printable(&path.display().to_string()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_the_folder_are_shown_relative_to_it() {
        let shown = |base: &BaseFolder, path: &str| base.show(Path::new(path));
        let base = BaseFolder::at(Path::new("/a/b"));
        assert_eq!(shown(&base, "/a/b/c/d.yaml"), "c/d.yaml");
        for other in ["/a/b", "/a/bc", "/a", "b/c", "../c", "c"] {
            assert_eq!(shown(&base, other), other);
            assert_eq!(shown(&BaseFolder::default(), other), other);
        }
        assert_eq!(shown(&BaseFolder::default(), "/a/b/c"), "/a/b/c");
        assert!(!shown(&base, "/a/b/c\u{1b}[31m").contains('\u{1b}'));
    }
}
