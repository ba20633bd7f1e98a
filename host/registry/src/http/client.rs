//! Requests to one registry, with the hosts to which they may be sent, credentials, and limits on time and bytes.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::rc::Rc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use graph_core::capability::is_public;
use graph_http::header::{
    AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, LOCATION, WWW_AUTHENTICATE,
};
use graph_http::{Client, Method, Request, Response, StatusCode};
use url::Url;

use super::credentials::Credentials;
use super::helper::Time;
use super::repository::Repository;
use crate::answer::{
    Challenge, explanation, is_local, is_loopback, location, refuses, resolves_locally, same_origin, token,
};
use crate::budget::TransferBudget;
use crate::manifest::shown;
use crate::reference::REGISTRY;
use crate::transport::TransportError;

/// Maximum duration of any request, except for that of a blob.
const ANSWER: Duration = Duration::from_mins(1);
/// Maximum number of redirects of a blob that are followed.
const MOST_REDIRECTS: usize = 5;
/// Maximum size of a token, a listing or an error, in bytes.
pub(super) const MOST_ANSWER: u64 = 4 << 20;
/// Number of bytes that are read of an error.
const MOST_ERROR: u64 = 16 << 10;

/// Options for access to registries. All connections with clones of the same options share one limit on time and one on
/// bytes.
#[derive(Clone, Debug)]
pub struct RegistryOptions {
    plain_http: Option<bool>,
    token_realms: Vec<String>,
    named: Rc<BTreeSet<String>>,
    budget: TransferBudget,
}

impl RegistryOptions {
    /// Creates options with limits on time and bytes that begin now. `plain_http` decides whether registries are
    /// accessed without TLS; with `None`, only those on this machine are.
    pub fn new(plain_http: Option<bool>, time: Duration, most: u64) -> Self {
        let budget = TransferBudget::new(time, most);
        Self { plain_http, token_realms: Vec::new(), named: Rc::default(), budget }
    }

    /// Returns the limits on time and bytes.
    pub const fn budget(&self) -> &TransferBudget {
        &self.budget
    }

    /// Sets the registries that the user has named, as `host` or `host:port`. Any other registry is named in a file,
    /// which a stranger may have written: it is not contacted if it is on this machine or in its networks.
    #[must_use]
    pub fn with_named(self, hosts: BTreeSet<String>) -> Self {
        Self { named: Rc::new(hosts), ..self }
    }

    /// Allows these hosts, `host` or `host:port`, to issue tokens for registries. By default only the registry itself
    /// may: credentials are only sent to the host that they are for.
    #[must_use]
    pub fn with_token_realms(self, hosts: Vec<String>) -> Self {
        Self { token_realms: hosts, ..self }
    }

    fn is_token_realm(&self, url: &Url) -> bool {
        let named = |host: &String| Url::parse(&format!("{}://{host}/", url.scheme()));
        self.token_realms.iter().any(|host| named(host).is_ok_and(|named| same_origin(&named, url)))
    }
}

/// A connection to one registry: base URL, credentials, deadline and byte budget.
#[derive(Clone, Debug)]
pub struct Registry {
    host: String,
    base: Url,
    client: Client,
    /// Sends requests to other hosts to which the registry redirects.
    elsewhere: Rc<OnceCell<Client>>,
    options: RegistryOptions,
    /// Authorization headers, by the scopes for which they are valid.
    permits: Rc<RefCell<BTreeMap<String, HeaderValue>>>,
}

/// The purpose of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestPurpose<'a> {
    /// The requested thing, for messages.
    pub(super) what: &'a str,
    /// The token's scope: `repository:acme/fetch:pull`.
    pub(super) scope: &'a str,
    /// True if redirects are followed, which is done for blobs only.
    pub(super) is_blob: bool,
}

/// A request that can be repeated.
#[derive(Clone, Debug)]
pub(super) struct RepeatableRequest<'a> {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) fields: Vec<(&'static str, String)>,
    pub(super) body: Option<&'a [u8]>,
}

