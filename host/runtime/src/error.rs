//! The error of every operation on graphs and runs: its kind, a stable code, a message, and help for the user.

use std::fmt;
use std::path::Path;

use graph_core::diagnostic::{Diagnostics, printable_lines};
use graph_core::record::ErrorCode;
use graph_driver::DriveError;
use serde_json::Value;

/// Category of an error. Callers decide by it, and the command line derives its exit code from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The request is wrong, or something on this machine keeps it from being carried out.
    Usage,
    /// A document is invalid: a graph, a manifest, a trust store, a case, inputs.
    Invalid,
    /// A capability, a permission or a signature that is needed is missing.
    Denied,
    /// A run failed.
    Failed,
    /// More work, or more room, than a budget or a cap allows.
    Limit,
    /// Bytes are not what their digest or signature says, or a signature is not trusted.
    Integrity,
    /// Something that was named does not exist.
    NotFound,
    /// A store, a file or a network cannot be used.
    Storage,
    /// Another process holds the run.
    Held,
    /// A wait ended at its deadline.
    TimedOut,
    /// A bug in the host.
    Internal,
}

impl From<ErrorCode> for Kind {
    fn from(code: ErrorCode) -> Self {
        match code {
            ErrorCode::NodeFailed
            | ErrorCode::ConflictingWrite
            | ErrorCode::InvalidUpdate
            | ErrorCode::NoEdgeMatched
            | ErrorCode::StalledBarrier => Self::Failed,
            ErrorCode::Denied => Self::Denied,
            ErrorCode::Limit => Self::Limit,
            ErrorCode::Finished
            | ErrorCode::AlreadyAnswered
            | ErrorCode::AmbiguousAnswer
            | ErrorCode::AnswerNeeded
            | ErrorCode::AnswerTooLate
            | ErrorCode::UnknownInterrupt => Self::Usage,
            ErrorCode::NotFound => Self::NotFound,
            ErrorCode::InvalidDocument => Self::Invalid,
            ErrorCode::Integrity => Self::Integrity,
            ErrorCode::Storage => Self::Storage,
        }
    }
}

type Source = Box<dyn miette::Diagnostic + Send + Sync>;

/// The error of an operation: its kind, a stable code, a message and help for the user.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: Kind,
    code: &'static str,
    message: String,
    help: Option<String>,
    details: Option<Value>,
    related: Vec<Source>,
}

/// The `Result` of this crate's operations: its error is an `Error` unless another type is named.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Limit of a text file, in bytes. It is higher than that of documents, so that the reader of a document reports its own limit.
pub const LARGEST_TEXT: u64 = 16 << 20;

impl Error {
    /// An error of this kind. `code` is its stable name in `--json`, such as `not_found`.
    pub fn new(kind: Kind, code: &'static str, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            code,
            message: message.into(),
            help: None,
            details: None,
            related: Vec::new(),
        }))
    }

    /// An error in the request, with kind [`Kind::Usage`].
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, "usage", message)
    }

    /// A document that cannot be used, with kind [`Kind::Invalid`].
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Kind::Invalid, "invalid_document", message)
    }

    /// A budget or a cap that was exceeded, with kind [`Kind::Limit`].
    pub fn limit(message: impl Into<String>) -> Self {
        Self::new(Kind::Limit, "limit", message)
    }

    /// A missing capability, permission or signature, with kind [`Kind::Denied`].
    pub fn denied(message: impl Into<String>) -> Self {
        Self::new(Kind::Denied, "denied", message)
    }

    /// Something that was named and does not exist, with kind [`Kind::NotFound`].
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(Kind::NotFound, "not_found", message)
    }

    /// Bytes that do not match their digest or signature, with kind [`Kind::Integrity`].
    pub fn integrity(message: impl Into<String>) -> Self {
        Self::new(Kind::Integrity, "integrity", message)
    }

    /// A file, folder or store that cannot be read or written, with kind [`Kind::Storage`].
    pub fn storage(message: impl Into<String>) -> Self {
        Self::new(Kind::Storage, "storage", message)
    }

    /// A file that cannot be read. One that does not exist is [`Kind::NotFound`].
    pub fn read(what: &str, path: &Path, error: &std::io::Error) -> Self {
        use std::io::ErrorKind as Io;
        let shown = path.display();
        match error.kind() {
            Io::NotFound | Io::NotADirectory => Self::not_found(format!("{what} {shown} does not exist")),
            Io::PermissionDenied => {
                Self::storage(format!("{what} {shown} may not be read")).help("check its permissions")
            }
            Io::IsADirectory => Self::usage(format!("{what} {shown} is a folder, a file is needed")),
            Io::InvalidInput => Self::usage(format!("{what} {shown} is not a regular file")),
            Io::InvalidData => Self::invalid(format!("{what} {shown} is not text in UTF-8")),
            Io::FileTooLarge => {
                let largest = || format!("{} MiB", LARGEST_TEXT >> 20);
                let limit = error.get_ref().map_or_else(largest, ToString::to_string);
                Self::invalid(format!("{what} {shown} is larger than {limit}"))
            }
            _ => Self::storage(format!("{what} {shown} cannot be read: {error}")),
        }
    }

    /// A file or folder that cannot be written.
    pub fn write(what: &str, path: &Path, error: &std::io::Error) -> Self {
        use std::io::ErrorKind as Io;
        let shown = path.display();
        // The rest would be the name of a temporary file, which means nothing to the user.
        let why = error.to_string();
        let why = why.split(" at path ").next().unwrap_or_default();
        let failure = Self::storage(format!("{what} {shown} cannot be written: {why}"));
        match error.kind() {
            Io::AlreadyExists | Io::NotADirectory => {
                let why = "a file is where a folder would have to be";
                Self::storage(format!("{what} {shown} cannot be written: {why}")).help("name another place")
            }
            Io::IsADirectory => Self::usage(format!("{what} {shown} is a folder, a file is needed")),
            Io::PermissionDenied | Io::ReadOnlyFilesystem => {
                failure.help("make the folder writable, or work in another one")
            }
            Io::StorageFull | Io::QuotaExceeded => failure.help("free some space on that disk and try again"),
            Io::NotFound => {
                Self::storage(format!("{what} {shown} cannot be written: its folder does not exist"))
                    .help("make the folder first, or name another place")
            }
            _ => failure,
        }
    }

    /// Adds help: what the user can do about the error.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }

    /// Adds details for programs: the members of this object are added to the error in `--json`.
    #[must_use]
    pub fn details(mut self, details: Value) -> Self {
        self.0.details = Some(details);
        self
    }

    /// A diagnostic that is shown below the message.
    #[must_use]
    pub fn related(mut self, diagnostic: impl miette::Diagnostic + Send + Sync + 'static) -> Self {
        self.0.related.push(Box::new(diagnostic));
        self
    }

    /// Puts the path of the file that the error is about in front of the message.
    #[must_use]
    pub fn within(mut self, file: &Path) -> Self {
        let file = if file.as_os_str() == "-" { "<stdin>".to_owned() } else { crate::project::shown(file) };
        self.0.message = format!("{file}: {}", self.0.message);
        self
    }

    /// Returns the category of the error, from which an exit code follows.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The stable name of the error in `--json`, such as `not_found`.
    pub fn code(&self) -> &'static str {
        self.0.code
    }

    /// The message, without the help.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns what the user can do about the error, if anything is known.
    pub fn help_text(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// Returns the diagnostic to show: the only related one if its text is the message, else the error itself.
    pub fn diagnostic(&self) -> &dyn miette::Diagnostic {
        match self.0.related.as_slice() {
            [only] if only.to_string() == self.0.message => &**only,
            _ => self,
        }
    }

    /// The details that [`Error::details`] added for programs.
    pub fn more(&self) -> Option<&Value> {
        self.0.details.as_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable_lines(&self.0.message))
    }
}

