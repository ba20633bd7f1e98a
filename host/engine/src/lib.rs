//! Runs components: compiles them, links each with exactly its grant, meters and limits every call, and reports the end of a call. The only
//! crate that depends on wasmtime.
//!
//! Component bytes enter only as [`graph_core::trust::VerifiedComponent`]. Failures of a component in a call are not errors of the host:
//! they are in the [`CallReport`].
//!
//! One call, from bytes to a result:
//!
//! ```
//! use std::borrow::Cow;
//!
//! use graph_core::capability::EffectiveGrant;
//! use graph_core::limits::TaskLimits;
//! use graph_core::node::{Activation, Outcome};
//! use graph_core::time::Timestamp;
//! use graph_core::trust::{TrustStore, VerifiedComponent};
//! use graph_engine::{Call, Engine, EngineConfig, Journal, Services};
//! use serde_json::json;
//!
//! # async fn call() -> Result<(), Box<dyn std::error::Error>> {
//! let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/nodes/.ai/tools/examples/testkit.wasm");
//! let (bytes, envelope) = (std::fs::read(file)?, std::fs::read_to_string(format!("{file}.dsse.json"))?);
//! let trust = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/trust.yaml"))?;
//! let (trust, _) = TrustStore::from_yaml("trust.yaml", &trust).unwrap();
//! let now: Timestamp = "2026-06-01T00:00:00Z".parse()?;
//! let verified = VerifiedComponent::verify(bytes.into(), Some(&envelope), &trust, "examples/testkit", now)?;
//!
//! let engine = Engine::new(EngineConfig::default())?;
//! let node = engine.prepare(&engine.load(&verified)?, None, &EffectiveGrant::nothing(TaskLimits::DEFAULT))?;
//! let activation = Activation {
//!     run_id: "r".into(), root_run_id: "r".into(), parent_run_id: None, graph_id: "g".into(), node_id: "n".into(),
//!     superstep: 1, task: "/1.0".into(), attempt: 1, visit: 1, argument: None, answers: Vec::new(),
//!     idempotency_key: "k".into(),
//! };
//! let report = node
//!     .call(Call {
//!         activation: &activation,
//!         params: Cow::Owned(json!({ "op": "echo", "value": { "n": 3 } })),
//!         seed: [0; 32],
//!         clock: now,
//!         limits: TaskLimits::DEFAULT,
//!         observer: None,
//!         journal: Journal::Record,
//!         services: Services::default(),
//!         depth: 0,
//!     })
//!     .await;
//! assert_eq!(report.result, Ok(Outcome::Result(json!({ "n": 3 }))));
//! assert!(report.fuel_used > 0);
//! # Ok(())
//! # }
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(call()).unwrap();
//! ```

#[cfg(feature = "bench")]
#[doc(hidden)]
pub mod bench_baseline;
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
#[cfg(test)]
#[path = "tests/fuel_parity.rs"]
mod fuel_parity;
mod functions;
mod host;
mod imports;
mod interface;
mod journal;
mod limiter;
mod live;
mod prepare;
mod services;
mod state;
mod structure;
mod task_budget;
mod ticker;

pub use cache::{CacheFolder, CachePolicy, CacheStatus, CachedComponent};
pub use call::{Call, CallReport, Classification};
pub use compile::{
    COMPILE_ARGUMENT, CompileError, CompileLimits, CompileObserver, Compiler, compile_for_parent,
};
pub use config::EngineConfig;
pub use engine::{Engine, HostResources, LoadedComponent};
pub use error::{DescribeError, EngineError, LoadError, MissingInterface, PrepareError};
pub use functions::{
    DocumentationError, ExportedFunction, ExportedFunctions, FunctionsTooLarge, UncallableFunction,
};
/// Requests to language models and their answers, as passed to [`ModelDoubles`].
pub use graph_model;
pub use host::http::{PendingResolution, Resolver, SecretError, SystemResolver};
pub use host::output::{EventRecord, OutputObserver};
pub use interface::Import;
pub use journal::Journal;
pub use live::LiveCalls;
pub use prepare::PreparedNode;
pub use services::{
    AskedModel, DoubledAnswer, DoubledModel, HttpAnswer, HttpDoubles, HttpRequest, Knowledge, KnowledgeError,
    ModelDoubles, ModelLedger, ModelMeter, PendingReservation, PendingToolCall, SearchHit, Services,
    ToolCall, ToolReport, Tools,
};
pub use structure::{ExceededCap, StructureError, StructureMetric};
