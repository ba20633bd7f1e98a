//! The exit codes that graph-host publishes: a script may rely on them.

use std::process::ExitCode;

use graph_core::record::Status;
use graph_runtime::error::{Error, Kind};
use graph_walker::walker::Summary;

/// Outcome of a command as a shell sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Exit {
    /// Everything went well; a run completed, with or without handled errors.
    Ok = 0,
    /// The command line is wrong, or something on this machine kept the command from starting.
    Usage = 2,
    /// A document is invalid: a graph, a manifest, a trust store, a case, inputs.
    InvalidDocument = 3,
    /// A capability or a permission that is needed is missing.
    Denied = 4,
    /// A run failed; with `test` and `validate`, something did not pass.
    Failed = 5,
    /// A run waits for an answer, for a time or for an event.
    Interrupted = 6,
    /// A run has used up its steps, fuel or time; or a component is too much to compile.
    Limit = 7,
    /// Bytes are not what their digest or signature says, or a signature that is needed is missing.
    Integrity = 8,
    /// There is no such run, item, file, key or code.
    NotFound = 9,
    /// The store cannot be read or written, or another process holds the run or has taken it over.
    Storage = 10,
    /// The condition that a command waited for has not occurred in time.
    TimedOut = 124,
    /// Ctrl-C, or a cancelled or killed run.
    Cancelled = 130,
}

impl Exit {
    /// All exit codes, in rising order.
    pub const ALL: [Self; 12] = [
        Self::Ok,
        Self::Usage,
        Self::InvalidDocument,
        Self::Denied,
        Self::Failed,
        Self::Interrupted,
        Self::Limit,
        Self::Integrity,
        Self::NotFound,
        Self::Storage,
        Self::TimedOut,
        Self::Cancelled,
    ];

    /// The number that the process exits with.
    pub const fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

impl From<Kind> for Exit {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Usage => Self::Usage,
            Kind::Invalid => Self::InvalidDocument,
            Kind::Denied => Self::Denied,
            Kind::Failed | Kind::Internal => Self::Failed,
            Kind::Limit => Self::Limit,
            Kind::Integrity => Self::Integrity,
            Kind::NotFound => Self::NotFound,
            Kind::Storage | Kind::Held => Self::Storage,
            Kind::TimedOut => Self::TimedOut,
        }
    }
}

/// The exit code of an error.
pub fn of_error(error: &Error) -> Exit {
    error.kind().into()
}

/// Returns the exit code for the outcome of a run.
pub fn of_run(summary: &Summary) -> Exit {
    match summary.status {
        Status::Completed | Status::CompletedWithErrors => Exit::Ok,
        Status::Interrupted | Status::Waiting => Exit::Interrupted,
        Status::Limit => Exit::Limit,
        Status::Cancelled | Status::Killed => Exit::Cancelled,
        Status::Failed | Status::Running => {
            summary.error.as_ref().map_or(Exit::Failed, |error| Kind::from(error.code).into())
        }
    }
}
