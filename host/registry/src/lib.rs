//! Components and texts in OCI registries and OCI image-layout directories. Publishing the same item twice gives the same
//! bytes, and a pulled item is used only if [`graph_core::trust`] admits it.
//!
//! The formats are the OCI image specification 1.1, the OCI distribution specification 1.1 and the CNCF's Wasm OCI
//! artifact. A [`Transport`](transport::Transport) moves bytes; they are interpreted and checked here, in the same way
//! for all transports.
//!
//! Without the feature `http`, which is on by default, only directories and the caller's own transports are available,
//! and neither an HTTP client nor TLS is compiled.

pub mod answer;
pub mod artifact;
pub mod attach;
pub mod budget;
pub mod companions;
#[cfg(feature = "http")]
pub mod http;
pub mod layout;
pub mod lock;
pub mod manifest;
pub mod publish;
pub mod pull;
pub mod range;
pub mod reference;
#[cfg(feature = "http")]
pub mod search;
pub mod transport;
pub mod yank;
