//! graph-host as a library: the driver that performs the walker's effects, and what the commands share.

pub mod context;
pub mod error;
pub mod exit;
pub mod home;
pub mod output;
