//! What counts as one address where addresses have limits.

use core::net::IpAddr;

/// Returns the address, or of IPv6 the first 64 bits: a subscriber has all addresses behind them. Link-local addresses all
/// have the same first 64 bits, and count one by one.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_unicast_link_local() => IpAddr::V6((u128::from(address) >> 64 << 64).into()),
        whole => whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subscriber_is_one_address_and_hosts_of_a_link_are_many() {
        let network = |address: &str| network(address.parse().unwrap());
        assert_eq!(network("2001:db8:0:1::1"), network("2001:db8:0:1:ffff::2"));
        assert_ne!(network("2001:db8:0:1::1"), network("2001:db8:0:2::1"));
        assert_ne!(network("fe80::1"), network("fe80::2"));
        assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
        assert_ne!(network("192.0.2.1"), network("192.0.2.2"));
    }
}
