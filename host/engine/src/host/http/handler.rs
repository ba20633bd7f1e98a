//! The function of `wasi:http/outgoing-handler`.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use graph_core::capability::{HttpResponse as Response, Scheme};
use graph_core::diagnostic::escape;
use graph_core::node::{Category, Failure};
use graph_core::record::LogLevel;
use graph_core::record::journal::{as_kept, digested, kept, with_received};
use http_body_util::{BodyExt as _, Full};
use hyper::header;
use serde_json::{Value, json};
use wasmtime::component::Resource;
use wasmtime_wasi_http::RequestOptions;
use wasmtime_wasi_http::p2::bindings::http::types::{self, ErrorCode};
use wasmtime_wasi_http::p2::types::{HostFutureIncomingResponse, HostOutgoingRequest};

use super::body::{Body, UnfinishedRequest};
use super::problem::{Kind, Problem};
use super::received::ReceivedBytes;
use super::send::{IgnoredResponse, Request};
use super::sender::Sender;
use crate::bindings::wasi::http::outgoing_handler;
use crate::classify::GuestFault;
use crate::journal::{AnswerSource, RecordedAnswer, SharedJournal};
use crate::state::TaskState;

const INTERFACE: &str = "wasi:http/outgoing-handler";
const FUNCTION: &str = "handle";
/// Largest number of fields of a request.
const MAX_REQUEST_FIELDS: usize = 128;

impl outgoing_handler::Host for TaskState {
    async fn handle(
        &mut self,
        request: Resource<HostOutgoingRequest>,
        options: Option<Resource<RequestOptions>>,
    ) -> wasmtime::Result<Result<Resource<HostFutureIncomingResponse>, ErrorCode>> {
        let asked = self.table.delete(request)?;
        let options = match options {
            Some(options) => self.table.delete(options)?,
            None => RequestOptions::default(),
        };
        let Some(left) = self.http.left.checked_sub(1) else {
            let message = "it sent more requests than its limit `requests` allows".to_owned();
            return Err(GuestFault::new(Category::Limit, message).into());
        };
        self.http.left = left;

        let begun = self.output.begin();
        let answer = match complete(asked, self.limits.request_body) {
            Ok(CollectedRequest::Request(request)) => self.answer(request, options).await?,
            Ok(CollectedRequest::Unfinished(request, body)) => {
                // There is no answer until the body is finished.
                let never = wasmtime_wasi::runtime::spawn(std::future::pending());
                let future = self.table.push(HostFutureIncomingResponse::Pending(never))?;
                let place = future.rep();
                self.http.unfinished.push(UnfinishedRequest { place, request, options, body });
                return Ok(Ok(future));
            }
            Err(problem) => Err(problem),
        };
        self.output.ended(begun, INTERFACE, FUNCTION, answer.is_ok());
        let answer = self.answered(answer)?;
        Ok(Ok(self.table.push(answer)?))
    }
}

impl TaskState {
    /// Sends the requests whose bodies are finished.
    pub(super) async fn body_finished(&mut self) -> wasmtime::Result<()> {
        let mut waiting = std::mem::take(&mut self.http.unfinished);
        let most = self.limits.request_body;
        while !waiting.is_empty() {
            let UnfinishedRequest { place, mut request, options, mut body } = waiting.remove(0);
            let begun = self.output.begin();
            let answer = match body.collect(most) {
                Ok(false) => {
                    self.http.unfinished.push(UnfinishedRequest { place, request, options, body });
                    continue;
                }
                Ok(true) => {
                    request.body = body.into_bytes();
                    self.answer(request, options).await?
                }
                Err(problem) => Err(problem),
            };
            self.output.ended(begun, INTERFACE, FUNCTION, answer.is_ok());
            let answer = self.answered(answer)?;
            // If the component has dropped the future, the answer is not needed.
            if let Ok(future) = self.table.get_mut(&Resource::<HostFutureIncomingResponse>::new_own(place)) {
                *future = answer;
            }
        }
        Ok(())
    }

    /// Converts an answer for the component.
    fn answered(
        &mut self,
        answer: Result<Response, Problem>,
    ) -> wasmtime::Result<HostFutureIncomingResponse> {
        if let Err(problem) = &answer {
            self.output
                .host_line(LogLevel::Warn, &format!("its request failed: {}", escape(&problem.message)));
        }
        Ok(HostFutureIncomingResponse::Ready(match answer {
            Ok(response) => {
                let body = Full::new(Bytes::from(response.body)).map_err(Into::into).boxed_unsync();
                let mut built = hyper::Response::builder().status(response.status);
                for (name, value) in &response.fields {
                    built = built.header(name.as_str(), value.as_slice());
                }
                // The response is complete, so no task has to work on it.
                let worker = wasmtime_wasi::runtime::spawn(async {});
                Ok((built.body(body)?, worker))
            }
            Err(problem) => Err(problem.error()),
        }))
    }
}

/// A request that was handed over.
enum CollectedRequest {
    Request(Request),
    /// The body is still being written.
    Unfinished(Request, Body),
}

