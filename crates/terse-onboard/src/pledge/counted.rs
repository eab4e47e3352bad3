//! Counts the bytes of a pledge's connections, as TCP or UDP carries them.

use alloc::sync::Arc;
use core::pin::Pin;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::task::{Context, Poll};
use std::io::{self, IoSlice};

use terse_net::tokio::DatagramSocket;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How many bytes all connections have carried. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct Counters(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    sent: AtomicU64,
    received: AtomicU64,
}

impl Counters {
    /// Returns the bytes that were sent, and those that were received.
    pub(super) fn read(&self) -> (u64, u64) {
        (self.0.sent.load(Relaxed), self.0.received.load(Relaxed))
    }

    /// Counts what `transport` carries.
    pub(super) fn count<T>(&self, transport: T) -> Counted<T> {
        Counted { transport, counters: self.clone() }
    }
}

/// A transport that counts.
pub struct Counted<T> {
    transport: T,
    counters: Counters,
}

impl<T> Counted<T> {
    fn written(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(count)) = written {
            self.counters.0.sent.fetch_add(count as u64, Relaxed);
        }
        written
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Counted<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.transport).poll_read(cx, buffer);
        self.counters.0.received.fetch_add(buffer.filled().len().saturating_sub(before) as u64, Relaxed);
        read
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Counted<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.transport).poll_write(cx, bytes);
        self.written(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.transport).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.transport).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.transport).poll_write_vectored(cx, slices);
        self.written(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.transport.is_write_vectored()
    }
}

impl<T: DatagramSocket> DatagramSocket for Counted<T> {
    fn poll_recv(&self, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let received = self.transport.poll_recv(cx, buffer);
        self.counters.0.received.fetch_add(buffer.filled().len().saturating_sub(before) as u64, Relaxed);
        received
    }

    fn poll_send(&self, cx: &mut Context<'_>, datagram: &[u8]) -> Poll<io::Result<usize>> {
        let sent = self.transport.poll_send(cx, datagram);
        self.written(sent)
    }
}

#[cfg(test)]
mod tests;
