//! A run's folder in its project, `.ai/threads/<run>`: other processes leave requests there for the process that runs
//! it, and a background run writes its output there.

use std::io;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use graph_core::digest::Digest;
use graph_store::held::{FilePlace, FolderPlace, HeldFolder, Opening, WriteOptions};

use crate::error::{Error, Result};
use crate::project::Project;
use crate::project::paths::{self, FileKind};
use graph_driver::StopRequest;

/// Interval at which a running process checks for requests. A separate thread does it, so that supersteps are not slowed down.
const PAUSE: Duration = Duration::from_millis(100);
/// Time within which a killed run has to stop before its process exits.
pub const GRACE: Duration = Duration::from_secs(3);

/// A run's folder. It is created when something is written into it.
#[derive(Clone, Debug)]
pub struct RunFolder {
    project: Project,
    name: String,
}

const THREADS: &str = "threads";
const LOG: &str = "output.log";

impl RunFolder {
    /// Makes the folder of a run of a project. An id that is not a plain file name is represented by its digest.
    pub fn new(project: &Project, run: &str) -> Self {
        let name = match graph_core::id::RunId::parse(run) {
            Ok(run) => run.to_string(),
            Err(_) => Digest::of_bytes(run.as_bytes()).hex(),
        };
        Self { project: project.clone(), name }
    }

    /// Checks whether runs of a project can have such folders, before a run is made that needs one.
    pub fn check(project: &Project) -> Result<()> {
        let folder = paths::folder(project, &[THREADS])?;
        let failed = |error: io::Error| Error::write("the folder", folder.path(), &error);
        let trial = folder.draft(WriteOptions::shared(false), |_| Ok(())).map_err(failed)?;
        folder.remove(trial).map_err(failed)
    }

    /// Returns the place of the folder. It is opened for each use: it may be made and removed while a run is under way.
    fn place(&self) -> FolderPlace {
        paths::folder_place(&self.project, &[THREADS, &self.name])
    }

    /// Opens the folder, if it exists. A link on the path, which a stranger may have left there, is an error.
    pub fn folder(&self) -> Result<Option<HeldFolder>> {
        paths::open_folder(&self.place(), self.project.base())
    }

    /// Creates the folder if it is missing; a link on its path is an error.
    pub fn create(&self) -> Result<HeldFolder> {
        paths::folder(&self.project, &[THREADS, &self.name])
    }

    /// Returns the place of a background run's output.
    pub fn log_file(&self) -> Result<FilePlace> {
        let place = self.place().file(LOG);
        paths::entry_to_change(&place, self.project.base())?;
        Ok(place)
    }

    /// Returns the place of the file whose existence is the request: `cancel` or `kill`.
    pub(crate) fn wish_file(&self, wish: StopRequest) -> Result<FilePlace> {
        let place = self.place().file(wish_name(wish));
        paths::entry(&place, FileKind::File, self.project.base())?;
        Ok(place)
    }

    /// Requests a stop of the run from its process.
    pub fn ask(&self, wish: StopRequest) -> Result<()> {
        self.create()?;
        let place = self.wish_file(wish)?;
        match place.open(Opening::New) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(Error::write("the signal file", &place.path(), &error)),
            Ok(_) => Ok(()),
        }
    }

    /// Withdraws a request, and removes the folder if it is empty.
    pub fn take_back(&self, wish: StopRequest) {
        self.forget(wish_name(wish));
        self.tidy();
    }

    /// Removes all files that graph-host has written there, and the folder if it is empty.
    pub fn remove(&self) {
        for name in [LOG, wish_name(StopRequest::Cancel), wish_name(StopRequest::Kill)] {
            self.forget(name);
        }
        self.tidy();
    }

    /// Removes the folder if it is empty.
    fn tidy(&self) {
        // This fails, as intended, if the folder contains other files or does not exist.
        if let Ok(Some(folder)) = self.threads() {
            let _ = folder.remove_folder(&self.name);
        }
    }

    /// Opens the folder of the folders of runs.
    fn threads(&self) -> Result<Option<HeldFolder>> {
        paths::open_folder(&paths::folder_place(&self.project, &[THREADS]), self.project.base())
    }

    /// Removes a file; links are not followed. A request that cannot be removed stops the next resume at once, which is reported.
    fn forget(&self, name: &str) {
        if let Ok(Some(folder)) = self.folder() {
            let _ = folder.remove(name);
        }
    }

    /// Checks whether there is a request.
    fn has(&self, wish: StopRequest) -> bool {
        self.wish_file(wish).is_ok_and(|file| file.exists())
    }
}

const fn wish_name(wish: StopRequest) -> &'static str {
    match wish {
        StopRequest::Cancel => "cancel",
        StopRequest::Kill => "kill",
    }
}

/// Checks for requests while a run is under way.
#[derive(Debug)]
pub struct Listener {
    run_folder: RunFolder,
    stop: Option<mpsc::Sender<()>>,
    looking: Option<JoinHandle<Heard>>,
}

/// Requests that a listener has reported.
#[derive(Clone, Copy, Debug, Default)]
struct Heard {
    cancel: bool,
    kill: Option<Instant>,
}