impl TaskState {
    /// Returns the outcome of a request, from the outside world or from the journal.
    async fn answer(
        &mut self,
        request: Request,
        options: RequestOptions,
    ) -> wasmtime::Result<Result<Response, Problem>> {
        let asked = asked(&request);
        match self.journal.begin(INTERFACE, FUNCTION, &asked)? {
            AnswerSource::Recorded(kept) => self.read_again(&kept),
            AnswerSource::World => {
                let deadline = self.deadline.into();
                let most = self.limits.response_body;
                let received = ReceivedBytes::for_body_of(most);
                let sender = Sender {
                    outgoing: Arc::clone(&self.granted.outgoing),
                    client: Arc::clone(&self.granted.client),
                    most,
                    received: received.clone(),
                    connect: options.connect_timeout,
                    // Components must not share a server's knowledge about a connection.
                    destination: None,
                    within: options.first_byte_timeout,
                };
                let end = |journal: &SharedJournal, failure: Failure| {
                    journal.record_end(INTERFACE, FUNCTION, asked.clone(), GuestFault::from(failure).into())
                };
                let come = if let Some(doubles) = self.services.http.clone() {
                    let answer = sender.doubled(&*doubles, request).await;
                    Some(answer.map_err(|failure| end(&self.journal, failure))?)
                } else {
                    let mut unwatched = IgnoredResponse;
                    let sent = sender.send(request, &mut unwatched);
                    tokio::time::timeout_at(deadline, sent).await.ok()
                };
                let Some(answer) = come else {
                    let message = "it ran past its deadline while it waited for a server".to_owned();
                    return Err(end(&self.journal, Failure::new(Category::Timeout, message)));
                };
                let kept = match &answer {
                    Ok(response) => Ok(with_received(answered(response), received.bytes())),
                    Err(problem) => Err(with_received(problem.kept(), received.bytes())),
                };
                self.journal.record(INTERFACE, FUNCTION, asked, kept)?;
                Ok(answer)
            }
        }
    }

    fn read_again(&self, kept: &RecordedAnswer) -> wasmtime::Result<Result<Response, Problem>> {
        let read = match kept.answer() {
            Ok(answer) => read_response(answer).map(Ok),
            Err(problem) => Problem::read(problem).map(Err),
        };
        read.ok_or_else(|| self.journal.malformed(kept))
    }
}

/// Reads a component's request, and normalises it.
fn complete(asked: HostOutgoingRequest, most: u64) -> Result<CollectedRequest, Problem> {
    let bad = |message: &str| Problem::new(Kind::Uri, message);
    let method = match asked.method {
        types::Method::Get => "GET".to_owned(),
        types::Method::Head => "HEAD".to_owned(),
        types::Method::Post => "POST".to_owned(),
        types::Method::Put => "PUT".to_owned(),
        types::Method::Delete => "DELETE".to_owned(),
        types::Method::Connect => "CONNECT".to_owned(),
        types::Method::Options => "OPTIONS".to_owned(),
        types::Method::Trace => "TRACE".to_owned(),
        types::Method::Patch => "PATCH".to_owned(),
        types::Method::Other(name) => name,
    };
    let scheme = match asked.scheme {
        None | Some(types::Scheme::Https) => Scheme::Https,
        Some(types::Scheme::Http) => Scheme::Http,
        Some(types::Scheme::Other(_)) => return Err(bad("a request goes by http or https")),
    };
    let authority = asked.authority.unwrap_or_default();
    let authority: hyper::http::uri::Authority =
        authority.parse().map_err(|_| bad("the request's authority is no host"))?;
    if authority.as_str().contains('@') {
        return Err(bad("the request's authority holds a user name"));
    }
    let host = authority.host().to_ascii_lowercase();
    let host = match host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')) {
        // An address is written in one form, whatever its form in the request.
        Some(inner) => {
            inner.parse::<IpAddr>().map_err(|_| bad("the request's host is no address"))?.to_string()
        }
        None => host,
    };
    if authority.port().is_some() && authority.port_u16().is_none() {
        return Err(bad("the request's port is no number"));
    }
    let port = authority.port_u16().unwrap_or(scheme.port());
    let path = match asked.path_with_query.as_deref() {
        None | Some("") => "/".to_owned(),
        Some(path) if path.starts_with('?') => format!("/{path}"),
        Some(path) if path.starts_with('/') => path.to_owned(),
        Some(_) => return Err(bad("the request's path does not start with `/`")),
    };
    let fields: Vec<_> = asked
        .headers
        .iter()
        .filter(|(name, _)| **name != header::CONTENT_LENGTH && !super::is_forbidden(name))
        .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
        .collect();
    if fields.len() > MAX_REQUEST_FIELDS {
        return Err(Problem::new(
            Kind::Denied,
            format!("the request has more than {MAX_REQUEST_FIELDS} fields"),
        ));
    }
    let mut request = Request { method, scheme, host, port, path, fields, body: Bytes::new() };
    let Some(body) = asked.body else { return Ok(CollectedRequest::Request(request)) };
    let mut body = Body::new(body);
    if !body.collect(most)? {
        return Ok(CollectedRequest::Unfinished(request, body));
    }
    request.body = body.into_bytes();
    Ok(CollectedRequest::Request(request))
}

fn asked(request: &Request) -> Value {
    json!({
        "body": digested(&request.body),
        "fields": fields(&request.fields),
        "method": request.method,
        "url": request.url(),
    })
}

fn answered(response: &Response) -> Value {
    json!({
        "body": kept(&response.body),
        "fields": fields(&response.fields),
        "status": response.status,
    })
}

fn fields(fields: &[(String, Vec<u8>)]) -> Value {
    let value = |bytes: &Vec<u8>| match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => kept(bytes),
    };
    fields.iter().map(|(name, bytes)| json!([name, value(bytes)])).collect()
}

fn read_response(kept: &Value) -> Option<Response> {
    let field = |field: &Value| {
        let value = field.get(1)?;
        let bytes = value.as_str().map(|text| text.as_bytes().to_vec()).or_else(|| as_kept(value))?;
        Some((field.get(0)?.as_str()?.to_owned(), bytes))
    };
    Some(Response {
        status: u16::try_from(kept.get("status")?.as_u64()?).ok()?,
        fields: kept.get("fields")?.as_array()?.iter().map(field).collect::<Option<_>>()?,
        body: as_kept(kept.get("body")?)?,
    })
}
