//! The runtime of graph-host: everything that a program needs which runs graphs, without a command line around it.
//!
//! In a [`project`], [`items`] that [`trust`] admits are [planned](plan) and [executed](executor) in a [`run`], whose
//! [`history`] is kept. A run can be [replayed](replay), items come from a [`registry`] and go there, and [`telemetry`] is
//! sent about runs.
//!
//! Nothing here prints, ends the process, or knows exit codes. An [`error::Error`] has a [kind](error::Kind), and what
//! happens around a run is a [`notice::Notice`] to an observer.

pub mod error;
pub mod executor;
pub mod history;
pub mod host;
pub mod items;
pub mod notice;
pub mod plan;
pub mod project;
pub mod registry;
pub mod replay;
pub mod run;
mod runtime;
pub mod telemetry;
pub mod trust;

pub use runtime::{History, Options, PlannedRun, RunHandle, Runtime};
// Their types are in the signatures of this crate.
pub use {graph_driver, graph_engine, graph_registry, graph_store};
