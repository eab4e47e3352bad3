//! The nodes of a whole network: devices, the gateway, and the server behind it.

use std::net::IpAddr;

use crate::Time;
use crate::engine::device::Device;
use crate::engine::many::Server;
use crate::gateway::Gateway;
use crate::host::Host;
use crate::network::{Node, Verdict};
use crate::packet::Packet;

/// A node of a whole network.
pub(super) enum Station<'w, 'a> {
    Device(Box<Host<Device<'w, 'a>>>),
    Server(Box<Host<Server<'w, 'a>>>),
    Gateway(Box<Gateway>),
}

impl Station<'_, '_> {
    fn node(&self) -> &dyn Node {
        match self {
            Self::Device(host) => &**host,
            Self::Server(host) => &**host,
            Self::Gateway(gateway) => &**gateway,
        }
    }

    fn node_mut(&mut self) -> &mut dyn Node {
        match self {
            Self::Device(host) => &mut **host,
            Self::Server(host) => &mut **host,
            Self::Gateway(gateway) => &mut **gateway,
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
