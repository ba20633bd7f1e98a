//! The session of a run in the foreground: it shows progress, asks its questions, can be stopped by signals, and ends.

use std::sync::Arc;
use std::time::Duration;

use graph_core::diagnostic::block;
use graph_core::node::Category;
use graph_core::record::{InterruptRecord, Status};
use graph_core::wait::Wait;
use graph_walker::walker::{Answers, Event, Resume, Summary};
use tokio::sync::{mpsc, watch};

use crate::background::StartupReporter;
use crate::terminal::exit::Exit;
use crate::terminal::local_time::local_time;
use crate::terminal::output::{self, Output, styled};
use crate::terminal::progress::Progress;
use crate::terminal::{live_line, prompt};
use graph_runtime::clock::now;
use graph_runtime::error::{Error, Result};
use graph_runtime::graph_driver::{Driver, Observer as _, ObserverPair, Observers, StopRequest};
use graph_runtime::project::run_folder::{Listener, RunFolder};
use graph_runtime::run::restore::VerifiedPart;
use graph_runtime::run::typed_answers::TypedAnswers;

/// A run in the foreground: its driver, and how the user follows and answers it.
#[derive(Debug)]
pub struct Session {
    /// The id of the run that is driven.
    pub run: String,
    /// The run as an argument of commands: as the user typed it, with the options that are needed to find it.
    pub typed: String,
    /// `true` if the run is stored and can be resumed later.
    pub is_kept: bool,
    /// The driver, which holds the run against other processes.
    pub driver: Driver,
    /// Shows the run's progress.
    pub progress: Progress,
    /// Further observers, such as streams and telemetry.
    pub observers: Observers,
    /// Output for progress and questions.
    pub output: Output,
    /// Answers from the command line, one for each question in the order in which they are raised.
    pub answers: TypedAnswers,
    /// The folder in which other processes leave requests to stop.
    pub run_folder: RunFolder,
    /// Reports to the process that started this one in the background that the run is under way.
    pub reporter: Option<StartupReporter>,
    /// Extent of the verification before the run was resumed; `None` for a new run.
    pub checked: Option<VerifiedPart>,
}

/// The longest wait that a run in the foreground waits out by itself.
const SHORT_WAIT: Duration = Duration::from_mins(1);

impl Session {
    /// Drives the run until it ends or needs an answer that cannot be given here.
    pub async fn go(&mut self, first: Event) -> Result<Summary> {
        if let Some(calls) = self.observers.calls() {
            self.driver.observe_calls(calls);
        }
        let typed = self.is_kept.then_some(self.typed.as_str());
        let stops = Stops::listen(self.driver.stop_requests(), typed, self.output, self.run_folder.clone())?;
        let summary = self.drive(first, &stops).await;
        if self.driver.is_lost() {
            // Requests of other processes are meant for the process that will hold the run.
            drop(stops);
        } else {
            stops.finish(summary.as_ref().is_ok_and(|summary| summary.status.is_end()));
        }
        let summary = summary?;
        self.observers.stopped(summary.status);
        Ok(summary)
    }

    async fn drive(&mut self, first: Event, stops: &Stops) -> Result<Summary> {
        let mut event = first;
        // The questions that the person at the terminal has just answered.
        let mut asked = Vec::new();
        loop {
            let mut watchers = ObserverPair(&mut self.progress, &mut self.observers);
            let status = self.driver.drive(event, &mut ObserverPair(&mut self.reporter, &mut watchers)).await;
            live_line::clear();
            let status = status?;
            if let Some(reporter) = &self.reporter {
                reporter.under_way();
            }
            let mut summary = self.driver.summary();
            match status {
                Status::Interrupted => {}
                Status::Waiting => match self.wait_out(&summary, stops).await? {
                    Some(resumed) => {
                        event = resumed;
                        continue;
                    }
                    None => return Ok(self.driver.take_summary()),
                },
                Status::Failed => {
                    summary.interrupts = rejected(&summary, asked);
                    if summary.interrupts.is_empty() {
                        return Ok(self.driver.take_summary());
                    }
                    let error = summary.error.as_ref().map_or("", |error| &error.message);
                    self.output.note(styled(output::CAUTION, block(error, "  ")));
                }
                _ => return Ok(self.driver.take_summary()),
            }
            let by_person = self.answers.is_empty();
            match self.next_answers(&summary, stops).await? {
                Some(answers) => event = Event::Resumed(Resume { answers, ..Resume::default() }),
                None => return Ok(self.driver.take_summary()),
            }
            asked = if by_person { summary.interrupts } else { Vec::new() };
        }
    }

    /// Waits until the first wait of the run ends by time, if that is soon. Returns `None` if it is not, or if the user stops the run.
    async fn wait_out(&mut self, summary: &Summary, stops: &Stops) -> Result<Option<Event>> {
        if !self.answers.is_empty()
            && let Some(answers) = self.answers.take_next(self.driver.run())?
        {
            return Ok(Some(Event::Resumed(Resume { answers, ..Resume::default() })));
        }
        let ends = summary.interrupts.iter().filter_map(|open| Wait::from_payload(&open.payload.0)?.until());
        let Some(end) = ends.min().filter(|end| end.since(now()) <= SHORT_WAIT) else { return Ok(None) };
        self.output.note(styled(output::DIM, format_args!("waiting until {}", local_time(end))));
        let slept = tokio::time::sleep(end.since(now()));
        tokio::select! {
            () = slept => Ok(Some(Event::Resumed(Resume::default()))),
            () = stops.pressed() => Ok(None),
        }
    }