impl Listener {
    /// Starts to check for requests, and passes each to `tell` once.
    ///
    /// `overdue` is called if a killed run has not stopped after [`GRACE`], for whatever reason: the caller then ends
    /// its process, so that others can take the run.
    pub fn start(
        run_folder: RunFolder,
        tell: impl Fn(StopRequest) + Send + 'static,
        overdue: impl Fn() + Send + 'static,
    ) -> io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let watched = run_folder.clone();
        let looking = std::thread::Builder::new()
            .name("graph-host-wishes".to_owned())
            .spawn(move || watch(&watched, &stopped, &tell, &overdue))?;
        Ok(Self { run_folder, stop: Some(stop), looking: Some(looking) })
    }

    /// Stops checking, and removes the requests that were reported; for a run that has ended, all requests.
    pub fn finish(mut self, ended: bool) {
        let heard = self.stop();
        if heard.cancel || ended {
            self.run_folder.forget(wish_name(StopRequest::Cancel));
        }
        if heard.kill.is_some() || ended {
            self.run_folder.forget(wish_name(StopRequest::Kill));
        }
        self.run_folder.tidy();
    }

    fn stop(&mut self) -> Heard {
        drop(self.stop.take());
        self.looking.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop();
    }
}

fn watch(
    run_folder: &RunFolder,
    stopped: &mpsc::Receiver<()>,
    tell: &impl Fn(StopRequest),
    overdue: &impl Fn(),
) -> Heard {
    let mut heard = Heard::default();
    loop {
        if heard.kill.is_none() && run_folder.has(StopRequest::Kill) {
            heard.kill = Some(Instant::now());
            tell(StopRequest::Kill);
        }
        if !heard.cancel && run_folder.has(StopRequest::Cancel) {
            heard.cancel = true;
            tell(StopRequest::Cancel);
        }
        // A run that does not stop must not keep other processes from taking it.
        if heard.kill.is_some_and(|at| at.elapsed() > GRACE) {
            run_folder.forget(wish_name(StopRequest::Kill));
            overdue();
            return heard;
        }
        if stopped.recv_timeout(PAUSE) != Err(mpsc::RecvTimeoutError::Timeout) {
            return heard;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;
    use std::path::Path;

    use super::*;

    fn folder_of(project: &Path, run: &str) -> RunFolder {
        RunFolder::new(&Project::at(project.to_owned()), run)
    }

    #[test]
    fn a_wish_is_passed_on_once_and_taken_away() {
        let project = tempfile::tempdir().unwrap();
        let run_folder = folder_of(project.path(), "r1");
        assert_eq!(
            run_folder.wish_file(StopRequest::Cancel).unwrap().path(),
            project.path().join(".ai/threads/r1/cancel")
        );
        let (tell, requests) = mpsc::channel();
        let listener =
            Listener::start(run_folder.clone(), move |wish| tell.send(wish).unwrap(), || {}).unwrap();
        assert_eq!(requests.recv_timeout(PAUSE * 2), Err(mpsc::RecvTimeoutError::Timeout));
        run_folder.ask(StopRequest::Cancel).unwrap();
        assert_eq!(requests.recv_timeout(PAUSE * 20), Ok(StopRequest::Cancel));
        assert_eq!(requests.recv_timeout(PAUSE * 3), Err(mpsc::RecvTimeoutError::Timeout));
        listener.finish(false);
        assert!(run_folder.folder().unwrap().is_none());
    }

    #[test]
    fn what_nobody_has_heeded_stays_unless_the_run_has_ended() {
        let project = tempfile::tempdir().unwrap();
        let run_folder = folder_of(project.path(), "r1");
        for ended in [false, true] {
            let mut listener = Listener::start(run_folder.clone(), |_| {}, || {}).unwrap();
            listener.stop();
            run_folder.ask(StopRequest::Cancel).unwrap();
            listener.finish(ended);
            assert_eq!(run_folder.wish_file(StopRequest::Cancel).unwrap().exists(), !ended);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_neither_followed_nor_written_through() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let victim = folder.path().join("victim");
        fs::create_dir(&victim).unwrap();
        for name in ["cancel", "kill", "output.log"] {
            fs::write(victim.join(name), "mine").unwrap();
        }
        let untouched = || {
            ["cancel", "kill", "output.log"]
                .iter()
                .all(|name| fs::read(victim.join(name)).unwrap() == b"mine")
        };
        let project = folder.path().join("project");
        fs::create_dir_all(project.join(".ai/threads")).unwrap();
        // The folder of the run is a link.
        let run_folder = folder_of(&project, "r1");
        symlink(&victim, project.join(".ai/threads/r1")).unwrap();
        assert!(
            run_folder.create().is_err()
                && run_folder.ask(StopRequest::Kill).is_err()
                && run_folder.log_file().is_err()
        );
        run_folder.take_back(StopRequest::Cancel);
        run_folder.remove();
        assert!(untouched());
        // A file in it is a link.
        let run_folder = folder_of(&project, "r2");
        run_folder.create().unwrap();
        for name in ["cancel", "kill", "output.log"] {
            symlink(victim.join(name), project.join(".ai/threads/r2").join(name)).unwrap();
        }
        assert!(run_folder.ask(StopRequest::Cancel).is_err() && run_folder.log_file().is_err());
        run_folder.remove();
        assert!(untouched() && !project.join(".ai/threads/r2").exists());
        // The folder of all runs is a link.
        fs::remove_dir_all(project.join(".ai/threads")).unwrap();
        symlink(&victim, project.join(".ai/threads")).unwrap();
        assert!(
            RunFolder::check(&Project::at(project.clone())).is_err()
                && folder_of(&project, "r3").create().is_err()
        );
        assert!(untouched() && fs::read_dir(&victim).unwrap().count() == 3);
    }

    #[test]
    fn an_id_never_leads_out_of_the_folder() {
        let folder = folder_of(Path::new("/p"), "../../etc").place().path().to_owned();
        assert!(folder.starts_with("/p/.ai/threads"));
        assert_eq!(folder.components().count(), 5);
    }
}
