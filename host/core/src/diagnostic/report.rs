//! One problem, and all problems of one document.

use std::cell::RefCell;
use std::fmt;

use serde::Serialize;

use super::codes::Code;
use super::source::Source;
use super::text::{printable, same_length, visible};

/// A place in a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Span {
    /// The byte at which it starts, from 0.
    pub start: usize,
    /// The byte after it, at or after `start`.
    pub end: usize,
    /// The line of `start`, from 1; 0 for a place outside any document.
    pub line: usize,
    /// The column of `start` in characters, from 1; 0 for a place outside any document.
    pub column: usize,
}

impl Span {
    /// The position of a problem outside any document.
    pub const NONE: Self = Self { start: 0, end: 0, line: 0, column: 0 };

    /// Returns the place of the bytes `start..end` of a text. Offsets beyond the text, or inside a character, are moved to the nearest
    /// place before them.
    pub fn locate(text: &str, start: usize, end: usize) -> Self {
        let start = text.floor_char_boundary(start);
        let end = text.floor_char_boundary(end).max(start);
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        Self { start, end, line, column: before[line_start..].chars().count() + 1 }
    }

    /// Returns the position, shortened to its start if it is longer than 60 bytes: a mapping of a hundred lines is marked at its beginning.
    #[must_use]
    pub const fn first_line(self) -> Self {
        let end = if self.end > self.start + 60 { self.start } else { self.end };
        Self { end, ..self }
    }

    /// Checks whether the position is in a document.
    pub const fn is_known(&self) -> bool {
        self.line > 0
    }
}

/// The severity of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The document can be used.
    Warning,
    /// The document cannot be used.
    Error,
}

/// One problem in a document. All its texts are safe to show on a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    code: Code,
    severity: Severity,
    message: String,
    span: Span,
    label: Option<String>,
    also: Vec<(Span, String)>,
    help: Option<String>,
}

impl Diagnostic {
    /// Creates a problem that makes the document unusable.
    pub fn error(code: Code, span: Span, message: impl AsRef<str>) -> Self {
        Self::new(Severity::Error, code, span, message.as_ref())
    }

    /// Creates a problem with which the document remains usable.
    pub fn warning(code: Code, span: Span, message: impl AsRef<str>) -> Self {
        Self::new(Severity::Warning, code, span, message.as_ref())
    }

    fn new(severity: Severity, code: Code, span: Span, message: &str) -> Self {
        let message = visible(message).into_owned();
        Self { code, severity, message, span, label: None, also: Vec::new(), help: None }
    }

    /// Names the marked position in a few words.
    #[must_use]
    pub fn label(mut self, label: impl AsRef<str>) -> Self {
        self.label = Some(visible(label.as_ref()).into_owned());
        self
    }

    /// Adds a second place that belongs to the problem.
    #[must_use]
    pub fn also(mut self, span: Span, label: impl AsRef<str>) -> Self {
        self.also.push((span, visible(label.as_ref()).into_owned()));
        self
    }

    /// Adds the remedy.
    #[must_use]
    pub fn help(mut self, help: impl AsRef<str>) -> Self {
        self.help = Some(visible(help.as_ref()).into_owned());
        self
    }

    /// Returns the kind of problem, for `graph-host explain`.
    pub const fn code(&self) -> Code {
        self.code
    }

    /// Returns the severity.
    pub const fn severity(&self) -> Severity {
        self.severity
    }

    /// Returns the message, without position and help.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the part of the document with the problem.
    pub const fn span(&self) -> Span {
        self.span
    }

    /// Returns the remedy.
    pub fn help_text(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Diagnostic {}

impl miette::Diagnostic for Diagnostic {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.code.id()))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.severity {
            Severity::Warning => miette::Severity::Warning,
            Severity::Error => miette::Severity::Error,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = miette::LabeledSpan> + '_>> {
        if !self.span.is_known() {
            return None;
        }
        let marked = |span: &Span, label: Option<String>| {
            miette::LabeledSpan::new(label, span.start, span.end.saturating_sub(span.start))
        };
        let first = marked(&self.span, Some(self.label.clone().unwrap_or_else(|| "here".to_owned())));
        let others = self
            .also
            .iter()
            .filter(|(span, _)| span.is_known())
            .map(move |(span, label)| marked(span, Some(label.clone())));
        Some(Box::new(std::iter::once(first).chain(others)))
    }
}

/// Collects the problems of a document while it is read, so that a reader continues after the first.
#[derive(Debug, Default)]
pub struct Problems {
    list: RefCell<Vec<Diagnostic>>,
}

impl Problems {
    /// Largest number of problems: enough to work on, and a limit for hostile documents.
    pub const MOST: usize = 200;

    /// Creates an empty collection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a problem; beyond [`Self::MOST`] only a first error is added.
    pub fn push(&self, problem: Diagnostic) {
        let mut list = self.list.borrow_mut();
        let first_error = problem.severity == Severity::Error
            && !list.iter().any(|problem| problem.severity == Severity::Error);
        if list.len() < Self::MOST || first_error {
            list.push(problem);
        }
    }

