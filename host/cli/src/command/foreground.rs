//! A run in the foreground, from its first event to its printed outcome.

use std::sync::Arc;

use graph_core::record::{ErrorCode, Status};
use graph_host::background::StartupReporter;
use graph_host::context::Context;
use graph_host::terminal::exit::{self, Exit};
use graph_host::terminal::progress::Progress;
use graph_host::terminal::remedies;
use graph_host::terminal::run_report;
use graph_host::terminal::session::Session;
use graph_host::terminal::width::one_line;
use graph_runtime::clock::now;
use graph_runtime::error::Result;
use graph_runtime::graph_store::CheckpointStore;
use graph_runtime::history::run_document::RunDocument;
use graph_runtime::project::run_folder::RunFolder;
use graph_runtime::run::checkpoints::{self, Names};
use graph_runtime::run::context::PreparedRun;
use graph_runtime::run::restore::{self, VerifiedPart};
use graph_runtime::run::stop_notes;
use graph_runtime::run::typed_answers::TypedAnswers;
use graph_runtime::telemetry::Telemetry;
use graph_walker::walker::{Event, Summary};
use serde_json::Value;

use super::observe;

/// Parameters of a run in the foreground.
pub(super) struct Foreground<'a> {
    /// The store of the run.
    pub(super) store: Arc<dyn CheckpointStore>,
    /// The run folder of its project.
    pub(super) folder: RunFolder,
    pub(super) graph: &'a str,
    /// The run as an argument of commands.
    pub(super) typed: String,
    /// `true` if only the reason of a failure is shown.
    pub(super) quiet: bool,
    /// `true` if the run is stored.
    pub(super) is_kept: bool,
    /// Answers from the command line.
    pub(super) answers: TypedAnswers,
    /// Reporter to the process that started this one in the background.
    pub(super) reporter: Option<StartupReporter>,
    /// Extent of the verification of a resumed run.
    pub(super) checked: Option<VerifiedPart>,
    /// Streams and telemetry that observe the run.
    pub(super) observe: &'a observe::Args,
    pub(super) telemetry: Option<Telemetry>,
}

impl Foreground<'_> {
    /// Drives the run until it has ended or needs an answer that cannot be given here, and prints the outcome.
    pub(super) async fn carry_out(
        mut self,
        prepared: PreparedRun,
        event: Event,
        context: &Context,
    ) -> Result<Exit> {
        let output = context.output;
        let store = Arc::clone(&self.store);
        let mut session = Session {
            typed: self.typed.clone(),
            is_kept: self.is_kept,
            run_folder: self.folder.clone(),
            progress: Progress::new(output, self.quiet || output.is_json()),
            observers: self.observe.observers(
                store,
                &prepared.run,
                self.graph,
                self.telemetry.as_ref(),
                context,
            )?,
            run: prepared.run,
            driver: prepared.driver,
            output,
            answers: std::mem::take(&mut self.answers),
            reporter: self.reporter.take(),
            checked: self.checked,
        };
        let ended = session.go(event).await;
        if let Some(Err(error)) = self.telemetry.take().map(Telemetry::finish) {
            output.warn(format_args!("{error}; the run is none the worse"));
        }
        self.show(&mut session, &ended?, context)
    }

    fn show(&self, session: &mut Session, summary: &Summary, context: &Context) -> Result<Exit> {
        let Self { store, graph, typed, quiet, is_kept, .. } = self;
        let output = context.output;
        if let Err(error) = stop_notes::note(&context.host.home, &**store, &session.run) {
            output.warn(format_args!(
                "`runs verify` cannot detect later whether this stop was removed: {error}"
            ));
        }
        for (answer, why) in session.answers.unused() {
            output.warn(format_args!("the answer `{}` was not used: {why}", one_line(answer, 60)));
        }
        if output.is_json() {
            let visited = visited(&**store, &session.run, summary, context);
            let mut document = RunDocument::new(&session.run, graph, summary, visited)
                .at(now())
                .after(session.checked)
                .without_use(&session.answers);
            let is_long = || checkpoints::are_larger_than(&**store, &session.run, MOST_READ_OF_STOPPED);
            if summary.status == Status::Cancelled && is_long().unwrap_or(false) {
                document = document.without_visited();
                output.warn(format_args!(
                    "`visited` is null, since the run was stopped and has a long history{}",
                    if *is_kept { "; `runs show --json` lists the nodes" } else { "" }
                ));
            }
            run_report::print(&document, output)?;
        } else {
            let error = session.progress.pause(summary.error.as_ref());
            if !*quiet {
                output.note(run_report::verdict(summary, Some(session.progress.elapsed())));
            }
            for line in run_report::aftermath(is_kept.then_some(typed.as_str()), summary, error.as_ref()) {
                output.note(line);
            }
            match summary.output.as_deref() {
                None | Some(Value::Null) => {}
                // The stream of lines already contains the run's output.
                Some(_) if output.is_in_lines() => {}
                Some(value) => run_report::print_result(value, is_kept.then_some(typed.as_str()), output)?,
            }
        }
        Ok(exit::of_run(summary))
    }
}

/// Limit of the history that is read for the document of a run that was stopped, in bytes: the user who pressed Ctrl-C waits for no more.
const MOST_READ_OF_STOPPED: u64 = 16 << 20;

/// Returns the nodes visited in a run, for its document. If the history cannot be read, the list is empty, with a warning unless the
/// document itself reports that the store has failed.
fn visited<'s>(
    store: &'s dyn CheckpointStore,
    run: &'s str,
    summary: &Summary,
    context: &'s Context,
) -> Box<Names<'s>> {
    let has_failed = summary.error.as_ref().is_some_and(|error| error.code == ErrorCode::Storage);
    Box::new(move |visit| {
        let row = restore::find(store, run);
        let key = row.and_then(|row| context.host.home.verifying_identity(row.key));
        if let Err(error) = key.and_then(|key| checkpoints::visited(store, run, key)(visit))
            && !has_failed
        {
            context
                .output
                .warn(format_args!("the nodes visited are not listed: {}", remedies::message(&error)));
        }
        Ok(())
    })
}
