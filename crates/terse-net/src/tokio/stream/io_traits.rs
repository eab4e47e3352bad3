//! tokio's traits for streams.
//!
//! What must always hold: a half that waits is noted in [`Waiting`](super::Waiting), so that the other half wakes it when it
//! uses the same direction of the transport.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::io::{self, IoSlice};

use terse_tls::Connection;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{TlsStream, remember, waker_of};
use crate::NetError;

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for TlsStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if out.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        let received = self.poll_receive(cx, &mut |connection| {
            if out.initialized().len() < out.capacity() {
                return copy_data(connection, out.remaining(), |data| out.put_slice(data));
            }
            let len = connection.recv(out.initialize_unfilled());
            out.advance(len);
            len
        });
        received.map(|result| Ok(result.map(|_| ())?))
    }
}

/// Takes at most `room` bytes of application data, and hands them on in pieces. Memory that is not initialised has to be
/// written once this way, and only as much of it as there is data.
pub(super) fn copy_data(connection: &mut Connection, room: usize, mut put: impl FnMut(&[u8])) -> usize {
    let mut piece = [0; 2048];
    let mut total = 0;
    loop {
        let wanted = piece.len().min(room - total);
        let len = connection.recv(&mut piece[..wanted]);
        put(&piece[..len]);
        total += len;
        if len < piece.len() {
            return total; // there is no more data, or no more room
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream<S> {
    /// Runs `poll`, which is a call of the half that writes.
    pub(super) fn as_writer<T>(
        &mut self,
        cx: &mut Context<'_>,
        poll: impl Fn(&mut Self, &mut Context<'_>) -> Poll<Result<T, NetError>>,
    ) -> Poll<io::Result<T>> {
        let mut result = poll(self, cx);
        if result.is_pending() && self.waiting.reader.as_ref().is_some_and(|reader| !reader.will_wake(cx.waker())) {
            let both = waker_of(cx.waker(), self.waiting.reader.as_ref());
            result = poll(self, &mut Context::from_waker(&both));
        }
        remember(&mut self.waiting.writer, cx, result.is_pending());
        result.map(|result| Ok(result?))
    }

    /// Sends pieces that are shorter than a record together in one.
    pub(super) fn poll_send_pieces(
        &mut self,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<Result<usize, NetError>> {
        let max = self.driver.connection.max_message();
        let mut rest = pieces.iter().filter(|piece| !piece.is_empty());
        let Some(first) = rest.next() else { return Poll::Ready(Ok(0)) };
        if first.len() >= max || rest.clone().next().is_none() {
            return self.poll_send(cx, first);
        }
        let mut record = Vec::with_capacity(pieces.iter().map(|piece| piece.len()).sum::<usize>().min(max));
        for piece in core::iter::once(first).chain(rest) {
            record.extend_from_slice(&piece[..piece.len().min(max - record.len())]);
        }
        self.poll_send(cx, &record)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TlsStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        self.as_writer(cx, |stream, cx| stream.poll_send(cx, data))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.as_writer(cx, |stream, cx| stream.poll_send_pieces(cx, pieces))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.as_writer(cx, Self::poll_flush_all)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.as_writer(cx, Self::poll_close)
    }
}
