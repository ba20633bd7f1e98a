//! Waiting for files to change.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use graph_runtime::error::{Error, Result};

/// How long files have to be left alone before they count as changed: an editor writes in several steps.
const QUIET: Duration = Duration::from_millis(150);
/// How often one looks whether the process has been asked to end.
const PAUSE: Duration = Duration::from_millis(100);
/// The kinds of files in a folder of items that say what an item is.
const OF_ITEMS: [&str; 6] = ["wasm", "yaml", "yml", "json", "md", "xml"];
/// The kinds of files that nodes are built from.
const OF_SOURCES: [&str; 8] = ["rs", "toml", "js", "mjs", "ts", "mts", "json", "wit"];
/// Folders that toolchains write.
const WRITTEN: [&str; 2] = ["target", "node_modules"];

/// Watches files, and folders of items with everything below them.
#[derive(Debug)]
pub struct Watching {
    events: mpsc::Receiver<PathBuf>,
    /// Whether the process has been asked to end.
    ends: Arc<AtomicBool>,
    /// Stops watching when it is dropped.
    _watcher: RecommendedWatcher,
}

impl Watching {
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
            files.iter().any(|file| file == path) || (has_extension(path, &OF_ITEMS) && is_below(path))
        })
    }

    /// Starts to watch the sources of a node: the files in its folder and in the folders there, without hidden ones and those that
    /// toolchains write.
    pub fn sources(folder: &Path) -> Result<Self> {
        let folder = absolute(folder);
        let failed = |error| Error::read("the folder", &folder, &error);
        let mut places = vec![(folder.clone(), RecursiveMode::NonRecursive)];
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            let is_written =
                name.as_encoded_bytes().starts_with(b".") || WRITTEN.iter().any(|written| name == *written);
            if !is_written && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                places.push((entry.path(), RecursiveMode::Recursive));
            }
        }
        Self::start(&places, |path| has_extension(path, &OF_SOURCES))
    }

    fn start(
        places: &[(PathBuf, RecursiveMode)],
        is_wanted: impl Fn(&Path) -> bool + Send + 'static,
    ) -> Result<Self> {
        let (tell, events) = mpsc::channel();
        let told = move |event: notify::Result<Event>| {
            let Ok(event) = event else { return };
            if matches!(event.kind, EventKind::Access(_)) {
                return;
            }
            for path in event.paths.into_iter().filter(|path| is_wanted(path)) {
                // The receiver is gone: the command is about to end.
                let _ = tell.send(path);
            }
        };
        let failed = |path: &Path, error: &notify::Error| {
            Error::storage(format!("{} cannot be watched: {error}", path.display()))
        };
        let mut watcher =
            notify::recommended_watcher(told).map_err(|error| failed(Path::new("."), &error))?;
        for (folder, mode) in places {
            watcher.watch(folder, *mode).map_err(|error| failed(folder, &error))?;
        }
        Ok(Self { events, ends: listen()?, _watcher: watcher })
    }

    /// Waits until something has changed and is then left alone; gives one of the files. `None`: the process has been asked
    /// to end, now or while a run was under way.
    pub fn changed(&self) -> Option<PathBuf> {
        let mut newest = loop {
            match self.events.recv_timeout(PAUSE) {
                Ok(path) => break path,
                Err(mpsc::RecvTimeoutError::Timeout) if !self.ends.load(Ordering::Relaxed) => {}
                Err(_) => return None,
            }
        };
        while let Ok(path) = self.events.recv_timeout(QUIET) {
            newest = path;
        }
        Some(newest)
    }
}

/// Listens for the signals that ask the process to end. Where a run has listened for them once, they end it no more by
/// themselves.
fn listen() -> Result<Arc<AtomicBool>> {
    let ends = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&ends);
    let failed = |error: std::io::Error| Error::storage(format!("Ctrl-C cannot be listened for: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    std::thread::Builder::new()
        .spawn(move || {
            runtime.block_on(crate::terminal::foreground_run::asked_to_stop());
            told.store(true, Ordering::Relaxed);
        })
        .map_err(failed)?;
    Ok(ends)
}

fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_path_buf())
}

fn has_extension(path: &Path, wanted: &[&str]) -> bool {
    path.extension().and_then(|extension| extension.to_str()).is_some_and(|found| wanted.contains(&found))
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
        let watching =
            Watching::begin(std::slice::from_ref(&graph), &[items.clone(), root.join("nowhere")]).unwrap();
        let changed = || watching.changed().unwrap();
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
        for below in ["src/deep", "target/release", "node_modules/other", ".git"] {
            std::fs::create_dir_all(root.join(below)).unwrap();
        }
        let watching = Watching::sources(&root).unwrap();
        let wanted = ["src/lib.rs", "package.json", "src/deep/node.ts"];
        let others =
            ["target/release/x.rs", "node_modules/other/index.js", ".git/x.json", "node.wasm", "Cargo.lock"];
        for path in wanted {
            for other in others {
                std::fs::write(root.join(other), path).unwrap();
            }
            std::fs::write(root.join(path), "1").unwrap();
            assert_eq!(watching.changed().unwrap(), root.join(path));
        }
        assert!(Watching::sources(&root.join("nowhere")).is_err());
    }
}
