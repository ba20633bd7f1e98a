//! Background runs: each is a process of its own, which continues when the terminal is closed.
//!
//! The command that the user typed creates the run and checks everything. A second process then resumes it, and reports
//! to the first one, in a file, whether the run is under way.

use std::ffi::OsString;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use graph_core::json::{self, TreeLimit};
use graph_core::record::ErrorCode;
use graph_core::time::Timestamp;
use graph_walker::walker::Notice;
use serde_json::{Map, Value, json};

use crate::terminal::exit::Exit;
use crate::terminal::output::error_document;
use crate::terminal::paths::shown;
use graph_runtime::error::{Error, Kind, Result};
use graph_runtime::graph_driver::Observer;
use graph_runtime::graph_store::held::{FilePlace, FolderPlace, Opening, WriteOptions};
use graph_runtime::project::paths::absolute;
use graph_runtime::project::run_folder::RunFolder;
use graph_runtime::project::{Project, paths};

/// Interval at which the first process looks for the report of the second one.
const PAUSE: Duration = Duration::from_millis(20);
/// Bytes shown from the end of the log if the second process has ended without a report.
const TAIL: u64 = 2000;
/// The longest report that is read, in bytes.
const MOST_REPORT: u64 = 16 << 20;

/// A run in the background.
#[derive(Clone, Debug)]
pub struct BackgroundRun {
    /// The process that runs it.
    pub pid: u32,
    /// File that receives its stdout and stderr.
    pub log: PathBuf,
}

/// The options of the second process, in addition to the run's id.
#[derive(Debug, Default)]
pub struct BackgroundOptions {
    /// The options that `resume` gets in the second process.
    pub options: Vec<OsString>,
    /// New inputs for the run; none to resume it with its own.
    pub inputs: Option<Map<String, Value>>,
}

/// Starts a process that resumes a run which no process holds, and waits until the run is under way.
pub fn start(project: &Project, run: &str, orders: BackgroundOptions) -> Result<BackgroundRun> {
    let run_folder = RunFolder::new(project, run);
    let folder = run_folder.create()?;
    let log = run_folder.log_file()?;
    let report = FolderPlace::from(&folder).file(format!("started-{}.json", std::process::id()));
    let clean = || drop(report.remove());
    clean();
    let inputs = orders.inputs.map(|new| Value::Object(new).to_string());
    let started = spawn(project, run, (orders.options, inputs), &log, &report)
        .map_err(|error| Error::storage(format!("the process for the background cannot be started: {error}")))
        .and_then(|mut child| await_report(&mut child, run, &log, &report).map(|()| child.id()));
    clean();
    Ok(BackgroundRun { pid: started?, log: absolute(&log.path()) })
}

/// Starts the second process. It reads new inputs from its stdin.
fn spawn(
    project: &Project,
    run: &str,
    (options, inputs): (Vec<OsString>, Option<String>),
    log: &FilePlace,
    report: &FilePlace,
) -> io::Result<Child> {
    let output = log.open(Opening::Append)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["resume", run, "--project"]).arg(absolute(project.folder()));
    command.arg("--report-to").arg(absolute(&report.path())).args(options);
    if inputs.is_some() {
        command.args(["--inputs", "-"]).stdin(Stdio::piped());
    } else {
        command.stdin(Stdio::null());
    }
    command.stderr(output.try_clone()?).stdout(output);
    // A process group of its own: signals that a terminal sends to its foreground group do not reach it. The second process ignores the
    // signal of a terminal that is closed.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn()?;
    if let (Some(mut stdin), Some(inputs)) = (child.stdin.take(), inputs) {
        // A process that has ended before it has read its inputs reports why.
        let _ = stdin.write_all(inputs.as_bytes());
    }
    Ok(child)
}

