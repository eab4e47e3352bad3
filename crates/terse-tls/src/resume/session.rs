//! What a server keeps of a handshake, in a ticket or in a store.
//!
//! What must always hold: the secret wipes itself and is not printed; what is read was written by [`Session::encode`].

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use zeroize::Zeroizing;

use super::MAX_LIFETIME;
use crate::cert::{CertificateIdentity, Links, PeerIdentity};
use crate::crypto::{Hash, Secret};
use crate::error::InvalidMessage;
use crate::wire::{CipherSuite, Encode, Parse, Reader, Writer};

#[cfg(test)]
mod tests;

/// What a server keeps of a handshake. The binding, which is kept apart, says which context it belongs to.
#[derive(Clone)]
pub(crate) struct Session {
    /// Tells the version as well: each suite belongs to one.
    pub(crate) suite: CipherSuite,
    /// TLS 1.3: the pre-shared key; TLS 1.2: the extended master secret (RFC 7627). With another one none is kept.
    pub(crate) secret: Secret,
    /// When the ticket was issued, in seconds since 1970.
    pub(crate) created: u64,
    /// When the last session that descends from the same handshake with certificates must end: seven days after that
    /// handshake, or with the client's chain.
    pub(crate) end: u64,
    /// Whom the client proved to be.
    pub(crate) client: Option<ResumedClient>,
}

/// A client that proved its identity in the handshake with certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResumedClient {
    pub(crate) identity: PeerIdentity,
    /// How many signatures its chain had.
    pub(crate) signatures: u8,
    /// The chain's certificates, where revocation is checked.
    pub(crate) links: Links,
}

impl Session {
    /// `ticket_age_add` (RFC 9846, 4.7.1): as random as the secret, which is fresh for each ticket, so that it needs no
    /// place in the ticket. Of the secret, the pre-shared key's only other use is HKDF-Extract.
    pub(crate) fn ticket_age_add(&self, hash: &dyn Hash) -> u32 {
        let output = hash.hmac(self.secret.as_ref(), &[b"terse ticket_age_add"]);
        output.as_ref().first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes)) // a hash has at least 32 bytes
    }

    /// How long the session may be used from `created` on, in seconds, if a ticket lives for `lifetime` at most.
    pub(super) fn lifetime(&self, lifetime: u32) -> u32 {
        let left = self.end.saturating_sub(self.created).min(lifetime.into());
        u32::try_from(left).unwrap_or(lifetime) // never more than `lifetime`
    }

    /// Whether it may be used at `now`. A ticket from the future says that the clock is wrong.
    pub(super) fn is_alive(&self, lifetime: u32, now: u64) -> bool {
        now.checked_sub(self.created).is_some_and(|age| age < u64::from(self.lifetime(lifetime)))
    }

    /// Whether it is small enough to be kept: the client chose its names.
    pub(super) fn fits(&self) -> bool {
        let names = self.client.iter().map(|client| &client.identity);
        names.map(PeerIdentity::len).sum::<usize>() <= Self::MAX_NAMES
    }

    const MAX_NAMES: usize = 0x800;

    /// The encoding, which wipes itself.
    pub(super) fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(self.to_vec().unwrap_or_default()) // `fits` was asked: no length overflows
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("suite", &self.suite).field("client", &self.client).finish_non_exhaustive()
    }
}

/// The byte that says what follows: how long the secret is, and how the client is written.
mod flags {
    pub(super) const LONG_SECRET: u8 = 0x01;
    /// Type, subject and subjectAltName in DER, or the raw public key.
    pub(super) const CLIENT: u8 = 0x02;
    /// One name, which makes up both.
    pub(super) const CLIENT_NAME: u8 = 0x04;
    /// The certificates of its chain come first.
    pub(super) const LINKS: u8 = 0x08;
    /// The number of signatures, up to 15, in the upper half.
    pub(super) const SIGNATURES: u32 = 4;
}

