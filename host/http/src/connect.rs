//! Connections: TCP, TLS, and through the proxies that the environment names.

use std::error::Error as StdError;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Uri;
use hyper::http::uri::Scheme;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use tower_service::Service;

use crate::tls::Tls;

/// Time limit for establishing a connection, proxy and TLS included.
const CONNECT: Duration = Duration::from_secs(10);
/// Time without traffic after which TCP keepalive probes whether the peer still exists.
const KEEPALIVE: Duration = Duration::from_secs(15);

type BoxError = Box<dyn StdError + Send + Sync>;
type ConnectingLink = Pin<Box<dyn Future<Output = Result<Link, BoxError>> + Send>>;

/// A name or an address that a client may not connect to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is at the address {address}, which is not permitted here")]
pub struct AddressError {
    /// The refused address; for a name, the first of its addresses, all of which are refused.
    pub address: IpAddr,
}

/// Resolves names, and keeps only the addresses that the client may connect to.
#[derive(Clone, Debug)]
struct Resolver {
    system: GaiResolver,
    permits: Option<fn(IpAddr) -> bool>,
}

type ResolvingName = Pin<Box<dyn Future<Output = Result<std::vec::IntoIter<SocketAddr>, BoxError>> + Send>>;

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = BoxError;
    type Future = ResolvingName;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> ResolvingName {
        let (resolved, permits) = (self.system.call(name), self.permits);
        Box::pin(async move {
            let all: Vec<SocketAddr> = resolved.await?.collect();
            let Some(permits) = permits else { return Ok(all.into_iter()) };
            let permitted: Vec<_> = all.iter().copied().filter(|address| permits(address.ip())).collect();
            match all.first() {
                Some(first) if permitted.is_empty() => Err(AddressError { address: first.ip() }.into()),
                _ => Ok(permitted.into_iter()),
            }
        })
    }
}

/// Returns the IP address that a URI has as its host, if its host is one.
fn literal(to: &Uri) -> Option<IpAddr> {
    let host = to.host()?;
    let host = host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(host);
    host.parse().ok()
}

/// Connects to the host of a URI, through a proxy if the environment names one for it.
#[derive(Clone, Debug)]
pub(crate) struct Connector {
    direct: Direct,
    /// Connects to proxies. Their addresses are not checked, because the user chose them.
    to_proxy: Direct,
    proxies: Arc<Matcher>,
    permits: Option<fn(IpAddr) -> bool>,
}

impl Connector {
    pub(crate) fn new(proxies: Matcher, permits: Option<fn(IpAddr) -> bool>) -> Self {
        let tls = Arc::default();
        let connecting = |permits| {
            let mut tcp = HttpConnector::new_with_resolver(Resolver { system: GaiResolver::new(), permits });
            tcp.enforce_http(false);
            tcp.set_nodelay(true);
            tcp.set_keepalive(Some(KEEPALIVE));
            Direct { tcp, tls: Arc::clone(&tls) }
        };
        let (direct, to_proxy) = (connecting(permits), connecting(None));
        Self { direct, to_proxy, proxies: Arc::new(proxies), permits }
    }

    /// Returns the proxy for a URI, if there is one.
    pub(crate) fn proxy(&self, to: &Uri) -> Option<Intercept> {
        self.proxies.intercept(to)
    }

    async fn connect(self, to: Uri) -> Result<Link, BoxError> {
        // A host that is an IP address does not pass the resolver, so it is checked here.
        if let (Some(address), Some(permits)) = (literal(&to), self.permits)
            && !permits(address)
        {
            return Err(AddressError { address }.into());
        }
        let Some(proxy) = self.proxy(&to) else { return self.direct.connect(to).await };
        if !matches!(proxy.uri().scheme_str(), Some("http" | "https")) {
            return Err("the proxy that the environment names is neither http:// nor https://".into());
        }
        if to.scheme() != Some(&Scheme::HTTPS) {
            let link = self.to_proxy.connect(proxy.uri().clone()).await?;
            return Ok(Link { is_proxied: true, ..link });
        }
        let mut tunnel = Tunnel::new(proxy.uri().clone(), self.to_proxy.clone());
        if let Some(field) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(field.clone());
        }
        let link = tunnel.call(to.clone()).await?;
        self.direct.secure(link, &to).await
    }
}

impl Service<Uri> for Connector {
    type Response = Link;
    type Error = BoxError;
    type Future = ConnectingLink;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> ConnectingLink {
        let connect = self.clone().connect(to);
        Box::pin(async {
            tokio::time::timeout(CONNECT, connect)
                .await
                .map_err(|_| format!("no connection was made within {} s", CONNECT.as_secs()))?
        })
    }
}

/// Connects without a proxy.
#[derive(Clone, Debug)]
struct Direct {
    tcp: HttpConnector<Resolver>,
    tls: Arc<Tls>,
}

impl Direct {
    async fn connect(mut self, to: Uri) -> Result<Link, BoxError> {
        let stream = self.tcp.call(to.clone()).await?;
        let link = Link { stream: Box::new(stream), is_proxied: false };
        if to.scheme() == Some(&Scheme::HTTPS) { self.secure(link, &to).await } else { Ok(link) }
    }

    async fn secure(&self, link: Link, to: &Uri) -> Result<Link, BoxError> {
        let host = to.host().unwrap_or_default();
        let host = host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(host);
        let stream = self.tls.connect(host, TokioIo::new(link)).await?;
        Ok(Link { stream: Box::new(TokioIo::new(stream)), is_proxied: false })
    }
}

impl Service<Uri> for Direct {
    type Response = Link;
    type Error = BoxError;
    type Future = ConnectingLink;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> ConnectingLink {
        Box::pin(self.clone().connect(to))
    }
}

/// A connection: TCP or TLS, direct or through a proxy.
pub(crate) struct Link {
    stream: Box<dyn Stream>,
    /// True if requests are addressed to a proxy, which forwards them.
    is_proxied: bool,
}

trait Stream: Read + Write + Send + Unpin {}

impl<S: Read + Write + Send + Unpin> Stream for S {}

impl Connection for Link {
    fn connected(&self) -> Connected {
        Connected::new().proxy(self.is_proxied)
    }
}

impl Read for Link {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl Write for Link {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }
}
