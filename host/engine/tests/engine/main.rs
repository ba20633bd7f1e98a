//! The engine from outside: what a component may do, and how every way to end is told.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod bounds;
mod cache;
mod calls;
mod contract;
mod describe;
mod files;
mod functions;
mod grants;
mod http;
mod journal;
mod model;
mod support;
