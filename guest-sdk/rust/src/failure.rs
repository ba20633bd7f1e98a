//! Failures, and the questions that travel as one until the SDK turns them into an interrupt.

use std::fmt;

use serde_json::Value;

use crate::bindings::graph_host::node::types as wit;

pub use crate::bindings::graph_host::node::types::Category;

/// Why a node failed. `?` turns errors of JSON and of [`files`](crate::files) into one.
#[derive(Debug, PartialEq)]
pub struct Failure(pub(crate) Stop);

/// What ends a node before its result.
#[derive(Debug, PartialEq)]
pub(crate) enum Stop {
    /// A failure.
    Failed { category: Category, message: String, details: Option<Value> },
    /// A question that has no answer yet.
    Asked(Value),
}

impl Failure {
    /// A failure of a category, with a message for a person.
    pub fn new(category: Category, message: impl fmt::Display) -> Self {
        Self(Stop::Failed { category, message: message.to_string(), details: None })
    }

    /// It may work if it is tried again.
    pub fn transient(message: impl fmt::Display) -> Self {
        Self::new(Category::Transient, message)
    }

    /// It was asked too often.
    pub fn rate_limited(message: impl fmt::Display) -> Self {
        Self::new(Category::RateLimited, message)
    }

    /// It did not answer in its time.
    pub fn timeout(message: impl fmt::Display) -> Self {
        Self::new(Category::Timeout, message)
    }

    /// It will not work however often it is tried.
    pub fn permanent(message: impl fmt::Display) -> Self {
        Self::new(Category::Permanent, message)
    }

    /// What the node was given is not what it takes.
    pub fn invalid_input(message: impl fmt::Display) -> Self {
        Self::new(Category::InvalidInput, message)
    }

    /// The node lacks a capability.
    pub fn denied(message: impl fmt::Display) -> Self {
        Self::new(Category::Denied, message)
    }

    /// The node went over a limit.
    pub fn limit(message: impl fmt::Display) -> Self {
        Self::new(Category::Limit, message)
    }

    /// The node itself is broken.
    pub fn internal(message: impl fmt::Display) -> Self {
        Self::new(Category::Internal, message)
    }

    /// Adds details for a program.
    #[must_use]
    pub fn with_details(mut self, more: impl Into<Value>) -> Self {
        if let Stop::Failed { details, .. } = &mut self.0 {
            *details = Some(more.into());
        }
        self
    }

    /// What kind of failure it is; none if it is a question of [`Context::ask`](crate::Context::ask) that has no answer yet.
    pub fn category(&self) -> Option<Category> {
        match &self.0 {
            Stop::Failed { category, .. } => Some(*category),
            Stop::Asked(_) => None,
        }
    }

    /// What [`Failure::with_details`] added.
    pub fn details(&self) -> Option<&Value> {
        match &self.0 {
            Stop::Failed { details, .. } => details.as_ref(),
            Stop::Asked(_) => None,
        }
    }

    /// A failure of one of the host's functions, such as a call of another item. Details that are not JSON are left out.
    pub(crate) fn from_wit(failure: wit::Failure) -> Self {
        let details = failure.details.and_then(|details| serde_json::from_str(&details).ok());
        Self(Stop::Failed { category: failure.category, message: failure.message, details })
    }

    /// The answer that the component gives.
    pub(crate) fn into_wit(self) -> Result<wit::Outcome, wit::Failure> {
        match self.0 {
            Stop::Asked(question) => Ok(wit::Outcome::Interrupt(question.to_string())),
            Stop::Failed { category, message, details } => {
                Err(wit::Failure { category, message, details: details.map(|details| details.to_string()) })
            }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Stop::Failed { message, .. } => f.write_str(message),
            Stop::Asked(_) => f.write_str("a question is waiting for its answer"),
        }
    }
}

impl std::error::Error for Failure {}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::invalid_input(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        use std::io::ErrorKind;
        let category = match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Category::Denied,
            ErrorKind::NotFound
            | ErrorKind::InvalidInput
            | ErrorKind::NotADirectory
            | ErrorKind::IsADirectory => Category::InvalidInput,
            ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::ResourceBusy => Category::Transient,
            ErrorKind::TimedOut => Category::Timeout,
            _ => Category::Permanent,
        };
        Self::new(category, error)
    }
}
