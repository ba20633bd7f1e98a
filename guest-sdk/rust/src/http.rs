//! HTTP requests to hosts that the capability manifest names. Requires `wasi:http/outgoing-handler`.
//!
//! The host follows no redirects: a redirect is returned like any other response. A refused request fails with the
//! category `denied`, one that exceeds a size with `limit`, and one that exceeds a time with `timeout`.
//!
//! ```
//! use graph_sdk::{Failure, http};
//!
//! fn translate(text: &str) -> Result<String, Failure> {
//!     let response = http::request("https://api.acme.com/translate")
//!         .method("POST")
//!         .field("content-type", "text/plain")
//!         .body(text)
//!         .send()?;
//!     match response.status {
//!         200 => response.text(),
//!         429 => Err(Failure::rate_limited("too many texts")),
//!         status => Err(Failure::permanent(format_args!("the server answers with {status}"))),
//!     }
//! }
//! # let _host = graph_sdk::testing::Host::new()
//! #     .server(|request| Ok(http::Response { status: 200, body: request.body.clone(), ..Default::default() }));
//! # assert_eq!(translate("Haus"), Ok("Haus".to_owned()));
//! ```

use crate::imports::http::exchange;
use crate::{Category, Failure};

/// A request, before it is sent.
#[derive(Clone, Debug)]
pub struct Request {
    method: String,
    url: String,
    fields: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
    streamed: bool,
}

/// The whole response of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// Status, from 100 to 599.
    pub status: u16,
    /// Header fields; their names are in lower case.
    pub fields: Vec<(String, Vec<u8>)>,
    /// The body.
    pub body: Vec<u8>,
}

/// Creates a request for a URL. The method is `GET` unless [`Request::method`] sets another one.
pub fn request(url: impl Into<String>) -> Request {
    Request {
        method: "GET".to_owned(),
        url: url.into(),
        fields: Vec::new(),
        body: Vec::new(),
        streamed: false,
    }
}

/// Sends a `GET` request for a URL.
pub fn get(url: impl Into<String>) -> Result<Response, Failure> {
    request(url).send()
}

impl Request {
    /// Sets the method, in capital letters.
    #[must_use]
    pub fn method(mut self, method: impl Into<String>) -> Self {
        self.method = method.into();
        self
    }

    /// Adds a header field. The host sets those about the connection and the length (`host`, `connection` and similar ones).
    #[must_use]
    pub fn field(mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        self.fields.push((name.into(), value.into()));
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Starts the request before its body is written, as a client does that streams. The host nevertheless sends it
    /// only after the body is complete.
    #[must_use]
    pub fn streamed(mut self) -> Self {
        self.streamed = true;
        self
    }

    /// Sends the request, and returns the whole response.
    pub fn send(self) -> Result<Response, Failure> {
        let (secure, rest) = match self.url.split_once("://") {
            Some(("https", rest)) => (true, rest),
            Some(("http", rest)) => (false, rest),
            Some(_) => return Err(invalid(&self.url, "a URL begins with https:// or http://")),
            None => return Err(invalid(&self.url, "a URL begins with https://")),
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(at);
        exchange(&Parts {
            url: &self.url,
            secure,
            authority,
            path,
            method: &self.method,
            fields: &self.fields,
            body: &self.body,
            streamed: self.streamed,
        })
    }
}

/// A request with the parts of its URL.
pub(crate) struct Parts<'a> {
    /// Whole URL, for messages.
    pub(crate) url: &'a str,
    /// True if the request uses TLS.
    pub(crate) secure: bool,
    /// Host, with the port if there is one.
    pub(crate) authority: &'a str,
    /// Path and query; may be empty.
    pub(crate) path: &'a str,
    pub(crate) method: &'a str,
    pub(crate) fields: &'a [(String, Vec<u8>)],
    pub(crate) body: &'a [u8],
    /// True if the request is started before its body is written.
    #[cfg_attr(
        not(target_arch = "wasm32"),
        expect(dead_code, reason = "a test's server gets whole requests")
    )]
    pub(crate) streamed: bool,
}

impl Parts<'_> {
    /// Returns the failure of an invalid request. `what` is the problem.
    #[cfg_attr(not(target_arch = "wasm32"), expect(dead_code, reason = "a test's server takes any request"))]
    pub(crate) fn invalid(&self, what: &str) -> Failure {
        invalid(self.url, what)
    }
}

fn invalid(url: &str, what: &str) -> Failure {
    Failure::new(Category::InvalidInput, format!("{url}: {what}"))
}

impl Response {
    /// Returns the body as text; fails if it is not UTF-8.
    pub fn text(self) -> Result<String, Failure> {
        String::from_utf8(self.body)
            .map_err(|_| Failure::new(Category::InvalidInput, "the response is not UTF-8 text"))
    }

    /// Returns the first value of a field. `name` is in lower case.
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_slice())
    }
}
