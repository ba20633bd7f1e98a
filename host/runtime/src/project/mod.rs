//! Projects and the user's space, which store items, keys, runs and the knowledge of components.

mod base_folder;
pub mod cache_limit;
pub mod host_identity;
pub mod key_pairs;
pub(crate) mod knowledge;
pub mod known_hosts;
pub mod paths;
mod private_files;
#[allow(clippy::module_inception, reason = "what it has is re-exported")]
mod project;
pub mod run_folder;
pub mod state;
pub mod stored_formats;
pub mod text_file;
pub mod user_home;
#[cfg(any(feature = "bundle", feature = "catalogue"))]
pub(crate) mod whole_folder;

pub use base_folder::BaseFolder;
pub(crate) use project::MARK;
pub use project::{Project, check_folder, check_folders, nearest};
