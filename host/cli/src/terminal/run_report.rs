//! Text and JSON about runs: lines while a run is under way, and its outcome.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use graph_core::diagnostic::{printable, printable_lines};
use graph_core::node::{Category, Failure};
use graph_core::question::Question;
use graph_core::record::{HookSummary, InterruptRecord, RunError, Status, StopLimit};
use graph_walker::walker::{ChannelChange, StoppingLimit, Summary};
use serde_json::Value;
use textwrap::core::display_width;

use crate::terminal::output::{self, Output, styled};
use crate::terminal::report;
use crate::terminal::values::{Extent, ValueLines};
use crate::terminal::width::{one_line, width};
use graph_core::wait::Wait;
use graph_runtime::clock::now;
use graph_runtime::error::Result;
use graph_runtime::history::run_document::RunDocument;

/// Prints the document of a run.
pub fn print(document: &RunDocument<'_>, output: Output) -> Result<()> {
    let written = output.document(document);
    document.take_failure().map_or(written, Err)
}

/// Renders a value as indented JSON that is safe for terminals.
pub fn pretty(value: &Value) -> String {
    printable_lines(&serde_json::to_string_pretty(value).unwrap_or_default()).into_owned()
}

/// Prints the output of a run on stdout: as readable lines on a terminal, else as JSON, or as the plain text that it is.
pub fn print_result(value: &Value, run: Option<&str>, output: Output) -> Result<()> {
    if !output.is_read_by_people() {
        return match value {
            // A program or a file gets the bytes of the text.
            Value::String(text) => output.unchanged(text),
            value => {
                let text = serde_json::to_string_pretty(value).unwrap_or_default();
                output.line(output::json_for_terminals(text))
            }
        };
    }
    // The output of a run that is not stored is shown in full.
    let mut lines = ValueLines::new(if run.is_some() { Extent::LONG } else { Extent::ALL }, width());
    lines.value(value, 0);
    let (text, is_shortened) = lines.finish();
    output.line(text)?;
    if let (true, Some(run)) = (is_shortened, run) {
        output.note(all_of_it(&format!("runs show {run} --all")));
    }
    Ok(())
}

/// Renders the line below a shortened value: the command that shows all of it.
pub fn all_of_it(command: &str) -> String {
    styled(output::DIM, format_args!("all of it: graph-host {command}"))
}

/// Renders a number with one decimal and a unit letter: `1.2M`.
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

/// Renders a duration for people.
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

/// Renders a count with its noun: `1 step`, `2 steps`.
pub fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Lists nodes, each once with its count: `list, count ×12`.
pub fn nodes(names: &[String]) -> String {
    nodes_within(names, 60)
}

/// Lists nodes in at most `columns` columns.
fn nodes_within(names: &[String], columns: usize) -> String {
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
    one_line(&shown.join(", "), columns)
}

/// Lists the channels that changed: `files +12, summary`.
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

/// Returns the name of each task of a superstep: its node, and its number if the node has several tasks, `count#3`. For a `foreach`
/// this is the number of the item, from 1.
pub fn task_labels<'t>(tasks: impl Iterator<Item = (&'t str, &'t str)> + Clone) -> BTreeMap<&'t str, String> {
    let ordinal = |task: &str| task.rsplit_once('.').and_then(|(_, ordinal)| ordinal.parse::<u64>().ok());
    let mut nodes: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (task, node) in tasks.clone() {
        let ordinal = ordinal(task).unwrap_or_default();
        let (count, first) = nodes.entry(node).or_insert((0, ordinal));
        *count += 1;
        *first = (*first).min(ordinal);
    }
    let label = |(task, node): (&'t str, &'t str)| {
        let (count, first) = nodes.get(node).copied().unwrap_or_default();
        let number = ordinal(task).filter(|_| count > 1).map(|ordinal| ordinal.saturating_sub(first) + 1);
        (task, number.map_or_else(|| node.to_owned(), |number| format!("{node}#{number}")))
    };
    tasks.map(label).collect()
}

/// Renders the line of a task that has failed.
pub fn failure_line(label: &str, failure: &Failure) -> String {
    let label = one_line(label, width() / 2);
    let head = format!("{label} {}: ", failure.category);
    let room = width().saturating_sub(8 + display_width(&head)).max(200);
    format!("      {} {head}{}", styled(output::BAD, "✗"), one_line(&failure.message, room))
}

/// Renders the line of a task that is retried.
pub fn retry_line(label: &str, attempt: u32, wait: &str, failure: &Failure) -> String {
    let label = one_line(label, width() / 2);
    let head = format!("{label} attempt {attempt} in {wait}, after {}: ", failure.category);
    let room = width().saturating_sub(8 + display_width(&head)).max(160);
    format!("      {} {head}{}", styled(output::CAUTION, "↻"), one_line(&failure.message, room))
}

/// Renders the line of a task whose result was taken from the cache.
pub fn cached_line(node: &str, from: &str) -> String {
    format!(
        "      {} {} {}",
        styled(output::DIM, "="),
        one_line(node, width() / 2),
        styled(output::DIM, one_line(from, 160))
    )
}

