//! Counts the bytes that a server sends.
//!
//! The limit on a response's body applies to its content. A server may send far more than that: any number of interim (1xx) responses,
//! extensions of chunks, trailers. The component sees none of it, but all of it is read. So every byte that is read from the connection
//! counts, with a limit on the total.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::send::MAX_HEAD;

/// Number of bytes of a response other than its head and its body, in addition to half the limit on its body: chunks that are not tiny,
/// their sizes and line ends, trailers, an interim response or two.
const FRAMING: u64 = 64 << 10;

/// The number of bytes that were read for one request, after TLS, and their limit.
#[derive(Clone, Debug)]
pub(in crate::host) struct ReceivedBytes {
    bytes: Arc<AtomicU64>,
    most: u64,
}

impl ReceivedBytes {
    /// Creates a counter. `body` is the limit on the response's body, in bytes.
    pub(in crate::host) fn for_body_of(body: u64) -> Self {
        let most = body.saturating_add(body / 2).saturating_add(MAX_HEAD as u64).saturating_add(FRAMING);
        Self { bytes: Arc::default(), most }
    }

    /// Returns the number of bytes that were read.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns the limit on all bytes.
    pub(super) const fn most(&self) -> u64 {
        self.most
    }

    /// Checks whether more bytes arrived than the limit.
    pub(super) fn is_too_much(&self) -> bool {
        self.bytes() > self.most
    }
}

/// The request to which the bytes of a connection are counted.
#[derive(Clone)]
pub(super) struct Counter(Arc<Mutex<ReceivedBytes>>);

impl Counter {
    pub(super) fn new(received: &ReceivedBytes) -> Self {
        Self(Arc::new(Mutex::new(received.clone())))
    }

    /// Counts further bytes for another request.
    pub(super) fn count_for(&self, received: &ReceivedBytes) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = received.clone();
    }

    fn is_too_much(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_too_much()
    }

    fn add(&self, bytes: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// A connection whose bytes are counted. Reading fails once they exceed the limit.
pub(super) struct CountedConnection<S> {
    stream: S,
    counter: Counter,
}

impl<S> CountedConnection<S> {
    pub(super) const fn new(stream: S, counter: Counter) -> Self {
        Self { stream, counter }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for CountedConnection<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.counter.is_too_much() {
            return Poll::Ready(Err(io::Error::other("too many bytes were received")));
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let count = buffer.filled().len().saturating_sub(before) as u64;
        self.counter.add(count);
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for CountedConnection<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn reading_fails_once_too_much_has_come() {
        let received = ReceivedBytes::for_body_of(1000);
        assert_eq!(received.most(), 1500 + 2 * (64 << 10));
        let (mut server, client) = tokio::io::duplex(1 << 20);
        let most = usize::try_from(received.most()).unwrap();
        server.write_all(&vec![b'x'; most]).await.unwrap();
        let mut counted = CountedConnection::new(client, Counter::new(&received));
        counted.read_exact(&mut vec![0; most]).await.unwrap();
        assert_eq!((received.bytes(), received.is_too_much()), (received.most(), false));
        server.write_all(b"yy").await.unwrap();
        let mut rest = [0; 1];
        counted.read_exact(&mut rest).await.unwrap();
        assert!(received.is_too_much());
        counted.read_exact(&mut rest).await.unwrap_err();
        assert_eq!(received.bytes(), received.most() + 1, "what came too late was not read");
    }

    #[test]
    fn a_bound_on_the_largest_body_does_not_overflow() {
        assert_eq!(ReceivedBytes::for_body_of(u64::MAX).most(), u64::MAX);
    }
}
