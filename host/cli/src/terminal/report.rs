//! Rendered problems: `error[CODE]: message`, the place in the file, and `help:` with the next command.

use std::fmt;

use graph_core::diagnostic::printable_lines;
use graph_runtime::error::Error;
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, Severity, SourceCode};

use crate::terminal::output::{self, styled};
use crate::terminal::remedies;
use crate::terminal::typed::in_named_project;
use crate::terminal::width::wrapped;

/// Indent of the lines that belong to another line.
const INDENT: &str = "  ";

/// Renders a diagnostic with its snippets, its help, and its related diagnostics.
pub fn render(diagnostic: &dyn Diagnostic, width: usize) -> String {
    let mut shown = String::new();
    add(&mut shown, diagnostic, None, width);
    let mut coded = Vec::new();
    codes(diagnostic, &mut coded);
    if let [only] = coded.as_slice() {
        shown.push_str(&line(&hint(only)));
    } else if let [first, ..] = coded.as_slice() {
        shown.push('\n');
        shown.push_str(&line(&hint(first)));
    }
    shown
}

fn line(text: &str) -> String {
    format!("{text}\n")
}

fn hint(code: &str) -> String {
    styled(output::DIM, format_args!("more about it: graph-host explain {code}"))
}

/// Collects the codes of a diagnostic and of its related ones, each once.
fn codes(diagnostic: &dyn Diagnostic, found: &mut Vec<String>) {
    if let Some(code) = diagnostic.code().map(|code| code.to_string())
        && !found.contains(&code)
    {
        found.push(code);
    }
    for related in diagnostic.related().into_iter().flatten() {
        codes(related, found);
    }
}

fn add(shown: &mut String, diagnostic: &dyn Diagnostic, around: Option<&dyn SourceCode>, width: usize) {
    let (style, word) = match diagnostic.severity() {
        Some(Severity::Error) | None => (output::BAD, "error"),
        Some(Severity::Warning) => (output::CAUTION, "warning"),
        Some(Severity::Advice) => (output::DIM, "note"),
    };
    let code = diagnostic.code().map(|code| format!("[{code}]")).unwrap_or_default();
    let message = diagnostic.to_string();
    let message = in_named_project(&message);
    let message = printable_lines(&message);
    let head = format!("{word}{code}:");
    // No line break is allowed between the head and the message, however long its first word is.
    let text = wrapped(&format!("{head}\u{a0}{message}"), width, INDENT).replacen('\u{a0}', " ", 1);
    // The style is added after wrapping: escape sequences would count as columns.
    shown.push_str(&text.replacen(&head, &styled(style, &head), 1));
    shown.push('\n');
    let source = diagnostic.source_code().or(around);
    shown.push_str(&snippets(diagnostic, source, width));
    if let Some(help) = diagnostic.help() {
        shown.push_str(&help_lines(&help.to_string(), width));
    }
    for related in diagnostic.related().into_iter().flatten() {
        shown.push('\n');
        add(shown, related, source, width);
    }
}

/// Renders a `help:` text.
pub fn help_lines(help: &str, width: usize) -> String {
    let head = "help:";
    let text = wrapped(&format!("{head} {}", printable_lines(&in_named_project(help))), width, INDENT);
    line(&text.replacen(head, &styled(output::GOOD, head), 1))
}

/// An error with the wording of the command line: its message and its help name commands and options.
#[derive(Debug)]
pub struct WordedError<'e>(pub &'e Error);

impl fmt::Display for WordedError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable_lines(&self.0.worded(remedies::words)))
    }
}

impl std::error::Error for WordedError<'_> {}

impl Diagnostic for WordedError<'_> {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let help = remedies::of_error(self.0)?;
        Some(Box::new(printable_lines(&help).into_owned()))
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        self.0.related()
    }
}

/// Renders the places in the document with miette.
fn snippets(diagnostic: &dyn Diagnostic, source: Option<&dyn SourceCode>, width: usize) -> String {
    let (Some(_), Some(source)) = (diagnostic.labels(), source) else { return String::new() };
    let theme = if output::colours() { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme).with_width(width).with_links(false);
    let mut drawn = String::new();
    let places = Places { diagnostic, source };
    if handler.render_report(&mut drawn, &places).is_err() {
        return String::new();
    }
    // The empty message of `Places` takes one line.
    drawn.split_once('\n').map(|(_, places)| places.to_owned()).unwrap_or_default()
}

/// The places of a diagnostic, without its message and help.
struct Places<'d> {
    diagnostic: &'d dyn Diagnostic,
    source: &'d dyn SourceCode,
}

impl fmt::Debug for Places<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Places")
    }
}

impl fmt::Display for Places<'_> {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

impl std::error::Error for Places<'_> {}

impl Diagnostic for Places<'_> {
    fn severity(&self) -> Option<Severity> {
        self.diagnostic.severity()
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.diagnostic.labels()
    }
}

/// Renders an error that has no diagnostic: `error: CODE in NODE: message`.
pub fn error_lines(what: &str, message: &str, width: usize) -> String {
    let head = "error:";
    let text = format!("{head} {what}: {}", printable_lines(message));
    wrapped(&text, width, INDENT).replacen(head, &styled(output::BAD, head), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_in_help_can_be_copied() {
        let plain = |help: &str, width| anstream::adapter::strip_str(&help_lines(help, width)).to_string();
        let help = "see what it needs: graph-host caps suggest a/long/path/to/a/graph.yaml";
        assert_eq!(plain(help, 100), format!("help: {help}\n"));
        assert_eq!(
            plain(help, 40),
            "help: see what it needs:\n  graph-host caps suggest a/long/path/to/a/graph.yaml\n"
        );
    }

    #[test]
    fn an_error_says_what_and_then_what_to_do() {
        let error =
            Error::denied("refused\n- node `a`: not permitted").help("look: graph-host caps suggest g.yaml");
        let shown = anstream::adapter::strip_str(&render(&WordedError(&error), 80)).to_string();
        assert_eq!(
            shown,
            "error: refused\n  - node `a`: not permitted\nhelp: look: graph-host caps suggest g.yaml\n"
        );
    }
}
