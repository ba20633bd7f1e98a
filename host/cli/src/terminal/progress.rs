//! Progress of a run, in lines on stderr while it is under way.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use graph_core::node::Failure;
use graph_core::record::{HookSummary, RunError};
use graph_core::time::Timestamp;
use graph_runtime::graph_driver::Observer;
use graph_walker::walker::{ItemPlace, Notice, TaskReport, TaskSpec};

use crate::terminal::live_line;
use crate::terminal::output::{self, Output, styled};
use crate::terminal::run_report::{
    HookLines, cached_line, changes, failure_line, retry_line, short_number, short_span, step_line,
};
use crate::terminal::width::{one_line, width};

/// Limit of printed failures that are remembered, so that they are not repeated.
const REMEMBERED: usize = 64;

/// Prints the notices of a run, and updates the line at the bottom of the terminal.
#[derive(Debug)]
pub struct Progress {
    output: Output,
    quiet: bool,
    started: Instant,
    step_started: Instant,
    /// Attempts that were started and have not ended.
    running: u64,
    /// Names of tasks that differ from their nodes: tasks for items, and tasks of child runs.
    labels: HashMap<String, String>,
    hooks: HookLines,
    /// A failure that is held back: if it stops the run, the message of the run repeats it.
    held: Option<PrintedFailure>,
    /// The failures that were printed last.
    shown: Vec<PrintedFailure>,
}

/// A failure of a task.
#[derive(Debug)]
struct PrintedFailure {
    task: String,
    label: String,
    failure: Failure,
}

impl Progress {
    /// Creates a printer; with `quiet`, it prints warnings only.
    pub fn new(output: Output, quiet: bool) -> Self {
        if quiet {
            live_line::turn(false);
        }
        Self {
            output,
            quiet,
            started: Instant::now(),
            step_started: Instant::now(),
            running: 0,
            labels: HashMap::new(),
            hooks: HookLines::default(),
            held: None,
            shown: Vec::new(),
        }
    }

    /// Time for which this process has been driving the run.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Ends the progress when the run stops: prints the failure that was held back, unless `error` repeats it. Returns the error
    /// without the text that was printed before.
    pub fn pause(&mut self, error: Option<&RunError>) -> Option<RunError> {
        live_line::clear();
        self.running = 0;
        self.print_hooks();
        let says = |failure: &Failure| error.is_some_and(|error| error.message.contains(&failure.message));
        if self.held.as_ref().is_some_and(|held| says(&held.failure)) {
            self.held = None;
        }
        self.print_held();
        let mut error = error?.clone();
        for shown in &self.shown {
            let is_of = |node: &String| shown.label.split('#').next() == Some(node);
            if let Some(before) = error.message.strip_suffix(&shown.failure.message)
                && error.node.as_ref().is_none_or(is_of)
            {
                error.message = format!("{}, as shown above", before.trim_end_matches([':', ' ']));
                break;
            }
        }
        Some(error)
    }

    fn line(&self, text: &str) {
        self.output.note(text);
    }

    /// Returns the name of a task.
    fn label(&self, task: &str, path: &str, node: &str) -> String {
        let known = self.labels.get(task).cloned();
        known.unwrap_or_else(|| if path.is_empty() { node.to_owned() } else { format!("{path}/{node}") })
    }

    fn print_held(&mut self) {
        let Some(held) = self.held.take() else { return };
        self.print_failure(held);
    }

    fn print_failure(&mut self, shown: PrintedFailure) {
        self.line(&failure_line(&shown.label, &shown.failure));
        if self.shown.len() == REMEMBERED {
            self.shown.remove(0);
        }
        self.shown.push(shown);
    }

    fn print_hooks(&mut self) {
        for line in self.hooks.take() {
            self.output.note(line);
        }
    }

    /// Handles a task that has failed for good. A failure of a child run is not repeated for its task.
    fn failed(&mut self, task: &str, label: String, failure: &Failure) {
        let is_of_child = |shown: &PrintedFailure| {
            shown.failure.message == failure.message
                && shown.task.strip_prefix(task).is_some_and(|rest| rest.starts_with(['/', '@']))
        };
        if self.held.iter().chain(&self.shown).any(is_of_child) {
            return;
        }
        self.print_held();
        let shown = PrintedFailure { task: task.to_owned(), label, failure: failure.clone() };
        if self.running == 0 {
            self.held = Some(shown);
        } else {
            self.print_failure(shown);
        }
    }