impl Registry {
    /// Creates a connection to a registry, `host` or `host:port`. No request is made yet.
    pub fn new(host: &str, options: &RegistryOptions) -> Result<Self, TransportError> {
        let network = |reason: String| TransportError::Network {
            what: "anything".to_owned(),
            place: host.to_owned(),
            reason,
        };
        let scheme = if options.plain_http.unwrap_or_else(|| is_loopback(host)) { "http" } else { "https" };
        let base =
            Url::parse(&format!("{scheme}://{host}/v2/")).map_err(|error| network(error.to_string()))?;
        let is_named = options.named.contains(host);
        if !is_named && is_local(&base) {
            return Err(TransportError::NotNamed { place: host.to_owned() });
        }
        let client = if is_named { Client::new() } else { Client::reaching(is_public) };
        let client = client.map_err(|error| network(error.to_string()))?;
        let (options, host) = (options.clone(), host.to_owned());
        Ok(Self { host, base, client, elsewhere: Rc::default(), options, permits: Rc::default() })
    }

    /// Returns one of its repositories.
    pub fn repository(&self, name: &str) -> Repository {
        Repository::new(self.clone(), name)
    }

    /// Returns its host, as `host` or `host:port`.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the URL of a path below `/v2/`.
    pub(super) fn url(&self, path: &str) -> Result<Url, TransportError> {
        self.base.join(path).map_err(|error| self.network(path, error.to_string()))
    }

    pub(super) fn network(&self, what: &str, reason: String) -> TransportError {
        TransportError::Network { what: what.to_owned(), place: self.host.clone(), reason }
    }

    pub(super) fn answer(&self, what: &str, reason: String) -> TransportError {
        TransportError::Answer { what: what.to_owned(), place: self.host.clone(), reason }
    }

    fn too_late(&self, what: &str) -> TransportError {
        self.options.budget.too_late(what, &self.host)
    }

    /// Sends a request, with authentication if the registry requires it, and follows redirects of blobs. The returned
    /// response is neither a challenge nor a redirect.
    pub(super) fn ask(
        &self,
        ask: &RepeatableRequest<'_>,
        about: RequestPurpose<'_>,
    ) -> Result<Response, TransportError> {
        let mut response = self.send(ask, about, true)?;
        if response.status() == StatusCode::UNAUTHORIZED {
            // The request is repeated only once: a registry that refuses the credentials will refuse them again.
            self.authenticate(&response, about)?;
            response = self.send(ask, about, true)?;
            if response.status() == StatusCode::UNAUTHORIZED {
                let reason = self.reason(response, about.what);
                return Err(self.denied(about, reason));
            }
        }
        let mut hops = 0;
        let mut from = ask.url.clone();
        while response.status().is_redirection() && response.status() != StatusCode::NOT_MODIFIED {
            let to = self.location(&response, &from, about.what)?;
            let refused = if !about.is_blob {
                Some("only a blob may be redirected to another host")
            } else if hops == MOST_REDIRECTS {
                Some("it has been redirected too often")
            } else {
                self.refuses(&from, &to)
            };
            if let Some(reason) = refused {
                return Err(TransportError::Redirect {
                    what: about.what.to_owned(),
                    place: self.host.clone(),
                    to: shown(to.as_str()),
                    reason,
                });
            }
            hops += 1;
            let with_credentials = same_origin(&to, &self.base);
            let next = RepeatableRequest { url: to.clone(), ..ask.clone() };
            response = self.send(&next, about, with_credentials)?;
            from = to;
        }
        Ok(response)
    }

