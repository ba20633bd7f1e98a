//! What happens in a run, in lines on stderr while it is under way.

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

/// Failures that are remembered, so that they are not printed again.
const REMEMBERED: usize = 64;

/// Prints what happens in a run, and keeps the line up to date that says what is under way.
#[derive(Debug)]
pub struct Progress {
    output: Output,
    quiet: bool,
    started: Instant,
    step_started: Instant,
    /// Attempts that were started and have not ended.
    running: u64,
    /// Names of tasks that are not those of their nodes alone: items, and tasks of child runs.
    labels: HashMap<String, String>,
    hooks: HookLines,
    /// A failure that is printed unless it is the one that stops the run, whose message follows anyway.
    held: Option<Shown>,
    /// The failures that were printed last.
    shown: Vec<Shown>,
}

/// A failure of a task.
#[derive(Debug)]
struct Shown {
    task: String,
    label: String,
    failure: Failure,
}

impl Progress {
    /// With `quiet`, it says nothing but warnings.
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

    /// For how long this process has been driving the run.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// The run goes no further for now: prints what was held back, unless `error` says it. Gives the error without what was
    /// printed of it already.
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
            if let Some(before) = error.message.strip_suffix(&shown.failure.message) {
                error.message = format!("{}, as shown above", before.trim_end_matches([':', ' ']));
                break;
            }
        }
        Some(error)
    }

    fn line(&self, text: &str) {
        self.output.note(text);
    }

    /// What a task is called.
    fn label(&self, task: &str, path: &str, node: &str) -> String {
        let known = self.labels.get(task).cloned();
        known.unwrap_or_else(|| if path.is_empty() { node.to_owned() } else { format!("{path}/{node}") })
    }

    fn print_held(&mut self) {
        let Some(held) = self.held.take() else { return };
        self.print_failure(held);
    }

    fn print_failure(&mut self, shown: Shown) {
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

    /// A task has failed for good. One whose child run has just failed with the same words says nothing new.
    fn failed(&mut self, task: &str, label: String, failure: &Failure) {
        let is_of_child = |shown: &Shown| {
            shown.failure.message == failure.message
                && shown.task.strip_prefix(task).is_some_and(|rest| rest.starts_with(['/', '@']))
        };
        if self.held.iter().chain(&self.shown).any(is_of_child) {
            return;
        }
        self.print_held();
        let shown = Shown { task: task.to_owned(), label, failure: failure.clone() };
        if self.running == 0 {
            self.held = Some(shown);
        } else {
            self.print_failure(shown);
        }
    }

    /// Something has happened in the run, or in the child run of that namespace.
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

    /// The path of nodes to a child run, with the items that it is for.
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
        // Most of a run's notices are made for lines that `--quiet` leaves out.
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
        // Most tasks are called like their node, and most runs are not watched.
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
