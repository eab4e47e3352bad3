//! A server whose first SYN-ACK is lost before it reaches any link.
//!
//! The authors dropped it in the server, whose kernel could not be told another initial timeout: after a SYN-ACK that was
//! retransmitted, a connection begins with a timeout of 3 s instead of 1 s (RFC 6298, 5.7; section 5 of the paper).

use std::net::IpAddr;

use smoltcp::wire::{IpProtocol, TcpPacket};

use crate::Time;
use crate::network::{Node, Verdict};
use crate::packet::Packet;

/// A node of which the first SYN-ACK is dropped; everything else passes.
#[derive(Clone, Debug)]
pub struct DropFirstSynAck<N> {
    /// The node.
    pub node: N,
    has_dropped: bool,
}

impl<N> DropFirstSynAck<N> {
    /// Wraps a node.
    pub const fn new(node: N) -> Self {
        Self { node, has_dropped: false }
    }

    /// Whether the SYN-ACK was dropped.
    pub const fn has_dropped(&self) -> bool {
        self.has_dropped
    }
}

impl<N: Node> Node for DropFirstSynAck<N> {
    fn address(&self) -> Option<IpAddr> {
        self.node.address()
    }

    fn attach(&mut self, interface: usize, mtu: usize) {
        self.node.attach(interface, mtu);
    }

    fn handle_packet(&mut self, now: Time, interface: usize, packet: Packet) -> Verdict {
        self.node.handle_packet(now, interface, packet)
    }

    fn poll_transmit(&mut self, now: Time) -> Option<(usize, Packet)> {
        let (interface, packet) = self.node.poll_transmit(now)?;
        if !self.has_dropped && is_syn_ack(&packet) {
            self.has_dropped = true;
            return self.node.poll_transmit(now);
        }
        Some((interface, packet))
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.node.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Time) {
        self.node.handle_timeout(now);
    }
}

fn is_syn_ack(packet: &Packet) -> bool {
    packet.protocol() == IpProtocol::Tcp
        && TcpPacket::new_checked(packet.payload()).is_ok_and(|segment| segment.syn() && segment.ack())
}
