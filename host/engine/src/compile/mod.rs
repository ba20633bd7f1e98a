//! Compiling components: in this process, or in a child process with limits on time and memory.

mod child;
mod parent;
mod slots;

pub use child::{COMPILE_ARGUMENT, compile_for_parent};
pub(crate) use parent::{MAX_CODE, compile_in_child};
pub(crate) use slots::CompileSlots;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// The process that compiles components.
#[derive(Clone, Debug, Default)]
pub enum Compiler {
    /// This process: for tests and measurements, and for trusted components.
    #[default]
    InProcess,
    /// A child process: this program is started with [`COMPILE_ARGUMENT`] as its only argument and an empty environment, and has to call
    /// [`compile_for_parent`] then.
    Child(PathBuf),
}

/// Limits of compiling one component in a child process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileLimits {
    /// Processor time, of all threads together; whole seconds.
    pub cpu: Duration,
    /// Additional processor time for each whole MiB of the component. The caps of its parts keep compilation fast: this limit ends
    /// unforeseen cases, and has to leave room for slow and busy machines.
    pub cpu_per_mib: Duration,
    /// Address space, in bytes.
    pub memory: u64,
    /// Wall time.
    pub deadline: Duration,
}

impl CompileLimits {
    /// Limits that suffice for components of 20 MB with an interpreter, on a machine that is a few times slower than most.
    pub const DEFAULT: Self = Self {
        cpu: Duration::from_secs(30),
        cpu_per_mib: Duration::from_secs(5),
        memory: 2 << 30,
        deadline: Duration::from_mins(5),
    };

    /// Returns the processor time for a component of that size, in bytes.
    fn cpu_for(&self, bytes: usize) -> Duration {
        let mib = u32::try_from(bytes >> 20).unwrap_or(u32::MAX);
        self.cpu.saturating_add(self.cpu_per_mib.saturating_mul(mib))
    }
}

impl Default for CompileLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Receives notifications about components that are compiled because no cache has them, which takes seconds.
pub trait CompileObserver: Send + Sync + fmt::Debug {
    /// Receives the start of a compilation.
    fn started(&self, _id: &str, _bytes: usize) {}

    /// Receives the end of a compilation, successful or not. There is one such call for each [`Self::started`].
    fn finished(&self, _id: &str) {}

    /// Receives a component that was not compiled within a second, or has waited for others that long.
    fn slow(&self, id: &str, bytes: usize);
}

/// The reason why compiling returned no code.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The component is invalid, or uses a disabled WebAssembly proposal: the reason, and the place in the bytes.
    #[error("{0}")]
    Invalid(String),
    /// The processor time exceeded the limit.
    #[error("compiling it took more than {} s of processor time", .0.as_secs())]
    Cpu(Duration),
    /// The wall time exceeded the limit.
    #[error("compiling it took longer than {} s", .0.as_secs())]
    Deadline(Duration),
    /// The memory exceeded the limit.
    #[error("compiling it took more than {} MiB of memory", .0 >> 20)]
    Memory(u64),
    /// The compiled code is too large.
    #[error("it compiles to more than {} MiB", .0 >> 20)]
    Output(u64),
    /// The compiler crashed; with the end of its output.
    #[error("the process that compiled it ended: {0}")]
    Crashed(String),
    /// The compiler could not be started.
    #[error("the process that compiles could not be started: {0}")]
    Start(#[source] std::io::Error),
}

impl CompileError {
    /// Checks whether compiling exceeded a limit.
    pub fn is_limit(&self) -> bool {
        matches!(self, Self::Cpu(_) | Self::Deadline(_) | Self::Memory(_) | Self::Output(_))
    }
}
