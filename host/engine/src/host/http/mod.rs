//! `wasi:http/outgoing-handler`: requests within the grant, each checked at every step and answered as a whole.
//!
//! The host follows no redirects: a component that follows one sends another request, which is checked like the first. A request is sent
//! when its body is finished: by `handle`, or by the `finish` of a body that is written later. The whole response has arrived when that
//! call returns, so that a component can observe neither the network's pace nor its packets. Secrets are inserted when a request is sent
//! and removed from the response.

#![allow(unreachable_pub)]

mod body;
mod connection;
mod handler;
mod kept;
mod problem;
mod received;
mod resolver;
mod secrets;
mod send;
mod sender;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use graph_core::capability::OutgoingGrant;
use hyper::header::{self, HeaderName};
use wasmtime_wasi_http::{
    DEFAULT_FORBIDDEN_HEADERS, Error, ForbiddenHeaderFilter, RequestOptions, WasiBody, WasiHttpCtx,
    WasiHttpCtxView, WasiHttpHooks,
};

use body::UnfinishedRequest;
pub(crate) use body::add_to_linker;
pub(super) use kept::Destination;
pub(super) use problem::Kind;
pub(super) use received::ReceivedBytes;
pub use resolver::{PendingResolution, Resolver, SystemResolver};
pub use secrets::SecretError;
pub(crate) use secrets::{placeholder, read as read_secret};
pub(crate) use send::Client;
pub(super) use send::{Request, ResponseReceiver};
pub(super) use sender::Sender;

use crate::state::TaskState;

/// Largest memory of the fields of one request or response, in bytes.
const MAX_FIELDS: usize = 128 << 10;
/// Largest number of pieces in which a component may write a request's body.
const MAX_CHUNKS: usize = 4096;
/// Length of the longest piece, in bytes.
const MAX_CHUNK: usize = 16 << 10;

/// The requests of one call.
pub(crate) struct HttpState {
    context: WasiHttpCtx,
    hooks: Hooks,
    pub(super) outgoing: Arc<OutgoingGrant>,
    /// Number of requests that may still be sent.
    left: u64,
    /// Requests that were handed over before their bodies were finished.
    unfinished: Vec<UnfinishedRequest>,
}

impl HttpState {
    pub(crate) fn new(outgoing: Arc<OutgoingGrant>, requests: u64) -> Self {
        let mut context = WasiHttpCtx::new();
        context.set_field_size_limit(MAX_FIELDS);
        Self { context, hooks: Hooks, outgoing, left: requests, unfinished: Vec::new() }
    }
}

/// Lets the stock functions of `wasi:http/types` use the call's state.
pub(crate) fn view(state: &mut TaskState) -> WasiHttpCtxView<'_> {
    WasiHttpCtxView { hooks: &mut state.http.hooks, table: &mut state.table, ctx: &mut state.http.context }
}

struct Hooks;

/// Checks for fields that only the host writes, since they define the end or the destination of a message.
fn is_forbidden(name: &HeaderName) -> bool {
    DEFAULT_FORBIDDEN_HEADERS.contains(name) || [header::TE, header::TRAILER, header::EXPECT].contains(name)
}

impl WasiHttpHooks for Hooks {
    fn is_forbidden_header(&mut self, name: &HeaderName) -> bool {
        is_forbidden(name)
    }

    fn forbidden_header_filter(&mut self) -> ForbiddenHeaderFilter {
        Arc::new(is_forbidden)
    }

    fn send_request(
        &mut self,
        _: hyper::Request<WasiBody>,
        _: Option<RequestOptions>,
        _: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<
        dyn Future<
                Output = Result<
                    (hyper::Response<WasiBody>, Box<dyn Future<Output = Result<(), Error>> + Send>),
                    Error,
                >,
            > + Send,
    > {
        // Only `handler` sends requests.
        Box::new(async { Err(Error::HttpRequestDenied) })
    }

    fn p2_outgoing_body_buffer_chunks(&mut self) -> usize {
        MAX_CHUNKS
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        MAX_CHUNK
    }
}
