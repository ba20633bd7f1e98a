//! A connection to a server: requests over it, one after the other.

use std::future::Future;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use graph_core::capability::{HttpField, HttpResponse as Response};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

use super::problem::{Kind, Problem};
use super::received::{CountedConnection, Counter, ReceivedBytes};
use super::send::{MAX_HEAD, Request, ResponseReceiver};

/// Fields of a response.
const MAX_RESPONSE_FIELDS: usize = 128;

type Message = hyper::Request<Full<Bytes>>;

/// A connection. It reads and writes only during an exchange, in the task that awaits it.
pub(super) struct Connection {
    requests: http1::SendRequest<Full<Bytes>>,
    work: Work,
    counter: Counter,
    opened: Instant,
}

/// The result of a request over a connection.
pub(super) enum ExchangeOutcome {
    Answered(Response),
    /// The connection was closed, or unusable, before any part of the request was sent.
    Unsent,
}

/// The future that reads and writes until the connection is closed.
struct Work(Option<Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>>);

impl Work {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(work) = &mut self.0 else { return Poll::Ready(()) };
        if work.as_mut().poll(context).is_ready() {
            // The exchange reports the error.
            self.0 = None;
            return Poll::Ready(());
        }
        Poll::Pending
    }

    /// Works until `exchange` is done. Data that has arrived can still be read after the connection is closed.
    async fn until<T>(&mut self, exchange: impl Future<Output = T>) -> T {
        let mut exchange = std::pin::pin!(exchange);
        std::future::poll_fn(|context| {
            let is_open = self.0.is_some();
            if let Poll::Ready(done) = exchange.as_mut().poll(context) {
                return Poll::Ready(done);
            }
            // The exchange may wait for the end of the connection.
            if is_open && self.poll(context).is_ready() {
                exchange.as_mut().poll(context)
            } else {
                Poll::Pending
            }
        })
        .await
    }
}

impl Connection {
    pub(super) async fn open(
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        received: &ReceivedBytes,
    ) -> Result<Self, Problem> {
        let counter = Counter::new(received);
        let mut builder = http1::Builder::new();
        builder.max_headers(MAX_RESPONSE_FIELDS).max_buf_size(MAX_HEAD);
        let (requests, connection) = builder
            .handshake(TokioIo::new(CountedConnection::new(stream, counter.clone())))
            .await
            .map_err(|error| broken(&error, received))?;
        Ok(Self { requests, work: Work(Some(Box::pin(connection))), counter, opened: Instant::now() })
    }

    /// Returns the time at which it was opened.
    pub(super) const fn opened(&self) -> Instant {
        self.opened
    }

    /// Sends a request and reads its response, which `arriving` receives part by part. The body may have `most` bytes; `received` counts
    /// and limits all bytes from the server.
    pub(super) async fn exchange(
        &mut self,
        request: &Request,
        (most, received): (u64, &ReceivedBytes),
        arriving: &mut dyn ResponseReceiver,
    ) -> Result<ExchangeOutcome, Problem> {
        self.counter.count_for(received);
        let message = message(request)?;
        let Self { requests, work, .. } = self;
        work.until(answer(requests, message, (most, received), arriving)).await
    }

    /// Checks whether another request can be sent: no part of the last exchange is left, on either side.
    pub(super) async fn is_idle(&mut self) -> bool {
        std::future::poll_fn(|context| Poll::Ready(self.work.poll(context).is_pending())).await
            && self.requests.is_ready()
    }
}

fn message(request: &Request) -> Result<Message, Problem> {
    let mut head = hyper::Request::builder().method(request.method.as_str()).uri(request.path.as_str());
    let shown = if request.host.contains(':') { format!("[{}]", request.host) } else { request.host.clone() };
    let authority =
        if request.port == request.scheme.port() { shown } else { format!("{shown}:{}", request.port) };
    head = head.header(hyper::header::HOST, authority);
    for (name, value) in &request.fields {
        head = head.header(name.as_str(), value.as_slice());
    }
    head.body(Full::new(request.body.clone()))
        .map_err(|_| Problem::new(Kind::Protocol, "the request cannot be written"))
}

async fn answer(
    requests: &mut http1::SendRequest<Full<Bytes>>,
    message: Message,
    (most, received): (u64, &ReceivedBytes),
    arriving: &mut dyn ResponseReceiver,
) -> Result<ExchangeOutcome, Problem> {
    if requests.ready().await.is_err() {
        return Ok(ExchangeOutcome::Unsent);
    }
    let response = match requests.try_send_request(message).await {
        Ok(response) => response,
        Err(mut error) => {
            if error.take_message().is_some() {
                return Ok(ExchangeOutcome::Unsent);
            }
            return Err(broken(error.error(), received));
        }
    };
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
    let mut arrives = Limited::new(body, usize::try_from(most).unwrap_or(usize::MAX));
    let mut body = Vec::new();
    while let Some(frame) = arrives.frame().await {
        let frame = frame.map_err(|error| {
            if error.is::<LengthLimitError>() {
                let message = format!("the response is longer than {most} bytes");
                return Problem::new(Kind::ResponseBody, message);
            }
            match error.downcast::<hyper::Error>() {
                Ok(error) => broken(&error, received),
                Err(_) => Problem::new(Kind::Protocol, "the response cannot be read"),
            }
        })?;
        let Ok(bytes) = frame.into_data() else { continue };
        body.extend_from_slice(&bytes);
        if let ControlFlow::Break(()) = arriving.chunk(&bytes) {
            break;
        }
    }
    Ok(ExchangeOutcome::Answered(Response { status, fields, body }))
}

fn broken(error: &hyper::Error, received: &ReceivedBytes) -> Problem {
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
            format!("the response has more than {MAX_RESPONSE_FIELDS} fields or {MAX_HEAD} bytes of them"),
        )
    } else if error.is_incomplete_message() || error.is_closed() || error.is_canceled() || is_cut(error) {
        Problem::terminated()
    } else {
        Problem::new(Kind::Protocol, "the server does not speak HTTP/1.1 as it should")
    }
}

/// Checks whether the connection was reset, or ended within a body: only the sources of the error show it.
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
