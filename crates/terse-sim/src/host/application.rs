//! The program of a host.

use std::net::SocketAddr;

use super::{SocketId, Sockets};
use crate::Time;
use crate::tcp::Failure;

/// A program without I/O: it is told what happens, and acts through its host's [`Sockets`].
pub trait Application {
    /// The host was switched on.
    fn start(&mut self, now: Time, sockets: &mut Sockets<'_>);

    /// Something happened at a socket.
    fn handle_event(&mut self, now: Time, event: SocketEvent, sockets: &mut Sockets<'_>);

    /// When [`Self::handle_timeout`] is to be called. It must move on then.
    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    /// The time has come, or, if the program was busy, it is past.
    fn handle_timeout(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        let _ = (now, sockets);
    }
}

/// Something happened at a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketEvent {
    /// TCP: the connection is there.
    Connected(SocketId),
    /// TCP: a peer connected to a listening socket.
    Accepted {
        /// The listening socket.
        listener: SocketId,
        /// The connection.
        socket: SocketId,
        /// The peer.
        remote: SocketAddr,
    },
    /// There is something more to read: bytes, or datagrams. What is not read now is not told again.
    Readable(SocketId),
    /// TCP: there is room again, after a call of [`Sockets::send`] that could not take everything.
    Writable(SocketId),
    /// TCP: the peer will send no more, and everything was read.
    PeerFinished(SocketId),
    /// TCP: both sides are done. What was not read yet can be read now; then the socket is gone. `PeerFinished` is not
    /// told after this.
    Closed(SocketId),
    /// TCP: it ended otherwise. What was not read yet can be read now; then the socket is gone.
    Failed(SocketId, Failure),
}

impl<A: Application + ?Sized> Application for Box<A> {
    fn start(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        (**self).start(now, sockets);
    }

    fn handle_event(&mut self, now: Time, event: SocketEvent, sockets: &mut Sockets<'_>) {
        (**self).handle_event(now, event, sockets);
    }

    fn poll_timeout(&self) -> Option<Time> {
        (**self).poll_timeout()
    }

    fn handle_timeout(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        (**self).handle_timeout(now, sockets);
    }
}
