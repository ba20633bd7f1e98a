//! Errors of the engine's operations. Failures of a component during a call are not such errors: see [`crate::CallReport`].

use std::fmt;

use graph_core::capability::CapabilityKind;

use crate::compile::CompileError;
use crate::functions::FunctionsTooLarge;
use crate::structure::StructureError;

/// The engine could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// This machine, or this build of wasmtime, does not support the configuration.
    #[error("WebAssembly cannot run here: {0}")]
    Unsupported(String),
    /// The thread that enforces deadlines did not start.
    #[error("the thread that keeps deadlines could not be started")]
    Ticker(#[source] std::io::Error),
}

/// A component could not be loaded.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum LoadError {
    /// The component exceeds a cap on its structure, or a name in it is invalid.
    #[error("the component `{id}` is not compiled: {source}")]
    Structure { id: String, source: StructureError },
    /// The component cannot be compiled: it is invalid, exceeded a limit, or the compiler crashed.
    #[error("the component `{id}` cannot be compiled: {source}")]
    Compile { id: String, source: CompileError },
    /// The types of its functions are too large to be described.
    #[error("the functions of the component `{id}` are not listed: {full}")]
    Functions {
        id: String,
        /// The limit of the description.
        full: FunctionsTooLarge,
    },
}

impl LoadError {
    /// Checks whether a limit of this host was exceeded, rather than the component being broken.
    pub fn is_limit(&self) -> bool {
        match self {
            Self::Structure { source, .. } => matches!(source, StructureError::Exceeded(_)),
            Self::Functions { .. } => true,
            Self::Compile { source, .. } => source.is_limit(),
        }
    }
}

/// An interface that a component imports and was not granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingInterface {
    /// The interface with its version.
    pub interface: String,
    /// The capabilities, each of which would link it; empty if the host does not offer the interface at all.
    pub kinds: Vec<CapabilityKind>,
}

impl fmt::Display for MissingInterface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kinds.first() {
            Some(kind) => write!(f, "`{}` (needs a grant of `{kind}`)", self.interface),
            None => write!(f, "`{}` (which no grant offers)", self.interface),
        }
    }
}

/// A component could not be linked with its grant.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum PrepareError {
    /// The component imports more than it was granted.
    #[error("`{id}` imports what it was not granted: {}", list(.missing))]
    NotGranted {
        id: String,
        /// Every interface that is missing.
        missing: Vec<MissingInterface>,
    },
    /// The component is not a node, or imports a version of an interface that this host does not have.
    #[error("`{id}` does not fit this host: {message}")]
    WrongWorld {
        id: String,
        /// The difference.
        message: String,
    },
    /// The component is used as a node, and is not a node action.
    #[error("`{id}` is no node action: name one of its functions, as in `{id}#{example}`")]
    NoAction {
        id: String,
        /// A function that it exports.
        example: String,
    },
    /// The component does not export the named function, or exports it in a form that JSON cannot call.
    #[error("`{id}` {reason}")]
    Function {
        id: String,
        /// The reason.
        reason: String,
    },
    /// The types of its functions are too large to be described.
    #[error("the functions of `{id}` cannot be called: {full}")]
    Functions {
        id: String,
        /// The limit of the description.
        full: FunctionsTooLarge,
    },
    /// A granted folder cannot be opened.
    #[error("the folder {folder} that is granted to `{id}` cannot be opened: {source}")]
    Folder {
        id: String,
        /// The folder on the host.
        folder: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The path of a granted folder contains a link: the manifest does not name the folder that would be granted.
    #[error(
        "the folder {folder} that is granted to `{id}` leads to {target}, through the link {link}: the manifest has to name that folder"
    )]
    LinkedFolder {
        id: String,
        /// The folder on the host, as the manifest names it.
        folder: String,
        link: String,
        /// The target of the link.
        target: String,
    },
    /// A granted secret cannot be used.
    #[error("`{id}`: {source}")]
    Secret { id: String, source: crate::SecretError },
    /// The key of a granted language model cannot be used.
    #[error("`{id}` cannot ask the model `{model}`: its key: {source}")]
    ModelKey {
        id: String,
        /// The model's name in the manifest.
        model: String,
        source: crate::SecretError,
    },
}

fn list(missing: &[MissingInterface]) -> String {
    missing.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The description of a component could not be obtained.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum DescribeError {
    /// The component could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The component does not export `graph-host:node/action`.
    #[error("`{id}` is not a node: {message}")]
    WrongWorld {
        id: String,
        /// The export of the world that is missing or has another type.
        message: String,
    },
    /// `describe` did not return: it trapped, called an import, or exceeded a limit.
    #[error("`describe` of `{id}` did not return: {message}{}", told(.logged))]
    Failed {
        id: String,
        message: String,
        /// The last lines of its log and its standard error, shortened.
        logged: Vec<String>,
    },
    /// The answer is not a description.
    #[error("`describe` of `{id}` gave no usable answer: {message}")]
    Invalid {
        id: String,
        /// The reason.
        message: String,
    },
}

/// Formats the lines that a component logged before it failed, for the end of a message.
fn told(logged: &[String]) -> String {
    let lines: Vec<String> = logged.iter().map(|line| format!("\n  {line}")).collect();
    if lines.is_empty() { String::new() } else { format!("\nit logged:{}", lines.concat()) }
}
