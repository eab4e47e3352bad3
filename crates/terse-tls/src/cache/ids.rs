//! The names of things in a cache: fingerprints, tickets, trust policies, and the scope of what a client keeps.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use pki_types::ServerName;
use subtle::ConstantTimeEq;

use super::{Fingerprint, TrustId};
use crate::cert::first;
use crate::crypto;
use crate::error::InvalidMessage;
use crate::wire::{Encode, Parse, Reader, Transport, Writer};

/// A ticket: derived by both sides from one handshake, sent once, in the clear, in the next (BiTHaC, IV-B). Until
/// then it links two connections, so it is not printed, and compared in constant time.
#[derive(Clone, Copy)]
pub struct Ticket(pub [u8; 8]);

impl PartialEq for Ticket {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for Ticket {}

/// For the index of a store.
impl Hash for Ticket {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(&self.0);
    }
}

impl Ord for Ticket {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Ticket {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ticket")
    }
}

/// An IP address of a client, with the header of its path if it has one ([`crate::Path`]): the first 4 bytes of its SHA-256,
/// kept by a server with each ticket of a client over datagrams. It stands on no wire.
///
/// It is no secret, and it is short: who has seen a ticket, and is free among the 2^64 addresses of an IPv6 prefix, finds
/// one with the same 4 bytes in some 2^32 hashes, which takes minutes at most. That gains one answer to that address, of at most
/// three times the bytes that came, before the ticket is spent: what a ticket does at its own address. Two clients with
/// the same 4 bytes harm nobody, since the ticket says who is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressId(pub [u8; 4]);

impl AddressId {
    /// Returns the identifier of `address`, or of a path to it with `header` ([`crate::Path`]). A client of IPv4 has the
    /// same one at a server that takes both versions of IP on one socket.
    pub(crate) fn new(address: IpAddr, header: &[u8], hash: &dyn crypto::Hash) -> Self {
        let of = |ip: &[u8]| match header {
            [] => hash.hash(&[ip]),
            _ => {
                let [ip_len, header_len] = [ip.len(), header.len()].map(|len| (len as u64).to_be_bytes());
                hash.hash(&[PATH_LABEL, &ip_len, ip, &header_len, header])
            }
        };
        Self(first(match address.to_canonical() {
            IpAddr::V4(address) => of(&address.octets()),
            IpAddr::V6(address) => of(&address.octets()),
        }))
    }
}

/// Begins what is hashed of a path with a header, which is thereby longer than any address.
const PATH_LABEL: &[u8] = b"terse path with a header";

/// A server's name or address, in the one form in which caches compare it: names in lower case without a final dot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerId(Box<[u8]>);

impl ServerId {
    const NONE: u8 = 0;
    const NAME: u8 = 1;
    const ADDRESS: u8 = 2;

    /// Returns the identifier of the server that a client connects to.
    pub fn new(server: &ServerName<'_>) -> Self {
        match server {
            ServerName::DnsName(name) => Self::name(name.as_ref().as_bytes()),
            ServerName::IpAddress(pki_types::IpAddr::V4(address)) => Self::tagged(Self::ADDRESS, address.as_ref()),
            ServerName::IpAddress(pki_types::IpAddr::V6(address)) => Self::tagged(Self::ADDRESS, address.as_ref()),
            // `ServerName` may grow. What this prints is no DNS name.
            other => Self::name(alloc::format!("{other:?}").as_bytes()),
        }
    }

    /// The `HostName` of a ClientHello (RFC 6066, 3), or none. A name that is too long to be one is `None`, and then
    /// nothing is cached.
    pub(crate) fn from_host_name(host_name: Option<&[u8]>) -> Option<Self> {
        match host_name {
            None => Some(Self::tagged(Self::NONE, &[])),
            Some(name) if name.len() <= Self::MAX_NAME => Some(Self::name(name)),
            Some(_) => None,
        }
    }

    /// A DNS name has at most 253 characters in text.
    const MAX_NAME: usize = 253;

    fn name(name: &[u8]) -> Self {
        let name = name.strip_suffix(b".").unwrap_or(name);
        Self::tagged(Self::NAME, &name.to_ascii_lowercase())
    }

