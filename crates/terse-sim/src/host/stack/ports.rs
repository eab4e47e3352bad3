//! The ports that sockets are bound to, at one local address or at all.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::host::SocketId;

/// The sockets of a protocol, by port and local address; `None` stands for all addresses.
#[derive(Debug, Default)]
pub(super) struct Ports(BTreeMap<(u16, Option<IpAddr>), SocketId>);

impl Ports {
    /// Whether a socket could not be bound: one of all addresses takes the port from every other.
    pub(super) fn is_taken(&self, port: u16, local: Option<IpAddr>) -> bool {
        match local {
            Some(_) => self.0.contains_key(&(port, local)) || self.0.contains_key(&(port, None)),
            None => self.0.range((port, None)..).next().is_some_and(|((first, _), _)| *first == port),
        }
    }

    pub(super) fn insert(&mut self, port: u16, local: Option<IpAddr>, socket: SocketId) {
        self.0.insert((port, local), socket);
    }

    pub(super) fn remove(&mut self, port: u16, local: Option<IpAddr>) {
        self.0.remove(&(port, local));
    }

    /// Returns the socket for what arrives at this address.
    pub(super) fn find(&self, port: u16, local: IpAddr) -> Option<SocketId> {
        self.0.get(&(port, Some(local))).or_else(|| self.0.get(&(port, None))).copied()
    }
}
