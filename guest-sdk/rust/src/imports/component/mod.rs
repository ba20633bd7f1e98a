//! The imports of a component.

pub(crate) mod http;

pub(crate) use crate::bindings::graph_host::host::{events, knowledge, log, secrets, tools};
#[cfg(feature = "model")]
pub(crate) use crate::bindings::model::graph_host::host::model;
pub(crate) use crate::bindings::wasi::clocks::{monotonic_clock, wall_clock};
pub(crate) use crate::bindings::wasi::filesystem::{preopens, types as filesystem};
pub(crate) use crate::bindings::wasi::random::random;