    /// Checks whether further problems are dropped, so that a reader need not compute the best help for them.
    pub fn is_full(&self) -> bool {
        self.len() >= Self::MOST && self.has_errors()
    }

    /// Checks whether any of the problems is an error.
    pub fn has_errors(&self) -> bool {
        self.list.borrow().iter().any(|problem| problem.severity == Severity::Error)
    }

    /// Returns the number of problems so far. If it is the same before and after a part of a document, the part has none.
    pub fn len(&self) -> usize {
        self.list.borrow().len()
    }

    /// Checks whether there is no problem.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the problems, sorted by place, with their document.
    pub fn into_diagnostics(self, source_name: &str, text: &str) -> Diagnostics {
        Diagnostics::new(source_name, text, self.list.into_inner())
    }

    /// Returns the value and the warnings if there was no error; otherwise all problems.
    pub fn finish<T>(
        self,
        source_name: &str,
        text: &str,
        value: Option<T>,
    ) -> Result<(T, Diagnostics), Box<Diagnostics>> {
        let failed = self.has_errors();
        let diagnostics = self.into_diagnostics(source_name, text);
        match value {
            Some(value) if !failed => Ok((value, diagnostics)),
            _ => Err(Box::new(diagnostics)),
        }
    }
}

/// All problems of one document, sorted by place. As a `miette::Diagnostic` it shows each with its snippet.
#[derive(Clone)]
pub struct Diagnostics {
    source: Source,
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Creates a list of problems in the document of that name and text.
    pub fn new(source_name: &str, text: &str, mut list: Vec<Diagnostic>) -> Self {
        list.sort_by(|a, b| {
            (a.span.start, std::cmp::Reverse(a.severity), a.code.id(), &a.message).cmp(&(
                b.span.start,
                std::cmp::Reverse(b.severity),
                b.code.id(),
                &b.message,
            ))
        });
        list.dedup();
        let source =
            Source { name: printable(source_name).into_owned(), text: same_length(text).into_owned() };
        Self { source, list }
    }

    /// Returns the name of the document.
    pub fn source_name(&self) -> &str {
        &self.source.name
    }

    /// Returns the problems, sorted by place.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Diagnostic> {
        self.list.iter()
    }

    /// Returns the number of problems.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Checks whether there is no problem.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Checks whether any of the problems is an error.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|problem| problem.severity == Severity::Error)
    }

    /// Returns one line for each problem, `name:line:column: severity[code]: message`, as compilers do.
    pub fn to_lines(&self) -> Vec<String> {
        self.list
            .iter()
            .map(|problem| {
                let severity = match problem.severity {
                    Severity::Warning => "warning",
                    Severity::Error => "error",
                };
                let Span { line, column, .. } = problem.span;
                let place = if problem.span.is_known() { format!("{line}:{column}:") } else { String::new() };
                let message = problem.message.replace('\n', " ");
                format!("{}:{place} {severity}[{}]: {message}", self.source_name(), problem.code.id())
            })
            .collect()
    }

    /// Returns the problems as JSON, for `--json`.
    pub fn to_json(&self) -> serde_json::Value {
        let problems: Vec<_> = self
            .list
            .iter()
            .map(|problem| {
                serde_json::json!({
                    "code": problem.code.id(),
                    "severity": problem.severity,
                    "message": problem.message,
                    "line": problem.span.line,
                    "column": problem.span.column,
                    "offset": problem.span.start,
                    "length": problem.span.end.saturating_sub(problem.span.start),
                    "help": problem.help,
                })
            })
            .collect();
        serde_json::json!({ "file": self.source_name(), "problems": problems })
    }
}

impl fmt::Debug for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.to_lines()).finish()
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errors = self.list.iter().filter(|problem| problem.severity == Severity::Error).count();
        let warnings = self.list.len() - errors;
        let plural =
            |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        match (errors, warnings) {
            (0, 0) => write!(f, "{}: no problems", self.source_name()),
            (0, _) => write!(f, "{}: {}", self.source_name(), plural(warnings, "warning")),
            (_, 0) => write!(f, "{}: {}", self.source_name(), plural(errors, "error")),
            _ => write!(
                f,
                "{}: {} and {}",
                self.source_name(),
                plural(errors, "error"),
                plural(warnings, "warning")
            ),
        }
    }
}

impl std::error::Error for Diagnostics {}

impl miette::Diagnostic for Diagnostics {
    fn severity(&self) -> Option<miette::Severity> {
        Some(if self.has_errors() { miette::Severity::Error } else { miette::Severity::Warning })
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        Some(&self.source)
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn miette::Diagnostic> + 'a>> {
        Some(Box::new(self.list.iter().map(|problem| problem as &dyn miette::Diagnostic)))
    }
}
