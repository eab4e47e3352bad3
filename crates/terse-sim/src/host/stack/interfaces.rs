//! The interfaces of a host: which addresses are its own, and where a packet leaves.
//!
//! A host takes a packet for any of its addresses, whichever interface it arrived at (the weak model of RFC 1122,
//! 3.3.4.2).

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use crate::route::{Prefix, Routes};

/// The interfaces of a host. There is always one address.
#[derive(Debug)]
pub(in crate::host) struct Interfaces {
    /// The address that the host was created with.
    primary: IpAddr,
    /// The addresses, with their interfaces and prefixes, in the order in which they were given.
    addresses: Vec<Assigned>,
    mtus: BTreeMap<usize, usize>,
    routes: Routes,
    default: Option<usize>,
}

#[derive(Debug)]
struct Assigned {
    address: IpAddr,
    interface: usize,
    prefix: Prefix,
}

impl Interfaces {
    /// Returns interface 0 with one address.
    pub(in crate::host) fn new(address: IpAddr) -> Self {
        let assigned = Assigned { address, interface: 0, prefix: Prefix::host(address) };
        Self {
            primary: address,
            addresses: vec![assigned],
            mtus: BTreeMap::new(),
            routes: Routes::default(),
            default: None,
        }
    }

    /// Gives an interface an address, and a route to the other addresses of its prefix.
    pub(in crate::host) fn assign(&mut self, interface: usize, address: IpAddr, prefix: Prefix) {
        let same = |assigned: &&mut Assigned| (assigned.interface, assigned.address) == (interface, address);
        match self.addresses.iter_mut().find(same) {
            Some(assigned) => assigned.prefix = prefix,
            None => self.addresses.push(Assigned { address, interface, prefix }),
        }
        self.routes.add(prefix, interface);
    }

    pub(in crate::host) const fn set_default(&mut self, interface: usize) {
        self.default = Some(interface);
    }

    pub(in crate::host) fn attach(&mut self, interface: usize, mtu: usize) {
        self.mtus.insert(interface, mtu);
    }

    pub(in crate::host) const fn primary(&self) -> IpAddr {
        self.primary
    }

    pub(in crate::host) fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.addresses.iter().map(|assigned| assigned.address)
    }

    /// Returns the MTU of an interface.
    pub(in crate::host) fn mtu(&self, interface: usize) -> usize {
        self.mtus.get(&interface).copied().unwrap_or(usize::MAX)
    }

    /// Whether this is an address of the host itself.
    pub(in crate::host) fn is_own(&self, address: IpAddr) -> bool {
        self.addresses().any(|own| own == address)
    }

    /// Whether packets to this address are for the host.
    pub(in crate::host) fn is_local(&self, address: IpAddr) -> bool {
        self.is_own(address) || ALL_NODES.contains(&address)
    }

    /// Returns the interface through which a packet leaves.
    pub(in crate::host) fn leaving(&self, source: IpAddr, destination: IpAddr) -> usize {
        // RFC 4007, 6: link-local addresses mean something on one link only.
        let of_source = || self.assigned(source).map(|assigned| assigned.interface);
        let link_local = matches!(source, IpAddr::V6(source) if source.is_unicast_link_local());
        let routed = if link_local { of_source() } else { None };
        routed.unwrap_or_else(|| self.towards(destination))
    }

    /// Returns the address from which a packet to `destination` is sent, if its sender does not choose: one of the
    /// interface through which it leaves, if possible of the destination's prefix. Returns `None` if the host has no
    /// address of this family.
    pub(in crate::host) fn source_towards(&self, destination: IpAddr) -> Option<IpAddr> {
        let interface = self.towards(destination);
        let of_family = || self.addresses.iter().filter(|own| own.address.is_ipv4() == destination.is_ipv4());
        let here = || of_family().filter(|own| own.interface == interface);
        let best = here().find(|own| own.prefix.contains(destination));
        best.or_else(|| here().next()).or_else(|| of_family().next()).map(|own| own.address)
    }

    fn towards(&self, destination: IpAddr) -> usize {
        let of_family = || self.addresses.iter().find(|own| own.address.is_ipv4() == destination.is_ipv4());
        let default = || of_family().map_or(0, |own| own.interface);
        self.routes.interface_of(destination).or(self.default).unwrap_or_else(default)
    }

    fn assigned(&self, address: IpAddr) -> Option<&Assigned> {
        self.addresses.iter().find(|assigned| assigned.address == address)
    }
}

/// The groups of all nodes on a link (RFC 4291, 2.7.1) and in a realm, such as a mesh (RFC 7346, 3).
const ALL_NODES: [IpAddr; 2] =
    [IpAddr::V6(Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1)), IpAddr::V6(Ipv6Addr::new(0xff03, 0, 0, 0, 0, 0, 0, 1))];
