//! Tests of the engine's public interface: the permissions of a component, and the reports of all ends of a call.
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
