//! A blocking client.

use std::error::Error as StdError;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, HeaderMap, HeaderValue, PROXY_AUTHORIZATION, USER_AGENT};
use hyper::http::response::Parts;
use hyper::http::uri::Scheme;
use hyper::{Request, StatusCode};
use hyper_util::client::legacy;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;

use crate::connect::{AddressError, Connector};

const AGENT: HeaderValue = HeaderValue::from_static(concat!("graph-host/", env!("CARGO_PKG_VERSION")));

/// Sends requests over HTTP/1.1 and TLS, each within its own time limit, and keeps connections open for later requests.
/// It follows no redirects. Its proxies are those that the environment names (`HTTPS_PROXY` and its like, as curl reads
/// them).
///
/// Its calls block the calling thread. They may be made within an asynchronous runtime, because the client drives its
/// connections on a thread of its own. Clones share the client; the thread ends when the last clone and the
/// last response are dropped.
#[derive(Clone, Debug)]
pub struct Client {
    pool: legacy::Client<Connector, Full<Bytes>>,
    connector: Connector,
    thread: Arc<Thread>,
}

/// The reasons for which there is no response, or only a part of one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There was no complete response within the time of the request.
    #[error("the server did not answer in time")]
    Timeout,
    /// The address is not one that the client may connect to.
    #[error("{0}")]
    Address(AddressError),
    /// No connection was made, or it broke, or the server does not speak HTTP/1.1 as it should.
    #[error("{0}")]
    Failed(String),
}

impl Client {
    /// Creates a client without connections.
    pub fn new() -> io::Result<Self> {
        Self::with_proxies(Matcher::from_env(), None)
    }

    /// Creates a client that connects only to addresses that `permits` accepts, also for names, by the addresses that
    /// they resolve to. The address of a proxy is not checked, and a proxy resolves names itself.
    pub fn reaching(permits: fn(IpAddr) -> bool) -> io::Result<Self> {
        Self::with_proxies(Matcher::from_env(), Some(permits))
    }

    fn with_proxies(proxies: Matcher, permits: Option<fn(IpAddr) -> bool>) -> io::Result<Self> {
        let connector = Connector::new(proxies, permits);
        let pool = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .build(connector.clone());
        Ok(Self { pool, connector, thread: Arc::new(Thread::start()?) })
    }

    /// Sends a request and waits for the head of its response. `time` limits the whole exchange, the response's body
    /// included.
    pub fn send(&self, mut request: Request<Bytes>, time: Duration) -> Result<Response, Error> {
        let fields = request.headers_mut();
        fields.entry(USER_AGENT).or_insert(AGENT);
        fields.entry(ACCEPT).or_insert(HeaderValue::from_static("*/*"));
        // For HTTPS, the request that opens the tunnel carries this header field.
        if request.uri().scheme() == Some(&Scheme::HTTP)
            && let Some(proxy) = self.connector.proxy(request.uri())
            && let Some(field) = proxy.basic_auth()
        {
            request.headers_mut().insert(PROXY_AUTHORIZATION, field.clone());
        }
        let now = Instant::now();
        let deadline = now.checked_add(time).unwrap_or(now + Duration::from_hours(24));
        let sent = self.pool.request(request.map(Full::new));
        let response = self.thread.run(deadline, sent)?.map_err(|error| failed(&error))?;
        let (head, body) = response.into_parts();
        Ok(Response { head, body: Some(body), deadline, thread: Arc::clone(&self.thread) })
    }
}

/// A response, whose body is read piece by piece.
#[derive(Debug)]
pub struct Response {
    head: Parts,
    /// `None` after the end of the body, and after an error.
    body: Option<Incoming>,
    deadline: Instant,
    thread: Arc<Thread>,
}

impl Response {
    /// Returns the status of the response, as the server sent it.
    pub fn status(&self) -> StatusCode {
        self.head.status
    }

    /// Returns the header fields of the response.
    pub fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// Returns the next piece of the body, of any length; `None` at the end.
    pub fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        let Some(mut body) = self.body.take() else { return Ok(None) };
        let (body, read) = self.thread.run(self.deadline, async move {
            loop {
                match body.frame().await {
                    None => return (None, Ok(None)),
                    Some(Err(error)) => return (None, Err(failed(&error))),
                    // Frames without data are trailers, which are ignored.
                    Some(Ok(frame)) => {
                        if let Ok(data) = frame.into_data() {
                            return (Some(body), Ok(Some(data)));
                        }
                    }
                }
            }
        })?;
        self.body = body;
        read
    }
}

/// Returns an error with the innermost source as its reason: the outer ones only name the attempted operation.
fn failed(error: &(dyn StdError + 'static)) -> Error {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    if let Some(refused) = last.downcast_ref() {
        return Error::Address(AddressError::clone(refused));
    }
    Error::Failed(last.to_string())
}

/// The thread that drives connections.
#[derive(Debug)]
struct Thread(Option<Runtime>);

impl Thread {
    fn start() -> io::Result<Self> {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(1).thread_name("graph-host-http").enable_io().enable_time();
        Ok(Self(Some(builder.build()?)))
    }

    /// Waits for a future that the thread drives. `block_on` is not used, because it must not be called within a
    /// runtime.
    fn run<T: Send + 'static>(
        &self,
        deadline: Instant,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Error> {
        let ended = || Error::Failed("the thread of the HTTP client has ended".to_owned());
        let runtime = self.0.as_ref().ok_or_else(ended)?;
        let (sender, receiver) = mpsc::sync_channel(1);
        runtime.spawn(async move {
            // The receiver waits until this is sent.
            let _ = sender.send(tokio::time::timeout_at(deadline, future).await);
        });
        receiver.recv().map_err(|_| ended())?.map_err(|_| Error::Timeout)
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        // `shutdown_background` does not wait for the thread: waiting is not allowed within a runtime.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests;
