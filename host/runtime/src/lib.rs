//! The runtime of graph-host: everything that a program needs which runs graphs, without a command line around it.
//!
//! In a [`project`], [`items`] that [`trust`] admits are [planned](plan) and [executed](executor) in a [`run`], whose
//! [`history`] is kept. A run can be [replayed](replay), items come from a [`registry`] and go there, and [`telemetry`] is
//! sent about runs.
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
//! Nothing here prints, ends the process, or knows exit codes. An [`error::Error`] has a [kind](error::Kind), and what
//! happens around a run is a [`notice::Notice`] to an observer.

pub mod authoring;
#[cfg(feature = "bundle")]
pub mod bundle;
#[cfg(feature = "catalogue")]
pub mod catalogue;
pub mod clock;
pub mod error;
pub mod executor;
pub mod functions;
pub mod history;
pub mod host;
pub mod items;
pub mod journal;
pub mod notice;
pub mod plan;
pub mod project;
pub mod registry;
pub mod replay;
pub mod run;
mod runtime;
mod shown_paths;
pub mod telemetry;
pub mod trust;
pub mod upkeep;

pub use error::{Error, Kind};
pub use functions::{FunctionCall, Functions};
pub use items::sources::Sources;
pub use project::Project;
pub use project::user_home::Home;
pub use run::edit_and_fork::EditedRun;
pub use run::resume::Opening;
pub use run::stores::StoreKind;
pub use runtime::{
    ForkOptions, History, Options, PlanOptions, PlannedRun, ResumeOptions, RunHandle, Runtime, StartOptions,
};
// Their types are in the signatures of this crate.
pub use {graph_driver, graph_engine, graph_registry, graph_store};
