//! Plans of runs: the items that a run dispatches, their signers and grants, and everything that is missing.

mod acceptance;
pub mod admission;
pub mod describe;
pub mod engine;
mod host_items;
pub mod manifest_authority;
mod models;
#[allow(clippy::module_inception, reason = "what it has is re-exported")]
mod plan;
mod problem;
mod report;
mod resolve;
mod scope;
pub mod scripts;
mod text_items;
mod work;

pub use host_items::refused_nodes;
pub use plan::{Plan, PlannedId, PlannedNode, Scope};
pub use problem::PlanProblem;
pub use scope::is_built_in;
