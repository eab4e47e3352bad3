//! A gateway joins a mesh to the Internet: a router with two interfaces (RFC 8200), which may also split TCP connections
//! ([`Proxy`]).
//!
//! Interface [`MESH`] is the mesh's root, interface [`INTERNET`] any other link. Packets are forwarded by prefix: the
//! mesh's prefix, and whatever else is [routed](Gateway::with_route) there, to the mesh; everything else to the Internet. A
//! route to one host comes before the prefix around it, so a server may have an address of the mesh's prefix.
//!
//! What must always hold: a packet is taken by the proxy, or forwarded as it is, except for its hop limit. The media fragment and reassemble, and
//! addresses are never translated.

mod proxy;
mod split;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::net::IpAddr;

pub use proxy::{Proxy, ProxyConfig, ProxyStatistics, ServerPattern};
use smoltcp::wire::IpProtocol;
pub use split::SplitConnection;

use crate::network::{Cause, Node, Verdict};
use crate::packet::Packet;
use crate::route::{Prefix, Routes};
use crate::{Random, Time};

/// The gateway's interface to the mesh.
pub const MESH: usize = 0;
/// The gateway's interface to the Internet.
pub const INTERNET: usize = 1;

/// A router between a mesh and the Internet.
#[derive(Debug)]
pub struct Gateway {
    address: IpAddr,
    routes: Routes,
    keeps_hop_limits: bool,
    mtus: [usize; 2],
    proxy: Option<Proxy>,
    outbox: VecDeque<(usize, Packet)>,
}

impl Gateway {
    /// Creates a gateway with this address in the mesh.
    pub fn new(address: IpAddr, mesh: Prefix) -> Self {
        let mut routes = Routes::default();
        routes.add(mesh, MESH);
        let outbox = VecDeque::new();
        Self { address, routes, keeps_hop_limits: false, mtus: [usize::MAX; 2], proxy: None, outbox }
    }

    /// Routes a prefix, or one address, through an interface.
    #[must_use]
    pub fn with_route(mut self, prefix: Prefix, interface: usize) -> Self {
        self.routes.add(prefix, interface);
        self
    }

    /// Forwards packets with the hop limit that they have, as OpenVisualizer does. RFC 8200, 3, wants it decremented; 6LoWPAN
    /// then needs one more octet for it, since only 1, 64 and 255 are compressed (RFC 6282, 3.1.1).
    #[must_use]
    pub const fn with_unchanged_hop_limits(mut self) -> Self {
        self.keeps_hop_limits = true;
        self
    }

    /// Adds a proxy that splits TCP connections from the mesh. `random` is for initial sequence numbers.
    #[must_use]
    pub fn with_proxy(mut self, config: ProxyConfig, random: Random) -> Self {
        self.proxy = Some(Proxy::new(config, random));
        self
    }

    /// Returns the proxy, if there is one.
    pub const fn proxy(&self) -> Option<&Proxy> {
        self.proxy.as_ref()
    }

    /// Forwards a packet that is not for the gateway itself, or gives it to the proxy.
    fn forward(&mut self, now: Time, from: usize, mut packet: Packet) -> Verdict {
        let destination = packet.destination();
        let to = self.routes.interface_of(destination).unwrap_or(INTERNET);
        // What the Internet sends here by mistake is not sent back, or it would come again.
        if !may_be_forwarded(packet.source()) || !may_be_forwarded(destination) || (from, to) == (INTERNET, INTERNET) {
            return Verdict::Dropped(Cause::Misdirected);
        }
        if let Some(proxy) = &mut self.proxy
            && let Some(verdict) = proxy.handle_packet(now, (from, to), &packet, self.mtus, &mut self.outbox)
        {
            return verdict;
        }
        if !self.keeps_hop_limits {
            // RFC 8200, 3: a packet whose last hop this was is discarded.
            let hop_limit = packet.hop_limit();
            if hop_limit <= 1 {
                return Verdict::Dropped(Cause::HopLimitExceeded);
            }
            packet.set_hop_limit(hop_limit - 1);
        }
        self.outbox.push_back((to, packet));
        Verdict::Forwarded
    }

    /// Takes a packet for the gateway itself, which has no sockets: it answers echo requests (RFC 4443, 4.2).
    fn take(&mut self, from: usize, packet: &Packet) -> Verdict {
        if !packet.checksum_is_right() {
            return Verdict::Dropped(Cause::Checksum);
        }
        let reply = if packet.protocol() == IpProtocol::Icmpv6 { packet.echo_reply(self.address) } else { None };
        let Some(reply) = reply else { return Verdict::Dropped(Cause::NobodyListens) };
        self.outbox.push_back((from, reply));
        Verdict::Delivered
    }
}

impl Node for Gateway {
    fn address(&self) -> Option<IpAddr> {
        Some(self.address)
    }

    fn attach(&mut self, interface: usize, mtu: usize) {
        if let Some(of_interface) = self.mtus.get_mut(interface) {
            *of_interface = mtu;
        }
    }

    fn handle_packet(&mut self, now: Time, interface: usize, packet: Packet) -> Verdict {
        if packet.destination() == self.address {
            return self.take(interface, &packet);
        }
        self.forward(now, interface, packet)
    }

    fn poll_transmit(&mut self, _now: Time) -> Option<(usize, Packet)> {
        self.outbox.pop_front()
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.proxy.as_ref()?.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Time) {
        if let Some(proxy) = &mut self.proxy {
            proxy.handle_timeout(now, &mut self.outbox);
        }
    }
}

/// Whether a router forwards packets with this address: not if it means something on one link only (RFC 4291, 2.5.6), is
/// a group, or is no address at all (RFC 4291, 2.5.2).
const fn may_be_forwarded(address: IpAddr) -> bool {
    let of_one_link = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    !of_one_link && !address.is_multicast() && !address.is_unspecified() && !address.is_loopback()
}
