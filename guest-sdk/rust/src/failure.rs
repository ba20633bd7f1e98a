//! Failures, and questions, which are passed as failures until the SDK converts them to interrupts.

use std::fmt;

use serde_json::Value;

use crate::bindings::graph_host::node::types as wit;

pub use crate::bindings::graph_host::node::types::Category;

/// Failure of a node. `?` converts errors of JSON and of [`files`](crate::files) to one.
#[derive(Debug, PartialEq)]
pub struct Failure(pub(crate) Stop);

/// Reason for the end of a node without a result.
#[derive(Debug, PartialEq)]
pub(crate) enum Stop {
    /// A failure.
    Failed { category: Category, message: String, details: Option<Value> },
    /// A question that has no answer yet.
    Asked(Value),
}

impl Failure {
    /// Creates a failure of a category, with a message for a person.
    pub fn new(category: Category, message: impl fmt::Display) -> Self {
        Self(Stop::Failed { category, message: message.to_string(), details: None })
    }

    /// Creates a failure that can succeed when it is tried again.
    pub fn transient(message: impl fmt::Display) -> Self {
        Self::new(Category::Transient, message)
    }

    /// Creates a failure after too many requests.
    pub fn rate_limited(message: impl fmt::Display) -> Self {
        Self::new(Category::RateLimited, message)
    }

    /// Creates a failure after a time limit.
    pub fn timeout(message: impl fmt::Display) -> Self {
        Self::new(Category::Timeout, message)
    }

    /// Creates a failure that occurs again at each try.
    pub fn permanent(message: impl fmt::Display) -> Self {
        Self::new(Category::Permanent, message)
    }

    /// Creates a failure because of invalid input of the node.
    pub fn invalid_input(message: impl fmt::Display) -> Self {
        Self::new(Category::InvalidInput, message)
    }

    /// Creates a failure because the node lacks a capability.
    pub fn denied(message: impl fmt::Display) -> Self {
        Self::new(Category::Denied, message)
    }

    /// Creates a failure because the node has exceeded a limit.
    pub fn limit(message: impl fmt::Display) -> Self {
        Self::new(Category::Limit, message)
    }

    /// Creates a failure because of a bug of the node itself.
    pub fn internal(message: impl fmt::Display) -> Self {
        Self::new(Category::Internal, message)
    }

    /// Sets details for a program. They replace earlier ones.
    #[must_use]
    pub fn with_details(mut self, more: impl Into<Value>) -> Self {
        if let Stop::Failed { details, .. } = &mut self.0 {
            *details = Some(more.into());
        }
        self
    }

    /// Returns the category of the failure; `None` for a question of [`Context::ask`](crate::Context::ask) without an answer.
    pub fn category(&self) -> Option<Category> {
        match &self.0 {
            Stop::Failed { category, .. } => Some(*category),
            Stop::Asked(_) => None,
        }
    }

    /// Returns the details that [`Failure::with_details`] has set.
    pub fn details(&self) -> Option<&Value> {
        match &self.0 {
            Stop::Failed { details, .. } => details.as_ref(),
            Stop::Asked(_) => None,
        }
    }

    /// Converts a failure of a host function, such as a call of another item. Details that are not JSON are left out.
    pub(crate) fn from_wit(failure: wit::Failure) -> Self {
        let details = failure.details.and_then(|details| serde_json::from_str(&details).ok());
        Self(Stop::Failed { category: failure.category, message: failure.message, details })
    }

    /// Converts to the result of the component: a failure, or an interrupt for a question.
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
