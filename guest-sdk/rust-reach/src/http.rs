//! Requests over HTTP to the hosts that the capability manifest names. Needs `wasi:http/outgoing-handler`.
//!
//! The host follows no redirects: a response with one is a response like any other. What it refuses is a failure of
//! category `denied`; what grows too large, of category `limit`; what takes too long, of category `timeout`.

use crate::bindings::wasi::http::outgoing_handler::handle;
use crate::bindings::wasi::http::types::{
    ErrorCode, Fields, IncomingBody, Method, OutgoingBody, OutgoingRequest, Scheme,
};
use crate::bindings::wasi::io::streams::StreamError;
use graph_sdk::{Category, Failure};

/// How much of a body one host call writes.
const CHUNK: usize = 4096;
/// How much of a body one host call reads.
const READ: u64 = 256 * 1024;

/// A request that is to be sent.
#[derive(Clone, Debug)]
pub struct Request {
    method: String,
    url: String,
    fields: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
    streamed: bool,
}

/// The whole response of a server.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status, 100 to 599.
    pub status: u16,
    /// The fields of its head, names in lower case.
    pub fields: Vec<(String, Vec<u8>)>,
    /// The body.
    pub body: Vec<u8>,
}

/// A request for a URL, `GET` unless [`Request::method`] says otherwise.
pub fn request(url: impl Into<String>) -> Request {
    Request { method: "GET".to_owned(), url: url.into(), fields: Vec::new(), body: Vec::new(), streamed: false }
}

/// Asks for a URL.
pub fn get(url: impl Into<String>) -> Result<Response, Failure> {
    request(url).send()
}

impl Request {
    /// With another method, in capital letters.
    #[must_use]
    pub fn method(mut self, method: impl Into<String>) -> Self {
        self.method = method.into();
        self
    }

    /// With a field. Those that say where a message ends or goes (`host`, `connection` and the like) are the host's.
    #[must_use]
    pub fn field(mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        self.fields.push((name.into(), value.into()));
        self
    }

    /// With a body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Hands the request over before its body is written, as a client does that streams. The host sends it all the same once
    /// the body is finished.
    #[must_use]
    pub fn streamed(mut self) -> Self {
        self.streamed = true;
        self
    }

    /// Sends it and takes the whole response.
    pub fn send(self) -> Result<Response, Failure> {
        let invalid = |what: &str| Failure::new(Category::InvalidInput, format!("{}: {what}", self.url));
        let (scheme, rest) = self.url.split_once("://").ok_or_else(|| invalid("a URL begins with https://"))?;
        let scheme = match scheme {
            "https" => Scheme::Https,
            "http" => Scheme::Http,
            _ => return Err(invalid("a URL begins with https:// or http://")),
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(at);

        let fields: Vec<(String, Vec<u8>)> = self.fields.clone();
        let fields = Fields::from_list(&fields).map_err(|_| invalid("one of its fields may not be sent"))?;
        let request = OutgoingRequest::new(fields);
        let method = match self.method.as_str() {
            "GET" => Method::Get,
            "HEAD" => Method::Head,
            "POST" => Method::Post,
            "PUT" => Method::Put,
            "DELETE" => Method::Delete,
            "OPTIONS" => Method::Options,
            "PATCH" => Method::Patch,
            other => Method::Other(other.to_owned()),
        };
        request.set_method(&method).map_err(|()| invalid("its method is none"))?;
        request.set_scheme(Some(&scheme)).map_err(|()| invalid("its scheme is none"))?;
        request.set_authority(Some(authority)).map_err(|()| invalid("its host is none"))?;
        request.set_path_with_query(Some(path)).map_err(|()| invalid("its path is none"))?;
        // The host sends a request once its body is complete.
        let body = request.body().map_err(|()| invalid("its body cannot be written"))?;
        let hand_over = |request| handle(request, None).map_err(|code| failed(&self.url, &code));
        let (mut request, mut pending) = (Some(request), None);
        if let Some(request) = request.take_if(|_| self.streamed) {
            pending = Some(hand_over(request)?);
        }
        {
            let stream = body.write().map_err(|()| invalid("its body cannot be written"))?;
            for chunk in self.body.chunks(CHUNK) {
                stream.blocking_write_and_flush(chunk).map_err(|_| invalid("its body cannot be written"))?;
            }
        }
        OutgoingBody::finish(body, None).map_err(|code| failed(&self.url, &code))?;
        if let Some(request) = request {
            pending = Some(hand_over(request)?);
        }
        let Some(pending) = pending else {
            return Err(Failure::new(Category::Internal, "the request was not handed over"));
        };

        pending.subscribe().block();
        let response = match pending.get() {
            Some(Ok(Ok(response))) => response,
            Some(Ok(Err(code))) => return Err(failed(&self.url, &code)),
            _ => return Err(Failure::new(Category::Internal, "the host gave no response")),
        };
        let status = response.status();
        let fields = response.headers().entries();
        let body = response.consume().map_err(|()| Failure::new(Category::Internal, "the response has no body"))?;
        Ok(Response { status, fields, body: read(&body)? })
    }
}

impl Response {
    /// The body as UTF-8 text.
    pub fn text(self) -> Result<String, Failure> {
        String::from_utf8(self.body)
            .map_err(|_| Failure::new(Category::InvalidInput, "the response is not UTF-8 text"))
    }

    /// The first value of a field, by its name in lower case.
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_slice())
    }
}

fn read(body: &IncomingBody) -> Result<Vec<u8>, Failure> {
    let broken = || Failure::new(Category::Transient, "the response ended before it was complete");
    let stream = body.stream().map_err(|()| broken())?;
    let mut bytes = Vec::new();
    loop {
        match stream.blocking_read(READ) {
            Ok(more) => bytes.extend_from_slice(&more),
            Err(StreamError::Closed) => return Ok(bytes),
            Err(StreamError::LastOperationFailed(_)) => return Err(broken()),
        }
    }
}

fn failed(url: &str, code: &ErrorCode) -> Failure {
    let (category, what) = match code {
        ErrorCode::HttpRequestDenied => (Category::Denied, "the request is not granted"),
        ErrorCode::DestinationIpProhibited => (Category::Denied, "its address is not granted"),
        ErrorCode::DnsError(_) => (Category::Transient, "its name could not be looked up"),
        ErrorCode::ConnectionRefused => (Category::Transient, "the server takes no connections"),
        ErrorCode::ConnectionTerminated => (Category::Transient, "the server ended the connection"),
        ErrorCode::ConnectionTimeout | ErrorCode::HttpResponseTimeout => {
            (Category::Timeout, "the server did not answer in time")
        }
        ErrorCode::TlsCertificateError => (Category::Permanent, "the server's certificate is refused"),
        ErrorCode::TlsProtocolError => (Category::Permanent, "no secure connection came about"),
        ErrorCode::HttpRequestBodySize(_) => (Category::Limit, "the request is too long"),
        ErrorCode::HttpResponseBodySize(_) => (Category::Limit, "the response is too long"),
        ErrorCode::HttpResponseHeaderSectionSize(_) => (Category::Limit, "the response has too many fields"),
        ErrorCode::HttpResponseContentCoding(_) => (Category::Denied, "the response is encoded"),
        ErrorCode::HttpRequestUriInvalid => (Category::InvalidInput, "it is no URL that can be asked for"),
        _ => (Category::Permanent, "the server does not speak HTTP as it should"),
    };
    Failure::new(category, format!("{url}: {what}"))
}
