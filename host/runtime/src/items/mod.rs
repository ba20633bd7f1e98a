//! Finds items by id, reads them, and checks them against the lockfile and against other items with the same id.

pub mod built_in;
pub mod graph_file;
pub mod installed;
pub mod locate;
pub mod lock_file;
pub(crate) mod operation_params;
pub mod outer_hooks;
pub mod precedence;
pub mod subgraphs;
pub mod text_items;