/// Width of the column of names in lines about steps and nodes.
fn column() -> usize {
    (width() * 28 / 100).clamp(14, 44)
}

/// Pads a name to the width of its column.
fn in_column(name: &str) -> String {
    format!("{name}{:blanks$}", "", blanks = column().saturating_sub(display_width(name)))
}

/// Pads a name to its column, and cuts it if the line would not fit the terminal.
pub fn name_in_column(name: &str) -> String {
    in_column(&one_line(name, column().max(width().saturating_sub(60))))
}

/// Renders the line of a superstep: `  3  count ×12     1.2M fuel     8.1 ms  counts +12`.
pub fn step_line(step: u64, names: &[String], fuel: u64, took: Option<&str>, changed: &str) -> String {
    let width = width();
    let mut line = String::new();
    let number = styled(output::DIM, format_args!("{step:>4}"));
    let nodes = in_column(&nodes_within(names, column().max(width.saturating_sub(60))));
    let _ = write!(line, "{number}  {nodes}");
    let _ = write!(line, " {:>7} {}", short_number(fuel), styled(output::DIM, "fuel"));
    if let Some(took) = took {
        let _ = write!(line, " {took:>9}");
    }
    if !changed.is_empty() {
        let used = display_width(&anstream::adapter::strip_str(&line).to_string());
        let changed = one_line(changed, width.saturating_sub(used + 2).max(10));
        let _ = write!(line, "  {}", styled(output::DIM, changed));
    }
    line
}

/// Lines about hooks and their decisions. Equal lines of one superstep, such as one for each task, become one line with a count.
#[derive(Debug, Default)]
pub struct HookLines(Vec<(String, u64)>);

impl HookLines {
    /// Adds a hook that has answered or failed.
    pub fn add(&mut self, hook: &HookSummary) {
        let line = hook_line(hook);
        match self.0.iter_mut().find(|(known, _)| *known == line) {
            Some((_, count)) => *count += 1,
            None => self.0.push((line, 1)),
        }
    }

    /// Takes the lines of the hooks that were added.
    pub fn take(&mut self) -> Vec<String> {
        let lines = std::mem::take(&mut self.0).into_iter();
        lines.map(|(line, count)| if count == 1 { line } else { format!("{line}  ×{count}") }).collect()
    }

    /// Returns the lines of these hooks.
    pub fn of<'h>(hooks: impl IntoIterator<Item = &'h HookSummary>) -> Vec<String> {
        let mut lines = Self::default();
        hooks.into_iter().for_each(|hook| lines.add(hook));
        lines.take()
    }
}

/// Renders the line of a hook: its name, layer, event and decision.
pub fn hook_line(hook: &HookSummary) -> String {
    let (style, mark, decision) = match (&hook.failure, &hook.control) {
        (Some(failure), _) => {
            let message = one_line(&failure.message, width().saturating_sub(40).max(200));
            (output::BAD, "✗", format!("failed ({}): {message}", failure.category))
        }
        (None, Some(control)) => (output::CAUTION, "⚑", format!("decided: {}", control.action)),
        (None, None) => (output::DIM, "⚑", "ran".to_owned()),
    };
    let whose = match hook.layer {
        1 => "of the graph",
        2 => "of the project",
        _ => "of the user",
    };
    let name = one_line(&hook.hook, 40);
    let item = hook.item.as_ref().map(|item| format!(" ({})", one_line(item, 60))).unwrap_or_default();
    format!("      {} hook {name} {whose}, at {}{item} {decision}", styled(style, mark), hook.event)
}

/// Number of nodes that the outcome of a run names for the failures of their tasks.
const MOST_NODES: usize = 3;

/// Renders the outcome of a run in a line: `✓ completed: 3 steps, 1.2M fuel, 35.1 ms`.
pub fn verdict(summary: &Summary, took: Option<Duration>) -> String {
    let (style, mark) = match summary.status {
        Status::Completed => (output::GOOD, "✓"),
        Status::CompletedWithErrors => (output::CAUTION, "✓"),
        Status::Interrupted | Status::Waiting | Status::Running => (output::CAUTION, "‖"),
        Status::Failed | Status::Limit => (output::BAD, "✗"),
        Status::Cancelled | Status::Killed => (output::CAUTION, "■"),
    };
    let mut figures = format!("{}, {} fuel", counted(summary.steps, "step"), short_number(summary.fuel));
    if let Some(took) = took {
        let _ = write!(figures, ", {}", short_span(took));
    }
    let status = summary.status.as_str().replace('_', " ");
    let mut text = format!("{} {figures}", styled(style, format_args!("{mark} {status}:")));
    let failed = summary.failed.values().fold(0, |all: u64, count| all.saturating_add(*count));
    if failed > 0 {
        let by_node = summary.failed.iter().map(|(node, count)| format!("{} {count}", one_line(node, 40)));
        let nodes = by_node.take(MOST_NODES).collect::<Vec<_>>().join(", ");
        let more = if summary.failed.len() > MOST_NODES { ", …" } else { "" };
        let _ = write!(text, "; {} failed ({nodes}{more})", counted(failed, "task"));
    }
    if summary.limit_reached {
        text.push_str("; max_steps was reached");
    }
    if summary.ended_by == Some(graph_core::record::EndedBy::NoEdgeMatched) {
        text.push_str("; it ended because no edge matched");
    }
    text
}

