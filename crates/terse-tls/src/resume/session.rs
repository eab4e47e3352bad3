//! The sessions of a server, which are kept in tickets or in a store.
//!
//! What must always hold: the secret is wiped on drop and not printed; only bytes of [`Session::encode`] are parsed.

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

/// The part of a handshake that a server keeps. The binding, which is kept separately, identifies its context.
#[derive(Clone)]
pub(crate) struct Session {
    /// The cipher suite, which also determines the version.
    pub(crate) suite: CipherSuite,
    /// The pre-shared key of TLS 1.3, or the extended master secret of TLS 1.2 (RFC 7627). Without an extended master
    /// secret no session is kept.
    pub(crate) secret: Secret,
    /// When the ticket was issued, in seconds since 1970.
    pub(crate) created: u64,
    /// When the whole chain of resumptions must end, in seconds since 1970: seven days after the handshake with
    /// certificates, or with the client's chain.
    pub(crate) end: u64,
    /// The client, if it has authenticated.
    pub(crate) client: Option<ResumedClient>,
}

/// A client that authenticated in the handshake with certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResumedClient {
    pub(crate) identity: PeerIdentity,
    /// How many signatures its chain had.
    pub(crate) signatures: u8,
    /// The certificates of the chain, if revocation is checked.
    pub(crate) links: Links,
}

impl Session {
    /// Returns `ticket_age_add` (RFC 9846, 4.7.1). It is derived from the secret, which is fresh for each ticket, so
    /// that it takes no bytes in the ticket. The only other use of the pre-shared key is HKDF-Extract.
    pub(crate) fn ticket_age_add(&self, hash: &dyn Hash) -> u32 {
        let output = hash.hmac(self.secret.as_ref(), &[b"terse ticket_age_add"]);
        output.as_ref().first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes)) // a hash has at least 32 bytes
    }

    /// Returns how long the session may be used after `created`, in seconds, if a ticket may be used for `lifetime`.
    pub(super) fn lifetime(&self, lifetime: u32) -> u32 {
        let left = self.end.saturating_sub(self.created).min(lifetime.into());
        u32::try_from(left).unwrap_or(lifetime) // at most `lifetime`
    }

    /// Whether the session may be used at `now`. A session from the future is refused, since the clock is wrong.
    pub(super) fn is_alive(&self, lifetime: u32, now: u64) -> bool {
        now.checked_sub(self.created).is_some_and(|age| age < u64::from(self.lifetime(lifetime)))
    }

    /// Whether the session is small enough to be kept, since the client chose its names.
    pub(super) fn fits(&self) -> bool {
        let names = self.client.iter().map(|client| &client.identity);
        names.map(PeerIdentity::len).sum::<usize>() <= Self::MAX_NAMES
    }

    const MAX_NAMES: usize = 0x800;

    /// Returns the encoding, which is wiped on drop.
    pub(super) fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(self.to_vec().unwrap_or_default()) // `fits` was called: no length overflows
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("suite", &self.suite).field("client", &self.client).finish_non_exhaustive()
    }
}

/// The flags of an encoded session: the length of the secret, and the format of the client.
mod flags {
    pub(super) const LONG_SECRET: u8 = 0x01;
    /// The client follows as type, subject and subjectAltName in DER, or as raw public key.
    pub(super) const CLIENT: u8 = 0x02;
    /// The client follows as one name, which is both subject and subjectAltName.
    pub(super) const CLIENT_NAME: u8 = 0x04;
    /// The links of the client's chain precede the client.
    pub(super) const LINKS: u8 = 0x08;
    /// The shift of the number of signatures, up to 15, in the upper half of the flags.
    pub(super) const SIGNATURES: u32 = 4;
}

/// Encodes `suite(2) || flags(1) || created(4) || end - created(3) || secret(32 or 48)`, and then the client.
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

/// The length of a TLS 1.3 pre-shared key with SHA-256.
const SECRET_LEN: usize = 32;
/// The length of a TLS 1.3 pre-shared key with SHA-384, or of a TLS 1.2 master secret.
const LONG_SECRET_LEN: usize = 48;

/// Returns the name of a certificate that has only this name, as common name and as its only subjectAltName. Most
/// device certificates do, and each byte of a ticket is sent twice.
fn only_name(identity: &PeerIdentity) -> Option<&[u8]> {
    let (_, name) = identity.subject_alt_name_der().split_at_checked(SAN_HEADER_LEN)?;
    (named(name)? == *identity).then_some(name)
}

/// `SEQUENCE { [2] dNSName }` has two headers of two bytes.
const SAN_HEADER_LEN: usize = 4;

/// Returns the identity with `name` as `CN=name`, a UTF8String, and as dNSName; `None` if it is too long for lengths of
/// one byte.
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
