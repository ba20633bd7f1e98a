//! A run's folder in its project, `.ai/threads/<run>`: where others leave word for the process that runs it, and where
//! a run in the background writes its output.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use graph_core::digest::Digest;

use crate::driver::Control;
use crate::error::{Error, Result};
use crate::project::MARK;

/// How often a running process looks for wishes. It is done by a thread of its own: supersteps do not pay for it.
const PAUSE: Duration = Duration::from_millis(100);
/// How long a run that is killed may take to stop before its process ends itself.
pub const GRACE: Duration = Duration::from_secs(3);

/// A run's folder. Nothing is made before something is written there.
#[derive(Clone, Debug)]
pub struct Thread {
    folder: PathBuf,
}

impl Thread {
    /// The folder of a run of a project. An id that is not a plain file name is represented by its digest.
    pub fn of(project: &Path, run: &str) -> Self {
        let name = match graph_core::id::RunId::parse(run) {
            Ok(run) => run.to_string(),
            Err(_) => Digest::of_bytes(run.as_bytes()).hex(),
        };
        Self { folder: project.join(MARK).join("threads").join(name) }
    }

    /// Whether runs of a project can have such folders: asked before a run is made that needs one.
    pub fn check(project: &Path) -> Result<()> {
        let folder = project.join(MARK).join("threads");
        let made = fs::create_dir_all(&folder).and_then(|()| tempfile::tempdir_in(&folder));
        made.map(drop).map_err(|error| Error::write("the folder", &folder, &error))
    }

    /// The folder itself.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes the folder.
    pub fn create(&self) -> Result<()> {
        fs::create_dir_all(&self.folder).map_err(|error| Error::write("the folder", &self.folder, &error))
    }

    /// What a run in the background prints.
    pub fn log_file(&self) -> PathBuf {
        self.folder.join("output.log")
    }

    /// The file whose appearance is the wish: `cancel`, `kill`.
    pub fn wish_file(&self, wish: Control) -> PathBuf {
        self.folder.join(match wish {
            Control::Cancel => "cancel",
            Control::Kill => "kill",
        })
    }

    /// Leaves word for the process that runs the run.
    pub fn ask(&self, wish: Control) -> Result<()> {
        self.create()?;
        let path = self.wish_file(wish);
        fs::write(&path, b"").map_err(|error| Error::write("the signal file", &path, &error))
    }

    /// Takes a wish away, and the folder where nothing else is in it.
    pub fn take_back(&self, wish: Control) {
        remove(&self.wish_file(wish));
        self.tidy();
    }

    /// Removes everything that graph-host has put there, and the folder where nothing else is in it.
    pub fn remove(&self) {
        for path in [self.log_file(), self.wish_file(Control::Cancel), self.wish_file(Control::Kill)] {
            remove(&path);
        }
        self.tidy();
    }

    /// Removes the folder where nothing is in it.
    fn tidy(&self) {
        // One with something in it stays, and so does one that is not there.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// What cannot be removed is in the way of the next resume at worst, which says so.
fn remove(path: &Path) {
    let _ = fs::remove_file(path);
}

/// Looks for wishes while a run goes on.
#[derive(Debug)]
pub struct Listener {
    thread: Thread,
    stop: Option<mpsc::Sender<()>>,
    looking: Option<JoinHandle<Heard>>,
}

/// What a listener has passed on.
#[derive(Clone, Copy, Debug, Default)]
struct Heard {
    cancel: bool,
    kill: Option<Instant>,
}

impl Listener {
    /// Looks for wishes from now on and passes each on once.
    pub fn start(thread: Thread, tell: impl Fn(Control) + Send + 'static) -> io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let watched = thread.clone();
        let looking = std::thread::Builder::new()
            .name("graph-host-wishes".to_owned())
            .spawn(move || look(&watched, &stopped, &tell))?;
        Ok(Self { thread, stop: Some(stop), looking: Some(looking) })
    }

    /// Stops looking, and takes away what has been heeded; of a run that has ended, every wish.
    pub fn finish(mut self, ended: bool) {
        let heard = self.stop();
        if heard.cancel || ended {
            remove(&self.thread.wish_file(Control::Cancel));
        }
        if heard.kill.is_some() || ended {
            remove(&self.thread.wish_file(Control::Kill));
        }
        self.thread.tidy();
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

fn look(thread: &Thread, stopped: &mpsc::Receiver<()>, tell: &impl Fn(Control)) -> Heard {
    let (cancel, kill) = (thread.wish_file(Control::Cancel), thread.wish_file(Control::Kill));
    let mut heard = Heard::default();
    loop {
        if heard.kill.is_none() && kill.exists() {
            heard.kill = Some(Instant::now());
            tell(Control::Kill);
        }
        if !heard.cancel && cancel.exists() {
            heard.cancel = true;
            tell(Control::Cancel);
        }
        // Whatever keeps the run from stopping, it is not to keep others from the run.
        if heard.kill.is_some_and(|at| at.elapsed() > GRACE) {
            remove(&kill);
            std::process::exit(crate::exit::Exit::Cancelled.code().into());
        }
        if stopped.recv_timeout(PAUSE) != Err(mpsc::RecvTimeoutError::Timeout) {
            return heard;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_wish_is_passed_on_once_and_taken_away() {
        let project = tempfile::tempdir().unwrap();
        let thread = Thread::of(project.path(), "r1");
        assert_eq!(thread.wish_file(Control::Cancel), project.path().join(".ai/threads/r1/cancel"));
        let (tell, told) = mpsc::channel();
        let listener = Listener::start(thread.clone(), move |wish| tell.send(wish).unwrap()).unwrap();
        assert_eq!(told.recv_timeout(PAUSE * 2), Err(mpsc::RecvTimeoutError::Timeout));
        thread.ask(Control::Cancel).unwrap();
        assert_eq!(told.recv_timeout(PAUSE * 20), Ok(Control::Cancel));
        assert_eq!(told.recv_timeout(PAUSE * 3), Err(mpsc::RecvTimeoutError::Timeout));
        listener.finish(false);
        assert!(!thread.folder().exists());
    }

    #[test]
    fn what_nobody_has_heeded_stays_unless_the_run_has_ended() {
        let project = tempfile::tempdir().unwrap();
        let thread = Thread::of(project.path(), "r1");
        for ended in [false, true] {
            let mut listener = Listener::start(thread.clone(), |_| {}).unwrap();
            listener.stop();
            thread.ask(Control::Cancel).unwrap();
            listener.finish(ended);
            assert_eq!(thread.wish_file(Control::Cancel).exists(), !ended);
        }
    }

    #[test]
    fn an_id_never_leads_out_of_the_folder() {
        let thread = Thread::of(Path::new("/p"), "../../etc");
        assert!(thread.folder().starts_with("/p/.ai/threads"));
        assert_eq!(thread.folder().components().count(), 5);
    }
}
