//! A run as a person lives with it: it goes on, asks, can be stopped, and ends.

use std::sync::Arc;

use graph_core::record::Status;
use graph_core::walker::{Answers, Event, Resume, Summary};
use tokio::sync::{mpsc, watch};

use crate::background::StartupReporter;
use crate::terminal::exit::Exit;
use crate::terminal::output::{self, Output, styled};
use crate::terminal::prompt::{self, Given};
use crate::terminal::run_report::Progress;
use graph_runtime::error::{Error, Result};
use graph_runtime::graph_driver::{Both, Control, Driver, Observer as _, Observers};
use graph_runtime::project::run_folder::{Listener, RunFolder};
use graph_runtime::run::restore::Checked;

/// A driver with a person before it.
#[derive(Debug)]
pub struct Session {
    /// The run's id.
    pub run: String,
    /// Drives the run.
    pub driver: Driver,
    /// Tells about it.
    pub progress: Progress,
    /// Who else watches it.
    pub observers: Observers,
    /// How to speak.
    pub output: Output,
    /// Answers that were given beforehand, one for each question as it comes.
    pub answers: Given,
    /// Where others leave word for the run.
    pub thread: RunFolder,
    /// Told once the run is under way.
    pub herald: Option<StartupReporter>,
    /// What was checked of the run before it goes on; nothing where it begins.
    pub checked: Option<Checked>,
}

impl Session {
    /// Goes on until the run has ended, or waits for something that nobody here can give.
    pub async fn go(&mut self, first: Event) -> Result<Summary> {
        if let Some(calls) = self.observers.calls() {
            self.driver.observe_calls(calls);
        }
        let stops = Stops::listen(self.driver.control(), &self.run, self.output, self.thread.clone())?;
        let summary = self.drive(first, &stops).await;
        if self.driver.is_lost() {
            // What others have asked for is meant for whoever has the run now.
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
        loop {
            let mut watchers = Both(&mut self.progress, &mut self.observers);
            let status = self.driver.drive(event, &mut Both(&mut self.herald, &mut watchers)).await?;
            if let Some(herald) = &self.herald {
                herald.under_way();
            }
            if status != Status::Interrupted {
                return Ok(self.driver.take_summary());
            }
            let summary = self.driver.summary();
            match self.next_answers(&summary, stops).await? {
                Some(answers) => event = Event::Resumed(Resume { answers, ..Resume::default() }),
                None => return Ok(summary),
            }
        }
    }

    /// Answers to what is open: from the command line, or from the person at the terminal.
    async fn next_answers(&mut self, summary: &Summary, stops: &Stops) -> Result<Option<Answers>> {
        let open = &summary.interrupts;
        if !self.answers.is_empty() {
            let mut now = Vec::new();
            for interrupt in open.iter().filter(|interrupt| !interrupt.payload.0.is_null()) {
                let Some(answer) = self.answers.take_first() else { break };
                let addressed =
                    answer.split_once('=').is_some_and(|(id, _)| id == interrupt.id || id == interrupt.node);
                now.push(if addressed { answer } else { format!("{}={answer}", interrupt.id) });
            }
            return Given::new(now).take(open).map(Some);
        }
        if !self.output.can_ask() {
            return Ok(None);
        }
        loop {
            match prompt::ask(self.output, open, stops.pressed()).await {
                // The walker knows which questions can be passed over.
                Some(Answers::None) if open.iter().any(|interrupt| !interrupt.payload.0.is_null()) => {}
                other => return Ok(other),
            }
        }
    }
}

/// Ctrl-C, the signal that asks a process to end, and the files by which other processes ask.
#[derive(Debug)]
struct Stops {
    presses: watch::Receiver<u32>,
    signals: tokio::task::JoinHandle<()>,
    files: Option<Listener>,
}

impl Stops {
    /// The first signal stops the run at the boundary, the second one at once, the third one ends the process. Files say
    /// which of the two they want.
    fn listen(
        control: mpsc::UnboundedSender<Control>,
        run: &str,
        output: Output,
        thread: RunFolder,
    ) -> Result<Self> {
        let (press, presses) = watch::channel(0);
        let press = Arc::new(press);
        let files = {
            let (press, control, run) = (Arc::clone(&press), control.clone(), run.to_owned());
            let tell = move |wish| {
                press.send_modify(|count| *count += 1);
                stopping(output, &run, wish, "it was asked to");
                // A driver that is gone has stopped already.
                let _ = control.send(wish);
            };
            Listener::start(thread, tell, || std::process::exit(Exit::Cancelled.code().into())).map_err(
                |error| {
                    Error::storage(format!(
                        "the thread that looks for signal files cannot be started: {error}"
                    ))
                },
            )?
        };
        let run = run.to_owned();
        // Before the task is spawned: a signal that comes before the task is polled for the first time counts as well.
        let signals = Signals::new();
        let signals = tokio::spawn(async move {
            let mut signals = match signals {
                Ok(signals) => signals,
                Err(error) => {
                    output.warn(format_args!("Ctrl-C will not stop the run at a boundary: {error}"));
                    return;
                }
            };
            for wish in [Control::Cancel, Control::Kill] {
                signals.next().await;
                press.send_modify(|count| *count += 1);
                if wish == Control::Cancel {
                    stopping(output, &run, wish, "Ctrl-C again stops at once");
                }
                let _ = control.send(wish);
            }
            signals.next().await;
            std::process::exit(Exit::Cancelled.code().into());
        });
        Ok(Self { presses, signals, files: Some(files) })
    }

    /// Is ready once a stop was asked for.
    async fn pressed(&self) {
        let mut presses = self.presses.clone();
        if presses.wait_for(|count| *count > 0).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Takes away the files that were heeded.
    fn finish(mut self, ended: bool) {
        if let Some(files) = self.files.take() {
            files.finish(ended);
        }
    }
}

fn stopping(output: Output, run: &str, wish: Control, why: &str) {
    let when = match wish {
        Control::Cancel => "once the tasks under way are done",
        Control::Kill => "at once",
    };
    output.note(format_args!(
        "{} {when}; {why}. {} graph-host resume {run}",
        styled(output::CAUTION, "stopping"),
        styled(output::DIM, "go on with:"),
    ));
}

impl Drop for Stops {
    fn drop(&mut self) {
        self.signals.abort();
    }
}

/// Comes back once the process is asked to end, by Ctrl-C or otherwise.
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
