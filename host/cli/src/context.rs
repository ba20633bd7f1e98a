//! What every command has at hand.

use graph_core::time::Timestamp;
use graph_driver::{Clock as _, SystemClock};
use graph_engine::Compiler;

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
    /// Who compiles components.
    pub compiler: Compiler,
}

impl Context {
    /// The context of a command line; `json` as with `--json`.
    pub fn new(json: bool, compiler: Compiler) -> Result<Self> {
        Ok(Self { output: Output::new(json), home: Home::find()?, compiler })
    }

    /// Waits for something asynchronous. What it has left running is given up, not waited for: a component may hang in a
    /// call of the system.
    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> Result<T> {
        let runtime = self.runtime()?;
        let value = runtime.block_on(future);
        runtime.shutdown_background();
        Ok(value)
    }

    /// A runtime for commands that run graphs.
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
    SystemClock.now()
}
