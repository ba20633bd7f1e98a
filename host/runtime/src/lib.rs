//! The runtime of graph-host: everything that a program needs which runs graphs, without a command line around it.
//!
//! A program opens a project for a user, plans a graph, starts it, and waits for its outcome. This one runs the signed
//! components of an example, under the example's manifest and with the key that the example is signed with:
//!
//! ```
//! use std::path::Path;
//!
//! use graph_runtime::{Home, Options, Project, Runtime, Sources};
//! use serde_json::{Map, json};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
//! let options = Options {
//!     sources: Sources { trust: vec![examples.join("trust.yaml")], ..Sources::default() },
//!     manifest: Some(examples.join("map-reduce/caps.yaml")),
//!     ..Options::default()
//! };
//! let (project, home) = (Project::at(folder.path().to_owned()), Home::at(folder.path().join("home")));
//! let runtime = Runtime::open(project, home, options)?;
//! let plan = runtime.plan(&examples.join("map-reduce/graph.yaml").to_string_lossy()).await?;
//! let inputs = [("folder".to_owned(), json!("/src/wit")), ("ending".to_owned(), json!(".wit"))];
//! let run = runtime.start(plan, Map::from_iter(inputs), ()).await?;
//! let summary = run.outcome().await?;
//! assert_eq!(summary.status.as_str(), "completed");
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(run()).unwrap();
//! ```
//!
//! Nothing here prints, ends the process, or knows exit codes. An [`Error`] has a [kind](Kind), and what happens around a
//! run is a [`Notice`] to an observer.
//!
//! The names at the root are what a program can rely on. The feature `unstable` opens the modules below as well: they
//! are for the crates of this project, and change without notice.

// Unit tests see what `unstable` opens.
#![cfg_attr(not(any(feature = "unstable", test)), deny(unnameable_types))]
#![cfg_attr(
    not(feature = "unstable"),
    allow(
        dead_code,
        unreachable_pub,
        unused_imports,
        reason = "the crates of this project use what is within, too"
    )
)]

#[cfg(feature = "unstable")]
pub mod authoring;
#[cfg(not(feature = "unstable"))]
mod authoring;
#[cfg(all(feature = "bundle", feature = "unstable"))]
pub mod bundle;
#[cfg(all(feature = "bundle", not(feature = "unstable")))]
mod bundle;
#[cfg(all(feature = "catalogue", feature = "unstable"))]
pub mod catalogue;
#[cfg(all(feature = "catalogue", not(feature = "unstable")))]
mod catalogue;
#[cfg(feature = "unstable")]
pub mod clock;
#[cfg(not(feature = "unstable"))]
mod clock;
#[cfg(feature = "unstable")]
pub mod error;
#[cfg(not(feature = "unstable"))]
mod error;
#[cfg(feature = "unstable")]
pub mod executor;
#[cfg(not(feature = "unstable"))]
mod executor;
#[cfg(feature = "unstable")]
pub mod functions;
#[cfg(not(feature = "unstable"))]
mod functions;
#[cfg(feature = "unstable")]
pub mod history;
#[cfg(not(feature = "unstable"))]
mod history;
#[cfg(feature = "unstable")]
pub mod host;
#[cfg(not(feature = "unstable"))]
mod host;
#[cfg(feature = "unstable")]
pub mod items;
#[cfg(not(feature = "unstable"))]
mod items;
#[cfg(feature = "unstable")]
pub mod journal;
#[cfg(not(feature = "unstable"))]
mod journal;
#[cfg(feature = "unstable")]
pub mod notice;
#[cfg(not(feature = "unstable"))]
mod notice;
#[cfg(feature = "unstable")]
pub mod plan;
#[cfg(not(feature = "unstable"))]
mod plan;
#[cfg(feature = "unstable")]
pub mod project;
#[cfg(not(feature = "unstable"))]
mod project;
#[cfg(feature = "unstable")]
pub mod registry;
#[cfg(not(feature = "unstable"))]
mod registry;
#[cfg(feature = "unstable")]
pub mod remedy;
#[cfg(not(feature = "unstable"))]
mod remedy;
#[cfg(feature = "unstable")]
pub mod replay;
#[cfg(not(feature = "unstable"))]
mod replay;
#[cfg(feature = "unstable")]
pub mod run;
#[cfg(not(feature = "unstable"))]
mod run;
#[cfg(feature = "unstable")]
pub mod sources;
#[cfg(not(feature = "unstable"))]
mod sources;
#[cfg(feature = "unstable")]
pub mod telemetry;
#[cfg(not(feature = "unstable"))]
mod telemetry;
#[cfg(feature = "unstable")]
pub mod trust;
#[cfg(not(feature = "unstable"))]
mod trust;
#[cfg(feature = "unstable")]
pub mod upkeep;
#[cfg(not(feature = "unstable"))]
mod upkeep;

mod runtime;
#[cfg(test)]
mod tests;

pub use error::{Error, Kind, Result};
pub use functions::{FunctionCall, Functions};
pub use notice::{Notice, NoticeObserver};
pub use project::host_identity::IdentityRotation;
pub use project::user_home::Home;
pub use project::{BaseFolder, Project};
pub use remedy::{
    BoundedKey, ManifestPurpose, ManifestSuggestion, NewerVersion, Remedy, RemedyWords, SuggestedGraph,
    WithoutSignature,
};
pub use run::context::{PreparedRun, RunServices};
pub use run::edit_and_fork::EditedRun;
pub use run::planned::PlannedRun;
pub use run::resume::RestoreOptions;
pub use run::start::StartOptions;
pub use run::stores::StoreKind;
#[cfg(feature = "unstable")]
pub use runtime::ItemSources;
pub use runtime::{
    BareGraph, BareRun, BareRuntime, BareStart, ForkOptions, HeldRun, History, NewFork, Options, PlanOptions,
    ResumeOptions, RunHandle, Runtime,
};
pub use sources::Sources;
// Their types are in the signatures of this crate.
pub use {graph_driver, graph_engine, graph_registry, graph_store};
