//! The addresses of a proxy's links: those that are link-local, and those of configured prefixes.
//!
//! What must always hold: of IPv6, an address that is on a link is known by its prefix and its last 64 bits.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;
use core::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};
use core::str::FromStr;

/// The addresses that are on a link of the proxy.
///
/// Link-local ones always are: `fe80::/64` and `169.254.0.0/16`. Others are if they are in one of the prefixes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OnLink {
    prefixes: Vec<Prefix>,
}

impl OnLink {
    /// Creates the set of the link-local addresses and of these prefixes. Returns `None` if there are more than
    /// [`MAX_PREFIXES`].
    pub fn new(prefixes: Vec<Prefix>) -> Option<Self> {
        (prefixes.len() <= MAX_PREFIXES).then_some(Self { prefixes })
    }

    /// Whether a pledge is on a link and can be answered.
    pub(super) fn has(&self, pledge: SocketAddr) -> bool {
        pledge.port() != 0 && (is_link_local(pledge.ip()) || self.prefix_of(pledge.ip()).is_some())
    }

    /// Returns the zone of a pledge, which stands for its link: the interface of a link-local IPv6 address, one zone for all
    /// link-local IPv4 addresses, whose interface is not known, and one for each prefix.
    pub(super) fn zone(&self, pledge: SocketAddr) -> u32 {
        match pledge {
            SocketAddr::V6(pledge) if is_link_local((*pledge.ip()).into()) => pledge.scope_id(),
            _ => self.prefix_of(pledge.ip()).filter(|_| !is_link_local(pledge.ip())).map_or(ZONE_IPV4, zone_of_prefix),
        }
    }

    /// Returns the number of the prefix that an address is in.
    pub(super) fn prefix_of(&self, address: IpAddr) -> Option<usize> {
        self.prefixes.iter().position(|prefix| prefix.has(address))
    }

    /// Returns the IPv6 address in the prefix with this number that has these last 64 bits, if the prefix has it.
    pub(super) fn address_in(&self, number: usize, identifier: u64) -> Option<Ipv6Addr> {
        let prefix = self.prefixes.get(number)?;
        let IpAddr::V6(network) = prefix.network else { return None };
        let address = Ipv6Addr::from((u128::from(network) >> 64 << 64) | u128::from(identifier));
        prefix.has(address.into()).then_some(address)
    }
}

/// A prefix of addresses: `192.0.2.0/24` or `2001:db8::/64`. Of IPv6 it has 64 bits or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    network: IpAddr,
    len: u32,
}

impl Prefix {
    fn has(&self, address: IpAddr) -> bool {
        match (self.network, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let differing = u64::from(u32::from(network) ^ u32::from(address));
                differing >> (32 - self.len) == 0
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let differing = u128::from(network) ^ u128::from(address);
                differing.checked_shr(128 - self.len).unwrap_or_default() == 0
            }
            _ => false,
        }
    }
}

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "write a prefix, as in 192.0.2.0/24 or 2001:db8::/64".to_string();
        let (network, len) = text.split_once('/').ok_or_else(wrong)?;
        let network = network.parse().map_err(|_| wrong())?;
        let len = len.parse().map_err(|_| wrong())?;
        match network {
            IpAddr::V4(_) if len <= 32 => Ok(Self { network, len }),
            IpAddr::V6(_) if (64..=128).contains(&len) => Ok(Self { network, len }),
            IpAddr::V6(_) if len < 64 => Err("an IPv6 prefix of a link has 64 bits or more".to_string()),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.len)
    }
}

/// Whether an address is link-local. Of `fe80::/10` the bits 10 to 63 are zero (RFC 4291, 2.5.6).
pub(super) fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => u128::from(address) >> 64 == 0xfe80_0000_0000_0000,
    }
}

/// Returns a pledge in the one form in which it is compared: IPv4 as such, and a scope where it has a meaning.
pub(super) fn canonical(pledge: SocketAddr) -> SocketAddr {
    match (pledge, pledge.ip().to_canonical()) {
        (SocketAddr::V6(pledge), IpAddr::V6(ip)) => {
            let scope = if is_link_local(ip.into()) { pledge.scope_id() } else { 0 };
            SocketAddrV6::new(ip, pledge.port(), 0, scope).into()
        }
        (_, ip) => SocketAddr::new(ip, pledge.port()),
    }
}

/// Returns the zone of the prefix with this number.
pub(super) const fn zone_of_prefix(number: usize) -> u32 {
    ZONE_PREFIX + number as u32 // less than MAX_PREFIXES
}

/// The most prefixes.
pub const MAX_PREFIXES: usize = 6;

/// A zone below this is the interface of a link-local IPv6 address. No system has that many interfaces.
pub(super) const ZONE_IPV4: u32 = 0xffff_fff8;

/// From here on a zone is the number of a prefix.
pub(super) const ZONE_PREFIX: u32 = ZONE_IPV4 + 1;

const _: () = assert!(MAX_PREFIXES <= (u32::MAX - ZONE_PREFIX) as usize);

#[cfg(test)]
mod tests;
