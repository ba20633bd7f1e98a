//! Errors of this crate.

use graph_core::diagnostic::Diagnostics;
use graph_walker::walker::HandleError;
use serde_json::Value;

/// Refusal of a call. Nothing has changed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    /// Stable code.
    pub code: String,
    /// Description for people.
    pub message: String,
    /// Advice for people.
    pub help: Option<String>,
    /// Details for programs.
    pub details: Option<Value>,
}

impl Problem {
    pub(crate) fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), help: None, details: None }
    }

    /// Creates the problem of invalid stored records, signatures or digests.
    pub(crate) fn integrity(error: impl std::fmt::Display) -> Self {
        Self::new("integrity", error.to_string())
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }
}

impl From<Box<Diagnostics>> for Problem {
    fn from(problems: Box<Diagnostics>) -> Self {
        Self::new("invalid_document", problems.to_lines().join("\n")).details(problems.to_json())
    }
}

impl From<HandleError> for Problem {
    fn from(error: HandleError) -> Self {
        match &error {
            HandleError::Refused { code, message } => Self::new(code.as_str(), message.clone()),
            HandleError::Unfit { message, .. } => Self::new("integrity", message.clone()),
            HandleError::Illegal { .. } => Self::new("illegal_event", error.to_string()),
        }
    }
}
