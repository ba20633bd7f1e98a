//! Log lines of components.

use serde::{Deserialize, Serialize};

/// The importance of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// Every step of the work.
    Trace,
    /// Details that help to find a fault.
    Debug,
    /// For the user who watches the run.
    Info,
    /// Something may be wrong.
    Warn,
    /// A failure that the component reports, next to its result.
    Error,
}

impl LogLevel {
    /// The levels by name, the least important first.
    pub const CHOICES: [(&'static str, Self); 5] = [
        ("trace", Self::Trace),
        ("debug", Self::Debug),
        ("info", Self::Info),
        ("warn", Self::Warn),
        ("error", Self::Error),
    ];

    /// Returns the name of the level in logs, in lower case.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// A log line of a component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// The importance.
    pub level: LogLevel,
    /// The line, its control characters escaped.
    pub message: String,
}
