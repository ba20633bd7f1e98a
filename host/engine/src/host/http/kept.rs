//! Connections that are kept for the next request to the same server.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use graph_core::capability::{AddressRange, ModelRule, Scheme, SecretSource};
use tokio::runtime::{Handle, Id};
use tokio::time::Instant;

use super::connection::Connection;

/// Time for which an idle connection is kept. It is far less than servers wait for another request, since a request that is sent while the
/// server closes the connection fails, and may have been read.
const KEPT: Duration = Duration::from_secs(1);
/// Time for which a connection is used: afterwards the name of its server is resolved, and its addresses are checked, again.
const USED: Duration = Duration::from_mins(1);
/// Largest number of kept connections.
const MOST: usize = 16;

/// The destination of connections. A connection is reused only for requests that may be sent to the same addresses, with the same secret: a
/// server's knowledge about a connection stays with components to which the secret is granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::host) struct Destination {
    pub(super) scheme: Scheme,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) addresses: Vec<AddressRange>,
    pub(super) secret: Option<SecretSource>,
}

impl Destination {
    /// Returns the destination of a model's provider.
    pub(in crate::host) fn from_rule(rule: &ModelRule) -> Self {
        Self {
            scheme: rule.scheme,
            host: rule.host.clone(),
            port: rule.port,
            addresses: rule.addresses.clone(),
            secret: rule.secret.clone(),
        }
    }
}

/// A connection that is kept for reuse.
struct IdleConnection {
    destination: Destination,
    /// The runtime to which it belongs, the only one that is notified of arriving data.
    runtime: Id,
    connection: Connection,
    since: Instant,
}

/// The kept connections, the oldest first.
#[derive(Default)]
pub(super) struct IdleConnections {
    idle: Mutex<VecDeque<IdleConnection>>,
}

impl IdleConnections {
    /// Removes and returns the newest connection to a destination.
    pub(super) fn take(&self, destination: &Destination) -> Option<Connection> {
        let mut idle = self.young();
        let runtime = Handle::current().id();
        let at = idle.iter().rposition(|one| one.runtime == runtime && one.destination == *destination)?;
        idle.remove(at).map(|one| one.connection)
    }

    /// Keeps a connection, unless it was opened too long ago.
    pub(super) fn put(self: &Arc<Self>, destination: Destination, connection: Connection) {
        if connection.opened().elapsed() >= USED {
            return;
        }
        let mut idle = self.young();
        if idle.len() == MOST {
            idle.pop_front();
        }
        idle.push_back(IdleConnection {
            destination,
            runtime: Handle::current().id(),
            connection,
            since: Instant::now(),
        });
        drop(idle);
        let kept = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(KEPT).await;
            if let Some(kept) = kept.upgrade() {
                drop(kept.young());
            }
        });
    }

    /// Closes the connections that were kept too long, and returns the others.
    fn young(&self) -> MutexGuard<'_, VecDeque<IdleConnection>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while idle.front().is_some_and(|one| one.since.elapsed() >= KEPT) {
            idle.pop_front();
        }
        idle
    }
}

impl fmt::Debug for IdleConnections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdleConnections").finish_non_exhaustive()
    }
}
