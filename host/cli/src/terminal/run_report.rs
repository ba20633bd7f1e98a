//! A run in the forms in which it is shown: lines while it is under way, and its outcome.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use graph_core::diagnostic::{one_line, printable};
use graph_core::record::{HookSummary, RunError, Status};
use graph_core::time::Timestamp;
use graph_core::walker::{ChannelChange, Notice, Summary};
use serde_json::Value;

use crate::terminal::exit::Exit;
use crate::terminal::output::{self, Output, styled};
use graph_runtime::error::{Kind, Result};
use graph_runtime::graph_driver::Observer;
use graph_runtime::history::run_document::RunDocument;

/// Prints the document of a run.
pub fn print(document: &RunDocument<'_>, output: Output) -> Result<()> {
    let written = output.document(document);
    document.take_failure().map_or(written, Err)
}

/// The exit code of a run that has come to this.
pub fn exit(summary: &Summary) -> Exit {
    match summary.status {
        Status::Completed | Status::CompletedWithErrors => Exit::Ok,
        Status::Interrupted => Exit::Interrupted,
        Status::Limit => Exit::Limit,
        Status::Cancelled | Status::Killed => Exit::Cancelled,
        Status::Failed | Status::Running => {
            summary.error.as_ref().map_or(Exit::Failed, |error| Kind::from(error.code).into())
        }
    }
}

/// A value on several lines, safe to show.
pub fn pretty(value: &Value) -> String {
    printable(&serde_json::to_string_pretty(value).unwrap_or_default()).into_owned()
}

/// A number for people: three digits and a letter.
pub fn short_number(number: u64) -> String {
    #[allow(clippy::cast_precision_loss, reason = "three digits are shown")]
    let number_f = number as f64;
    match number {
        0..1000 => number.to_string(),
        1000..1_000_000 => format!("{:.1}k", number_f / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1}M", number_f / 1e6),
        _ => format!("{:.1}G", number_f / 1e9),
    }
}

/// A span of time for people.
pub fn short_span(span: Duration) -> String {
    let micros = span.as_micros();
    let seconds = span.as_secs_f64();
    match micros {
        0..1000 => format!("{micros} µs"),
        1000..1_000_000 => format!("{:.1} ms", seconds * 1e3),
        1_000_000..120_000_000 => format!("{seconds:.1} s"),
        _ => format!("{} min", span.as_secs() / 60),
    }
}

/// `1 step`, `2 steps`.
pub fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Nodes in a row, each once with how often it is there: `list, count ×12`.
pub fn nodes(names: &[String]) -> String {
    let mut groups: Vec<(&str, u64)> = Vec::new();
    for name in names {
        match groups.iter_mut().find(|(known, _)| known == name) {
            Some((_, count)) => *count += 1,
            None => groups.push((name, 1)),
        }
    }
    let shown: Vec<_> = groups
        .into_iter()
        .map(|(name, count)| if count == 1 { name.to_owned() } else { format!("{name} ×{count}") })
        .collect();
    one_line(&shown.join(", "), 60)
}

/// What changed in the state: `files +12, summary`.
pub fn changes(changed: &[ChannelChange]) -> String {
    let shown: Vec<_> = changed
        .iter()
        .map(|change| match change.appended {
            Some(count) => format!("{} +{count}", change.channel),
            None => change.channel.clone(),
        })
        .collect();
    one_line(&shown.join(", "), 60)
}

/// Tells about a run on stderr while it goes on.
#[derive(Debug)]
pub struct Progress {
    output: Output,
    quiet: bool,
    started: Instant,
    step_started: Instant,
}

impl Progress {
    /// With `quiet`, it says nothing but warnings.
    pub fn new(output: Output, quiet: bool) -> Self {
        Self { output, quiet, started: Instant::now(), step_started: Instant::now() }
    }

    /// How long the run has been going on in this process.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    fn line(&self, text: &str) {
        self.output.note(text);
    }
}

