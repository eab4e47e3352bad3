//! What a program may do with its host's sockets.

use core::time::Duration;
use std::net::{IpAddr, SocketAddr};

use super::stack::{Operation, Socket, Stack};
use crate::Time;

/// A socket of a host. Numbers are not used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SocketId(pub(super) u32);

/// Why a datagram was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// It does not fit into the MTU of the host's link (EMSGSIZE). So many bytes would.
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

    /// The host's address.
    pub const fn address(&self) -> IpAddr {
        self.stack.address
    }

    /// The longest IP packet of the host's link.
    pub const fn mtu(&self) -> usize {
        self.stack.mtu
    }

    /// The longest datagram that the host's link takes: what DTLS calls the MTU.
    pub const fn longest_datagram(&self) -> usize {
        self.stack.longest_datagram()
    }

    /// The program works for so long, after what it is working on already. What it sends from here on leaves then, and
    /// what happens meanwhile it sees then.
    pub fn busy(&mut self, duration: Duration) {
        self.stack.busy_until = self.stack.busy_until.max(self.now) + duration;
    }

    /// A UDP socket at this port, or at a free one for 0. Nothing if the port is taken.
    pub fn bind(&mut self, port: u16) -> Option<SocketId> {
        self.stack.bind(port)
    }

    /// Sends a datagram.
    pub fn send_to(&mut self, socket: SocketId, remote: SocketAddr, datagram: &[u8]) -> Result<(), SendError> {
        if !matches!(self.stack.sockets.get(&socket), Some(Socket::Udp(_))) {
            return Err(SendError::NoSocket);
        }
        if remote.is_ipv4() != self.stack.address.is_ipv4() {
            return Err(SendError::Unreachable);
        }
        let longest = self.stack.longest_datagram();
        if datagram.len() > longest {
            return Err(SendError::TooLong(longest));
        }
        self.stack.put(self.now, Operation::SendTo(socket, remote, datagram.to_vec()));
        Ok(())
    }

    /// The next datagram that arrived.
    pub fn recv_from(&mut self, socket: SocketId) -> Option<(SocketAddr, Vec<u8>)> {
        match self.stack.sockets.get_mut(&socket)? {
            Socket::Udp(udp) => udp.received.pop_front(),
        }
    }

    /// Closes a socket: for TCP in order, once everything was sent.
    pub fn close(&mut self, socket: SocketId) {
        self.stack.put(self.now, Operation::Close(socket));
    }
}
