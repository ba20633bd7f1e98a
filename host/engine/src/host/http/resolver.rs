//! Resolves host names to addresses.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;

/// A lookup of the addresses of a name.
pub type PendingResolution<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Resolves host names. The addresses are checked before anything is sent to them.
pub trait Resolver: fmt::Debug + Send + Sync {
    /// Returns all addresses of a host's name.
    fn resolve<'a>(&'a self, host: &'a str) -> PendingResolution<'a>;
}

/// The resolver of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> PendingResolution<'a> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}
