//! Short texts about items, and the lines of notices.

use std::borrow::Cow;

use crate::terminal::remedies;
use graph_core::diagnostic::printable;
use graph_core::record::LogLevel;
use graph_core::trust::TextStanding;
use graph_walker::walker::ItemPlace;
use serde_json::Value;

use crate::terminal::live_line;
use crate::terminal::output::{self, Output, styled};
use crate::terminal::width::{one_line, width};
use graph_runtime::notice::{Notice, NoticeObserver};
use graph_runtime::registry::yank::reason_text;

/// Describes the standing of a graph's signature in a few words.
pub fn standing_text(standing: &TextStanding) -> String {
    match standing {
        TextStanding::Unsigned => styled(output::CAUTION, "unsigned"),
        TextStanding::Signed { key, .. } => {
            styled(output::GOOD, format_args!("signed by {}", printable(&key.to_string())))
        }
        TextStanding::BuiltIn => styled(output::GOOD, "built in"),
        TextStanding::Legacy { .. } => {
            format!(
                "{} (it carries a signature line of Rye's, which proves nothing here)",
                styled(output::CAUTION, "unsigned")
            )
        }
        TextStanding::Invalid(refusal) => styled(output::BAD, printable(&refusal.to_string())),
    }
}

/// Renders the line of an event that a component has emitted.
pub fn event_line(path: &str, name: &str, payload: &Value) -> String {
    let head = format!("{}: {} ", one_line(path, width() / 2), one_line(name, 60));
    let room = width().saturating_sub(12 + head.chars().count()).max(200);
    format!("      {} {head}{}", styled(output::DIM, "event"), one_line(&payload.to_string(), room))
}

/// Renders a log line of a component: its level, the path of the task, and the message.
pub fn log_line(path: &str, level: LogLevel, message: &str) -> String {
    let style = match level {
        LogLevel::Error => output::BAD,
        LogLevel::Warn => output::CAUTION,
        LogLevel::Trace | LogLevel::Debug | LogLevel::Info => output::DIM,
    };
    format!("{} {}: {}", styled(style, level.as_str()), printable(path), printable(message))
}

/// Depth of the deepest level of a tree with an indent of its own.
const DEEPEST: usize = 24;

/// Returns the start of a line of a tree: an indent for its depth; below `DEEPEST`, the depth as a number.
pub fn branch(depth: usize) -> String {
    match depth {
        0 => String::new(),
        1..=DEEPEST => format!("{}└ ", "  ".repeat(depth - 1)),
        _ => format!("{}└ {depth}: ", "  ".repeat(DEEPEST - 1)),
    }
}

/// Returns the path of a task, with its number if it is for an item.
fn of_item(path: &str, item: Option<ItemPlace>) -> Cow<'_, str> {
    item.map_or(Cow::Borrowed(path), |item| Cow::Owned(format!("{path}#{}", item.number)))
}

/// Shows notices on stderr.
#[derive(Clone, Copy, Debug)]
pub struct TerminalNotices {
    /// Output that prints the notices.
    pub output: Output,
    /// `true` if events of components are left out, and a warning about a file is one line.
    pub quiet: bool,
    /// The least important log lines of components that are shown.
    pub log: LogLevel,
}

impl NoticeObserver for TerminalNotices {
    fn notice(&self, notice: Notice<'_>) {
        match notice {
            Notice::Doubtful(diagnostics) if self.quiet => {
                self.output.warn(format_args!("{diagnostics}; without --quiet, they are shown"));
            }
            Notice::Doubtful(diagnostics) => self.output.report(diagnostics),
            Notice::Compiling { id, bytes } => live_line::compiling(id, bytes),
            Notice::Compiled { id } => live_line::compiled(id),
            // The line at the bottom shows the compilation already.
            Notice::SlowCompilation { .. } if live_line::is_on() => {}
            Notice::SlowCompilation { id, bytes } => {
                let size = if bytes < 1 << 20 {
                    format!("{} KiB", bytes.div_ceil(1 << 10))
                } else {
                    format!("{} MiB", bytes.div_ceil(1 << 20))
                };
                let id = printable(id);
                self.output.note(format_args!("compiling `{id}` ({size}); this is done once"));
            }
            Notice::LogLine { path, item, level, message } => {
                self.log_line(&of_item(path, item), level, message);
            }
            Notice::Event { path, item, name, payload } => {
                if !self.quiet {
                    self.output.note(event_line(&of_item(path, item), name, payload));
                }
            }
            Notice::RunItemOutdated { run, error } => {
                self.output.warn(format_args!("the knowledge item of run {run} is not up to date: {error}"));
            }
            Notice::Yanked { item, yank } => {
                self.output.warn(format_args!("{item} is {}", reason_text(yank)));
            }
            Notice::YankHidden { item } => {
                self.output.warn(format_args!(
                    "the yank of {item} is not where the version is any more, and was seen there before: who may write there \
                     has removed it"
                ));
            }
            Notice::YanksNotKept { item, error } => {
                self.output.warn(format_args!(
                    "the yanks of `{item}` are not remembered, so that they can be hidden later: {}",
                    remedies::message(error)
                ));
            }
            Notice::YankUnknown { item, reason } => {
                self.output.warn(format_args!("whether {item} is yanked is not known: {reason}"));
            }
        }
    }
}

impl TerminalNotices {
    fn log_line(self, path: &str, level: LogLevel, message: &str) {
        if level >= self.log {
            self.output.note(format_args!("      {}", log_line(path, level, message)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_tree_fits_a_screen_however_deep_it_is() {
        assert_eq!(branch(0), "");
        assert_eq!((branch(1), branch(3)), ("└ ".to_owned(), "    └ ".to_owned()));
        assert!(branch(40_000).ends_with("└ 40000: ") && branch(40_000).chars().count() < 60);
    }
}
