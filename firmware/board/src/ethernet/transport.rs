//! Sockets of smoltcp to one peer: datagrams, or a stream.

use alloc::vec;

use smoltcp::iface::Context;
use smoltcp::socket::{AnySocket, tcp, udp};
use smoltcp::wire::IpEndpoint;

use super::MTU;

/// What carries bytes to one peer.
pub trait Transport: AnySocket<'static> + Sized {
    /// Whether it carries datagrams.
    const HAS_DATAGRAMS: bool;

    /// Returns a socket that is closed.
    fn new() -> Self;

    /// Begins to open the socket, which is closed, from this port to a peer.
    fn open(&mut self, context: &mut Context, local: u16, peer: IpEndpoint);

    /// Whether it is open, or never will be.
    fn is_decided(&self) -> bool;

    /// Whether something has come that is not taken yet, or the peer has ended the stream.
    fn has_received(&self) -> bool;

    /// Takes what has come, and returns its length; `None` if the peer has ended the stream.
    fn receive(&mut self, peer: IpEndpoint, buffer: &mut [u8]) -> Option<usize>;

    /// Sends.
    fn transmit(&mut self, peer: IpEndpoint, bytes: &[u8]);

    /// Begins to close the socket, once everything is sent.
    fn end(&mut self);

    /// Whether it is closed as far as the peer has a part in that.
    fn has_ended(&self) -> bool;

    /// Closes the socket at once.
    fn abort(&mut self);
}

/// Datagrams.
pub type Datagrams = udp::Socket<'static>;

/// A stream.
pub type Stream = tcp::Socket<'static>;

impl Transport for Datagrams {
    const HAS_DATAGRAMS: bool = true;

    fn new() -> Self {
        let queue = |packets| udp::PacketBuffer::new(vec![udp::PacketMetadata::EMPTY; packets], vec![0; packets * MTU]);
        Self::new(queue(RECEIVED), queue(SENT))
    }

    fn open(&mut self, _: &mut Context, local: u16, _: IpEndpoint) {
        let _ = self.bind(local); // it is not 0, and the socket is closed
    }

    fn is_decided(&self) -> bool {
        true
    }

    fn has_received(&self) -> bool {
        self.can_recv()
    }

    fn receive(&mut self, peer: IpEndpoint, buffer: &mut [u8]) -> Option<usize> {
        match self.recv_slice(buffer) {
            Ok((len, from)) if from.endpoint == peer => Some(len),
            _ => Some(0), // nothing, or from somebody else, or too long
        }
    }

    fn transmit(&mut self, peer: IpEndpoint, bytes: &[u8]) {
        let _ = self.send_slice(bytes, peer); // without room it is lost, as a datagram may be
    }

    fn end(&mut self) {
        self.close();
    }

    fn has_ended(&self) -> bool {
        true
    }

    fn abort(&mut self) {}
}

impl Transport for Stream {
    const HAS_DATAGRAMS: bool = false;

    fn new() -> Self {
        let buffer = || tcp::SocketBuffer::new(vec![0; STREAM_LEN]);
        Self::new(buffer(), buffer())
    }

    fn open(&mut self, context: &mut Context, local: u16, peer: IpEndpoint) {
        let _ = self.connect(context, peer, local); // neither port is 0, and the socket is closed
    }

    fn is_decided(&self) -> bool {
        self.may_send() || !self.is_active()
    }

    fn has_received(&self) -> bool {
        self.can_recv() || !self.may_recv()
    }

    fn receive(&mut self, _: IpEndpoint, buffer: &mut [u8]) -> Option<usize> {
        match self.recv_slice(buffer) {
            Ok(len) if len > 0 || self.may_recv() => Some(len),
            _ => None,
        }
    }

    /// What has no room ends the stream: no flight of a device is as long as the buffer.
    fn transmit(&mut self, _: IpEndpoint, bytes: &[u8]) {
        if self.send_slice(bytes) != Ok(bytes.len()) {
            Self::abort(self);
        }
    }

    fn end(&mut self) {
        self.close();
    }

    fn has_ended(&self) -> bool {
        !self.is_active()
    }

    fn abort(&mut self) {
        Self::abort(self);
    }
}

/// How many datagrams wait, in each direction.
const RECEIVED: usize = 4;
const SENT: usize = 4;

/// How many bytes of a stream wait, in each direction.
const STREAM_LEN: usize = 4_096;
