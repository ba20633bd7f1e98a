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
        let (tell, events) = mpsc::channel();
        let (wanted, below) = (files.clone(), folders.clone());
        let told = move |event: notify::Result<Event>| {
            let Ok(event) = event else { return };
            if matches!(event.kind, EventKind::Access(_)) {
                return;
            }
            for path in event.paths {
                if wanted.contains(&path)
                    || (is_of_item(&path) && below.iter().any(|folder| path.starts_with(folder)))
                {
                    // The receiver is gone: the command is about to end.
                    let _ = tell.send(path);
                }
            }
        };
        let failed = |path: &Path, error: &notify::Error| {
            Error::storage(format!("{} cannot be watched: {error}", path.display()))
        };
        let mut watcher =
            notify::recommended_watcher(told).map_err(|error| failed(Path::new("."), &error))?;
        // A folder is watched in place of a file: editors replace files by new ones.
        let mut around: Vec<&Path> = files.iter().filter_map(|file| file.parent()).collect();
        around.sort_unstable();
        around.dedup();
        for folder in around {
            watcher.watch(folder, RecursiveMode::NonRecursive).map_err(|error| failed(folder, &error))?;
        }
        for folder in &folders {
            watcher.watch(folder, RecursiveMode::Recursive).map_err(|error| failed(folder, &error))?;
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
}
