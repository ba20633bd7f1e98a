//! Classifies the end of a call, by the types of wasmtime's errors if they have any.

use graph_core::diagnostic::escape;
use graph_core::node::{Category, Failure};
use graph_core::record::journal::as_fault;
use graph_core::record::{JournalDifference, JournalEntry};
use wasmtime::Trap;
use wasmtime::component::ResourceTableError;
use wasmtime_wasi_http::FieldMapError;

use crate::call::Classification;
use crate::limiter::LimitReached;

/// An error of a component in a host call, with the category of the failure.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct GuestFault {
    category: Category,
    message: String,
    /// `true` if a figure of the budget of language models does not suffice.
    is_of_models: bool,
}

impl GuestFault {
    pub(crate) fn new(category: Category, message: String) -> Self {
        Self { category, message, is_of_models: false }
    }

    /// Returns the end of the attempt in a journal entry; `None` if the entry is an answer.
    pub(crate) fn from_entry(entry: &JournalEntry) -> Option<Self> {
        let failure = as_fault(&entry.result.0).filter(|_| !entry.ok)?;
        Some(Self { is_of_models: entry.shortage().is_some(), ..failure.into() })
    }
}

impl From<Failure> for GuestFault {
    fn from(failure: Failure) -> Self {
        Self::new(failure.category, failure.message)
    }
}

/// Returns the classification of an error of a call, and the failure for the graph.
pub(crate) fn classify(error: &wasmtime::Error) -> (Classification, Failure) {
    if let Some(limit) = error.downcast_ref::<LimitReached>() {
        return match limit {
            LimitReached::Memory { .. } | LimitReached::Table { .. } => over(Classification::Memory, limit),
            LimitReached::Deadline { .. } => {
                (Classification::Deadline, Failure::new(Category::Timeout, limit.to_string()))
            }
            LimitReached::Log { .. } | LimitReached::Random { .. } | LimitReached::Entries { .. } => {
                over(Classification::HostLimit, limit)
            }
        };
    }
    if let Some(difference) = error.downcast_ref::<JournalDifference>() {
        return (Classification::Difference, Failure::new(Category::Internal, difference.to_string()));
    }
    if let Some(fault) = error.downcast_ref::<GuestFault>() {
        if fault.category == Category::Limit {
            let models = fault.is_of_models;
            return over(if models { Classification::ModelBudget } else { Classification::HostLimit }, fault);
        }
        if fault.category == Category::Timeout {
            return (Classification::HostTimeout, Failure::new(fault.category, fault.message.clone()));
        }
        return (Classification::Trap, Failure::new(fault.category, fault.message.clone()));
    }
    if let Some(ResourceTableError::Full) = error.downcast_ref::<ResourceTableError>() {
        return over(Classification::HostLimit, &"it holds too many handles of the host at once");
    }
    if let Some(FieldMapError::TotalSizeTooBig | FieldMapError::TooManyFields) =
        error.downcast_ref::<FieldMapError>()
    {
        return over(Classification::HostLimit, &"its request has more header fields than one may have");
    }
    let root = error.root_cause().to_string();
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => over(Classification::Fuel, &"it used up its fuel"),
        Some(Trap::StackOverflow) => {
            over(Classification::Stack, &"it used up its stack: its calls nest too deeply")
        }
        Some(trap) => (
            Classification::Trap,
            Failure::new(Category::Internal, format!("it trapped: {}", describe_trap(*trap, &root))),
        ),
        None if is_out_of_memory(error) => (
            Classification::Trap,
            Failure::new(
                Category::Transient,
                "the host has no memory for another component at the moment: let fewer run at a time (`max_concurrency`), or give the \
                 host more (`ulimit -v`)",
            ),
        ),
        // wasmtime has no public type for these two errors.
        None if root.contains("fuel allocated for hostcalls") => {
            over(Classification::HostLimit, &"it handed more data to the host than one call may")
        }
        None if root.contains("resource table has no free keys") || root.contains("handle table") => {
            over(Classification::HostLimit, &"it holds too many handles at once")
        }
        None => (
            Classification::Trap,
            Failure::new(
                Category::Internal,
                format!("it broke the contract between component and host: {}", escape(&root)),
            ),
        ),
    }
}

/// Checks whether the operating system has refused memory for an instance.
fn is_out_of_memory(error: &wasmtime::Error) -> bool {
    let refused = |error: &std::io::Error| error.kind() == std::io::ErrorKind::OutOfMemory;
    error.chain().any(|cause| cause.downcast_ref::<std::io::Error>().is_some_and(refused))
        || error.root_cause().to_string().contains("Cannot allocate memory")
}

fn over(classification: Classification, what: &impl ToString) -> (Classification, Failure) {
    (classification, Failure::new(Category::Limit, what.to_string()))
}

fn describe_trap(trap: Trap, root: &str) -> String {
    match trap {
        Trap::UnreachableCodeReached => {
            "it reached an `unreachable` instruction, as a panic does; its log may say why".to_owned()
        }
        Trap::MemoryOutOfBounds => {
            format!("{} (calls that nest too deeply can end so, too)", escape(root))
        }
        _ => escape(root),
    }
}
