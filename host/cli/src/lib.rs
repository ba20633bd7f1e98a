//! graph-host as a library: the driver that performs the walker's effects, and what the commands share.

pub mod answers;
pub mod case;
pub mod components;
pub mod context;
pub mod driver;
pub mod error;
pub mod executor;
pub mod exit;
pub mod graph_file;
pub mod guest_build;
pub mod home;
pub mod inputs;
pub mod items;
pub mod keys;
pub mod launch;
pub mod output;
pub mod pins;
pub mod preflight;
pub mod project;
pub mod report;
pub mod resume;
pub mod run_id;
pub mod runs;
pub mod session;
pub mod signing;
pub mod trust;
