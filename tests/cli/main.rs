//! The command line, as people and scripts use it.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod background;
mod bad_files;
mod bad_input;
mod build;
mod cached;
mod cases;
mod compiling;
mod edges;
mod hooks;
mod hostile;
mod interrupted;
mod items;
mod long_runs;
mod making;
mod nested;
mod not_json;
mod parameters;
mod pins;
mod place;
mod reach;
mod readme;
mod registry;
mod replay;
mod security;
mod server;
mod sessions;
mod shared;
mod stores;
mod strangers;
mod streams;
mod telemetry;
mod travel;
mod trust;
mod upkeep;