/// `suite(2) || flags(1) || created(4) || end - created(3) || secret(32 or 48)`, then the client.
impl Encode for Session {
    fn encode(&self, writer: &mut Writer<'_>) {
        let client = self.client.as_ref();
        let name = client.and_then(|client| only_name(&client.identity));
        let mut flags = 0;
        let mut set = |flag, condition| flags |= if condition { flag } else { 0 };
        set(flags::LONG_SECRET, self.secret.as_ref().len() == LONG_SECRET_LEN);
        set(flags::CLIENT, client.is_some() && name.is_none());
        set(flags::CLIENT_NAME, name.is_some());
        let links = client.map(|client| &client.links).filter(|links| !links.is_empty());
        set(flags::LINKS, links.is_some());
        flags |= client.map_or(0, |client| client.signatures.min(0x0f)) << flags::SIGNATURES;
        writer.u16(self.suite.0);
        writer.u8(flags);
        writer.u32(self.created as u32); // until 2106
        writer.u24(self.end.saturating_sub(self.created).min(MAX_LIFETIME.into()) as usize);
        writer.bytes(self.secret.as_ref());
        links.iter().for_each(|links| links.encode(writer));
        match (name, client) {
            (Some(name), _) => writer.vec8(name),
            (None, Some(client)) => client.identity.encode(writer),
            (None, None) => {}
        }
    }
}

impl Parse<'_> for Session {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        let suite = CipherSuite(reader.u16()?);
        let flags = reader.u8()?;
        let created = reader.u32()?.into();
        let end = created + reader.u24()? as u64;
        let is_set = |flag| flags & flag != 0;
        let secret = Secret::new(reader.take(if is_set(flags::LONG_SECRET) { LONG_SECRET_LEN } else { SECRET_LEN })?);
        let links = if is_set(flags::LINKS) { Links::parse(reader)? } else { Links::default() };
        let identity = match (is_set(flags::CLIENT), is_set(flags::CLIENT_NAME)) {
            (false, false) => None,
            (true, false) => Some(PeerIdentity::parse(reader)?),
            (false, true) => Some(named(reader.vec8()?).ok_or(InvalidMessage::IllegalValue)?),
            (true, true) => return Err(InvalidMessage::IllegalValue),
        };
        let signatures = flags >> flags::SIGNATURES;
        Ok(Self {
            suite,
            secret,
            created,
            end,
            client: identity.map(|identity| ResumedClient { identity, signatures, links }),
        })
    }
}

/// SHA-256's output, a TLS 1.3 pre-shared key.
const SECRET_LEN: usize = 32;
/// SHA-384's output, or a TLS 1.2 master secret.
const LONG_SECRET_LEN: usize = 48;

/// The name of a device whose certificate has just that: as common name, and as its only subjectAltName. Most have, and
/// each byte of a ticket travels twice.
fn only_name(identity: &PeerIdentity) -> Option<&[u8]> {
    let (_, name) = identity.subject_alt_name_der().split_at_checked(SAN_HEADER_LEN)?;
    (named(name)? == *identity).then_some(name)
}

/// `SEQUENCE { [2] dNSName }` has two headers of two bytes.
const SAN_HEADER_LEN: usize = 4;

/// The identity with `name` as `CN=name`, a UTF8String, and as dNSName. `None`: too long for lengths of one byte.
fn named(name: &[u8]) -> Option<PeerIdentity> {
    const OID_COMMON_NAME: [u8; 5] = [0x06, 0x03, 0x55, 0x04, 0x03];
    let wrapped = |tag: u8, content: &[u8]| -> Option<Vec<u8>> {
        let len = u8::try_from(content.len()).ok().filter(|len| *len < 0x80)?;
        Some([&[tag, len], content].concat())
    };
    let attribute = [&OID_COMMON_NAME[..], &wrapped(0x0c, name)?].concat();
    let subject: Box<[u8]> = wrapped(0x30, &wrapped(0x31, &wrapped(0x30, &attribute)?)?)?.into();
    let subject_alt_name: Box<[u8]> = wrapped(0x30, &wrapped(0x82, name)?)?.into();
    Some(PeerIdentity::Certificate(CertificateIdentity { subject, subject_alt_name }))
}