    /// Returns the reason for which a redirect is not followed. A redirect from https to http is always refused; any
    /// other redirect to http is followed only to this machine, or if the user has allowed plain HTTP.
    fn refuses(&self, from: &Url, to: &Url) -> Option<&'static str> {
        refuses(from, to, self.options.plain_http == Some(true))
    }

    /// Returns the URL in a response's `Location`.
    pub(super) fn location(
        &self,
        response: &Response,
        from: &Url,
        what: &str,
    ) -> Result<Url, TransportError> {
        let field = response.headers().get(LOCATION).and_then(|field| field.to_str().ok());
        let field = field.ok_or_else(|| self.answer(what, "no usable `Location`".to_owned()))?;
        location(from, field).map_err(|error| self.answer(what, error.to_string()))
    }

    /// Returns the URL of an upload, at the registry or at another host. A URL without TLS is refused if the registry
    /// uses TLS.
    pub(super) fn upload_location(
        &self,
        response: &Response,
        from: &Url,
        what: &str,
    ) -> Result<Url, TransportError> {
        let to = self.location(response, from, what)?;
        match self.refuses(from, &to) {
            None => Ok(to),
            Some(reason) => Err(TransportError::Redirect {
                what: what.to_owned(),
                place: self.host.clone(),
                to: shown(to.as_str()),
                reason,
            }),
        }
    }

    fn send(
        &self,
        ask: &RepeatableRequest<'_>,
        about: RequestPurpose<'_>,
        with_credentials: bool,
    ) -> Result<Response, TransportError> {
        let mut request = request(ask.method.clone());
        for (name, value) in &ask.fields {
            let value = HeaderValue::from_str(value)
                .map_err(|error| self.network(about.what, format!("a field of the request: {error}")))?;
            request.headers_mut().insert(*name, value);
        }
        if with_credentials
            && same_origin(&ask.url, &self.base)
            && let Some(field) = self.permits.borrow().get(about.scope)
        {
            request.headers_mut().insert(AUTHORIZATION, field.clone());
        }
        if let Some(body) = ask.body {
            *request.body_mut() = Bytes::copy_from_slice(body);
        }
        self.execute(request, &ask.url, about.what, about.is_blob || ask.body.is_some())
    }

    fn execute(
        &self,
        mut request: Request<Bytes>,
        url: &Url,
        what: &str,
        is_large: bool,
    ) -> Result<Response, TransportError> {
        let left = self.options.budget.time_left(what, &self.host)?;
        *request.uri_mut() =
            url.as_str().parse().map_err(|error| self.network(what, format!("its address: {error}")))?;
        let time = if is_large { left } else { left.min(ANSWER) };
        let client = self.client_for(url).map_err(|error| self.network(what, error.to_string()))?;
        client.send(request, time).map_err(|error| match error {
            graph_http::Error::Address(_) if same_origin(url, &self.base) => {
                TransportError::NotNamed { place: self.host.clone() }
            }
            graph_http::Error::Address(_) => TransportError::Redirect {
                what: what.to_owned(),
                place: self.host.clone(),
                to: shown(url.as_str()),
                reason: "it is on this machine or in its networks",
            },
            error => self.failure(error, what),
        })
    }

    /// Returns the client for a URL. A registry that the user has named and that is in the user's own networks may
    /// redirect to hosts there; any other registry may redirect to public addresses only. Hosts that issue tokens are
    /// named by the user, so that their addresses are not checked.
    fn client_for(&self, url: &Url) -> io::Result<Client> {
        if same_origin(url, &self.base) {
            return Ok(self.client.clone());
        }
        if self.options.is_token_realm(url) {
            return Client::new();
        }
        if let Some(client) = self.elsewhere.get() {
            return Ok(client.clone());
        }
        let is_at_home = self.options.named.contains(&self.host) && resolves_locally(&self.base);
        let client = if is_at_home { Client::new()? } else { Client::reaching(is_public)? };
        Ok(self.elsewhere.get_or_init(|| client).clone())
    }

    /// Returns the error for a request without a response, or with an incomplete body.
    fn failure(&self, error: graph_http::Error, what: &str) -> TransportError {
        match error {
            graph_http::Error::Timeout => self.too_late(what),
            error => self.network(what, shown(&error.to_string())),
        }
    }

    /// Obtains the credentials that the registry requires for this scope.
    fn authenticate(&self, response: &Response, about: RequestPurpose<'_>) -> Result<(), TransportError> {
        let fields = response.headers().get_all(WWW_AUTHENTICATE);
        let challenge = fields.iter().find_map(|field| Challenge::read(field.to_str().ok()?));
        let challenge = challenge
            .ok_or_else(|| self.denied(about, "it wants to know more, and does not say what".to_owned()))?;
        let (seconds, deadline) = self.options.budget.time();
        let time = Time { deadline, seconds };
        let credentials = Credentials::find(&self.host, time)
            .map_err(|error| TransportError::Credentials { place: self.host.clone(), error })?;
        let field = match challenge {
            Challenge::Basic => match credentials {
                Credentials::Password { username, password } => basic(&username, &password),
                _ => return Err(self.denied(about, "it wants a name and a password".to_owned())),
            },
            Challenge::Bearer { realm, service, scope } => {
                let scope = scope.unwrap_or_else(|| about.scope.to_owned());
                let token = self.token(&realm, service.as_deref(), &scope, &credentials, about)?;
                sensitive(&format!("Bearer {token}"))
            }
        };
        let field = field.ok_or_else(|| self.denied(about, "its token is not usable".to_owned()))?;
        self.permits.borrow_mut().insert(about.scope.to_owned(), field);
        Ok(())
    }

    /// Requests a token for the scope.
    fn token(
        &self,
        realm: &str,
        service: Option<&str>,
        scope: &str,
        credentials: &Credentials,
        about: RequestPurpose<'_>,
    ) -> Result<String, TransportError> {
        let what = "a token";
        let mut url = Url::parse(realm)
            .map_err(|error| self.answer(what, format!("the place `{}`: {error}", shown(realm))))?;
        if let Some(reason) = self.refuses(&self.base, &url) {
            let (what, place) = (what.to_owned(), self.host.clone());
            return Err(TransportError::Redirect { what, place, to: shown(url.as_str()), reason });
        }
        if !same_origin(&url, &self.base) && !self.options.is_token_realm(&url) {
            let host = url.host_str().unwrap_or_default();
            let realm = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
            return Err(TransportError::Realm { place: self.host.clone(), realm: shown(&realm) });
        }
        let (request, url) = if let Credentials::Identity(token) = credentials {
            let form = [
                ("grant_type", "refresh_token"),
                ("refresh_token", token.as_str()),
                ("client_id", "graph-host"),
                ("service", service.unwrap_or_default()),
                ("scope", scope),
            ];
            // The encoding of a form is that of a URL's query.
            let mut encoded = self.base.clone();
            encoded.query_pairs_mut().clear().extend_pairs(form);
            let mut request = request(Method::POST);
            let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
            request.headers_mut().insert(CONTENT_TYPE, kind);
            *request.body_mut() = encoded.query().unwrap_or_default().to_owned().into();
            (request, url)
        } else {
            for (name, value) in [("service", service), ("scope", Some(scope))] {
                if let Some(value) = value {
                    url.query_pairs_mut().append_pair(name, value);
                }
            }
            let mut request = request(Method::GET);
            if let Credentials::Password { username, password } = credentials
                && let Some(field) = basic(username, password)
            {
                request.headers_mut().insert(AUTHORIZATION, field);
            }
            (request, url)
        };
        let response = self.execute(request, &url, what, false)?;
        if !response.status().is_success() {
            let status = response.status();
            let reason = self.reason(response, what);
            return Err(self.denied(about, format!("there is no token for it ({status}): {reason}")));
        }
        let bytes = self.body(response, what, MOST_ANSWER)?;
        token(&bytes).map_err(|error| self.answer(what, error.to_string()))
    }

    pub(super) fn denied(&self, about: RequestPurpose<'_>, reason: String) -> TransportError {
        let action = format!("use {}", about.what);
        TransportError::Denied { place: self.host.clone(), action, reason }
    }

    /// Returns the explanation in an error response, with its status.
    pub(super) fn reason(&self, response: Response, what: &str) -> String {
        let status = response.status();
        let text = self.body(response, what, MOST_ERROR).unwrap_or_default();
        match explanation(&text) {
            None => format!("status {status}"),
            Some(text) => format!("status {status}: {text}"),
        }
    }

    /// Returns the error for a response with an unexpected status.
    pub(super) fn failed(&self, response: Response, about: RequestPurpose<'_>) -> TransportError {
        let what = about.what.to_owned();
        match response.status() {
            StatusCode::NOT_FOUND => TransportError::NotFound {
                what,
                listing: Some(format!("{REGISTRY}{}", self.host)),
                place: self.host.clone(),
            },
            StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED => {
                let reason = self.reason(response, about.what);
                self.denied(about, reason)
            }
            status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                let reason = self.reason(response, about.what);
                self.network(about.what, reason)
            }
            _ => {
                let reason = self.reason(response, about.what);
                self.answer(about.what, reason)
            }
        }
    }

    /// Reads a body of at most `most` bytes.
    pub(super) fn body(
        &self,
        mut response: Response,
        what: &str,
        most: u64,
    ) -> Result<Vec<u8>, TransportError> {
        let too_large = || TransportError::TooLarge { what: what.to_owned(), place: self.host.clone(), most };
        let stated =
            response.headers().get(CONTENT_LENGTH).and_then(|field| field.to_str().ok()?.parse().ok());
        if stated.is_some_and(|stated: u64| stated > most) {
            return Err(too_large());
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().map_err(|error| self.failure(error, what))? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() as u64 > most {
                return Err(too_large());
            }
            self.options.budget.receive(chunk.len(), &self.host)?;
            self.options.budget.time_left(what, &self.host)?;
        }
        Ok(bytes)
    }
}

