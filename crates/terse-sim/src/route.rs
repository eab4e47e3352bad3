//! Routes: the interface through which a destination is reached.
//!
//! The longest prefix that contains the destination decides (RFC 1812, 5.2.4.3), so a route to one host comes before the
//! route to the prefix around it.

#[cfg(test)]
mod tests;

use core::cmp::Reverse;
use core::fmt;
use core::str::FromStr;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A prefix of IP addresses, such as `2001:db8::/64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    /// The first address of the prefix.
    address: IpAddr,
    length: u8,
}

/// The text is no prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedPrefix;

impl Prefix {
    /// Returns the prefix of `length` bits that contains `address`. A length beyond the address's own is the whole
    /// address.
    pub fn new(address: IpAddr, length: u8) -> Self {
        let length = length.min(width(address));
        Self { address: masked(address, length), length }
    }

    /// Returns the prefix that contains one address only.
    pub fn host(address: IpAddr) -> Self {
        Self::new(address, u8::MAX)
    }

    /// Whether `address` is in this prefix.
    pub fn contains(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4() && masked(address, self.length) == self.address
    }
}

/// Routes, by prefix.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    /// For each length of a prefix, the longest first: the interface by the prefix's first address.
    by_length: BTreeMap<Reverse<u8>, BTreeMap<IpAddr, usize>>,
}

impl Routes {
    /// Routes a prefix through `interface`; an earlier route of the same prefix is replaced.
    pub fn add(&mut self, prefix: Prefix, interface: usize) {
        self.by_length.entry(Reverse(prefix.length)).or_default().insert(prefix.address, interface);
    }

    /// Returns the interface through which `destination` is reached, if there is a route.
    pub fn interface_of(&self, destination: IpAddr) -> Option<usize> {
        let width = width(destination);
        let lengths = self.by_length.iter().filter(|(Reverse(length), _)| *length <= width);
        lengths.filter_map(|(Reverse(length), routes)| routes.get(&masked(destination, *length)).copied()).next()
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.address, self.length)
    }
}

impl FromStr for Prefix {
    type Err = MalformedPrefix;

    /// Parses `ADDRESS/LENGTH`, or an address alone, which is a prefix of one host.
    fn from_str(text: &str) -> Result<Self, MalformedPrefix> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length.parse().map_err(|_| MalformedPrefix)?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| MalformedPrefix)?;
        let length = length.unwrap_or(width(address));
        if length > width(address) { Err(MalformedPrefix) } else { Ok(Self::new(address, length)) }
    }
}

impl fmt::Display for MalformedPrefix {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("not a prefix such as 2001:db8::/64")
    }
}

impl core::error::Error for MalformedPrefix {}

/// Returns the number of bits of an address.
const fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// Returns `address` with all bits after the first `length` cleared.
fn masked(address: IpAddr, length: u8) -> IpAddr {
    let cleared = u32::from(width(address).saturating_sub(length));
    match address {
        // A shift by the whole width clears everything.
        IpAddr::V4(address) => {
            Ipv4Addr::from_bits(address.to_bits() & u32::MAX.checked_shl(cleared).unwrap_or(0)).into()
        }
        IpAddr::V6(address) => {
            Ipv6Addr::from_bits(address.to_bits() & u128::MAX.checked_shl(cleared).unwrap_or(0)).into()
        }
    }
}
