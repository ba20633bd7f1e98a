//! Waiting for files to change.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use graph_runtime::error::{Error, Result};

/// Time without changes after which files count as changed: an editor writes in several steps.
const QUIET: Duration = Duration::from_millis(150);
/// Interval at which the watcher checks whether the process has been asked to end.
const PAUSE: Duration = Duration::from_millis(100);
/// Extensions of the files in a folder of items that define items.
const OF_ITEMS: [&str; 6] = ["wasm", "yaml", "yml", "json", "md", "xml"];
/// Files and folders that toolchains write next to sources.
const WRITTEN: [&str; 5] = ["target", "node_modules", "__pycache__", "Cargo.lock", "package-lock.json"];

/// Watches files, and folders of items with everything below them.
#[derive(Debug)]
pub struct FileWatcher {
    events: mpsc::Receiver<PathBuf>,
    /// `true` once the process has been asked to end.
    ends: Arc<AtomicBool>,
    /// The folder of a node whose subfolders are watched, also those that are made later.
    root: Option<PathBuf>,
    /// Stops watching when it is dropped.
    watcher: RecommendedWatcher,
}

impl FileWatcher {
    /// Starts to watch. A file need not exist yet, but its folder must; missing folders are skipped.
    pub fn begin(files: &[PathBuf], folders: &[PathBuf]) -> Result<Self> {
        let files: Vec<PathBuf> = files.iter().map(|file| absolute(file)).collect();
        let folders: Vec<PathBuf> =
            folders.iter().filter(|folder| folder.is_dir()).map(|folder| absolute(folder)).collect();
        // A folder is watched in place of a file: editors replace files by new ones.
        let mut around: Vec<PathBuf> =
            files.iter().filter_map(|file| file.parent()).map(Path::to_path_buf).collect();
        around.sort_unstable();
        around.dedup();
        let around = around.into_iter().map(|folder| (folder, RecursiveMode::NonRecursive));
        let places: Vec<_> =
            around.chain(folders.iter().map(|folder| (folder.clone(), RecursiveMode::Recursive))).collect();
        let is_below = move |path: &Path| folders.iter().any(|folder| path.starts_with(folder));
        Self::start(&places, move |path| {
            files.iter().any(|file| file == path) || (is_of_item(path) && is_below(path))
        })
    }

    /// Starts to watch the sources of a node: everything in its folder except the files and folders in `written`, hidden files, backups
    /// of editors, and files of toolchains.
    pub fn sources(folder: &Path, written: &[PathBuf]) -> Result<Self> {
        let folder = absolute(folder);
        let written: Vec<PathBuf> = written.iter().map(|path| absolute(path)).collect();
        let root = folder.clone();
        let is_source = move |path: &Path| {
            let Ok(below) = path.strip_prefix(&root) else { return false };
            let is_written = below.iter().any(|name| {
                let bytes = name.as_encoded_bytes();
                bytes.starts_with(b".")
                    || bytes.ends_with(b"~")
                    || WRITTEN.iter().any(|written| name == *written)
            });
            !is_written && !written.iter().any(|written| path.starts_with(written))
        };
        let failed = |error| Error::read("the folder", &folder, &error);
        let mut places = vec![(folder.clone(), RecursiveMode::NonRecursive)];
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.is_dir() && is_source(&path) {
                places.push((path, RecursiveMode::Recursive));
            }
        }
        let watching = Self::start(&places, is_source)?;
        Ok(Self { root: Some(folder), ..watching })
    }

    fn start(
        places: &[(PathBuf, RecursiveMode)],
        is_wanted: impl Fn(&Path) -> bool + Send + 'static,
    ) -> Result<Self> {
        let (tell, events) = mpsc::channel();
        let on_event = move |event: notify::Result<Event>| {
            let Ok(event) = event else { return };
            if matches!(event.kind, EventKind::Access(_)) {
                return;
            }
            for path in event.paths.into_iter().filter(|path| is_wanted(path)) {
                // If the receiver is gone, the command is about to end.
                let _ = tell.send(path);
            }
        };
        let failed = |path: &Path, error: &notify::Error| {
            Error::storage(format!("{} cannot be watched: {error}", path.display()))
        };
        let mut watcher =
            notify::recommended_watcher(on_event).map_err(|error| failed(Path::new("."), &error))?;
        for (folder, mode) in places {
            watcher.watch(folder, *mode).map_err(|error| failed(folder, &error))?;
        }
        Ok(Self { events, ends: listen()?, root: None, watcher })
    }

    /// Waits for a change and then until nothing changes for `QUIET`; returns the file that changed last. `None` if the process has
    /// been asked to end, now or while a run was under way.
    pub fn changed(&mut self) -> Option<PathBuf> {
        let mut newest = loop {
            match self.events.recv_timeout(PAUSE) {
                Ok(path) => break path,
                Err(mpsc::RecvTimeoutError::Timeout) if !self.ends.load(Ordering::Relaxed) => {}
                Err(_) => return None,
            }
        };
        self.follow(&newest);
        while let Ok(path) = self.events.recv_timeout(QUIET) {
            self.follow(&path);
            newest = path;
        }
        Some(newest)
    }

    /// Also watches a folder that was created next to the sources.
    fn follow(&mut self, path: &Path) {
        if self.root.as_deref().is_some_and(|root| path.parent() == Some(root)) && path.is_dir() {
            // The folder may have been removed again.
            let _ = self.watcher.watch(path, RecursiveMode::Recursive);
        }
    }
}

