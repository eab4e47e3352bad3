//! Which addresses a service may connect to when a device or a registrar names the host (RFC 8995, 2.3.2 and 5.5.3).
//!
//! A MASA URL stands in a certificate that a manufacturer has signed, and the URL of a CRL in one that anybody has signed.
//! Neither may make a service connect to itself or to its own network, whatever name resolves to such an address.
//!
//! What must always hold: an address that is not known to be one of the public Internet is refused.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether this is an address of the public Internet: not the host itself, no link-local, private or shared address, no
/// multicast, and nothing that is reserved (RFC 6890 and the registries that it began). An IPv6 address that carries an IPv4
/// address counts as that one.
pub const fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

const fn is_public_v4(address: Ipv4Addr) -> bool {
    !matches!(
        address.octets(),
        [0 | 10 | 127, ..] // this network; private (RFC 1918); loopback
            | [100, 64..=127, ..] // shared by the customers of a provider (RFC 6598)
            | [169, 254, ..] // link-local (RFC 3927)
            | [172, 16..=31, ..] // private
            | [192, 0, 0 | 2, _] // protocol assignments; examples (RFC 5737)
            | [192, 88, 99, _] // relays of 6to4 (RFC 7526)
            | [192, 168, ..] // private
            | [198, 18 | 19, ..] // benchmarks (RFC 2544)
            | [198, 51, 100, _] // examples
            | [203, 0, 113, _] // examples
            | [224..=255, ..] // multicast, reserved and broadcast
    )
}

const fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        // IPv4-mapped (RFC 4291, 2.5.5.2), and translated by NAT64 (RFC 6052, 2.1).
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => is_public_v4(embedded(high, low)),
        // 6to4 (RFC 3056).
        [0x2002, high, low, ..] => is_public_v4(embedded(high, low)),
        // Protocol assignments, with Teredo (RFC 2928, RFC 4380); examples (RFC 3849, RFC 9637).
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        // Global unicast is assigned from here alone (RFC 4291, 2.4).
        [0x2000..=0x3fff, ..] => true,
        _ => false,
    }
}

const fn embedded(high: u16, low: u16) -> Ipv4Addr {
    let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
    Ipv4Addr::new(a, b, c, d)
}

#[cfg(test)]
mod tests;
