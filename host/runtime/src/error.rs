//! The error of every operation on graphs and runs: its kind, a stable code, a message, a remedy, and its source.

use std::fmt;
use std::path::Path;

use graph_core::diagnostic::{Diagnostics, printable_lines};
use graph_core::record::ErrorCode;
use graph_driver::DriveError;
use serde_json::Value;

use crate::remedy::{Remedy, RemedyWords};

/// Category of an error. Callers decide by it, and the command line derives its exit code from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The request is wrong, or something on this machine keeps it from being carried out.
    Usage,
    /// A document is invalid: a graph, a manifest, a trust store, a case, inputs.
    Invalid,
    /// A capability or a permission that is needed is missing.
    Denied,
    /// A run failed.
    Failed,
    /// More work, or more room, than a budget or a cap allows.
    Limit,
    /// Bytes are not what their digest or signature says, or a signature is missing or not trusted.
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

impl Kind {
    /// Returns the stable code of errors of this kind that have no code of their own.
    const fn code(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Invalid => "invalid_document",
            Self::Denied => "denied",
            Self::Failed => "node_failed",
            Self::Limit => "limit",
            Self::Integrity => "integrity",
            Self::NotFound => "not_found",
            Self::Storage | Self::Held => "storage",
            Self::TimedOut => "timed_out",
            Self::Internal => "internal",
        }
    }
}

/// Error of one operation. Kind, remedy and source follow from its variant.
pub(crate) trait OperationError: std::error::Error + Send + Sync + 'static {
    /// Returns the category.
    fn kind(&self) -> Kind;

    /// Returns the user's way out, if there is one.
    fn remedy(&self) -> Option<Remedy> {
        None
    }
}

impl<E: OperationError> From<E> for Error {
    fn from(error: E) -> Self {
        let made = Self::new(error.kind(), error.kind().code(), error.to_string());
        let made = match error.remedy() {
            Some(remedy) => made.help(remedy),
            None => made,
        };
        made.caused_by(error)
    }
}

type RelatedDiagnostic = Box<dyn miette::Diagnostic + Send + Sync>;

type SourceError = Box<dyn std::error::Error + Send + Sync>;

/// The error of an operation: its kind, a stable code, a message, and a remedy.
///
/// A library has no commands: a program words the remedies, those within the message as well ([`Error::worded`]).
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: Kind,
    code: &'static str,
    message: String,
    remedy: Option<Remedy>,
    embedded: Vec<Embedded>,
    details: Option<Value>,
    related: Vec<RelatedDiagnostic>,
    source: Option<SourceError>,
}

/// A remedy that is a part of the message or of the details.
#[derive(Debug)]
struct Embedded {
    place: EmbeddedPlace,
    /// Text before each line of the remedy.
    lead: &'static str,
    remedy: Remedy,
}

/// Place of a remedy in an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EmbeddedPlace {
    /// After this number of bytes of the message.
    Message(usize),
    /// At the end of a text in the details, or in place of `null`: a JSON pointer.
    Details(String),
}

