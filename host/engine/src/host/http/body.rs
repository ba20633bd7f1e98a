//! Bodies of requests: limited while they are written, and sent as a whole once they are finished.
//!
//! Components usually hand a request over, then write its body, then finish the body. This module replaces two of wasmtime's functions
//! of `wasi:http/types`, which have no limit and do not report the end of a body.

use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};
use graph_core::node::Category;
use hyper::body::Body as _;
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::p2::{DynOutputStream, OutputStream, Pollable, StreamError, StreamResult};
use wasmtime_wasi_http::RequestOptions;
use wasmtime_wasi_http::p2::bindings::http::types::{ErrorCode, Trailers};
use wasmtime_wasi_http::p2::body::{HostOutgoingBody, HyperOutgoingBody};

use super::problem::{Kind, Problem};
use super::send::Request;
use crate::classify::GuestFault;
use crate::state::TaskState;

const INTERFACE: &str = "wasi:http/types@0.2.12";

/// A request that was handed over before its body was finished.
pub(super) struct UnfinishedRequest {
    /// The handle of the future that receives its response.
    pub(super) place: u32,
    pub(super) request: Request,
    pub(super) options: RequestOptions,
    pub(super) body: Body,
}

/// The body of a request as far as it is written.
pub(super) struct Body {
    from: HyperOutgoingBody,
    bytes: BytesMut,
}

impl Body {
    pub(super) fn new(from: HyperOutgoingBody) -> Self {
        Self { from, bytes: BytesMut::new() }
    }

    pub(super) fn into_bytes(self) -> Bytes {
        self.bytes.freeze()
    }

    /// Takes the written bytes, and returns `true` once the body is complete.
    pub(super) fn collect(&mut self, most: u64) -> Result<bool, Problem> {
        // All available data is taken at once, in any number of pieces.
        let taken = pin!(tokio::task::coop::unconstrained(std::future::poll_fn(|context| {
            Poll::Ready(self.take(context, most))
        })));
        match taken.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(taken) => taken,
            Poll::Pending => Ok(false),
        }
    }

    fn take(&mut self, context: &mut Context<'_>, most: u64) -> Result<bool, Problem> {
        loop {
            match Pin::new(&mut self.from).poll_frame(context) {
                Poll::Pending => return Ok(false),
                Poll::Ready(None) => return Ok(true),
                Poll::Ready(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data() {
                        self.bytes.extend_from_slice(&data);
                    }
                    if self.bytes.len() as u64 > most {
                        let message = format!("the request is longer than {most} bytes");
                        return Err(Problem::new(Kind::RequestBody, message));
                    }
                }
                Poll::Ready(Some(Err(_))) => {
                    return Err(Problem::new(Kind::RequestBody, "the request is not as long as it says"));
                }
            }
        }
    }
}

/// The stream of a body, limited in bytes and in pieces.
struct BoundedBody {
    inner: Box<dyn OutputStream>,
    most: u64,
    left: u64,
    pieces: usize,
}

#[wasmtime_wasi::async_trait]
impl Pollable for BoundedBody {
    async fn ready(&mut self) {
        self.inner.ready().await;
    }
}

impl OutputStream for BoundedBody {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        let over = |message: String| StreamError::Trap(GuestFault::new(Category::Limit, message).into());
        self.left = self
            .left
            .checked_sub(bytes.len() as u64)
            .ok_or_else(|| over(format!("its request has a body of more than {} bytes", self.most)))?;
        self.pieces = self.pieces.checked_sub(1).ok_or_else(|| {
            over(format!(
                "its request has a body in more than {} pieces; it may write longer ones",
                super::MAX_CHUNKS
            ))
        })?;
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.inner.flush()
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        self.inner.check_write()
    }
}

/// Replaces wasmtime's functions, which must exist.
pub(crate) fn add_to_linker(linker: &mut Linker<TaskState>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    let mut types = linker.instance(INTERFACE)?;
    types.func_wrap(
        "[method]outgoing-body.write",
        |mut store: StoreContextMut<'_, TaskState>, (body,): (Resource<HostOutgoingBody>,)| {
            let state = store.data_mut();
            let most = state.limits.request_body;
            let Some(inner) = state.table.get_mut(&body)?.take_output_stream() else { return Ok((Err(()),)) };
            let pieces = super::MAX_CHUNKS;
            let stream: DynOutputStream = Box::new(BoundedBody { inner, most, left: most, pieces });
            Ok((Ok::<_, ()>(state.table.push_child(stream, &body)?),))
        },
    )?;
    types.func_wrap_async(
        "[static]outgoing-body.finish",
        |mut store: StoreContextMut<'_, TaskState>,
         (body, trailers): (Resource<HostOutgoingBody>, Option<Resource<Trailers>>)| {
            Box::new(async move {
                let state = store.data_mut();
                let body = state.table.delete(body)?;
                let trailers = trailers.map(|trailers| state.table.delete(trailers)).transpose()?;
                let finished: Result<(), ErrorCode> = body.finish(trailers);
                state.body_finished().await?;
                Ok((finished,))
            })
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}
