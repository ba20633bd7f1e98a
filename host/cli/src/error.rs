//! The error at the edge: what a library error means to whoever typed the command.

use std::fmt;
use std::path::Path;

use graph_core::diagnostic::Diagnostics;
use graph_core::record::ErrorCode;
use serde_json::{Value, json};

use crate::exit::Exit;

type Source = Box<dyn miette::Diagnostic + Send + Sync>;

/// Why a command could not do what it was asked: an exit code, a stable name, a message and what to do about it.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    exit: Exit,
    code: &'static str,
    message: String,
    help: Option<String>,
    details: Option<Value>,
    related: Vec<Source>,
    after_document: bool,
}

/// What a command comes to.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of that exit code. `code` is its stable name in `--json`, such as `not_found`.
    pub fn new(exit: Exit, code: &'static str, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            exit,
            code,
            message: message.into(),
            help: None,
            details: None,
            related: Vec::new(),
            after_document: false,
        }))
    }

    /// A wrong command line.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "usage", message)
    }

    /// A document that cannot be used.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Exit::InvalidDocument, "invalid_document", message)
    }

    /// More work, or more room, than a budget or a cap allows.
    pub fn limit(message: impl Into<String>) -> Self {
        Self::new(Exit::Limit, "limit", message)
    }

    /// Something that is not allowed.
    pub fn denied(message: impl Into<String>) -> Self {
        Self::new(Exit::Denied, "denied", message)
    }

    /// Something that does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(Exit::NotFound, "not_found", message)
    }

    /// Bytes that are not what they should be.
    pub fn integrity(message: impl Into<String>) -> Self {
        Self::new(Exit::Integrity, "integrity", message)
    }

    /// A place that cannot be read or written.
    pub fn storage(message: impl Into<String>) -> Self {
        Self::new(Exit::Storage, "storage", message)
    }

    /// A file that cannot be read. One that does not exist is [`Exit::NotFound`].
    pub fn read(what: &str, path: &Path, error: &std::io::Error) -> Self {
        use std::io::ErrorKind as Kind;
        let shown = path.display();
        match error.kind() {
            Kind::NotFound | Kind::NotADirectory => Self::not_found(format!("{what} {shown} does not exist")),
            Kind::PermissionDenied => {
                Self::storage(format!("{what} {shown} may not be read")).help("check its permissions")
            }
            Kind::IsADirectory => Self::usage(format!("{what} {shown} is a folder, a file is needed")),
            Kind::InvalidInput => Self::usage(format!("{what} {shown} is not a regular file")),
            Kind::InvalidData => Self::invalid(format!("{what} {shown} is not text in UTF-8")),
            Kind::FileTooLarge => {
                let limit = crate::text_file::LARGEST >> 20;
                Self::invalid(format!("{what} {shown} is larger than {limit} MiB"))
            }
            _ => Self::storage(format!("{what} {shown} cannot be read: {error}")),
        }
    }

    /// A file or folder that cannot be written.
    pub fn write(what: &str, path: &Path, error: &std::io::Error) -> Self {
        use std::io::ErrorKind as Kind;
        let shown = path.display();
        // The name of a temporary file would follow, which says nothing to anybody.
        let why = error.to_string();
        let why = why.split(" at path ").next().unwrap_or_default();
        let failure = Self::storage(format!("{what} {shown} cannot be written: {why}"));
        match error.kind() {
            Kind::AlreadyExists | Kind::NotADirectory => {
                let why = "a file is where a folder would have to be";
                Self::storage(format!("{what} {shown} cannot be written: {why}")).help("name another place")
            }
            Kind::IsADirectory => Self::usage(format!("{what} {shown} is a folder, a file is needed")),
            Kind::PermissionDenied | Kind::ReadOnlyFilesystem => {
                failure.help("make the folder writable, or work in another one")
            }
            Kind::StorageFull | Kind::QuotaExceeded => {
                failure.help("free some space on that disk and try again")
            }
            Kind::NotFound => {
                Self::storage(format!("{what} {shown} cannot be written: its folder does not exist"))
                    .help("make the folder first, or name another place")
            }
            _ => failure,
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }

    /// More for a program: the members of this object join the error in `--json`.
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

    /// The file that it is about, before the message.
    #[must_use]
    pub fn within(mut self, file: &Path) -> Self {
        let file = if file.as_os_str() == "-" { "<stdin>".to_owned() } else { crate::project::shown(file) };
        self.0.message = format!("{file}: {}", self.0.message);
        self
    }

    /// The exit code.
    pub fn exit(&self) -> Exit {
        self.0.exit
    }

    /// The stable name.
    pub fn code(&self) -> &'static str {
        self.0.code
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The command's JSON document had begun: the error is no document of its own.
    #[must_use]
    pub fn after_document(mut self) -> Self {
        self.0.after_document = true;
        self
    }

    /// Whether the error ends a JSON document that had begun.
    pub fn is_after_document(&self) -> bool {
        self.0.after_document
    }

    /// What to do about it, if there is something to say.
    pub fn help_text(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// What is shown: the diagnostic alone where the error is nothing but that.
    pub fn diagnostic(&self) -> &dyn miette::Diagnostic {
        match self.0.related.as_slice() {
            [only] if only.to_string() == self.0.message => &**only,
            _ => self,
        }
    }

    /// The error as `--json` prints it.
    pub fn to_json(&self) -> Value {
        let mut error = json!({ "code": self.0.code, "exit": self.0.exit.code(), "message": self.0.message });
        if let Some(help) = &self.0.help {
            error["help"] = Value::from(help.as_str());
        }
        if let Some(Value::Object(details)) = &self.0.details {
            for (key, value) in details {
                error[key] = value.clone();
            }
        }
        json!({ "error": error })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::output::printable(&self.0.message))
    }
}

impl std::error::Error for Error {}

impl miette::Diagnostic for Error {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.0
            .help
            .as_deref()
            .map(|help| Box::new(crate::output::printable(help).into_owned()) as Box<dyn fmt::Display>)
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn miette::Diagnostic> + 'a>> {
        if self.0.related.is_empty() {
            return None;
        }
        Some(Box::new(self.0.related.iter().map(|source| &**source as &dyn miette::Diagnostic)))
    }
}

impl Error {
    /// An error under one of the codes of a run.
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
    graph_store::AcquireError,
    graph_store::CommitError,
    graph_store::OpenError,
    graph_store::ReadError,
    graph_store::RemoveError,
    graph_store::ResolveError,
    graph_store::SnapshotError,
    graph_store::StorageError,
);

impl From<graph_store::CreateRunError> for Error {
    fn from(error: graph_store::CreateRunError) -> Self {
        match error {
            // The store is well: the id was chosen badly.
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
