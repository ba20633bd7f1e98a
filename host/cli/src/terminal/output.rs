//! Output of commands: results on stdout, everything else on stderr, colours on terminals only.

use std::fmt::{Display, Write as _};
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use anstyle::{AnsiColor, Style};
use graph_core::diagnostic::{block, is_invisible, printable_lines, turns};
use serde_json::{Value, json};

use crate::terminal::json_document::{self, Document};
use crate::terminal::typed::in_named_project;
use crate::terminal::width::{width, wrapped};
use crate::terminal::{exit, live_line, remedies, report};
use graph_runtime::error::{Error, Result};

/// Text of the frame, such as labels and units.
pub const DIM: Style = Style::new().dimmed();
/// Names.
pub const BOLD: Style = Style::new().bold();
/// Success.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// Warnings.
pub const CAUTION: Style = AnsiColor::Yellow.on_default();
/// Failures.
pub const BAD: Style = AnsiColor::Red.on_default().bold();

/// Puts a text between a style's escape sequences; the printing function decides whether they are written.
pub fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Escapes JSON text for terminals: control characters and those that change the direction of writing; if stdout is a terminal, also
/// invisible characters. Line breaks can only be layout in JSON, and stay.
pub fn json_for_terminals(text: String) -> String {
    static IS_TERMINAL: LazyLock<bool> = LazyLock::new(|| io::stdout().is_terminal());
    escaped_json(text, if *IS_TERMINAL { is_invisible } else { turns })
}

/// Escapes control characters and those that `is_hidden` selects in JSON text. The JSON value stays the same.
fn escaped_json(text: String, is_hidden: fn(char) -> bool) -> String {
    if text.is_ascii() {
        // `serde_json` escapes everything below the space; of ASCII, DEL is left.
        return if text.contains('\u{7f}') { text.replace('\u{7f}', "\\u007f") } else { text };
    }
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if (character.is_control() && character != '\n') || is_hidden(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a string does not fail.
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(character);
        }
    }
    escaped
}

/// Converts an error to the document that `--json` prints.
pub fn error_document(error: &Error) -> Value {
    let message = error.worded(remedies::words);
    let message = in_named_project(&message);
    let mut members =
        json!({ "code": error.code(), "exit": exit::of_error(error).code(), "message": message });
    if let Some(help) = remedies::of_error(error) {
        members["help"] = Value::from(in_named_project(&help));
    }
    if let Some(Value::Object(details)) = error.more(remedies::words) {
        for (key, value) in details {
            members[key] = value;
        }
    }
    if let Some(command) = error.remedy().and_then(remedies::command) {
        members["command"] = Value::from(in_named_project(&command));
    }
    json!({ "error": members })
}

/// `true` if an error has cut short a JSON document on stdout: the error is then not printed as a second document.
static DOCUMENT_HAS_BEGUN: AtomicBool = AtomicBool::new(false);

/// Form of a command's output.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    json: bool,
    /// `true` if documents are on one line each, after a stream of lines.
    lines: bool,
}

impl Output {
    /// Creates an output; with `json`, stdout gets one JSON document and nothing else.
    pub const fn new(json: bool) -> Self {
        Self { json, lines: false }
    }

    /// With `lines`, stdout is a stream of JSON lines: nothing is printed there for people, and the command's document is
    /// its last line.
    #[must_use]
    pub const fn in_lines(self, lines: bool) -> Self {
        Self { lines, ..self }
    }

    /// Returns whether stdout is a stream of JSON lines.
    pub const fn is_in_lines(self) -> bool {
        self.lines
    }

    /// Prints a value as one line of JSON that is safe to show.
    pub fn json_line(self, value: &Value) -> Result<()> {
        let line = json_for_terminals(value.to_string());
        live_line::above(|| quiet_pipe(writeln!(io::stdout().lock(), "{line}")))
    }

    /// Returns whether stdout gets one JSON document.
    pub const fn is_json(self) -> bool {
        self.json
    }

    /// Returns whether stdout is a terminal on which a person reads text.
    pub fn is_read_by_people(self) -> bool {
        !self.json && io::stdout().is_terminal()
    }

    /// Width of tables on stdout; `None` for any width, if neither a terminal nor `COLUMNS` limits it.
    pub fn table_width(self) -> Option<usize> {
        (io::stdout().is_terminal() || std::env::var_os("COLUMNS").is_some()).then(width)
    }

