//! The operations that a program has on its host's sockets.

use core::time::Duration;
use std::net::{IpAddr, SocketAddr};

use super::stack::{Operation, Socket, Stack};
use crate::Time;
use crate::tcp::{Config, Connection};

/// A socket of a host. Numbers are not used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SocketId(pub(super) u32);

/// Why a datagram was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// The datagram does not fit into the MTU of the host's link (EMSGSIZE). The number is the longest that would fit.
    TooLong(usize),
    /// The address is of the other family.
    Unreachable,
    /// There is no such socket.
    NoSocket,
}

/// The sockets of a host, as its program sees them.
#[derive(Debug)]
pub struct Sockets<'a> {
    stack: &'a mut Stack,
    now: Time,
}

impl<'a> Sockets<'a> {
    pub(super) const fn new(stack: &'a mut Stack, now: Time) -> Self {
        Self { stack, now }
    }

    /// Returns the address that the host was created with.
    pub const fn address(&self) -> IpAddr {
        self.stack.interfaces.primary()
    }

    /// Returns all addresses of the host, in the order in which it got them.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.stack.interfaces.addresses()
    }

    /// Returns the length of the longest IP packet of the link at interface 0.
    pub fn mtu(&self) -> usize {
        self.stack.interfaces.mtu(0)
    }

    /// Returns the length of the longest datagram that a host with one link can send: what DTLS calls the MTU.
    pub fn longest_datagram(&self) -> usize {
        self.stack.longest_datagram(self.address(), self.address())
    }

    /// Returns the length of the longest datagram that the link towards `remote` takes. Returns `None` if the host has no
    /// address of this family.
    pub fn longest_datagram_to(&self, remote: IpAddr) -> Option<usize> {
        let source = self.stack.interfaces.source_towards(remote)?;
        Some(self.stack.longest_datagram(source, remote))
    }

    /// Keeps the program busy for `duration`, after the work that it is doing already. What it sends from here on
    /// leaves at the end of that time, and it sees events of that time then.
    pub fn busy(&mut self, duration: Duration) {
        self.stack.busy_until = self.stack.busy_until.max(self.now) + duration;
    }

    /// Returns when the program will have done all work that it has begun: now, unless it is [busy](Self::busy).
    pub fn idle_at(&self) -> Time {
        self.stack.busy_until.max(self.now)
    }

    /// Opens a UDP socket at this port of all addresses, or at a free one for 0. Returns `None` if the port is taken.
    pub fn bind(&mut self, port: u16) -> Option<SocketId> {
        self.stack.bind(port, None)
    }

    /// Opens a UDP socket at one of the host's addresses. Returns `None` if the address is not the host's, or the port is
    /// taken.
    pub fn bind_at(&mut self, local: SocketAddr) -> Option<SocketId> {
        self.stack.bind(local.port(), Some(local.ip()))
    }

    /// Sends a datagram, from the address that the socket is bound to. If it is bound to all, that is the one to which
    /// `remote` has sent last, else one of the interface through which the datagram leaves.
    pub fn send_to(&mut self, socket: SocketId, remote: SocketAddr, datagram: &[u8]) -> Result<(), SendError> {
        if !matches!(self.stack.sockets.get(&socket), Some(Socket::Udp(_))) {
            return Err(SendError::NoSocket);
        }
        let source = self.stack.source_of(socket, remote).ok_or(SendError::Unreachable)?;
        let longest = self.stack.longest_datagram(source, remote.ip());
        if datagram.len() > longest {
            return Err(SendError::TooLong(longest));
        }
        self.stack.put(self.now, Operation::SendTo(socket, source, remote, datagram.to_vec()));
        Ok(())
    }

    /// Returns the next datagram that arrived.
    pub fn recv_from(&mut self, socket: SocketId) -> Option<(SocketAddr, Vec<u8>)> {
        match self.stack.sockets.get_mut(&socket)? {
            Socket::Udp(udp) => udp.received.pop_front(),
            Socket::Listener(_) | Socket::Tcp(_) => None,
        }
    }

    /// Opens a TCP socket at this port of all addresses that takes connections. Returns `None` if the port is taken.
    ///
    /// The MSS is at most what the link's MTU leaves room for.
    pub fn listen(&mut self, port: u16, config: Config) -> Option<SocketId> {
        self.stack.listen(port, None, config)
    }

    /// Opens a TCP socket at one of the host's addresses that takes connections. Returns `None` if the address is not the
    /// host's, or the port is taken.
    pub fn listen_at(&mut self, local: SocketAddr, config: Config) -> Option<SocketId> {
        self.stack.listen(local.port(), Some(local.ip()), config)
    }

    /// Connects to a peer: [`SocketEvent::Connected`](super::SocketEvent::Connected) or `Failed` follows. Returns
    /// `None` if the host has no address of this family.
    ///
    /// The MSS is at most what the link's MTU leaves room for.
    pub fn connect(&mut self, remote: SocketAddr, config: Config) -> Option<SocketId> {
        let source = self.stack.interfaces.source_towards(remote.ip())?;
        self.connect_from(source, remote, config)
    }

    /// Connects to a peer from one of the host's addresses. Returns `None` if the address is not the host's, or of the
    /// other family.
    pub fn connect_from(&mut self, source: IpAddr, remote: SocketAddr, config: Config) -> Option<SocketId> {
        if !self.stack.interfaces.is_own(source) {
            return None;
        }
        let socket = self.stack.connect(self.now, source, remote, config)?;
        self.stack.put(self.now, Operation::Connect(socket));
        Some(socket)
    }

    /// Sends as much of `data` as the socket's buffer takes, and returns how much that is. If it is less, `Writable`
    /// follows.
    pub fn send(&mut self, socket: SocketId, data: &[u8]) -> usize {
        let Some(taken) = self.stack.reserve(socket, data.len()) else { return 0 };
        if taken > 0 {
            self.stack.put(self.now, Operation::Send(socket, data[..taken].to_vec()));
        }
        taken
    }

    /// Returns how many bytes [`Self::send`] would take.
    pub fn send_capacity(&self, socket: SocketId) -> usize {
        match self.stack.sockets.get(&socket) {
            Some(Socket::Tcp(tcp)) => tcp.room(),
            _ => 0,
        }
    }

    /// Reads what arrived in order, and returns how many bytes that is.
    pub fn recv(&mut self, socket: SocketId, out: &mut [u8]) -> usize {
        self.stack.recv(self.now, socket, out)
    }

    /// Returns how many bytes [`Self::recv`] has.
    pub fn readable(&self, socket: SocketId) -> usize {
        self.connection(socket).map_or(0, Connection::readable)
    }

    /// Returns the connection of a TCP socket.
    pub fn connection(&self, socket: SocketId) -> Option<&Connection> {
        match self.stack.sockets.get(&socket) {
            Some(Socket::Tcp(tcp)) => Some(&tcp.connection),
            _ => None,
        }
    }

    /// Returns this side's address and port of a TCP connection.
    pub fn local_address(&self, socket: SocketId) -> Option<SocketAddr> {
        match self.stack.sockets.get(&socket) {
            Some(Socket::Tcp(tcp)) => Some(tcp.local),
            _ => None,
        }
    }

    /// Ends a TCP connection at once, with RST.
    pub fn abort(&mut self, socket: SocketId) {
        self.stack.put(self.now, Operation::Abort(socket));
    }

    /// Closes a socket. TCP sends everything that is in its buffer first.
    pub fn close(&mut self, socket: SocketId) {
        self.stack.put(self.now, Operation::Close(socket));
    }
}