impl Embedded {
    fn text(&self, words: RemedyWords) -> String {
        let text = words(&self.remedy);
        if self.lead.is_empty() {
            return text;
        }
        text.trim_end().lines().flat_map(|line| [self.lead, line]).collect()
    }
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
            remedy: None,
            embedded: Vec::new(),
            details: None,
            related: Vec::new(),
            source: None,
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
        let made = match error.kind() {
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
        };
        made.caused_by(copy_of(error))
    }

    /// A file or folder that cannot be written.
    pub fn write(what: &str, path: &Path, error: &std::io::Error) -> Self {
        use std::io::ErrorKind as Io;
        let shown = path.display();
        // The rest would be the name of a temporary file, which means nothing to the user.
        let why = error.to_string();
        let why = why.split(" at path ").next().unwrap_or_default();
        let failure = Self::storage(format!("{what} {shown} cannot be written: {why}"));
        let made = match error.kind() {
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
        };
        made.caused_by(copy_of(error))
    }

    /// Adds a remedy: what the user can do about the error.
    #[must_use]
    pub fn help(mut self, remedy: impl Into<Remedy>) -> Self {
        self.0.remedy = Some(remedy.into());
        self
    }

    /// Puts a remedy into the message or the details, with `lead` before each of its lines.
    #[must_use]
    pub(crate) fn embed(mut self, place: EmbeddedPlace, lead: &'static str, remedy: Remedy) -> Self {
        self.0.embedded.push(Embedded { place, lead, remedy });
        self
    }

    /// Adds the error that this one follows from.
    #[must_use]
    pub fn caused_by(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.0.source = Some(Box::new(source));
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

    /// Puts the name of the file that the error is about in front of the message.
    #[must_use]
    pub fn within(mut self, file: &str) -> Self {
        let before = self.0.message.len();
        self.0.message = format!("{file}: {}", self.0.message);
        let moved = self.0.message.len() - before;
        for embedded in &mut self.0.embedded {
            if let EmbeddedPlace::Message(at) = &mut embedded.place {
                *at += moved;
            }
        }
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

    /// The message, without remedies.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the message with the remedies that are parts of it.
    pub fn worded(&self, words: RemedyWords) -> String {
        let mut worded = String::new();
        let mut rest = 0;
        for embedded in &self.0.embedded {
            let EmbeddedPlace::Message(at) = embedded.place else { continue };
            worded.push_str(self.0.message.get(rest..at).unwrap_or_default());
            worded.push_str(&embedded.text(words));
            rest = at;
        }
        worded.push_str(self.0.message.get(rest..).unwrap_or_default());
        worded
    }

    /// Returns what the user can do about the error, if anything is known.
    pub fn remedy(&self) -> Option<&Remedy> {
        self.0.remedy.as_ref()
    }

    /// Returns the diagnostic of a document that the error consists of: the only related one, if its text is the message.
    pub fn diagnostic(&self) -> Option<&dyn miette::Diagnostic> {
        match self.0.related.as_slice() {
            [only] if only.to_string() == self.0.message => Some(&**only),
            _ => None,
        }
    }

    /// Returns the details that [`Error::details`] added for programs, with the remedies that are parts of them.
    pub fn more(&self, words: RemedyWords) -> Option<Value> {
        let mut details = self.0.details.clone()?;
        for embedded in &self.0.embedded {
            let EmbeddedPlace::Details(pointer) = &embedded.place else { continue };
            if let Some(value) = details.pointer_mut(pointer) {
                let before = value.as_str().unwrap_or_default();
                *value = Value::from(format!("{before}{}", embedded.text(words)));
            }
        }
        Some(details)
    }
}

/// Copies an error of the operating system, which cannot be cloned.
fn copy_of(error: &std::io::Error) -> std::io::Error {
    match error.raw_os_error() {
        Some(code) => std::io::Error::from_raw_os_error(code),
        None => std::io::Error::new(error.kind(), error.to_string()),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable_lines(&self.0.message))
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn std::error::Error + 'static))
    }
}

impl miette::Diagnostic for Error {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let help = self.0.remedy.as_ref().and_then(Remedy::advice)?;
        Some(Box::new(printable_lines(help).into_owned()))
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

    /// Makes the error of a store; `storage` is the error of its medium, after which data may still be readable.
    fn of_storage(
        kind: Kind,
        code: ErrorCode,
        error: &dyn fmt::Display,
        storage: Option<&graph_store::StorageError>,
    ) -> Self {
        use graph_store::ReadableData;
        let made = Self::new(kind, code.as_str(), error.to_string());
        match storage.and_then(graph_store::StorageError::readable) {
            Some(ReadableData::OtherRuns) => made.continued(", and ", Remedy::ListRuns),
            Some(ReadableData::BeforeDamage) => made.continued(": ", Remedy::VerifyExtent),
            Some(ReadableData::Described(_)) | None => made,
        }
    }

    /// Makes the error of a resume with a changed graph whose channels cannot hold their values.
    pub(crate) fn unfit(message: &str, run: &str, updates: &[(String, Value)]) -> Self {
        let remedy = Remedy::OverwriteChannels { run: run.to_owned(), updates: updates.to_vec() };
        Self::of_run(ErrorCode::Integrity, message).continued("\n", remedy)
    }

    /// Puts a remedy at the end of the message, after `lead`.
    fn continued(self, lead: &'static str, remedy: Remedy) -> Self {
        let end = EmbeddedPlace::Message(self.0.message.len());
        self.embed(end, lead, remedy)
    }
}

macro_rules! from_store {
    ($($error:ty),* $(,)?) => {$(
        impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::of_storage(error.code().into(), error.code(), &error, error.storage()).caused_by(error)
            }
        }
    )*};
}

from_store!(
    graph_store::CommitError,
    graph_store::ReadError,
    graph_store::RemoveError,
    graph_store::SnapshotError,
);

impl From<graph_store::StorageError> for Error {
    fn from(error: graph_store::StorageError) -> Self {
        Self::of_storage(error.code().into(), error.code(), &error, Some(&error)).caused_by(error)
    }
}