/// Returns a header value that is marked as sensitive, so that it is never logged.
fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut field = HeaderValue::from_str(text).ok()?;
    field.set_sensitive(true);
    Some(field)
}

fn basic(username: &str, password: &str) -> Option<HeaderValue> {
    sensitive(&format!("Basic {}", BASE64_STANDARD.encode(format!("{username}:{password}"))))
}

/// Returns a request without headers and content; its URL is set when it is sent.
fn request(method: Method) -> Request<Bytes> {
    let mut request = Request::default();
    *request.method_mut() = method;
    request
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn plain_http_is_for_this_machine_alone() {
        let time = Duration::from_secs(1);
        let scheme = |host: &str, plain: Option<bool>| {
            let options = RegistryOptions::new(plain, time, 1).with_named([host.to_owned()].into());
            Registry::new(host, &options).unwrap().base.scheme().to_owned()
        };
        for host in ["localhost:5000", "127.0.0.1", "LOCALHOST"] {
            assert_eq!(scheme(host, None), "http", "{host}");
            assert_eq!(scheme(host, Some(false)), "https", "{host}");
        }
        for host in ["registry.example", "localhost.example:5000", "10.0.0.1", "127.0.0.1.example"] {
            assert_eq!(scheme(host, None), "https", "{host}");
            assert_eq!(scheme(host, Some(true)), "http", "{host}");
        }
    }

    #[test]
    fn only_what_the_user_has_named_is_at_home() {
        for host in [
            "localhost:5000",
            "x.localhost",
            "127.0.0.1",
            "127.1",
            "0x7f000001",
            "10.0.0.1",
            "169.254.169.254",
        ] {
            let with = |named: &str| {
                let options = RegistryOptions::new(None, Duration::from_secs(1), 1)
                    .with_named([named.to_owned()].into());
                Registry::new(host, &options)
            };
            assert!(with(host).is_ok(), "{host}");
            for other in ["", "registry.example", "localhost:5001", "127.0.0.1:5000"] {
                assert!(matches!(with(other), Err(TransportError::NotNamed { .. })), "{host} {other}");
            }
        }
    }

    #[test]
    fn only_a_registry_at_home_redirects_there() {
        let (listener, at) =
            (std::net::TcpListener::bind("127.0.0.1:0").unwrap(), |listener: &std::net::TcpListener| {
                format!("http://{}/blob", listener.local_addr().unwrap())
            });
        listener.set_nonblocking(true).unwrap();
        let url = Url::parse(&at(&listener)).unwrap();
        let contacts = |host: &str| {
            let options = RegistryOptions::new(Some(true), Duration::from_secs(2), 1 << 20)
                .with_named([host.to_owned()].into());
            let registry = Registry::new(host, &options).unwrap();
            let result = registry.execute(request(Method::GET), &url, "a blob", true);
            let is_contacted = listener.accept().is_ok();
            (matches!(result, Err(TransportError::Redirect { .. })), is_contacted)
        };
        // Nothing is sent to the registry itself.
        assert_eq!(contacts("8.8.8.8"), (true, false));
        assert_eq!(contacts("127.0.0.2"), (false, true));
    }

    /// Starts a server that sends the head of a response, and then one byte after each pause; without a pause, as many
    /// bytes as it can.
    fn server(pause: Option<Duration>) -> u16 {
        use std::io::{Read as _, Write as _};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            // The server must not answer before the request is complete.
            let mut asked = Vec::new();
            while !asked.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                asked.extend(byte);
            }
            let mut sent = stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n");
            while sent.is_ok() {
                if let Some(pause) = pause {
                    std::thread::sleep(pause);
                }
                sent = stream.write_all(&vec![b'x'; if pause.is_some() { 1 } else { 4096 }]);
            }
        });
        port
    }

    #[test]
    fn all_requests_share_their_time_and_their_bytes() {
        use crate::transport::Transport as _;
        let digest = graph_core::digest::Digest::of_bytes(b"x");
        let read = |port: u16, time: Duration, most: u64| {
            let host = format!("127.0.0.1:{port}");
            let options = RegistryOptions::new(None, time, most).with_named([host.clone()].into());
            let registry = Registry::new(&host, &options).unwrap();
            registry.repository("a/b").blob(&digest, 1 << 30)
        };
        let much = read(server(None), Duration::from_mins(1), 100_000);
        assert!(matches!(much, Err(TransportError::TooMuch { most: 100_000, .. })), "{much:?}");
        // Data keeps arriving, but the response is never complete.
        let began = std::time::Instant::now();
        let late = read(server(Some(Duration::from_millis(20))), Duration::from_millis(400), 1 << 30);
        assert!(matches!(late, Err(TransportError::Timeout { .. })), "{late:?}");
        assert!(began.elapsed() < Duration::from_secs(10));
    }
}