/// Renders lines for stderr about a run that stopped: its error, its questions, and the next command. `run` is `None` if the run is not
/// stored.
pub fn aftermath(run: Option<&str>, summary: &Summary, error: Option<&RunError>) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(error) = error {
        lines.push(error_lines(error));
    }
    for interrupt in &summary.interrupts {
        lines.push(crate::terminal::prompt::question(interrupt, run));
    }
    match run {
        Some(run) => lines.extend(resume_line(run, summary)),
        None if summary.status.is_end() => {}
        None => {
            let answers =
                if asked(summary).next().is_some() { ", with its answers in advance (--answer)" } else { "" };
            let text = format!(
                "it cannot be resumed, since nothing of it is kept (--store memory): run it again{answers}"
            );
            lines.push(styled(output::DIM, text));
        }
    }
    lines
}

/// Renders a line with the command that resumes a run.
pub fn resume_line(run: &str, summary: &Summary) -> Option<String> {
    let command = resume_command(run, summary)?;
    let label = if is_unanswered(summary) { "ask again in a fork with:" } else { "resume with:" };
    Some(format!("{} {command}", styled(output::DIM, label)))
}

/// Renders an error of a run, with its node unless the message names it.
pub fn error_lines(error: &RunError) -> String {
    let named = |node: &&String| !error.message.contains(&format!("`{node}`"));
    let place = error.node.as_ref().filter(named).map(|node| format!(" in `{}`", one_line(node, 60)));
    report::error_lines(&format!("{}{}", error.code, place.unwrap_or_default()), &error.message, width())
}

/// Checks whether an error may be fixed by a change of the manifest or the graph.
fn may_lack_a_permission(error: &RunError) -> bool {
    matches!(error.category, Some(Category::Denied | Category::Limit))
}

/// Checks whether the run failed because a question expired: resuming it would fail in the same way.
fn is_unanswered(summary: &Summary) -> bool {
    let limit = summary.error.as_ref().and_then(|error| error.limit);
    summary.status == Status::Failed && limit == Some(StopLimit::Deadline)
}

/// Returns the open questions, without pauses.
fn asked(summary: &Summary) -> impl Iterator<Item = &InterruptRecord> {
    let is_question =
        |open: &&InterruptRecord| !open.payload.0.is_null() && Wait::from_payload(&open.payload.0).is_none();
    summary.interrupts.iter().filter(is_question)
}

/// Returns the command line that resumes the run. It can be copied unchanged, apart from words in capitals.
pub fn resume_command(run: &str, summary: &Summary) -> Option<String> {
    let questions = asked(summary).count();
    let is_open = |open: &&InterruptRecord| Question::from_payload(&open.payload.0).expired(now()).is_none();
    let open: Vec<_> = asked(summary).filter(is_open).collect();
    let base = format!("graph-host resume {run}");
    let limit = summary.error.as_ref().map(StoppingLimit::of);
    Some(match (summary.status, limit, open.as_slice()) {
        (Status::Completed | Status::CompletedWithErrors, ..) => return None,
        // Only a manifest that allows more lets the run continue; the message names its line.
        (Status::Limit, Some(StoppingLimit::Budget), _) => {
            format!("{base} --accept-changes  # once the manifest allows more")
        }
        (Status::Limit, Some(StoppingLimit::Work | StoppingLimit::OfGraph), _) => {
            format!("{base} --accept-changes  # once you have changed the graph")
        }
        (Status::Limit, Some(StoppingLimit::Run(StopLimit::MaxSteps)), _) => {
            format!("{base} --max-steps {}", summary.steps.saturating_mul(2).max(1))
        }
        (Status::Waiting, ..) => {
            let events = summary.interrupts.iter().filter(|open| {
                Wait::from_payload(&open.payload.0).is_some_and(|wait| wait.event().is_some())
            });
            let events: Vec<_> =
                events.map(|open| format!(" --answer {}=EVENT", printable(&open.id))).collect();
            format!("{base}{}", events.concat())
        }
        (Status::Failed, ..) if is_unanswered(summary) => format!("graph-host runs fork {run} --go"),
        (Status::Failed, _, []) if summary.error.as_ref().is_some_and(may_lack_a_permission) => {
            format!("{base}  # with --accept-changes once you have changed the manifest or the graph")
        }
        (_, _, []) => base,
        (_, _, [_]) if questions == 1 => format!("{base} --answer ANSWER"),
        (_, _, many) => {
            let answers: Vec<_> =
                many.iter().map(|open| format!("--answer {}=ANSWER", printable(&open.id))).collect();
            format!("{base} {}", answers.join(" "))
        }
    })
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
