//! Sends one request: resolves its host, checks every address, and connects to a checked one.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use graph_core::capability::{HttpField, HttpResponse as Response, HttpRule, Scheme};
use graph_http::{Tls, TlsError, TlsStream};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::problem::{Kind, Problem};
use super::received::{Counted, Received};
use super::resolver::Resolver;

/// How long a connection may take, TLS included.
const CONNECT: Duration = Duration::from_secs(10);
/// Fields of a response.
const MAX_RESPONSE_FIELDS: usize = 128;
/// Bytes of the head of a response.
pub(super) const MAX_HEAD: usize = 64 << 10;
/// Addresses of one host that are tried.
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
    /// The URL, for journals and messages.
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

/// Sees a response while it arrives, as the server sends it: secrets may be in it.
pub(in crate::host) trait Arriving: Send {
    /// The head has arrived.
    fn head(&mut self, status: u16, fields: &[HttpField]);

    /// A part of the body has arrived. After a break, the rest of the body is not read.
    fn chunk(&mut self, bytes: &[u8]) -> ControlFlow<()>;
}

/// No one looks at a response before it is complete.
pub(in crate::host) struct Unwatched;

impl Arriving for Unwatched {
    fn head(&mut self, _status: u16, _fields: &[HttpField]) {}

    fn chunk(&mut self, _bytes: &[u8]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Sends requests: a resolver and the TLS configuration.
#[derive(Debug)]
pub(crate) struct Client {
    resolver: Arc<dyn Resolver>,
    tls: Tls,
}

impl Client {
    pub(crate) fn new(resolver: Arc<dyn Resolver>) -> Self {
        Self { resolver, tls: Tls::default() }
    }

    /// The addresses of a request's host. All of them have to be allowed, so that the order of a name server's answer
    /// does not matter.
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

    /// Sends a request and reads the whole response, which `arriving` sees part by part. The body may have `most` bytes;
    /// `received` counts and limits everything that the server sends.
    pub(in crate::host) async fn send(
        &self,
        request: Request,
        rule: &HttpRule,
        connect: Option<Duration>,
        most: u64,
        received: &Received,
        arriving: &mut dyn Arriving,
    ) -> Result<Response, Problem> {
        let within = connect.map_or(CONNECT, |connect| connect.min(CONNECT));
        let connected = tokio::time::timeout(within, async {
            let addresses = self.addresses(&request, rule).await?;
            let stream = reach(&addresses, request.port).await?;
            match request.scheme {
                Scheme::Http => Ok(Connected::Plain(stream)),
                Scheme::Https => self.secure(stream, &request.host).await,
            }
        });
        let late = || Problem::new(Kind::ConnectTimeout, "no connection was made in time");
        match connected.await.map_err(|_| late())?? {
            Connected::Plain(stream) => exchange(stream, request, (most, received), arriving).await,
            Connected::Secure(stream) => exchange(stream, request, (most, received), arriving).await,
        }
    }

    async fn secure(&self, stream: TcpStream, host: &str) -> Result<Connected, Problem> {
        let stream = self.tls.connect(host, stream).await.map_err(|error| match error {
            TlsError::Setup(_) => Problem::new(Kind::Tls, error.to_string()),
            TlsError::Name => Problem::new(Kind::Uri, "the host is no name that a certificate can have"),
            TlsError::Certificate { name, .. } => {
                Problem::new(Kind::Certificate, format!("the server's certificate is refused: {name}"))
            }
            TlsError::Handshake(_) => Problem::new(Kind::Tls, "no secure connection came about"),
        })?;
        Ok(Connected::Secure(Box::new(stream)))
    }
}

enum Connected {
    Plain(TcpStream),
    Secure(Box<TlsStream<TcpStream>>),
}

/// Connects to the first of the checked addresses that answers.
async fn reach(addresses: &[IpAddr], port: u16) -> Result<TcpStream, Problem> {
    for address in addresses.iter().take(MAX_TRIES) {
        if let Ok(stream) = TcpStream::connect(SocketAddr::new(*address, port)).await {
            let _ = stream.set_nodelay(true);
            return Ok(stream);
        }
    }
    Err(Problem::new(Kind::Refused, "no address of the host takes connections at that port"))
}

/// Closes the connection after the exchange.
struct Ends(tokio::task::AbortHandle);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Whether the connection was reset, or has ended in the midst of a body: the error of the body does not say so itself.
fn is_cut(error: &hyper::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<std::io::Error>() {
            return matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof);
        }
        cause = error.source();
    }
    false
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request,
    (most, received): (u64, &Received),
    arriving: &mut dyn Arriving,
) -> Result<Response, Problem> {
    let broken = |error: hyper::Error| {
        if received.is_too_much() {
            Problem::new(
                Kind::ResponseBody,
                format!(
                    "the response is too long: more than {} bytes, with its head, its framing and interim responses",
                    received.most()
                ),
            )
        } else if error.is_parse_too_large() {
            Problem::new(
                Kind::ResponseFields,
                format!(
                    "the response has more than {MAX_RESPONSE_FIELDS} fields or {MAX_HEAD} bytes of them"
                ),
            )
        } else if error.is_incomplete_message() || error.is_closed() || error.is_canceled() || is_cut(&error)
        {
            Problem::new(Kind::Terminated, "the server ended the connection before its response was complete")
        } else {
            Problem::new(Kind::Protocol, "the server does not speak HTTP/1.1 as it should")
        }
    };
    let mut builder = http1::Builder::new();
    builder.max_headers(MAX_RESPONSE_FIELDS).max_buf_size(MAX_HEAD);
    let (mut sender, connection) =
        builder.handshake(TokioIo::new(Counted::new(stream, received))).await.map_err(broken)?;
    let _ends = Ends(tokio::spawn(connection).abort_handle());

    let written = |_| Problem::new(Kind::Protocol, "the request cannot be written");
    let mut head = hyper::Request::builder().method(request.method.as_str()).uri(request.path.as_str());
    let shown = if request.host.contains(':') { format!("[{}]", request.host) } else { request.host.clone() };
    let authority =
        if request.port == request.scheme.port() { shown } else { format!("{shown}:{}", request.port) };
    head = head.header(hyper::header::HOST, authority);
    for (name, value) in &request.fields {
        head = head.header(name.as_str(), value.as_slice());
    }
    let message = head.body(Full::new(request.body)).map_err(written)?;
    let response = sender.send_request(message).await.map_err(broken)?;

    let (head, body) = response.into_parts();
    if head.status == hyper::StatusCode::SWITCHING_PROTOCOLS {
        return Err(Problem::new(Kind::Protocol, "the server switches to another protocol"));
    }
    let status = head.status.as_u16();
    let fields: Vec<HttpField> = head
        .headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
        .collect();
    arriving.head(status, &fields);
    let too_large = || Problem::new(Kind::ResponseBody, format!("the response is longer than {most} bytes"));
    let mut arrives = Limited::new(body, usize::try_from(most).unwrap_or(usize::MAX));
    let mut body = Vec::new();
    while let Some(frame) = arrives.frame().await {
        let frame = frame.map_err(|error| {
            if error.is::<LengthLimitError>() {
                return too_large();
            }
            match error.downcast::<hyper::Error>() {
                Ok(error) => broken(*error),
                Err(_) => Problem::new(Kind::Protocol, "the response cannot be read"),
            }
        })?;
        let Ok(bytes) = frame.into_data() else { continue };
        body.extend_from_slice(&bytes);
        if arriving.chunk(&bytes).is_break() {
            break;
        }
    }
    Ok(Response { status, fields, body })
}