    /// Returns whether a person can be asked: stdin and stderr are terminals, and the output is not JSON.
    pub fn can_ask(self) -> bool {
        !self.json && io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// Asks a question on stderr and reads a line from stdin, trimmed; empty at the end of stdin.
    pub fn ask_line(self, question: &str) -> Result<String> {
        live_line::above(|| {
            let _ = write!(anstream::stderr().lock(), "{question} ");
        });
        let mut line = String::new();
        io::stdin()
            .read_line(&mut line)
            .map_err(|error| Error::storage(format!("the answer cannot be read: {error}")))?;
        Ok(line.trim().to_owned())
    }

    /// Prints the command's JSON document.
    pub fn document(self, value: &impl serde::Serialize) -> Result<()> {
        quiet_pipe(json_document::write(value, io::stdout().lock(), !self.lines))
    }

    /// Prints the command's JSON document while its lists are produced.
    pub fn document_in_pieces(self, document: Document<'_>) -> Result<()> {
        let (written, made) = match document.write(io::stdout().lock(), !self.lines) {
            Ok(made) => (Ok(()), made),
            Err(error) => (Err(error), Ok(())),
        };
        if made.is_err() {
            DOCUMENT_HAS_BEGUN.store(true, Ordering::Relaxed);
        }
        quiet_pipe(written).and(made)
    }

    /// Prints a report: as a JSON document with `--json`, else as the text that `render` returns.
    pub fn show(self, report: &impl serde::Serialize, render: impl FnOnce() -> String) -> Result<()> {
        if self.json {
            let value = serde_json::to_value(report)
                .map_err(|error| Error::storage(format!("the result cannot be written as JSON: {error}")))?;
            self.document(&value)
        } else {
            self.line(render())
        }
    }

    /// Prints a line of the result, for people. Styles are dropped where stdout is no terminal, or with `NO_COLOR`.
    pub fn line(self, text: impl Display) -> Result<()> {
        live_line::above(|| quiet_pipe(writeln!(anstream::stdout().lock(), "{text}")))
    }

    /// Writes a text for a program or a file unchanged, without a line break.
    pub fn unchanged(self, text: &str) -> Result<()> {
        live_line::above(|| {
            let mut stdout = io::stdout().lock();
            quiet_pipe(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()))
        })
    }

    /// Prints a line about what is happening, on stderr.
    pub fn note(self, text: impl Display) {
        // If stderr is closed, the line is lost.
        live_line::above(|| {
            let _ = writeln!(anstream::stderr().lock(), "{}", in_named_project(&text.to_string()));
        });
    }

    /// Prints a warning on stderr.
    pub fn warn(self, text: impl Display) {
        let text = text.to_string();
        let text = in_named_project(&text);
        // The text is wrapped for a terminal only: programs get its lines as they are, with all but the first one indented.
        let text = if io::stderr().is_terminal() {
            wrapped(&format!("warning: {}", printable_lines(&text)), width(), "  ")
        } else {
            format!("warning: {}", block(&text, "  "))
        };
        self.note(text.replacen("warning:", &styled(CAUTION, "warning:"), 1));
    }

    /// Prints the error that ended the command, in the form of this output.
    pub fn error(self, error: &Error) {
        // If the document cannot be written to stdout, the error is reported on stderr.
        let is_document = self.json && !DOCUMENT_HAS_BEGUN.load(Ordering::Relaxed);
        if !is_document || self.document(&error_document(error)).is_err() {
            match error.diagnostic() {
                Some(diagnostic) => self.report(diagnostic),
                None => self.report(&report::WordedError(error)),
            }
        }
    }

    /// Prints a diagnostic with its snippets and help on stderr.
    pub fn report(self, diagnostic: &dyn miette::Diagnostic) {
        let text = report::render(diagnostic, width());
        live_line::above(|| {
            let _ = write!(anstream::stderr().lock(), "{text}");
        });
    }
}

/// Returns whether stderr shows colours.
pub(crate) fn colours() -> bool {
    anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never
}

/// Treats a closed pipe as success: its reader has seen enough.
fn quiet_pipe(written: io::Result<()>) -> Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Error::storage(format!("stdout cannot be written: {error}"))),
        Ok(()) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_line_steers_a_terminal() {
        let value = json!({ "a\u{9b}": "x\u{1b}[2J\u{7f}\u{85}\u{202e}é" });
        let line = json_for_terminals(value.to_string());
        assert_eq!(line, r#"{"a\u009b":"x\u001b[2J\u007f\u0085\u202eé"}"#);
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap_or_default(), value);
        assert_eq!(json_for_terminals(json!("\u{7f}").to_string()), r#""\u007f""#);
    }

    #[test]
    fn a_terminal_shows_what_nobody_sees_and_a_program_reads_the_bytes_as_they_are() {
        let text = json!({ "a\u{e0041}": "\u{ad}\u{fe0f}x" }).to_string();
        assert_eq!(escaped_json(text.clone(), turns), text);
        let shown = escaped_json(text.clone(), is_invisible);
        assert_eq!(shown, r#"{"a\udb40\udc41":"\u00ad\ufe0fx"}"#);
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        assert_eq!(read(&shown), read(&text));
    }
}
