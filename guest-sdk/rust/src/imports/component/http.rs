//! Exchange of one request over `wasi:http`.

use crate::bindings::wasi::http::outgoing_handler::handle;
use crate::bindings::wasi::http::types::{
    ErrorCode, Fields, IncomingBody, Method, OutgoingBody, OutgoingRequest, Scheme,
};
use crate::bindings::wasi::io::streams::StreamError;
use crate::http::{Parts, Response};
use crate::{Category, Failure};

/// Maximum number of bytes of a body that one host call writes.
const CHUNK: usize = 4096;
/// Maximum number of bytes of a body that one host call reads.
const READ: u64 = 256 * 1024;

/// Sends a request, and returns the whole response.
pub(crate) fn exchange(parts: &Parts<'_>) -> Result<Response, Failure> {
    let invalid = |what: &str| parts.invalid(what);
    let scheme = if parts.secure { Scheme::Https } else { Scheme::Http };
    let fields = Fields::from_list(parts.fields).map_err(|_| invalid("one of its fields may not be sent"))?;
    let request = OutgoingRequest::new(fields);
    let method = match parts.method {
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
    request.set_authority(Some(parts.authority)).map_err(|()| invalid("its host is none"))?;
    request.set_path_with_query(Some(parts.path)).map_err(|()| invalid("its path is none"))?;
    // The host sends a request once its body is complete.
    let body = request.body().map_err(|()| invalid("its body cannot be written"))?;
    let hand_over = |request| handle(request, None).map_err(|code| failed(parts.url, &code));
    let (mut request, mut pending) = (Some(request), None);
    if let Some(request) = request.take_if(|_| parts.streamed) {
        pending = Some(hand_over(request)?);
    }
    {
        let stream = body.write().map_err(|()| invalid("its body cannot be written"))?;
        for chunk in parts.body.chunks(CHUNK) {
            stream.blocking_write_and_flush(chunk).map_err(|_| invalid("its body cannot be written"))?;
        }
    }
    OutgoingBody::finish(body, None).map_err(|code| failed(parts.url, &code))?;
    if let Some(request) = request {
        pending = Some(hand_over(request)?);
    }
    let Some(pending) = pending else {
        return Err(Failure::new(Category::Internal, "the request was not handed over"));
    };

    pending.subscribe().block();
    let response = match pending.get() {
        Some(Ok(Ok(response))) => response,
        Some(Ok(Err(code))) => return Err(failed(parts.url, &code)),
        _ => return Err(Failure::new(Category::Internal, "the host gave no response")),
    };
    let status = response.status();
    let fields = response.headers().entries();
    let body =
        response.consume().map_err(|()| Failure::new(Category::Internal, "the response has no body"))?;
    Ok(Response { status, fields, body: read(&body)? })
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