fn await_report(child: &mut Child, run: &str, log: &FilePlace, report: &FilePlace) -> Result<()> {
    loop {
        // Checked before the file is read: a process that has ended writes no more.
        let ended = child.try_wait().ok().flatten();
        match report.read(MOST_REPORT) {
            Ok(text) => return read_report(&String::from_utf8_lossy(&text)),
            Err(_) if ended.is_some() => return Err(silent(run, log)),
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

fn silent(run: &str, log: &FilePlace) -> Error {
    let text = tail_of(log).unwrap_or_default();
    let tail = String::from_utf8_lossy(&text).into_owned();
    let error =
        Error::storage(format!("the process for run {run} has ended without a word:\n{}", tail.trim()));
    error.help(format!("its output is in {}; resume it with: graph-host resume {run}", shown(&log.path())))
}

/// Reads the last [`TAIL`] bytes of the log.
fn tail_of(log: &FilePlace) -> io::Result<Vec<u8>> {
    let mut file = log.open(Opening::Read)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut text = Vec::new();
    file.take(TAIL).read_to_end(&mut text)?;
    Ok(text)
}

/// Parses the report of the second process: `Ok` if the run is under way, else the error that it reported.
fn read_report(text: &str) -> Result<()> {
    let report: Value = json::read(text, TreeLimit::VALUE).map_err(|error| {
        Error::storage(format!("what the background process says cannot be read: {error}"))
    })?;
    let Some(error) = report.get("error").and_then(Value::as_object) else { return Ok(()) };
    let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
    let number = error.get("exit").and_then(Value::as_u64);
    let kind = KINDS.into_iter().find(|kind| Some(u64::from(Exit::from(*kind).code())) == number);
    let mut again = Error::new(kind.unwrap_or(Kind::Failed), known_code(text("code")), text("message"));
    if !text("help").is_empty() {
        again = again.help(text("help").to_owned());
    }
    let own = ["code", "exit", "message", "help"];
    let details: Map<_, _> = error
        .iter()
        .filter(|(key, _)| !own.contains(&key.as_str()))
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect();
    Err(again.details(Value::Object(details)))
}

/// One kind of error for each exit code: a report has the exit code of an error, not its kind.
const KINDS: [Kind; 9] = [
    Kind::Usage,
    Kind::Invalid,
    Kind::Denied,
    Kind::Failed,
    Kind::Limit,
    Kind::Integrity,
    Kind::NotFound,
    Kind::Storage,
    Kind::TimedOut,
];

fn known_code(code: &str) -> &'static str {
    let codes = [
        ErrorCode::NodeFailed,
        ErrorCode::Denied,
        ErrorCode::ConflictingWrite,
        ErrorCode::InvalidUpdate,
        ErrorCode::NoEdgeMatched,
        ErrorCode::StalledBarrier,
        ErrorCode::Limit,
        ErrorCode::Finished,
        ErrorCode::AlreadyAnswered,
        ErrorCode::AmbiguousAnswer,
        ErrorCode::AnswerNeeded,
        ErrorCode::AnswerTooLate,
        ErrorCode::UnknownInterrupt,
        ErrorCode::NotFound,
        ErrorCode::InvalidDocument,
        ErrorCode::Integrity,
        ErrorCode::Storage,
    ];
    let known = codes.into_iter().map(ErrorCode::as_str).chain(["usage"]);
    known.into_iter().find(|known| *known == code).unwrap_or("internal")
}

/// In the second process: reports the outcome of the start to the first process. Only the first report by this value and
/// its clones counts.
#[derive(Clone, Debug)]
pub struct StartupReporter {
    file: FilePlace,
    said: Arc<AtomicBool>,
}

impl StartupReporter {
    /// Creates a reporter that writes to this file.
    pub fn new(file: &Path) -> Self {
        Self { file: paths::named(file), said: Arc::default() }
    }

    /// Reports that the run is under way.
    pub(crate) fn under_way(&self) {
        self.say(&json!({ "pid": std::process::id() }));
    }

    /// Reports that the run cannot be resumed.
    pub fn failed(&self, error: &Error) {
        self.say(&error_document(error));
    }

    fn say(&self, report: &Value) {
        if !self.said.swap(true, Ordering::Relaxed) {
            // If the file cannot be written, the first process still sees whether this one runs or has ended.
            let text = report.to_string();
            let _ = self.file.replace(WriteOptions::with_mode(0o600), |file| file.write_all(text.as_bytes()));
        }
    }
}

/// Reports on the first notice of the run that it is under way.
impl Observer for StartupReporter {
    fn notice(&mut self, _: Timestamp, _: &Notice) {
        self.under_way();
    }
}

/// Lets this process live on when its terminal is closed.
#[cfg(unix)]
pub fn outlive_terminal() {
    use tokio::signal::unix::{SignalKind, signal};
    // If the signal cannot be handled, closing the terminal stops the run at the boundary of its superstep at worst.
    if let Ok(mut hangups) = signal(SignalKind::hangup()) {
        tokio::spawn(async move { while hangups.recv().await.is_some() {} });
    }
}

/// Lets this process live on when its terminal is closed.
#[cfg(not(unix))]
pub fn outlive_terminal() {}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;

    use super::*;

    #[test]
    fn a_report_comes_over_whole() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("report");
        let error = Error::of_run(ErrorCode::AnswerNeeded, "say something")
            .help("with --answer")
            .details(json!({ "open": 2 }));
        StartupReporter::new(&file).failed(&error);
        let again = read_report(&fs::read_to_string(&file).unwrap()).unwrap_err();
        assert_eq!(error_document(&again), error_document(&error));
        StartupReporter::new(&file).under_way();
        assert!(read_report(&fs::read_to_string(&file).unwrap()).is_ok());
    }
}