impl std::error::Error for Error {}

impl miette::Diagnostic for Error {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.0
            .help
            .as_deref()
            .map(|help| Box::new(printable_lines(help).into_owned()) as Box<dyn fmt::Display>)
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn miette::Diagnostic> + 'a>> {
        if self.0.related.is_empty() {
            return None;
        }
        Some(Box::new(self.0.related.iter().map(|source| &**source as &dyn miette::Diagnostic)))
    }
}

impl Error {
    /// Makes an error under one of the codes of a run.
    pub fn of_run(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::new(code.into(), code.as_str(), message)
    }
}

macro_rules! from_store {
    ($($error:ty),* $(,)?) => {$(
        impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::of_run(error.code(), error.to_string())
            }
        }
    )*};
}

from_store!(
    graph_store::CommitError,
    graph_store::OpenError,
    graph_store::ReadError,
    graph_store::RemoveError,
    graph_store::ResolveError,
    graph_store::SnapshotError,
    graph_store::StorageError,
);

impl From<graph_store::AcquireError> for Error {
    fn from(error: graph_store::AcquireError) -> Self {
        let kind = match error {
            graph_store::AcquireError::Held { .. } => Kind::Held,
            _ => error.code().into(),
        };
        Self::new(kind, error.code().as_str(), error.to_string())
    }
}

impl From<graph_store::CreateRunError> for Error {
    fn from(error: graph_store::CreateRunError) -> Self {
        match error {
            // The store itself works: the caller chose an id that is taken.
            graph_store::CreateRunError::Exists { .. } => Self::usage(error.to_string()),
            error => Self::of_run(error.code(), error.to_string()),
        }
    }
}

impl From<graph_store::ImportError> for Error {
    fn from(error: graph_store::ImportError) -> Self {
        match error {
            graph_store::ImportError::Create(error) => error.into(),
            error => Self::of_run(error.code(), error.to_string()),
        }
    }
}

impl From<Box<Diagnostics>> for Error {
    fn from(diagnostics: Box<Diagnostics>) -> Self {
        let details = diagnostics.to_json();
        Self::invalid(diagnostics.to_string()).details(details).related(*diagnostics)
    }
}

/// Makes the error of a resume that the walker refuses, with the command to type instead.
fn refused(code: ErrorCode, message: String) -> Error {
    let error = Error::of_run(code, message);
    match code {
        ErrorCode::AnswerNeeded => {
            error.help("answer with --answer ANSWER, or --answer ID=ANSWER where several questions are open")
        }
        ErrorCode::AmbiguousAnswer => error.help("write each answer as --answer ID=ANSWER"),
        ErrorCode::UnknownInterrupt => {
            error.help("`graph-host runs show RUN` lists the open questions with their ids")
        }
        _ => error,
    }
}

impl From<DriveError> for Error {
    fn from(error: DriveError) -> Self {
        match error {
            DriveError::Refused { code, message } => refused(code, message),
            DriveError::Storage(message) => Self::storage(message),
            DriveError::Lost(message) => Self::storage(message).help(
                "what this process had not stored is dropped, and the other process continues the run: `graph-host runs show RUN` \
                 shows which one it is, and `graph-host runs watch RUN` follows it",
            ),
            DriveError::Fault(_) => Self::new(Kind::Internal, "internal", error.to_string()),
        }
    }
}
