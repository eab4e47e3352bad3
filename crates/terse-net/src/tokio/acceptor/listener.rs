//! Where an acceptor has its transports from, and how long it waits after an error there.

use core::net::SocketAddr;
use core::task::{Context, Poll, ready};
use core::time::Duration;
use std::io::{self, ErrorKind};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

/// A source of transports for an [`Acceptor`](super::Acceptor), such as a [`TcpListener`].
pub trait Listener: Send + 'static {
    /// A transport to a client.
    type Transport: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// Waits for the next client. Returns its transport, and its address, which counts handshakes and appears in reports.
    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<(Self::Transport, SocketAddr)>>;

    /// Returns the address where clients arrive, if there is one.
    fn local_addr(&self) -> Option<SocketAddr> {
        None
    }
}

impl Listener for TcpListener {
    type Transport = TcpStream;

    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        let (transport, peer) = ready!(Self::poll_accept(self, cx))?;
        let _ = transport.set_nodelay(true); // whole flights and records are written; a client that is gone shows later
        Poll::Ready(Ok((transport, peer)))
    }

    fn local_addr(&self) -> Option<SocketAddr> {
        Self::local_addr(self).ok()
    }
}

/// The time to wait after an error of a listener. It doubles with each error in a row: what is used up, such as the file
/// descriptors of the process, comes back only when other connections end.
pub(super) struct BackOff {
    next: Duration,
}

impl BackOff {
    const FIRST: Duration = Duration::from_millis(5);
    const LONGEST: Duration = Duration::from_secs(1);

    pub(super) const fn new() -> Self {
        Self { next: Self::FIRST }
    }

    /// Returns the time to wait after `error`. After one of the connection that was about to be accepted it is none:
    /// nothing is wrong with the listener (accept(2)).
    pub(super) fn after(&mut self, error: &io::Error) -> Option<Duration> {
        use ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
        if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted) {
            return None;
        }
        let next = self.next;
        self.next = (next * 2).min(Self::LONGEST);
        Some(next)
    }
}

#[cfg(test)]
mod tests;
