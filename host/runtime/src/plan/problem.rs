//! Problems that keep a node from running.

use graph_core::capability::Refusal;

use crate::error::{Error, Kind};
use crate::remedy::Remedy;

/// Something that keeps a node from running.
#[derive(Clone, Debug)]
pub struct PlanProblem {
    /// Kind of the error that it is reported as.
    pub kind: Kind,
    /// Stable code of the error.
    pub code: &'static str,
    /// The message, without the help.
    pub message: String,
    /// Remedy for the user.
    pub help: Option<Remedy>,
    /// The interface that is not granted.
    pub interface: Option<String>,
    /// The lines of a manifest that would grant it.
    pub manifest_lines: Option<String>,
}

impl From<Error> for PlanProblem {
    fn from(error: Error) -> Self {
        Self {
            kind: error.kind(),
            code: error.code(),
            message: error.message().to_owned(),
            help: error.remedy().cloned(),
            interface: None,
            manifest_lines: None,
        }
    }
}

impl From<Refusal> for PlanProblem {
    fn from(refusal: Refusal) -> Self {
        Self {
            kind: Kind::Denied,
            code: "denied",
            message: refusal.to_string(),
            help: None,
            interface: Some(refusal.interface),
            manifest_lines: refusal.manifest_lines,
        }
    }
}