/// Listens for the signals that ask the process to end. Once a run has listened for them, their default action no longer ends the
/// process.
fn listen() -> Result<Arc<AtomicBool>> {
    let ends = Arc::new(AtomicBool::new(false));
    let ends_now = Arc::clone(&ends);
    let failed = |error: std::io::Error| Error::storage(format!("Ctrl-C cannot be listened for: {error}"));
    crate::context::check_room()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    std::thread::Builder::new()
        .spawn(move || {
            runtime.block_on(crate::terminal::session::asked_to_stop());
            ends_now.store(true, Ordering::Relaxed);
        })
        .map_err(failed)?;
    Ok(ends)
}

fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_path_buf())
}

fn is_of_item(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    OF_ITEMS.contains(&extension)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_is_named_and_what_is_of_items_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (graph, items) = (root.join("graph.yaml"), root.join("items"));
        std::fs::create_dir_all(items.join("a")).unwrap();
        std::fs::write(&graph, "1").unwrap();
        let mut watching =
            FileWatcher::begin(std::slice::from_ref(&graph), &[items.clone(), root.join("nowhere")]).unwrap();
        let mut changed = || watching.changed().unwrap();
        // Neither of these is reported: the next report is the graph.
        std::fs::write(root.join("other.yaml"), "1").unwrap();
        std::fs::write(items.join("a/notes.txt"), "1").unwrap();
        std::fs::write(&graph, "2").unwrap();
        assert_eq!(changed(), graph);
        let component = items.join("a/node.wasm");
        std::fs::write(&component, "1").unwrap();
        assert_eq!(changed(), component);
        // As editors do it.
        std::fs::write(root.join("draft"), "3").unwrap();
        std::fs::rename(root.join("draft"), &graph).unwrap();
        assert_eq!(changed(), graph);
    }

    #[test]
    fn sources_are_told_and_what_toolchains_write_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for below in ["src/deep", "src/target", "target/release", "node_modules/other", ".git", "build/debug"]
        {
            std::fs::create_dir_all(root.join(below)).unwrap();
        }
        let built = ["node.wasm", "node.wasm.dsse.json", "build"].map(|name| root.join(name));
        let mut watching = FileWatcher::sources(&root, &built).unwrap();
        let wanted = ["src/lib.rs", "package.json", "src/deep/text.txt", "src/view.tsx"];
        let others = [
            "target/release/x.rs",
            "src/target/x.rs",
            "node_modules/other/index.js",
            ".git/x.json",
            "src/.lib.rs.swp",
            "src/lib.rs~",
            "node.wasm",
            "node.wasm.dsse.json",
            "build/debug/x.json",
            "Cargo.lock",
        ];
        for path in wanted {
            for other in others {
                std::fs::write(root.join(other), path).unwrap();
            }
            std::fs::write(root.join(path), "1").unwrap();
            assert_eq!(watching.changed().unwrap(), root.join(path));
        }
        // A folder that is made later, or again.
        for _ in 0..2 {
            std::fs::create_dir(root.join("wit")).unwrap();
            assert_eq!(watching.changed().unwrap(), root.join("wit"));
            std::fs::write(root.join("wit/world.wit"), "1").unwrap();
            assert_eq!(watching.changed().unwrap(), root.join("wit/world.wit"));
            std::fs::remove_dir_all(root.join("wit")).unwrap();
            watching.changed().unwrap();
        }
        assert!(FileWatcher::sources(&root.join("nowhere"), &[]).is_err());
    }
}