    fn tagged(tag: u8, bytes: &[u8]) -> Self {
        let mut tagged = Vec::with_capacity(1 + bytes.len());
        tagged.push(tag);
        tagged.extend_from_slice(bytes);
        Self(tagged.into())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the bytes that records keep.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Reads the bytes that [`Self::as_bytes`] gave.
    pub(super) fn from_bytes(tagged: &[u8]) -> Result<Self, InvalidMessage> {
        match tagged.split_first().map(|(tag, name)| (*tag, name.len())) {
            Some((Self::NONE, 0) | (Self::NAME, _) | (Self::ADDRESS, 4 | 16)) => Ok(Self(tagged.into())),
            _ => Err(InvalidMessage::IllegalValue),
        }
    }
}

/// The name or address; `any name` where a client named none.
impl fmt::Display for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.split_first() {
            Some((&Self::NAME, name)) => {
                name.utf8_chunks().try_for_each(|chunk| write!(f, "{}", chunk.valid().escape_debug()))
            }
            Some((&Self::ADDRESS, address)) => match (<[u8; 4]>::try_from(address), <[u8; 16]>::try_from(address)) {
                (Ok(address), _) => write!(f, "{}", Ipv4Addr::from(address)),
                (_, Ok(address)) => write!(f, "{}", Ipv6Addr::from(address)),
                _ => f.write_str("no address"),
            },
            _ => f.write_str("any name"),
        }
    }
}

/// What separates the entries of a client: the server, how it is reached, and who the client is to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Scope {
    /// The server's name or address.
    pub server: ServerId,
    /// TCP or UDP port.
    pub port: u16,
    /// The kind of link.
    pub transport: Transport,
    /// The fingerprint of the client's own Certificate, if it has one; of several credentials, and of one that is not for
    /// everybody, a hash.
    pub credential: Option<Fingerprint>,
}

impl Scope {
    /// Creates the scope of a client with `credential` to `server`.
    pub const fn new(server: ServerId, port: u16, transport: Transport, credential: Option<Fingerprint>) -> Self {
        Self { server, port, transport, credential }
    }
}

impl Parse<'_> for Fingerprint {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        reader.array().map(Self)
    }
}

impl Encode for Fingerprint {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.bytes(&self.0);
    }
}

impl Parse<'_> for Ticket {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        reader.array().map(Self)
    }
}

impl Encode for Ticket {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.bytes(&self.0);
    }
}

impl Parse<'_> for AddressId {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        reader.array().map(Self)
    }
}

impl Encode for AddressId {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.bytes(&self.0);
    }
}

impl Parse<'_> for TrustId {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        reader.array().map(Self)
    }
}

impl Encode for TrustId {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.bytes(&self.0);
    }
}

impl Parse<'_> for ServerId {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        Self::from_bytes(reader.vec16()?)
    }
}

impl Encode for ServerId {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec16(&self.0);
    }
}

impl Parse<'_> for Scope {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        Ok(Self {
            server: ServerId::parse(reader)?,
            port: reader.u16()?,
            transport: match reader.u8()? {
                0 => Transport::Stream,
                1 => Transport::Datagram,
                _ => return Err(InvalidMessage::IllegalValue),
            },
            credential: Option::parse(reader)?,
        })
    }
}

impl Encode for Scope {
    fn encode(&self, writer: &mut Writer<'_>) {
        self.server.encode(writer);
        writer.u16(self.port);
        writer.u8(match self.transport {
            Transport::Stream => 0,
            Transport::Datagram => 1,
        });
        self.credential.encode(writer);
    }
}

/// Presence: a byte 0 or 1.
impl<'a, T: Parse<'a>> Parse<'a> for Option<T> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        match reader.u8()? {
            0 => Ok(None),
            1 => T::parse(reader).map(Some),
            _ => Err(InvalidMessage::IllegalValue),
        }
    }
}

impl<T: Encode> Encode for Option<T> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.u8(self.is_some().into());
        if let Some(value) = self {
            value.encode(writer);
        }
    }
}

impl<T: Encode> Encode for Arc<T> {
    fn encode(&self, writer: &mut Writer<'_>) {
        T::encode(self, writer);
    }
}