    /// Prints a notice of the run, or of the child run at that path.
    fn show_notice(&mut self, at: Timestamp, path: &str, notice: &Notice) {
        if !matches!(notice, Notice::HookFinished(_)) {
            self.print_hooks();
        }
        match notice {
            Notice::SuperstepStarted { superstep, .. } if path.is_empty() => {
                self.step_started = Instant::now();
                live_line::superstep(*superstep);
            }
            Notice::Committed { superstep, nodes, fuel, changed, .. } => {
                self.print_held();
                if path.is_empty() {
                    let took = short_span(self.step_started.elapsed());
                    self.line(&step_line(*superstep, nodes, *fuel, Some(&took), &changes(changed)));
                    self.labels.clear();
                } else {
                    let line = step_line(*superstep, nodes, *fuel, None, &changes(changed));
                    let path = one_line(path, width() / 2);
                    self.line(&format!("      {} {line}", styled(output::DIM, format_args!("{path} ┆"))));
                }
            }
            Notice::Retrying { task, node, attempt, due, failure } => {
                self.print_held();
                let label = self.label(task, path, node);
                self.line(&retry_line(&label, *attempt, &short_span(due.since(at)), failure));
            }
            Notice::TaskFinished { task, node, failure, .. } => {
                if let Some(failure) = failure {
                    let label = self.label(task, path, node);
                    self.failed(task, label, failure);
                }
                self.labels.remove(&**task);
            }
            Notice::Cached { task, node, fuel, run, .. } => {
                let from = format!("cached, from run {run}, {} fuel", short_number(*fuel));
                self.line(&cached_line(&self.label(task, path, node), &from));
            }
            Notice::Warning(warning) => self.warning(warning),
            Notice::HookFinished(hook) => self.hook(hook),
            Notice::ChildStarted { namespace, path: of_nodes, graph, item, .. } => {
                let label = self.child_label(namespace, of_nodes, *item);
                self.line(&format!(
                    "      {} {}  {}",
                    styled(output::DIM, "└"),
                    one_line(&label, width() / 2),
                    styled(output::DIM, one_line(graph, 60)),
                ));
                self.labels.insert(namespace.to_string(), label);
            }
            Notice::Child { namespace, path: of_nodes, notice } => {
                let label = self.labels.get(&**namespace).cloned();
                self.show_notice(at, &label.unwrap_or_else(|| of_nodes.to_string()), notice);
            }
            Notice::SuperstepStarted { .. } | Notice::Stopped(_) => {}
        }
    }

    fn warning(&mut self, warning: &str) {
        if !self.output.is_json() {
            self.print_held();
            let room = width().saturating_sub(8).max(200);
            self.output.note(format_args!(
                "      {} {}",
                styled(output::CAUTION, "!"),
                one_line(warning, room)
            ));
        }
    }

    fn hook(&mut self, hook: &HookSummary) {
        self.print_held();
        self.hooks.add(hook);
    }

    /// Returns the path of nodes to a child run, with the numbers of their items.
    fn child_label(&self, namespace: &str, path: &str, item: Option<ItemPlace>) -> String {
        let parent = namespace.rsplit_once('/').and_then(|(parent, _)| self.labels.get(parent));
        let mut label = match (parent, path.rsplit_once('/')) {
            (Some(parent), Some((_, node))) => format!("{parent}/{node}"),
            _ => path.to_owned(),
        };
        if let Some(item) = item {
            let _ = write!(label, "#{}", item.number);
        }
        label
    }
}

impl Observer for Progress {
    fn notice(&mut self, at: Timestamp, notice: &Notice) {
        // With `--quiet`, lines are not even built.
        if self.quiet {
            match notice {
                Notice::Warning(warning) => self.warning(warning),
                Notice::Child { notice, .. } => {
                    if let Notice::Warning(warning) = &**notice {
                        self.warning(warning);
                    }
                }
                _ => {}
            }
            return;
        }
        self.show_notice(at, "", notice);
    }

    fn dispatched(&mut self, _at: Timestamp, spec: &TaskSpec) {
        if self.quiet {
            return;
        }
        self.running += 1;
        let task = &spec.activation.task;
        let above = task.rsplit_once('/').and_then(|(namespace, _)| self.labels.get(namespace));
        // Most tasks have the name of their node, and most runs are not watched.
        if above.is_none() && spec.item.is_none() && !live_line::is_on() {
            return;
        }
        let label = match (above, spec.path.rsplit_once('/')) {
            (Some(above), Some((_, node))) => format!("{above}/{node}"),
            _ => spec.path.clone(),
        };
        if let Some(item) = spec.item {
            self.labels.insert(task.clone(), format!("{label}#{}", item.number));
        } else if above.is_some() {
            self.labels.insert(task.clone(), label.clone());
        }
        live_line::task_started(task, label, spec.item);
    }

    fn done(&mut self, _at: Timestamp, task: &str, _attempt: u32, report: &TaskReport) {
        self.running = self.running.saturating_sub(1);
        live_line::task_ended(task, report.fuel);
    }

    fn aborted(&mut self, task: &str, _attempt: u32) {
        self.running = self.running.saturating_sub(1);
        live_line::task_ended(task, 0);
    }
}
