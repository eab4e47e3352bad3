//! The links of this host: interfaces with a link-local address.

use core::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::io;

use if_addrs::get_if_addrs;

/// An interface, and a link-local IPv6 address that this host has there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    name: String,
    index: u32,
    address: Ipv6Addr,
}

impl Link {
    /// Returns the links that this host has at the moment, in the order of their interfaces, one of each. Loopback is none.
    pub fn all() -> io::Result<Vec<Self>> {
        let mut links = Self::with_all_addresses()?;
        links.dedup_by_key(|link| link.index);
        Ok(links)
    }

    /// Returns the link of the interface with this name.
    pub fn named(name: &str) -> io::Result<Self> {
        let problem =
            || format!("{name}: there is no such interface with a link-local IPv6 address; `ip -6 address` lists them");
        let found = Self::all()?.into_iter().find(|link| link.name == name);
        found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, problem()))
    }

    /// Returns the link with this link-local address, if it is one of this host.
    pub fn with_address(address: SocketAddr) -> io::Result<Option<Self>> {
        let SocketAddr::V6(address) = address else { return Ok(None) };
        let is_it = |link: &Self| link.address == *address.ip() && link.index == address.scope_id();
        Ok(Self::with_all_addresses()?.into_iter().find(is_it))
    }

    /// Returns the name of the interface.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the index of the interface, which is the scope of its link-local addresses.
    pub const fn index(&self) -> u32 {
        self.index
    }

    /// Returns this host's address there, with a port.
    pub fn address(&self, port: u16) -> SocketAddr {
        SocketAddrV6::new(self.address, port, 0, self.index).into()
    }

    fn with_all_addresses() -> io::Result<Vec<Self>> {
        let link = |interface: if_addrs::Interface| match (interface.ip(), interface.index) {
            (IpAddr::V6(address), Some(index)) if address.is_unicast_link_local() && !interface.is_loopback() => {
                Some(Self { name: interface.name, index, address })
            }
            _ => None,
        };
        let mut links: Vec<_> = get_if_addrs()?.into_iter().filter_map(link).collect();
        links.sort_by_key(|link| (link.index, link.address));
        Ok(links)
    }
}

/// Returns the addresses of this host that are neither link-local nor loopback.
pub(super) fn routable_addresses() -> io::Result<Vec<IpAddr>> {
    let is_routable = |interface: &if_addrs::Interface| !interface.is_link_local() && !interface.is_loopback();
    let mut addresses: Vec<_> =
        get_if_addrs()?.iter().filter(|interface| is_routable(interface)).map(if_addrs::Interface::ip).collect();
    addresses.sort();
    addresses.dedup();
    Ok(addresses)
}