impl From<graph_store::OpenError> for Error {
    fn from(error: graph_store::OpenError) -> Self {
        let made = Self::of_storage(error.code().into(), error.code(), &error, error.storage());
        let made = match &error {
            graph_store::OpenError::Altered { .. } => made.continued("; ", Remedy::ExportRun),
            _ => made,
        };
        made.caused_by(error)
    }
}

impl From<graph_store::AcquireError> for Error {
    fn from(error: graph_store::AcquireError) -> Self {
        let kind = match error {
            graph_store::AcquireError::Held { .. } => Kind::Held,
            _ => error.code().into(),
        };
        Self::of_storage(kind, error.code(), &error, error.storage()).caused_by(error)
    }
}

impl From<graph_store::ResolveError> for Error {
    fn from(error: graph_store::ResolveError) -> Self {
        use graph_store::ResolveError as Unresolved;
        let made = Self::of_storage(error.code().into(), error.code(), &error, error.storage());
        let made = match &error {
            Unresolved::NotFound { .. } => made.continued(": ", Remedy::ListRuns),
            Unresolved::Inside { name, .. } => {
                made.continued("; ", Remedy::SeeConversation { run: name.clone() })
            }
            _ => made,
        };
        made.caused_by(error)
    }
}

impl From<graph_store::CreateRunError> for Error {
    fn from(error: graph_store::CreateRunError) -> Self {
        match error {
            // The store itself works: the caller chose an id that is taken.
            graph_store::CreateRunError::Exists { .. } => Self::usage(error.to_string()).caused_by(error),
            error => {
                Self::of_storage(error.code().into(), error.code(), &error, error.storage()).caused_by(error)
            }
        }
    }
}

impl From<graph_store::ImportError> for Error {
    fn from(error: graph_store::ImportError) -> Self {
        match error {
            graph_store::ImportError::Create(error) => error.into(),
            error => {
                Self::of_storage(error.code().into(), error.code(), &error, error.storage()).caused_by(error)
            }
        }
    }
}

impl From<Box<Diagnostics>> for Error {
    fn from(diagnostics: Box<Diagnostics>) -> Self {
        let details = diagnostics.to_json();
        Self::invalid(diagnostics.to_string()).details(details).related(*diagnostics)
    }
}

/// Returns the remedy of a resume that the walker refuses.
fn remedy_of(code: ErrorCode) -> Option<Remedy> {
    match code {
        ErrorCode::AnswerNeeded => Some(Remedy::AnswerQuestion),
        ErrorCode::AmbiguousAnswer => Some(Remedy::NameQuestions),
        ErrorCode::UnknownInterrupt => Some(Remedy::ListQuestions),
        _ => None,
    }
}

