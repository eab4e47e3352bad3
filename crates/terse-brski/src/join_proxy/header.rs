//! The header of a stateless join proxy: where the pledge is, encrypted and authenticated (AES-SIV, RFC 5297).
//!
//! ```text
//! header = SIV (16) | encrypted (zone (4) | port (2) | interface identifier (8))
//! ```
//!
//! The encryption has no nonce: the registrar knows a pledge's connection by its header, so that this must be the same for all
//! its datagrams. An observer learns which datagrams are of one pledge, and the ports would tell him as much in the stateful
//! mode.
//!
//! What must always hold: a header that is read was written with the same key; what is read is on a link.

use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use aes_siv::KeyInit as _;
use aes_siv::siv::Aes128Siv;

use super::on_link::{OnLink, ZONE_IPV4, ZONE_PREFIX, is_link_local, zone_of_prefix};

/// The length of a header.
pub const HEADER_LEN: usize = TAG_LEN + PLAIN_LEN;

/// The key of headers. It is wiped when it is dropped, and does not print.
pub struct HeaderKey(Aes128Siv);

impl HeaderKey {
    /// The length of a key: AES-SIV with AES-128 has two of its keys.
    pub const LEN: usize = 32;

    /// Creates a key of these random bytes.
    pub fn new(bytes: &[u8; Self::LEN]) -> Self {
        Self(Aes128Siv::new(bytes.into()))
    }

    /// Returns the header of a pledge in its canonical form, or `None` if its interface has too large a number.
    pub(super) fn seal(&mut self, pledge: SocketAddr, on_link: &OnLink) -> Option<[u8; HEADER_LEN]> {
        let mut plain = encode(pledge, on_link)?;
        let tag = self.0.encrypt_inout_detached(NO_DATA, plain.as_mut_slice().into()).ok()?;
        let mut header = [0; HEADER_LEN];
        let (start, rest) = header.split_at_mut(TAG_LEN);
        start.copy_from_slice(&tag);
        rest.copy_from_slice(&plain);
        Some(header)
    }

    /// Returns the pledge of a header.
    pub(super) fn open(&mut self, header: &[u8; HEADER_LEN], on_link: &OnLink) -> Option<SocketAddr> {
        let (tag, rest) = header.split_first_chunk::<TAG_LEN>()?;
        let mut plain: [u8; PLAIN_LEN] = rest.try_into().ok()?;
        self.0.decrypt_inout_detached(NO_DATA, plain.as_mut_slice().into(), tag.into()).ok()?;
        decode(&plain, on_link)
    }
}

impl fmt::Debug for HeaderKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HeaderKey(..)")
    }
}

fn encode(pledge: SocketAddr, on_link: &OnLink) -> Option<[u8; PLAIN_LEN]> {
    let (zone, identifier) = match pledge {
        SocketAddr::V4(pledge) => (ZONE_IPV4, u32::from(*pledge.ip()).into()),
        SocketAddr::V6(pledge) => {
            let zone = match is_link_local((*pledge.ip()).into()) {
                true => Some(pledge.scope_id()).filter(|zone| *zone < ZONE_IPV4)?,
                false => zone_of_prefix(on_link.prefix_of((*pledge.ip()).into())?),
            };
            (zone, u128::from(*pledge.ip()) as u64)
        }
    };
    let mut plain = [0; PLAIN_LEN];
    plain[..4].copy_from_slice(&zone.to_be_bytes());
    plain[4..6].copy_from_slice(&pledge.port().to_be_bytes());
    plain[6..].copy_from_slice(&identifier.to_be_bytes());
    Some(plain)
}

fn decode(plain: &[u8; PLAIN_LEN], on_link: &OnLink) -> Option<SocketAddr> {
    let [zone0, zone1, zone2, zone3, port0, port1, identifier @ ..] = *plain;
    let (zone, port) = (u32::from_be_bytes([zone0, zone1, zone2, zone3]), u16::from_be_bytes([port0, port1]));
    let identifier = u64::from_be_bytes(identifier);
    let v6 = |address, scope| SocketAddr::from(SocketAddrV6::new(address, port, 0, scope));
    let pledge = match zone {
        ..ZONE_IPV4 => v6(Ipv6Addr::from(LINK_LOCAL | u128::from(identifier)), zone),
        ZONE_IPV4 => SocketAddr::new(Ipv4Addr::from(u32::try_from(identifier).ok()?).into(), port),
        ZONE_PREFIX.. => v6(on_link.address_in((zone - ZONE_PREFIX) as usize, identifier)?, 0),
    };
    on_link.has(pledge).then_some(pledge)
}

/// The length of the synthetic initialization vector.
const TAG_LEN: usize = 16;

/// The length of what is encrypted.
const PLAIN_LEN: usize = 14;

const LINK_LOCAL: u128 = 0xfe80 << 112;

/// No associated data.
const NO_DATA: [&[u8]; 0] = [];

/// The draft asks for 32 bytes at most ("JPY Message Overhead and MTU Size").
const _: () = assert!(HEADER_LEN <= 32);

#[cfg(test)]
mod tests;
