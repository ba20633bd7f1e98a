//! graph-host as a library: the driver that performs the walker's effects, and what the commands share.

pub mod context;
pub mod error;
pub mod exit;
pub mod home;
pub mod inputs;
pub mod items;
pub mod keys;
pub mod output;
pub mod project;
pub mod run_id;
pub mod signing;
pub mod trust;
