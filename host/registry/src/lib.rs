//! Components and texts in OCI registries and OCI image-layout directories: published so that the same thing twice is the
//! same bytes, and pulled so that nothing of it is believed but what [`graph_core::trust`] lets in.
//!
//! The formats are the OCI image specification 1.1, the OCI distribution specification 1.1 and the CNCF's Wasm OCI
//! artifact. A [`Transport`](transport::Transport) brings bytes; what they are is decided here, once for all transports.

pub mod artifact;
pub mod http;
pub mod layout;
pub mod lock;
pub mod manifest;
pub mod publish;
pub mod pull;
pub mod reference;
pub mod search;
pub mod transport;