impl Observer for Progress {
    fn notice(&mut self, at: Timestamp, notice: &Notice) {
        // Most of a run's notices are made for lines that `--quiet` leaves out.
        let is_warning = |notice: &Notice| matches!(notice, Notice::Warning(_));
        if self.quiet
            && !is_warning(notice)
            && !matches!(notice, Notice::Child { notice, .. } if is_warning(notice))
        {
            return;
        }
        match notice {
            Notice::SuperstepStarted { .. } => self.step_started = Instant::now(),
            Notice::Committed { superstep, nodes: names, fuel, changed, .. } => {
                let took = short_span(self.step_started.elapsed());
                self.line(&step_line(*superstep, names, *fuel, Some(&took), &changes(changed)));
            }
            Notice::Retrying { node, attempt, due, failure, .. } => {
                let wait = short_span(due.since(at));
                self.line(&format!(
                    "      {} {} attempt {attempt} in {wait}, after {}: {}",
                    styled(output::CAUTION, "↻"),
                    one_line(node, 40),
                    failure.category,
                    one_line(&failure.message, 160),
                ));
            }
            Notice::TaskFinished { node, failure: Some(failure), .. } => self.line(&format!(
                "      {} {} {}: {}",
                styled(output::BAD, "✗"),
                one_line(node, 40),
                failure.category,
                one_line(&failure.message, 200),
            )),
            Notice::Cached { node, fuel, run, .. } => {
                let from = format!("as in run {run}, {} fuel", short_number(*fuel));
                self.line(&cached_line(node, &from));
            }
            Notice::Warning(warning) => {
                if !self.output.is_json() {
                    self.output.note(format_args!(
                        "      {} {}",
                        styled(output::CAUTION, "!"),
                        one_line(warning, 300)
                    ));
                }
            }
            Notice::HookFinished(hook) => {
                if let Some(line) = hook_line(hook) {
                    self.line(&line);
                }
            }
            Notice::ChildStarted { path, graph, .. } => self.line(&format!(
                "      {} {}  {}",
                styled(output::DIM, "└"),
                one_line(path, 60),
                styled(output::DIM, one_line(graph, 60)),
            )),
            Notice::Child { path, notice, .. } => match &**notice {
                Notice::Committed { superstep, nodes: names, fuel, changed, .. } => {
                    let path = one_line(path, 60);
                    let line = step_line(*superstep, names, *fuel, None, &changes(changed));
                    self.line(&format!("      {} {line}", styled(output::DIM, format_args!("{path} ┆"))));
                }
                Notice::Retrying { .. }
                | Notice::Cached { .. }
                | Notice::TaskFinished { failure: Some(_), .. }
                | Notice::HookFinished(_)
                | Notice::Warning(_) => self.notice(at, notice),
                _ => {}
            },
            Notice::TaskFinished { .. } | Notice::Stopped(_) => {}
        }
    }
}

/// A line about a task for which a stored result has stood in.
pub fn cached_line(node: &str, from: &str) -> String {
    format!(
        "      {} {} {}",
        styled(output::DIM, "="),
        one_line(node, 40),
        styled(output::DIM, one_line(from, 160))
    )
}

/// A line about one superstep: `  3  count ×12     1.2M fuel     8.1 ms  counts +12`.
pub fn step_line(step: u64, names: &[String], fuel: u64, took: Option<&str>, changed: &str) -> String {
    let mut line = String::new();
    let number = styled(output::DIM, format_args!("{step:>4}"));
    let _ = write!(line, "{number}  {:<28}", nodes(names));
    let _ = write!(line, " {:>7} {}", short_number(fuel), styled(output::DIM, "fuel"));
    if let Some(took) = took {
        let _ = write!(line, " {took:>9}");
    }
    if !changed.is_empty() {
        let _ = write!(line, "  {}", styled(output::DIM, changed));
    }
    line
}

/// A line about a hook that has changed how the run goes on, or failed; nothing about others.
pub fn hook_line(hook: &HookSummary) -> Option<String> {
    let (style, mark, came_to) = match (&hook.failure, &hook.control) {
        (Some(failure), _) => {
            (output::BAD, "✗", format!("{}: {}", failure.category, one_line(&failure.message, 200)))
        }
        (None, Some(control)) => (output::CAUTION, "⚑", control.action.to_string()),
        (None, None) => return None,
    };
    let name = one_line(&hook.hook, 40);
    Some(format!("      {} hook {name} ({}) {came_to}", styled(style, mark), hook.event))
}

