//! The nodes of a scenario's network.

use std::net::IpAddr;

use super::peer::Peer;
use crate::Time;
use crate::host::Host;
use crate::network::{Cause, Node, Verdict};
use crate::packet::Packet;
use crate::paper::DropFirstSynAck;

/// A node of the network.
pub(super) enum Station<'w, 'a> {
    /// A host with a peer.
    Host(Box<Host<Peer<'w, 'a>>>),
    /// A server whose first SYN and ACK is dropped.
    LosesSynAck(Box<DropFirstSynAck<Host<Peer<'w, 'a>>>>),
    /// A mote that only forwards.
    Relay(Silent),
}

/// A node that has nothing to say: the mesh forwards by itself.
pub(super) struct Silent;

impl<'w, 'a> Station<'w, 'a> {
    /// Returns the peer of a host.
    pub(super) fn peer(&self) -> Option<&Peer<'w, 'a>> {
        match self {
            Self::Host(host) => Some(&host.application),
            Self::LosesSynAck(node) => Some(&node.node.application),
            Self::Relay(_) => None,
        }
    }

    /// Returns the peer of a host, for changes.
    pub(super) fn peer_mut(&mut self) -> Option<&mut Peer<'w, 'a>> {
        match self {
            Self::Host(host) => Some(&mut host.application),
            Self::LosesSynAck(node) => Some(&mut node.node.application),
            Self::Relay(_) => None,
        }
    }

    fn node(&self) -> &dyn Node {
        match self {
            Self::Host(host) => &**host,
            Self::LosesSynAck(node) => &**node,
            Self::Relay(silent) => silent,
        }
    }

    fn node_mut(&mut self) -> &mut dyn Node {
        match self {
            Self::Host(host) => &mut **host,
            Self::LosesSynAck(node) => &mut **node,
            Self::Relay(silent) => silent,
        }
    }
}

impl Node for Station<'_, '_> {
    fn address(&self) -> Option<IpAddr> {
        self.node().address()
    }

    fn attach(&mut self, interface: usize, mtu: usize) {
        self.node_mut().attach(interface, mtu);
    }

    fn handle_packet(&mut self, now: Time, interface: usize, packet: Packet) -> Verdict {
        self.node_mut().handle_packet(now, interface, packet)
    }

    fn poll_transmit(&mut self, now: Time) -> Option<(usize, Packet)> {
        self.node_mut().poll_transmit(now)
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.node().poll_timeout()
    }

    fn handle_timeout(&mut self, now: Time) {
        self.node_mut().handle_timeout(now);
    }
}

impl Node for Silent {
    fn handle_packet(&mut self, _: Time, _: usize, _: Packet) -> Verdict {
        Verdict::Dropped(Cause::NobodyListens)
    }

    fn poll_transmit(&mut self, _: Time) -> Option<(usize, Packet)> {
        None
    }

    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    fn handle_timeout(&mut self, _: Time) {}
}