    /// Returns answers to open questions: from the command line, else from the person at the terminal.
    async fn next_answers(&mut self, summary: &Summary, stops: &Stops) -> Result<Option<Answers>> {
        let open = &summary.interrupts;
        if !self.answers.is_empty()
            && let Some(answers) = self.answers.take_next(self.driver.run())?
        {
            return Ok(Some(answers));
        }
        if !self.output.can_ask() {
            return Ok(None);
        }
        loop {
            match prompt::ask(self.output, &self.typed, open, stops.pressed()).await {
                // Questions that need an answer are asked again.
                Some(Answers::None) if open.iter().any(prompt::needs_answer) => {}
                other => return Ok(other),
            }
        }
    }
}

/// Returns the questions whose answers a component has rejected after the run has asked again as often as it does by itself. The person
/// at the terminal may replace these answers.
fn rejected(failed: &Summary, asked: Vec<InterruptRecord>) -> Vec<InterruptRecord> {
    let error = failed.error.as_ref().filter(|error| error.category == Some(Category::InvalidInput));
    let is_of = |asked: &InterruptRecord| error.is_some_and(|error| error.node.as_ref() == Some(&asked.node));
    asked.into_iter().filter(is_of).collect()
}

/// Requests to stop a run: Ctrl-C, the signal that asks a process to end, and files of other processes.
#[derive(Debug)]
struct Stops {
    presses: watch::Receiver<u32>,
    signals: tokio::task::JoinHandle<()>,
    files: Option<Listener>,
}

impl Stops {
    /// Starts to listen. The first signal stops the run at the boundary of its superstep, the second one at once, the third one ends
    /// the process. A file names one of these requests.
    fn listen(
        control: mpsc::UnboundedSender<StopRequest>,
        run: Option<&str>,
        output: Output,
        run_folder: RunFolder,
    ) -> Result<Self> {
        let (press, presses) = watch::channel(0);
        let press = Arc::new(press);
        let files = {
            let (press, control, run) = (Arc::clone(&press), control.clone(), run.map(str::to_owned));
            let tell = move |wish| {
                press.send_modify(|count| *count += 1);
                stopping(output, run.as_deref(), wish, "it was asked to");
                // If the driver is gone, it has stopped already.
                let _ = control.send(wish);
            };
            Listener::start(run_folder, tell, || std::process::exit(Exit::Cancelled.code().into())).map_err(
                |error| {
                    Error::storage(format!(
                        "the thread that looks for signal files cannot be started: {error}"
                    ))
                },
            )?
        };
        let run = run.map(str::to_owned);
        // Created before the task is spawned: a signal that arrives before the task is polled for the first time counts as well.
        let signals = Signals::new();
        let signals = tokio::spawn(async move {
            let mut signals = match signals {
                Ok(signals) => signals,
                Err(error) => {
                    output.warn(format_args!("Ctrl-C will not stop the run at a boundary: {error}"));
                    return;
                }
            };
            for wish in [StopRequest::Cancel, StopRequest::Kill] {
                signals.next().await;
                press.send_modify(|count| *count += 1);
                if wish == StopRequest::Cancel {
                    stopping(output, run.as_deref(), wish, "Ctrl-C again stops at once");
                }
                let _ = control.send(wish);
            }
            signals.next().await;
            live_line::turn(false);
            std::process::exit(Exit::Cancelled.code().into());
        });
        Ok(Self { presses, signals, files: Some(files) })
    }

    /// Resolves once a stop was requested.
    async fn pressed(&self) {
        let mut presses = self.presses.clone();
        if presses.wait_for(|count| *count > 0).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Removes the files of requests that were fulfilled.
    fn finish(mut self, ended: bool) {
        if let Some(files) = self.files.take() {
            files.finish(ended);
        }
    }
}

fn stopping(output: Output, run: Option<&str>, wish: StopRequest, why: &str) {
    let when = match wish {
        StopRequest::Cancel => "once the tasks under way are done",
        StopRequest::Kill => "at once",
    };
    let resume = run.map_or(String::new(), |run| {
        format!(". {} graph-host resume {run}", styled(output::DIM, "resume with:"))
    });
    output.note(format_args!("{} {when}; {why}{resume}", styled(output::CAUTION, "stopping")));
}

impl Drop for Stops {
    fn drop(&mut self) {
        self.signals.abort();
    }
}

/// Resolves once the process is asked to end, by Ctrl-C or a signal.
pub(crate) async fn asked_to_stop() {
    match Signals::new() {
        Ok(mut signals) => signals.next().await,
        Err(_) => std::future::pending().await,
    }
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[allow(clippy::unnecessary_wraps, reason = "as on unix")]
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
