//! Failures of requests.

use serde_json::{Value, json};
use wasmtime_wasi_http::Error;

/// A failed request: the error for the component, and details for readers of the log. It contains nothing from the request's fields or from
/// the response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::host) struct Problem {
    pub(in crate::host) kind: Kind,
    pub(in crate::host) message: String,
}

/// The kind of failure, from which the component's error follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::host) enum Kind {
    Denied,
    AddressDenied,
    Dns,
    Refused,
    ConnectTimeout,
    Terminated,
    Tls,
    Certificate,
    ResponseTimeout,
    RequestBody,
    ResponseBody,
    ResponseFields,
    Encoding,
    Protocol,
    Uri,
}

const KINDS: [(Kind, &str); 15] = [
    (Kind::Denied, "HTTP-request-denied"),
    (Kind::AddressDenied, "destination-IP-prohibited"),
    (Kind::Dns, "DNS-error"),
    (Kind::Refused, "connection-refused"),
    (Kind::ConnectTimeout, "connection-timeout"),
    (Kind::Terminated, "connection-terminated"),
    (Kind::Tls, "TLS-protocol-error"),
    (Kind::Certificate, "TLS-certificate-error"),
    (Kind::ResponseTimeout, "HTTP-response-timeout"),
    (Kind::RequestBody, "HTTP-request-body-size"),
    (Kind::ResponseBody, "HTTP-response-body-size"),
    (Kind::ResponseFields, "HTTP-response-header-section-size"),
    (Kind::Encoding, "HTTP-response-content-coding"),
    (Kind::Protocol, "HTTP-protocol-error"),
    (Kind::Uri, "HTTP-request-URI-invalid"),
];

impl Problem {
    pub(super) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    pub(super) fn terminated() -> Self {
        Self::new(Kind::Terminated, "the server ended the connection before its response was complete")
    }

    /// Returns the journal's form of the problem.
    pub(super) fn kept(&self) -> Value {
        let name = KINDS.iter().find(|(kind, _)| *kind == self.kind).map_or("", |(_, name)| name);
        json!({"error": name, "message": self.message})
    }

    /// Reads the journal's form.
    pub(super) fn read(kept: &Value) -> Option<Self> {
        let name = kept.get("error")?.as_str()?;
        let (kind, _) = KINDS.into_iter().find(|(_, known)| *known == name)?;
        Some(Self::new(kind, kept.get("message")?.as_str()?))
    }

    /// Returns the error for the component.
    pub(super) fn error(&self) -> Error {
        match self.kind {
            Kind::Denied => Error::HttpRequestDenied,
            Kind::AddressDenied => Error::DestinationIpProhibited,
            Kind::Dns => Error::DnsError { rcode: None, info_code: None },
            Kind::Refused => Error::ConnectionRefused,
            Kind::ConnectTimeout => Error::ConnectionTimeout,
            Kind::Terminated => Error::ConnectionTerminated,
            Kind::Tls => Error::TlsProtocolError,
            Kind::Certificate => Error::TlsCertificateError,
            Kind::ResponseTimeout => Error::HttpResponseTimeout,
            Kind::RequestBody => Error::HttpRequestBodySize(None),
            Kind::ResponseBody => Error::HttpResponseBodySize(None),
            Kind::ResponseFields => Error::HttpResponseHeaderSectionSize(None),
            Kind::Encoding => Error::HttpResponseContentCoding(None),
            Kind::Protocol => Error::HttpProtocolError,
            Kind::Uri => Error::HttpRequestUriInvalid,
        }
    }
}
