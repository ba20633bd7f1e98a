//! What every command has at hand.

use graph_core::time::Timestamp;

use crate::error::{Error, Result};
use crate::home::Home;
use crate::output::Output;

/// What every command has at hand: how to speak, and where the user's things lie.
#[derive(Clone, Debug)]
pub struct Context {
    /// How to speak.
    pub output: Output,
    /// The user's space.
    pub home: Home,
}

impl Context {
    /// The context of a command line; `json` as with `--json`.
    pub fn new(json: bool) -> Result<Self> {
        Ok(Self { output: Output::new(json), home: Home::find()? })
    }

    /// A runtime for commands that run graphs. Its threads start when something is spread over them.
    pub fn runtime(&self) -> Result<tokio::runtime::Runtime> {
        tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .thread_name("graph-host")
            .build()
            .map_err(|error| Error::storage(format!("the threads that run tasks cannot be started: {error}")))
    }
}

/// The wall clock.
pub fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
