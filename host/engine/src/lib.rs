//! Runs components: compiles them, links each with what it was granted and nothing else, meters and bounds every call,
//! and says how a call ended. The only crate that names wasmtime.
//!
//! Component bytes enter as [`graph_core::trust::VerifiedComponent`] alone. A call never ends in an error of the host
//! for something that a component can cause: [`CallReport`] says what happened.

#[cfg(feature = "bench")]
#[doc(hidden)]
pub mod bare;
mod bindings;
mod cache;
mod call;
mod classify;
mod compile;
mod config;
mod convert;
mod describe;
mod engine;
mod error;
mod host;
mod interface;
mod journal;
mod limiter;
mod prepare;
mod services;
mod state;
mod structure;
mod ticker;

pub use cache::{CacheFolder, CachePolicy, CacheStatus, CachedComponent};
pub use call::{Call, CallReport, Classification};
pub use compile::{
    COMPILE_ARGUMENT, CompileError, CompileLimits, CompileObserver, Compiler, compile_for_parent,
};
pub use config::EngineConfig;
pub use engine::{Engine, LoadedComponent};
pub use error::{DescribeError, EngineError, LoadError, MissingInterface, PrepareError};
pub use host::http::{Resolver, Resolving, SecretError, SystemResolver};
pub use host::output::{EventRecord, Level, LogLine, Observer};
pub use interface::{Import, kinds_for};
pub use journal::Journal;
pub use prepare::PreparedNode;
pub use services::{Calling, Hit, Knowledge, KnowledgeError, Services, ToolCall, ToolReport, Tools};
pub use structure::{Exceeded, Metric};
