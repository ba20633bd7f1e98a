//! Connections that are kept for the next request to the same server.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use graph_core::capability::{AddressRange, ModelRule, Scheme, SecretSource};
use tokio::time::Instant;

use super::connection::Connection;

/// How long a connection is kept. It is far less than servers wait for another request, since a request that is sent while the server closes the
/// connection fails, and may have been read.
const KEPT: Duration = Duration::from_secs(1);
/// How many connections are kept.
const MOST: usize = 16;

/// What connections are made for. One is used again only for requests that may go to the same addresses, with the same secret: what a server knows of
/// a connection stays with those that the secret is granted to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::host) struct Destination {
    pub(super) scheme: Scheme,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) addresses: Vec<AddressRange>,
    pub(super) secret: Option<SecretSource>,
}

impl Destination {
    /// The provider of a model.
    pub(in crate::host) fn of(rule: &ModelRule) -> Self {
        Self {
            scheme: rule.scheme,
            host: rule.host.clone(),
            port: rule.port,
            addresses: rule.addresses.clone(),
            secret: rule.secret.clone(),
        }
    }
}

/// The connections that are kept, the oldest first.
#[derive(Default)]
pub(super) struct Kept {
    connections: Mutex<VecDeque<(Destination, Connection, Instant)>>,
}

impl Kept {
    /// The newest connection to a destination.
    pub(super) fn take(&self, destination: &Destination) -> Option<Connection> {
        let mut connections = self.young();
        let at = connections.iter().rposition(|(of, ..)| of == destination)?;
        connections.remove(at).map(|(_, connection, _)| connection)
    }

    /// Keeps a connection, for a short time.
    pub(super) fn put(self: &Arc<Self>, destination: Destination, connection: Connection) {
        let mut connections = self.young();
        if connections.len() == MOST {
            connections.pop_front();
        }
        connections.push_back((destination, connection, Instant::now()));
        drop(connections);
        let kept = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(KEPT).await;
            if let Some(kept) = kept.upgrade() {
                drop(kept.young());
            }
        });
    }

    /// Closes those that were kept too long; the others.
    fn young(&self) -> MutexGuard<'_, VecDeque<(Destination, Connection, Instant)>> {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        while connections.front().is_some_and(|(_, _, since)| since.elapsed() >= KEPT) {
            connections.pop_front();
        }
        connections
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive()
    }
}
