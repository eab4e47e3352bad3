//! A path says where a peer of an endpoint is: at a socket address, and perhaps behind a relay that puts an opaque header
//! before each datagram, such as a stateless join proxy (draft-ietf-anima-constrained-join-proxy-20). All datagrams
//! of such a relay come from one address, and the header tells its peers apart.
//!
//! What must always hold: two paths are equal only if the address and every byte of the header are; a path without a
//! header costs no allocation; the bytes of [`Header`] after its length are zero.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::net::{IpAddr, SocketAddr};

#[cfg(test)]
mod tests;

/// The path to a peer of an [`crate::Endpoint`]: a socket address, and up to [`Path::MAX_HEADER`] opaque bytes.
///
/// A socket address alone is a path with an empty header. Everything that an endpoint knows of a peer's address it knows
/// of the whole path: a cookie, a ticket that replaces one, the limit of what is sent to a peer that is not validated,
/// and a return routability check count for one address with one header. A peer whose header changes has moved, as one
/// whose port changes.
///
/// Copies share the header.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path {
    address: SocketAddr,
    /// `None` stands for an empty header, and nothing else does.
    header: Option<Arc<Header>>,
}

/// A header of 1 to [`Path::MAX_HEADER`] bytes. Its size is fixed, so that a path has a thin pointer to it: nearly all
/// paths have none.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Header {
    len: u8,
    bytes: [u8; Path::MAX_HEADER],
}

impl Path {
    /// The most bytes of a header.
    pub const MAX_HEADER: usize = 64;

    /// Returns the path to `address` with `header`, or `None` if that is longer than [`Self::MAX_HEADER`].
    pub fn new(address: SocketAddr, header: &[u8]) -> Option<Self> {
        if header.is_empty() {
            return Some(address.into());
        }
        let mut bytes = [0; Self::MAX_HEADER];
        bytes.get_mut(..header.len())?.copy_from_slice(header);
        let len = header.len() as u8; // at most MAX_HEADER
        Some(Self { address, header: Some(Arc::new(Header { len, bytes })) })
    }

    /// Returns the socket address, to which datagrams are sent.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the header, which is empty unless there is a relay.
    pub fn header(&self) -> &[u8] {
        self.header.as_ref().map_or(&[], |header| &header.bytes[..header.len.into()])
    }

    /// Returns the bytes of the IP address, the port and the header, the first and the last after their length, so that
    /// no other path has the same bytes. The scope and the flow of an IPv6 address, which the system chooses, are left
    /// out.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let header = self.header();
        let with = |ip: &[u8]| {
            let [ip_len, header_len] = [ip.len(), header.len()].map(|len| len as u8); // at most 16, and MAX_HEADER
            [&[ip_len][..], ip, &self.address.port().to_be_bytes(), &[header_len], header].concat()
        };
        match self.address.ip() {
            IpAddr::V4(ip) => with(&ip.octets()),
            IpAddr::V6(ip) => with(&ip.octets()),
        }
    }
}

/// A path without a header.
impl From<SocketAddr> for Path {
    fn from(address: SocketAddr) -> Self {
        Self { address, header: None }
    }
}

/// A path without a header is hashed as its address is, and costs no more.
impl Hash for Path {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.address.hash(state);
        if self.header.is_some() {
            state.write(self.header());
        }
    }
}

/// A path equals an address if it is to that address, and has no header.
impl PartialEq<SocketAddr> for Path {
    fn eq(&self, address: &SocketAddr) -> bool {
        self.address == *address && self.header.is_none()
    }
}

/// Displays the address, and after a slash the header in hexadecimal, if there is one: `192.0.2.1:5684/0a1b`.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(f)?;
        if !self.header().is_empty() {
            f.write_str("/")?;
        }
        self.header().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
