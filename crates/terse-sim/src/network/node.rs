//! A network consists of nodes: anything that takes packets, gives packets, and has timers.

use std::net::IpAddr;

use crate::Time;
use crate::packet::Packet;
use crate::verdict::Verdict;

/// A node. It does no I/O, and knows only the time that it is told.
///
/// The network calls [`Self::poll_transmit`] until there is nothing more, and then [`Self::poll_timeout`], after every
/// other call. A node that forwards takes packets from one interface and gives them to another.
pub trait Node {
    /// Returns the node's address. Link-layer addresses are made from it, so that neighbours know each other.
    fn address(&self) -> Option<IpAddr> {
        None
    }

    /// Notes that a link was attached to `interface` (numbered from 0). Packets longer than `mtu` do not get through.
    fn attach(&mut self, interface: usize, mtu: usize) {
        let _ = (interface, mtu);
    }

    /// Takes a packet, and returns what became of it.
    fn handle_packet(&mut self, now: Time, interface: usize, packet: Packet) -> Verdict;

    /// Returns the next packet to send, and its interface.
    fn poll_transmit(&mut self, now: Time) -> Option<(usize, Packet)>;

    /// Returns when [`Self::handle_timeout`] is to be called next. That call must move this time on, or time stands
    /// still.
    fn poll_timeout(&self) -> Option<Time>;

    /// Handles that the time of [`Self::poll_timeout`] has come.
    fn handle_timeout(&mut self, now: Time);
}

/// Makes a node of a type whose methods `node` and `node_mut` say which node it is.
macro_rules! is_node_within {
    ([$($generics:tt)*] $station:ty) => {
        impl<$($generics)*> $crate::network::Node for $station {
            fn address(&self) -> Option<std::net::IpAddr> {
                self.node().address()
            }

            fn attach(&mut self, interface: usize, mtu: usize) {
                self.node_mut().attach(interface, mtu);
            }

            fn handle_packet(
                &mut self,
                now: $crate::Time,
                interface: usize,
                packet: $crate::packet::Packet,
            ) -> $crate::network::Verdict {
                self.node_mut().handle_packet(now, interface, packet)
            }

            fn poll_transmit(&mut self, now: $crate::Time) -> Option<(usize, $crate::packet::Packet)> {
                self.node_mut().poll_transmit(now)
            }

            fn poll_timeout(&self) -> Option<$crate::Time> {
                self.node().poll_timeout()
            }

            fn handle_timeout(&mut self, now: $crate::Time) {
                self.node_mut().handle_timeout(now);
            }
        }
    };
}
pub(crate) use is_node_within;

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
