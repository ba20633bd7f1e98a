//! Sends one request: resolves its host, checks every address, and connects to a checked one.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use graph_core::capability::{HttpField, HttpResponse as Response, HttpRule, Scheme};
use graph_http::{Tls, TlsError};
use tokio::net::TcpStream;

use super::connection::{Connection, ExchangeOutcome};
use super::kept::{Destination, IdleConnections};
use super::problem::{Kind, Problem};
use super::received::ReceivedBytes;
use super::resolver::Resolver;

/// Time limit of connecting, TLS included.
const CONNECT: Duration = Duration::from_secs(10);
/// Largest number of bytes of the head of a response.
pub(super) const MAX_HEAD: usize = 64 << 10;
/// Least number of seconds for which a server has to keep the connection open, if it states a number: far longer than a connection is kept
/// here.
const SHORTEST: u64 = 3;
/// Largest number of addresses of one host that are tried.
const MAX_TRIES: usize = 4;

/// A request, checked and complete.
#[derive(Clone)]
pub(in crate::host) struct Request {
    pub(in crate::host) method: String,
    pub(in crate::host) scheme: Scheme,
    pub(in crate::host) host: String,
    pub(in crate::host) port: u16,
    pub(in crate::host) path: String,
    pub(in crate::host) fields: Vec<HttpField>,
    pub(in crate::host) body: Bytes,
}

impl Request {
    /// Returns the URL, for journals and messages.
    pub(in crate::host) fn url(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        format!("{}://{host}:{}{}", self.scheme, self.port, self.path)
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The fields may contain secrets.
        f.debug_struct("Request").field("host", &self.host).finish_non_exhaustive()
    }
}

/// Receives a response while it arrives from the server: it may contain secrets.
pub(in crate::host) trait ResponseReceiver: Send {
    /// Receives the head.
    fn head(&mut self, status: u16, fields: &[HttpField]);

    /// Receives a part of the body. After a break, the rest of the body is not read.
    fn chunk(&mut self, bytes: &[u8]) -> ControlFlow<()>;
}

/// Ignores a response until it is complete.
pub(in crate::host) struct IgnoredResponse;

impl ResponseReceiver for IgnoredResponse {
    fn head(&mut self, _status: u16, _fields: &[HttpField]) {}

    fn chunk(&mut self, _bytes: &[u8]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Sends requests: a resolver, the TLS configuration, and the kept connections.
#[derive(Debug)]
pub(crate) struct Client {
    resolver: Arc<dyn Resolver>,
    tls: Tls,
    kept: Arc<IdleConnections>,
}

/// The limits of one request.
pub(super) struct RequestBounds<'a> {
    /// Time limit of connecting; `None`: the host's own.
    pub(super) connect: Option<Duration>,
    /// Largest number of bytes of the response's body.
    pub(super) most: u64,
    /// Counts and limits everything that the server sends.
    pub(super) received: &'a ReceivedBytes,
}

impl Client {
    pub(crate) fn new(resolver: Arc<dyn Resolver>) -> Self {
        Self { resolver, tls: Tls::default(), kept: Arc::default() }
    }

    /// Returns the addresses of a request's host. All of them have to be permitted, so that the order in a name server's answer has no
    /// effect.
    async fn addresses(&self, request: &Request, rule: &HttpRule) -> Result<Vec<IpAddr>, Problem> {
        let host = &request.host;
        let found =
            match host.parse::<IpAddr>() {
                Ok(address) => vec![address],
                Err(_) => self.resolver.resolve(host).await.map_err(|_| {
                    Problem::new(Kind::Dns, format!("the name `{host}` could not be looked up"))
                })?,
            };
        if found.is_empty() {
            return Err(Problem::new(Kind::Dns, format!("the name `{host}` has no address")));
        }
        match found.iter().find(|address| !rule.reaches(**address)) {
            None => Ok(found),
            Some(address) => Err(Problem::new(
                Kind::AddressDenied,
                format!(
                    "`{host}` is at {address}, which is not public; the manifest may name it: `addresses: [{address}]`"
                ),
            )),
        }
    }