impl From<DriveError> for Error {
    fn from(error: DriveError) -> Self {
        let made = match &error {
            DriveError::Refused { code, message } => {
                let refused = Self::of_run(*code, message.as_str());
                match remedy_of(*code) {
                    Some(remedy) => refused.help(remedy),
                    None => refused,
                }
            }
            DriveError::Unfit { message, run, updates } => Self::unfit(message, run, updates),
            DriveError::Storage(message) => Self::storage(message.as_str()),
            DriveError::Lost(message) => Self::storage(message.as_str()).help(Remedy::FollowRun),
            DriveError::Fault(_) => Self::new(Kind::Internal, "internal", error.to_string()),
        };
        made.caused_by(error)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::error::Error as _;

    use serde_json::json;

    use super::*;

    fn named(remedy: &Remedy) -> String {
        remedy.advice().map_or_else(|| format!("{remedy:?}"), str::to_owned)
    }

    #[test]
    fn an_error_of_a_file_has_that_of_the_system_as_its_source() {
        let denied = std::io::Error::from_raw_os_error(13);
        for error in [
            Error::read("the file", Path::new("a"), &denied),
            Error::write("the file", Path::new("a"), &denied),
        ] {
            let source = error.source().and_then(|source| source.downcast_ref::<std::io::Error>()).unwrap();
            assert_eq!(source.raw_os_error(), Some(13), "{error}");
        }
        let made = std::io::Error::new(std::io::ErrorKind::FileTooLarge, "9 MiB");
        let error = Error::read("the file", Path::new("a"), &made);
        assert_eq!(error.message(), "the file a is larger than 9 MiB");
        let source = error.source().and_then(|source| source.downcast_ref::<std::io::Error>()).unwrap();
        assert_eq!((source.kind(), source.to_string().as_str()), (std::io::ErrorKind::FileTooLarge, "9 MiB"));
    }

    #[test]
    fn an_error_of_a_store_or_a_driver_is_the_source() {
        let error = Error::from(graph_store::CreateRunError::Exists { run: "run_1".into() });
        assert!(error.source().unwrap().is::<graph_store::CreateRunError>(), "{error}");
        let lost = DriveError::Lost("another process holds it".to_owned());
        let error = Error::from(lost.clone());
        assert_eq!(error.source().and_then(|source| source.downcast_ref()), Some(&lost));
        assert_eq!(error.remedy(), Some(&Remedy::FollowRun));
        assert!(Error::usage("x").source().is_none());
    }

    #[test]
    fn kind_and_remedy_of_an_operation_follow_from_the_variant_of_its_error() {
        use crate::history::archive_error::ArchiveError;
        let error = Error::from(ArchiveError::Texts { mebibytes: 256 });
        assert_eq!((error.kind(), error.code()), (Kind::Limit, "limit"));
        assert_eq!(error.remedy(), Some(&Remedy::RaiseTextLimit { mebibytes: 1024 }));
        assert!(error.source().unwrap().is::<ArchiveError>(), "{error}");
        let error = Error::from(ArchiveError::Write(std::io::Error::from_raw_os_error(28)));
        assert_eq!((error.kind(), error.remedy()), (Kind::Storage, None));
        let cause = error.source().and_then(std::error::Error::source);
        assert!(cause.unwrap().is::<std::io::Error>(), "{error}");
    }

    #[test]
    fn an_error_of_a_damaged_store_says_how_to_read_the_rest() {
        use graph_store::{ReadError, ReadableData, StorageError};
        let damaged = |readable| {
            let (location, reason) = ("runs.db".to_owned(), "a line is gone".to_owned());
            Error::from(ReadError::Storage(StorageError::Corrupt { location, reason, readable }))
        };
        let message = "runs.db is damaged: a line is gone; records before the damage can still be read";
        let error = damaged(ReadableData::BeforeDamage);
        assert_eq!(error.message(), message);
        assert_eq!(error.worded(named), format!("{message}: VerifyExtent"));
        assert!(damaged(ReadableData::OtherRuns).worded(named).ends_with("can still be read, and ListRuns"));
        assert!(damaged(ReadableData::Described("none".to_owned())).worded(named).ends_with("gone; none"));
    }

    #[test]
    fn channels_that_do_not_fit_are_data_of_a_remedy() {
        let updates = vec![("total".to_owned(), json!({ "overwrite": [5] }))];
        let (message, run) = ("the changed graph cannot take over".to_owned(), "r".to_owned());
        let error = Error::from(DriveError::Unfit { message, run, updates });
        assert_eq!((error.kind(), error.code()), (Kind::Integrity, "integrity"));
        assert!(
            error.worded(named).starts_with("the changed graph cannot take over\nOverwriteChannels"),
            "{error:?}"
        );
    }

    #[test]
    fn remedies_within_a_message_stand_where_they_were_put() {
        let error = Error::denied("refused\n- a\n- b")
            .details(json!({ "refusals": [{ "help": null }, { "message": "b", "help": "c" }], "d": 1 }))
            .embed(EmbeddedPlace::Message(11), "\n    ", "one\ntwo\n".into())
            .embed(EmbeddedPlace::Details("/refusals/0/help".to_owned()), "", "one\ntwo\n".into())
            .embed(EmbeddedPlace::Message(15), ": ", Remedy::ListKeys)
            .embed(EmbeddedPlace::Details("/refusals/1/help".to_owned()), "; ", Remedy::ListKeys)
            .embed(EmbeddedPlace::Details("/refusals/2/help".to_owned()), "; ", Remedy::ListKeys);
        assert_eq!(error.message(), "refused\n- a\n- b");
        assert_eq!(error.worded(named), "refused\n- a\n    one\n    two\n- b: ListKeys");
        let error = error.within("é.yaml");
        assert_eq!(error.worded(named), "é.yaml: refused\n- a\n    one\n    two\n- b: ListKeys");
        let details = json!({ "refusals": [{ "help": "one\ntwo\n" }, { "message": "b", "help": "c; ListKeys" }], "d": 1 });
        assert_eq!(error.more(named), Some(details));
    }

    #[test]
    fn a_place_outside_of_the_message_loses_nothing_of_it() {
        let error = Error::usage("é").embed(EmbeddedPlace::Message(1), "+", Remedy::ListKeys);
        assert!(error.worded(named).ends_with("ListKeys"), "{}", error.worded(named));
        let error = Error::usage("a").embed(EmbeddedPlace::Message(9), "+", Remedy::ListKeys);
        assert_eq!(error.worded(named), "+ListKeys");
    }
}