/// What a run came to, in a line: `✓ completed: 3 steps, 1.2M fuel, 35.1 ms`.
pub fn verdict(summary: &Summary, took: Option<Duration>) -> String {
    let (style, mark) = match summary.status {
        Status::Completed => (output::GOOD, "✓"),
        Status::CompletedWithErrors => (output::CAUTION, "✓"),
        Status::Interrupted | Status::Running => (output::CAUTION, "‖"),
        Status::Failed | Status::Limit => (output::BAD, "✗"),
        Status::Cancelled | Status::Killed => (output::CAUTION, "■"),
    };
    let mut figures = format!("{}, {} fuel", counted(summary.steps, "step"), short_number(summary.fuel));
    if let Some(took) = took {
        let _ = write!(figures, ", {}", short_span(took));
    }
    let status = summary.status.as_str().replace('_', " ");
    let mut text = format!("{} {figures}", styled(style, format_args!("{mark} {status}:")));
    if summary.limit_reached {
        text.push_str("; max_steps was reached");
    }
    if summary.ended_by == Some(graph_core::record::EndedBy::NoEdgeMatched) {
        text.push_str("; it ended because no edge matched");
    }
    text
}

/// Why a run stopped, and what to do: lines for stderr.
pub fn aftermath(run: &str, summary: &Summary) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(error) = &summary.error {
        lines.push(error_line(error));
    }
    for interrupt in &summary.interrupts {
        lines.push(crate::terminal::prompt::question(interrupt));
    }
    if let Some(command) = resume_command(run, summary) {
        lines.push(format!("{} {command}", styled(output::DIM, "go on with:")));
    }
    lines
}

/// An error of a run in a line. Most messages name the node themselves.
pub fn error_line(error: &RunError) -> String {
    let named = |node: &&String| !error.message.contains(&format!("`{node}`"));
    let place = error.node.as_ref().filter(named).map(|node| format!(" in `{}`", one_line(node, 60)));
    format!(
        "{} {}{}: {}",
        styled(output::BAD, "error:"),
        error.code,
        place.unwrap_or_default(),
        printable(&error.message)
    )
}

/// The command line that lets a run go on.
pub fn resume_command(run: &str, summary: &Summary) -> Option<String> {
    let asked: Vec<_> = summary.interrupts.iter().filter(|open| !open.payload.0.is_null()).collect();
    let base = format!("graph-host resume {run}");
    match (summary.status, asked.as_slice()) {
        (Status::Completed | Status::CompletedWithErrors, _) => None,
        // What lets it continue is a manifest that allows more, and the message says which line of it.
        (Status::Limit, _) if summary.error.as_ref().is_some_and(|error| error.budget.is_some()) => {
            Some(format!("{base} --accept-changes  # once the manifest allows more"))
        }
        (Status::Limit, _) => Some(format!("{base} --max-steps {}", summary.steps.saturating_mul(2).max(1))),
        (_, []) => Some(base),
        (_, [_]) => Some(format!("{base} --answer ANSWER")),
        (_, many) => {
            let answers: Vec<_> =
                many.iter().map(|open| format!("--answer {}=ANSWER", printable(&open.id))).collect();
            Some(format!("{base} {}", answers.join(" ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        assert_eq!(short_number(999), "999");
        assert_eq!(short_number(12_345), "12.3k");
        assert_eq!(short_number(1_200_000), "1.2M");
        assert_eq!(short_number(3_000_000_000), "3.0G");
        assert_eq!(short_span(Duration::from_micros(950)), "950 µs");
        assert_eq!(short_span(Duration::from_micros(1500)), "1.5 ms");
        assert_eq!(short_span(Duration::from_mins(10)), "10 min");
    }

    #[test]
    fn nodes_are_grouped_and_safe_to_show() {
        let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(nodes(&names(&["list", "count", "count"])), "list, count ×2");
        assert_eq!(nodes(&names(&["a\u{1b}[2J\nb"])), "a\\u{1b}[2J b");
        let change = |channel: &str, appended| ChannelChange { channel: channel.to_owned(), appended };
        assert_eq!(changes(&[change("files", Some(12)), change("total", None)]), "files +12, total");
    }
}