    /// Sends a request and reads the whole response, which `arriving` receives part by part. With a destination, a kept connection to it is
    /// used, and the connection is kept afterwards.
    pub(super) async fn send(
        &self,
        request: &Request,
        rule: &HttpRule,
        bounds: RequestBounds<'_>,
        destination: Option<&Destination>,
        arriving: &mut dyn ResponseReceiver,
    ) -> Result<Response, Problem> {
        let amount = (bounds.most, bounds.received);
        let kept = || destination.and_then(|destination| self.kept.take(destination));
        while let Some(connection) = kept() {
            if let Some(response) = self.exchange(connection, request, amount, destination, arriving).await? {
                return Ok(response);
            }
        }
        let within = bounds.connect.map_or(CONNECT, |connect| connect.min(CONNECT));
        let connected = tokio::time::timeout(within, self.connect(request, rule, bounds.received)).await;
        let late = || Problem::new(Kind::ConnectTimeout, "no connection was made in time");
        let connection = connected.map_err(|_| late())??;
        let response = self.exchange(connection, request, amount, destination, arriving).await?;
        response.ok_or_else(Problem::terminated)
    }

    /// Sends a request over a connection, and keeps that for the destination if it can be reused. Returns `None` if nothing was sent.
    async fn exchange(
        &self,
        mut connection: Connection,
        request: &Request,
        amount: (u64, &ReceivedBytes),
        destination: Option<&Destination>,
        arriving: &mut dyn ResponseReceiver,
    ) -> Result<Option<Response>, Problem> {
        let ExchangeOutcome::Answered(response) = connection.exchange(request, amount, arriving).await?
        else {
            return Ok(None);
        };
        if let Some(destination) = destination
            && promises_to_wait(&response)
            && connection.is_idle().await
        {
            self.kept.put(destination.clone(), connection);
        }
        Ok(Some(response))
    }

    async fn connect(
        &self,
        request: &Request,
        rule: &HttpRule,
        received: &ReceivedBytes,
    ) -> Result<Connection, Problem> {
        let addresses = self.addresses(request, rule).await?;
        let stream = reach(&addresses, request.port).await?;
        if request.scheme == Scheme::Http {
            return Connection::open(stream, received).await;
        }
        let stream = self.tls.connect(&request.host, stream).await.map_err(|error| match error {
            TlsError::Setup(_) => Problem::new(Kind::Tls, error.to_string()),
            TlsError::Name => Problem::new(Kind::Uri, "the host is no name that a certificate can have"),
            TlsError::Certificate { name, .. } => {
                Problem::new(Kind::Certificate, format!("the server's certificate is refused: {name}"))
            }
            TlsError::Handshake(_) => Problem::new(Kind::Tls, "no secure connection came about"),
        })?;
        Connection::open(stream, received).await
    }
}

/// Checks whether a server promises to wait for another request. Other servers may close the connection at any time, and a request that is
/// sent at that moment is lost: it may have been read, so it counts.
fn promises_to_wait(response: &Response) -> bool {
    let mut promises = false;
    for (name, value) in &response.fields {
        for token in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            if name == "connection" {
                promises |= token.eq_ignore_ascii_case(b"keep-alive");
            }
            if name == "keep-alive"
                && let Some((key, seconds)) =
                    std::str::from_utf8(token).ok().and_then(|token| token.split_once('='))
                && key.trim().eq_ignore_ascii_case("timeout")
            {
                let seconds = seconds.trim().parse::<u64>().ok();
                if seconds.is_none_or(|seconds| seconds < SHORTEST) {
                    return false;
                }
                promises = true;
            }
        }
    }
    promises
}

/// Connects to the first of the checked addresses that accepts.
async fn reach(addresses: &[IpAddr], port: u16) -> Result<TcpStream, Problem> {
    for address in addresses.iter().take(MAX_TRIES) {
        if let Ok(stream) = TcpStream::connect(SocketAddr::new(*address, port)).await {
            let _ = stream.set_nodelay(true);
            return Ok(stream);
        }
    }
    Err(Problem::new(Kind::Refused, "no address of the host takes connections at that port"))
}
