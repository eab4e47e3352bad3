//! What a network is made of: anything that takes packets and gives packets, and has timers.

use std::net::IpAddr;

use super::Cause;
use crate::Time;
use crate::packet::Packet;

/// A node. It does no I/O and knows no time but what it is told.
///
/// The network calls [`Self::poll_transmit`] until there is nothing more, and then [`Self::poll_timeout`], after every
/// other call. A node that forwards takes packets from one interface and gives them to another.
pub trait Node {
    /// Its address; the link-layer addresses are made from it, so that neighbours know each other.
    fn address(&self) -> Option<IpAddr> {
        None
    }

    /// A link was put to `interface` (numbered from 0); packets longer than `mtu` do not get through.
    fn attach(&mut self, interface: usize, mtu: usize) {
        let _ = (interface, mtu);
    }

    /// Takes a packet, and says what became of it.
    fn handle_packet(&mut self, now: Time, interface: usize, packet: Packet) -> Verdict;

    /// The next packet to send, and on which interface.
    fn poll_transmit(&mut self, now: Time) -> Option<(usize, Packet)>;

    /// When [`Self::handle_timeout`] is to be called next. It must move on: time stands still while this does not.
    fn poll_timeout(&self) -> Option<Time>;

    /// The time has come.
    fn handle_timeout(&mut self, now: Time);
}

/// What became of a packet that arrived at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was for this node, which has it.
    Delivered,
    /// The node sends it on.
    Forwarded,
    /// The node has no use for it.
    Dropped(Cause),
}

impl<N: Node + ?Sized> Node for Box<N> {
    fn address(&self) -> Option<IpAddr> {
        (**self).address()
    }

    fn attach(&mut self, interface: usize, mtu: usize) {
        (**self).attach(interface, mtu);
    }

    fn handle_packet(&mut self, now: Time, interface: usize, packet: Packet) -> Verdict {
        (**self).handle_packet(now, interface, packet)
    }

    fn poll_transmit(&mut self, now: Time) -> Option<(usize, Packet)> {
        (**self).poll_transmit(now)
    }

    fn poll_timeout(&self) -> Option<Time> {
        (**self).poll_timeout()
    }

    fn handle_timeout(&mut self, now: Time) {
        (**self).handle_timeout(now);
    }
}
