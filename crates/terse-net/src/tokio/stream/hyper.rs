//! hyper's traits for streams (feature `hyper`), which do what tokio's do.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::io::{self, IoSlice};

use ::hyper::rt::{Read, ReadBufCursor, Write};
use tokio::io::{AsyncRead, AsyncWrite};

use super::TlsStream;
use super::io_traits::copy_data;

impl<S: AsyncRead + AsyncWrite + Unpin> Read for TlsStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, mut out: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let room = out.remaining();
        if room == 0 {
            return Poll::Ready(Ok(()));
        }
        let received = self.poll_receive(cx, &mut |connection| copy_data(connection, room, |data| out.put_slice(data)));
        received.map(|result| Ok(result.map(|_| ())?))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Write for TlsStream<S> {
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
