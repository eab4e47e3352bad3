//! The UDP sockets of a host (RFC 768).
//!
//! What a peer is sent comes from the address that the peer has asked, for it would not know another one.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use smoltcp::wire::UdpPacket;

use super::{Socket, Stack};
use crate::host::{SocketEvent, SocketId};
use crate::network::{Cause, Verdict};
use crate::packet::Packet;
use crate::recent::Recent;

/// A UDP socket.
#[derive(Debug)]
pub(in crate::host) struct Udp {
    pub(super) port: u16,
    /// The address that the socket is bound to; `None` for all of the host's.
    pub(super) local: Option<IpAddr>,
    pub(in crate::host) received: VecDeque<(SocketAddr, Vec<u8>)>,
    /// The addresses that peers have asked, where they are not the ones that answers would have by themselves.
    asked: Recent<SocketAddr, IpAddr>,
}

impl Stack {
    pub(in crate::host) fn bind(&mut self, port: u16, local: Option<IpAddr>) -> Option<SocketId> {
        if local.is_some_and(|local| !self.interfaces.is_own(local)) {
            return None;
        }
        let is_taken = |stack: &Self, port| stack.udp_ports.is_taken(port, local);
        let port = if port == 0 { self.free_port(is_taken)? } else { port };
        if is_taken(self, port) {
            return None;
        }
        let (received, asked) = (VecDeque::new(), Recent::new(REMEMBERED_PEERS));
        let socket = self.add(Socket::Udp(Udp { port, local, received, asked }));
        self.udp_ports.insert(port, local, socket);
        Some(socket)
    }

    /// Returns the address from which a socket sends to `remote`. Returns `None` if it has none of this family.
    pub(in crate::host) fn source_of(&self, socket: SocketId, remote: SocketAddr) -> Option<IpAddr> {
        let Some(Socket::Udp(udp)) = self.sockets.get(&socket) else { return None };
        let source = udp.local.or_else(|| udp.asked.get(&remote).copied());
        let source = source.or_else(|| self.interfaces.source_towards(remote.ip()))?;
        (source.is_ipv4() == remote.is_ipv4()).then_some(source)
    }

    pub(super) fn send_datagram(&mut self, socket: SocketId, source: IpAddr, remote: SocketAddr, datagram: &[u8]) {
        let Some(Socket::Udp(udp)) = self.sockets.get(&socket) else { return };
        if let Some(packet) = Packet::udp(SocketAddr::new(source, udp.port), remote, datagram) {
            self.transmit(packet);
        }
    }

    pub(super) fn handle_datagram(&mut self, now: crate::Time, packet: &Packet) -> Verdict {
        let Ok(datagram) = UdpPacket::new_checked(packet.payload()) else {
            return Verdict::Dropped(Cause::Malformed);
        };
        if !packet.checksum_is_right() {
            return Verdict::Dropped(Cause::Checksum);
        }
        let destination = packet.destination();
        let Some(socket) = self.udp_ports.find(datagram.dst_port(), destination) else {
            self.report_port(now, packet);
            return Verdict::Dropped(Cause::NobodyListens);
        };
        let remote = SocketAddr::new(packet.source(), datagram.src_port());
        let asks_another =
            self.interfaces.is_own(destination) && self.interfaces.source_towards(remote.ip()) != Some(destination);
        let Some(Socket::Udp(udp)) = self.sockets.get_mut(&socket) else {
            return Verdict::Dropped(Cause::NobodyListens);
        };
        if udp.received.len() >= WAITING_DATAGRAMS {
            return Verdict::Dropped(Cause::SocketFull);
        }
        if asks_another {
            udp.asked.insert(remote, destination);
        } else {
            udp.asked.remove(&remote);
        }
        udp.received.push_back((remote, datagram.payload().to_vec()));
        self.events.push_back(SocketEvent::Readable(socket));
        Verdict::Delivered
    }
}

/// The number of datagrams that wait in a socket; a kernel counts bytes (212,992 by default in Linux), which is about
/// as many.
const WAITING_DATAGRAMS: usize = 128;
/// Of how many peers a socket remembers the address that they have asked.
const REMEMBERED_PEERS: usize = 1024;
