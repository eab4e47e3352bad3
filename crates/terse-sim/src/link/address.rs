//! Link-layer addresses are made from IP addresses, so that neighbours need not ask for them.

use std::net::IpAddr;

/// One end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Station {
    /// Its IP address.
    pub(crate) address: IpAddr,
    /// The MAC address: locally administered, unicast (IEEE 802, 8.2).
    pub(crate) ethernet: [u8; 6],
    /// The address for IEEE 802.15.4: the one from which the interface identifier of the IPv6 address is made (RFC
    /// 4291, appendix A), so that RFC 6282 can leave the identifier out.
    pub(crate) eui64: [u8; 8],
}

impl Station {
    /// Returns the station that has this IP address.
    pub(crate) fn of(address: IpAddr) -> Self {
        let mut eui64 = match address {
            IpAddr::V6(address) => *address.octets().last_chunk().expect("sixteen octets"),
            IpAddr::V4(address) => {
                let [a, b, c, d] = address.octets();
                [0, 0, 0, 0xFF, 0xFE, b, c, d ^ a]
            }
        };
        let low: [u8; 4] = match address {
            IpAddr::V6(_) => *eui64.last_chunk().expect("eight octets"),
            IpAddr::V4(address) => address.octets(),
        };
        eui64[0] ^= 0x02;
        Self { address, ethernet: [0x02, 0, low[0], low[1], low[2], low[3]], eui64 }
    }
}
