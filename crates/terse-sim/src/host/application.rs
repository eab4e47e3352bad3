//! The program of a host.

use std::net::SocketAddr;

use super::{SocketId, Sockets};
use crate::Time;
use crate::tcp::Failure;

/// A program without I/O: it is told what happens, and acts through its host's [`Sockets`].
pub trait Application {
    /// Handles that the host was switched on.
    fn start(&mut self, now: Time, sockets: &mut Sockets<'_>);

    /// Handles an event at a socket.
    fn handle_event(&mut self, now: Time, event: SocketEvent, sockets: &mut Sockets<'_>);

    /// Returns when [`Self::handle_timeout`] is to be called. That call must move this time on.
    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    /// Handles that the time of [`Self::poll_timeout`] has come; the call is late if the program was busy.
    fn handle_timeout(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        let _ = (now, sockets);
    }
}

/// An event at a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketEvent {
    /// TCP: the connection is established.
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
    /// There is something more to read: bytes, or datagrams. Data that stays unread is not reported again.
    Readable(SocketId),
    /// TCP: there is room again, after a call of [`Sockets::send`] that could not take everything.
    Writable(SocketId),
    /// TCP: the peer will send no more, and everything was read.
    PeerFinished(SocketId),
    /// TCP: both sides are done. Data that was not read yet can be read now; then the socket is gone. No `PeerFinished`
    /// follows.
    Closed(SocketId),
    /// TCP: the connection failed. Data that was not read yet can be read now; then the socket is gone.
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
