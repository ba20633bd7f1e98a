//! The HTTP and TLS stack of the host: the TLS configuration, with the root certificates of the system, and a blocking HTTP/1.1
//! client for the host's own requests, to registries and to collectors of telemetry.
//!
//! Requests of components do not go through [`Client`]: each of their addresses is checked before any connection is
//! made, and no connection is used twice. They share the TLS configuration ([`Tls`]).

mod client;
mod connect;
mod tls;

pub use client::{Client, Error, Response};
pub use connect::AddressError;
pub use hyper::{Method, Request, StatusCode, header};
pub use tls::{Tls, TlsError};
pub use tokio_rustls::client::TlsStream;
