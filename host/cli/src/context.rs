//! The context of a command: its output, its host, and its project.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use graph_core::record::LogLevel;
use graph_runtime::graph_engine::Compiler;

use crate::terminal::live_line;
use crate::terminal::output::Output;
use crate::terminal::paths::base_folder;
use crate::terminal::text::TerminalNotices;
use crate::terminal::typed;
use graph_runtime::error::{Error, Result};
use graph_runtime::host::Host;
use graph_runtime::project::paths::absolute;
use graph_runtime::project::user_home::Home;
use graph_runtime::project::{self, Project};

/// Number of tasks that a thread polls before it looks at timers, signals and sockets, unless it is idle. The default of tokio, 61,
/// with an epoch of 5 ms makes a deadline late by up to 0.3 s.
const EVENT_INTERVAL: u32 = 4;

/// The output and the host that every command uses.
#[derive(Clone, Debug)]
pub struct Context {
    /// Form of the output: for people, as one JSON document, or as JSON lines.
    pub output: Output,
    /// Environment of the library: the user's space, the compiler, and the observer of notices.
    pub host: Host,
}

impl Context {
    /// Creates the context of a command with this output.
    pub fn new(output: Output, compiler: Compiler) -> Result<Self> {
        live_line::turn(!output.is_json() && !output.is_in_lines());
        let notices = Arc::new(TerminalNotices { output, quiet: false, log: LogLevel::Info });
        Ok(Self { output, host: Host { home: home()?, compiler, notices, functions: Arc::default() } })
    }

    /// Returns the context with a `quiet` output: of what components write and emit, only warnings are printed.
    #[must_use]
    pub fn quiet(&self, quiet: bool) -> Self {
        self.with_logs(quiet, None)
    }

    /// Returns the context with an output that may be `quiet`, and that shows log lines from a level on, if it is given.
    #[must_use]
    pub fn with_logs(&self, quiet: bool, log: Option<LogLevel>) -> Self {
        if quiet {
            live_line::turn(false);
        }
        let log = log.unwrap_or(if quiet { LogLevel::Warn } else { LogLevel::Info });
        let notices = Arc::new(TerminalNotices { output: self.output, quiet, log });
        Self { output: self.output, host: Host { notices, ..self.host.clone() } }
    }

    /// Runs a future to its end. Tasks that it has left running are abandoned: a component may hang in a system call.
    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> Result<T> {
        let runtime = self.runtime()?;
        let value = runtime.block_on(future);
        runtime.shutdown_background();
        Ok(value)
    }

    /// Builds a runtime for commands that run graphs.
    pub fn runtime(&self) -> Result<tokio::runtime::Runtime> {
        check_room()?;
        tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            // A component that computes gives its thread back with every epoch: no thread is idle meanwhile.
            .event_interval(EVENT_INTERVAL)
            .thread_name("graph-host")
            .build()
            .map_err(|error| Error::storage(format!("the threads that run tasks cannot be started: {error}")))
    }
}

/// Number of files that the threads of a runtime open, with some reserve.
const FILES_OF_THREADS: usize = 12;

/// Checks that this process may open the files that the threads of a runtime need: the threads could not report it.
pub(crate) fn check_room() -> Result<()> {
    let opened: std::io::Result<Vec<_>> =
        (0..FILES_OF_THREADS).map(|_| std::fs::File::open("/dev/null")).collect();
    opened.map(drop).map_err(|error| {
        Error::storage(format!("this process may not open as many files as it needs: {error}"))
            .help("raise the limit of open files: ulimit -n 1024")
    })
}

/// The user's space, with paths shown relative to the current folder.
pub fn home() -> Result<Home> {
    Ok(Home::find()?.with_base(base_folder()))
}

/// The folder that the command was typed in.
pub fn current_folder() -> Result<PathBuf> {
    std::env::current_dir()
        .map_err(|error| Error::storage(format!("the current folder cannot be used: {error}")))
}

/// The project whose state a command works on: the one around the current folder, or the current folder itself.
pub fn current_project() -> Result<Project> {
    Ok(Project::around(current_folder()?).with_base(base_folder()))
}

/// Checks whether the project in a folder is the one that a command without `--project` works on.
pub fn is_current(folder: &Path) -> bool {
    current_project().is_ok_and(|current| absolute(current.folder()) == absolute(folder))
}

/// The project that is named, or the one around the current folder.
pub fn named_project(folder: Option<&Path>) -> Result<Project> {
    let Some(folder) = folder else { return current_project() };
    project::check_folder(folder, &base_folder())?;
    if !is_current(folder) {
        typed::name_project(folder);
    }
    Ok(Project::at(folder.to_path_buf()).with_base(base_folder()))
}
