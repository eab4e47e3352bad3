//! What is kept of a verified chain: the leaf's key, the narrowest validity, the identity that the application sees,
//! and where revocation is checked what finds its certificates in a CRL (`caching`: the chain itself is dropped). Of a
//! raw public key that is the key.
//!
//! What must always hold: a [`VerifiedPeer`] comes from a chain or key that was verified, just now or before it entered
//! the cache. Nothing else makes one.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use pki_types::UnixTime;

use super::issuers::{Issued, Issuer, Link, Links};
use super::packed_key;
use crate::error::{CertificateError, InvalidMessage};
use crate::wire::{CertificateType, Encode, Parse, Reader, Writer};

/// What is kept of a verified chain or raw public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedPeer {
    /// The leaf's SubjectPublicKeyInfo, DER; empty for a raw public key, which is kept once, as the identity.
    public_key: Box<[u8]>,
    pub(crate) validity: Validity,
    pub(crate) identity: PeerIdentity,
    /// How many signatures were verified on the way to the trust anchor.
    pub(crate) signatures: u8,
    /// Where revocation is checked. Boxed: most entries have none.
    pub(super) issued: Option<Box<Issued>>,
    /// When the OCSP response ends that came with it in this handshake, in seconds since 1970. Not kept.
    staple_end: u64,
}

impl VerifiedPeer {
    pub(crate) const fn of_chain(
        public_key: Box<[u8]>,
        validity: Validity,
        identity: CertificateIdentity,
        signatures: u8,
    ) -> Self {
        Self {
            public_key,
            validity,
            identity: PeerIdentity::Certificate(identity),
            signatures,
            issued: None,
            staple_end: u64::MAX,
        }
    }

    /// The same, of a chain whose revocation is checked at every use.
    pub(super) fn issued(self, issued: Option<Issued>) -> Self {
        Self { issued: issued.map(Box::new), ..self }
    }

    pub(crate) fn of_raw_public_key(key: Box<[u8]>) -> Self {
        let identity = PeerIdentity::RawPublicKey(key);
        Self {
            public_key: Box::default(),
            validity: Validity::UNBOUNDED,
            identity,
            signatures: 0,
            issued: None,
            staple_end: u64::MAX,
        }
    }

    /// The peer's SubjectPublicKeyInfo, DER. If it comes from a cache, the point of an elliptic curve is a compressed
    /// one.
    pub fn public_key(&self) -> &[u8] {
        self.identity.raw_public_key_der().unwrap_or(&self.public_key)
    }

    /// What the Certificate message carried.
    pub const fn certificate_type(&self) -> CertificateType {
        self.identity.certificate_type()
    }

    /// When it may be believed.
    pub const fn validity(&self) -> &Validity {
        &self.validity
    }

    /// How many signatures were verified on the way to the trust anchor.
    pub const fn signatures(&self) -> u8 {
        self.signatures
    }

    /// Who the peer is.
    pub const fn identity(&self) -> &PeerIdentity {
        &self.identity
    }

    /// Whether the peer is accepted at `time` without a look at its dates. A raw public key has none.
    pub(crate) fn is_unchecked_at(&self, time: Option<UnixTime>) -> bool {
        time.is_none() && !self.validity.is_unbounded()
    }

    /// How many bytes of it have no fixed size, but by its depth.
    pub(crate) fn len(&self) -> usize {
        self.public_key.len() + self.identity.len()
    }

    /// The certificates of its chain, leaf first, where revocation is checked.
    pub(crate) fn links(&self) -> &[Link] {
        self.issued.as_ref().map_or(&[], |issued| issued.links.as_slice())
    }

    /// The CAs to be learned from it, if it was verified just now.
    pub(super) fn issuers(&self) -> &[Issuer] {
        self.issued.as_ref().map_or(&[], |issued| &issued.issuers)
    }

    /// An OCSP response came with it, and ends at `end`.
    pub(crate) const fn stapled_until(&mut self, end: u64) {
        self.staple_end = end;
    }

    /// The validity of what goes on from this handshake alone: there is no other response in a session that resumes.
    pub(crate) fn validity_with_staple(&self) -> Validity {
        Validity { not_after: self.validity.not_after.min(self.staple_end), ..self.validity }
    }

    /// As it is kept: without the CAs, which are learned once for all, and without what came with it in this handshake.
    pub(crate) fn kept(self: &Arc<Self>) -> Arc<Self> {
        if self.issuers().is_empty() && self.staple_end == u64::MAX {
            return self.clone();
        }
        let mut kept = Self { staple_end: u64::MAX, ..Self::clone(self) };
        if let Some(issued) = &mut kept.issued {
            issued.issuers = Vec::new();
        }
        Arc::new(kept)
    }
}

/// The narrowest validity of a chain: the greatest notBefore and the smallest notAfter (paper 000, IV-C), with the
/// depth of the certificate that each comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    pub(crate) not_before: u64,
    pub(crate) not_before_depth: u8,
    pub(crate) not_after: u64,
    pub(crate) not_after_depth: u8,
}

impl Validity {
    /// That of a raw public key: it ends with the trust in it.
    pub(crate) const UNBOUNDED: Self =
        Self { not_before: 0, not_before_depth: 0, not_after: u64::MAX, not_after_depth: 0 };

    /// The greatest notBefore of the chain, in seconds since 1970.
    pub const fn not_before(&self) -> u64 {
        self.not_before
    }

    /// The smallest notAfter of the chain, in seconds since 1970.
    pub const fn not_after(&self) -> u64 {
        self.not_after
    }

    /// Whether it holds at any time, so that no clock is needed.
    pub fn is_unbounded(&self) -> bool {
        *self == Self::UNBOUNDED
    }

    /// Whether `time` lies within.
    pub fn check(&self, time: UnixTime) -> Result<(), CertificateError> {
        if time.as_secs() > self.not_after {
            return Err(CertificateError::Expired {
                depth: self.not_after_depth.into(),
                not_after: UnixTime::since_unix_epoch(core::time::Duration::from_secs(self.not_after)),
            });
        }
        if time.as_secs() < self.not_before {
            return Err(CertificateError::NotYetValid {
                depth: self.not_before_depth.into(),
                not_before: UnixTime::since_unix_epoch(core::time::Duration::from_secs(self.not_before)),
            });
        }
        Ok(())
    }
}

/// Who the peer is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeerIdentity {
    /// What its certificate says.
    Certificate(CertificateIdentity),
    /// Its raw public key, a DER SubjectPublicKeyInfo (RFC 7250, 3). Who has it, only the application knows.
    RawPublicKey(Box<[u8]>),
}

/// Who the peer is, as its certificate says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateIdentity {
    /// The subject, a DER `Name`.
    pub(crate) subject: Box<[u8]>,
    /// The value of the subjectAltName extension, DER; empty if there is none.
    pub(crate) subject_alt_name: Box<[u8]>,
}

impl PeerIdentity {
    /// The subject, a DER `Name` (RFC 5280, 4.1.2.6); empty for a raw public key.
    pub fn subject_der(&self) -> &[u8] {
        match self {
            Self::Certificate(identity) => &identity.subject,
            Self::RawPublicKey(_) => &[],
        }
    }

    /// The subject alternative names, DER `GeneralNames` (RFC 5280, 4.2.1.6); empty if there are none.
    pub fn subject_alt_name_der(&self) -> &[u8] {
        match self {
            Self::Certificate(identity) => &identity.subject_alt_name,
            Self::RawPublicKey(_) => &[],
        }
    }

    /// The raw public key, a DER SubjectPublicKeyInfo (RFC 5280, 4.1.2.7), of a peer that has no certificate.
    pub fn raw_public_key_der(&self) -> Option<&[u8]> {
        match self {
            Self::Certificate(_) => None,
            Self::RawPublicKey(key) => Some(key),
        }
    }

    /// What the peer's Certificate message carried.
    pub const fn certificate_type(&self) -> CertificateType {
        match self {
            Self::Certificate(_) => CertificateType::X509,
            Self::RawPublicKey(_) => CertificateType::RAW_PUBLIC_KEY,
        }
    }

    /// How many bytes it has.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Certificate(CertificateIdentity { subject, subject_alt_name }) => {
                subject.len() + subject_alt_name.len()
            }
            Self::RawPublicKey(key) => key.len(),
        }
    }
}

impl<'a> Parse<'a> for PeerIdentity {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(match CertificateType::parse(reader)? {
            CertificateType::X509 => Self::Certificate(CertificateIdentity {
                subject: reader.vec16()?.into(),
                subject_alt_name: reader.vec16()?.into(),
            }),
            CertificateType::RAW_PUBLIC_KEY => Self::RawPublicKey(reader.vec16()?.into()),
            _ => return Err(InvalidMessage::IllegalValue),
        })
    }
}

impl Encode for PeerIdentity {
    fn encode(&self, writer: &mut Writer<'_>) {
        self.certificate_type().encode(writer);
        match self {
            Self::Certificate(CertificateIdentity { subject, subject_alt_name }) => {
                writer.vec16(subject);
                writer.vec16(subject_alt_name);
            }
            Self::RawPublicKey(key) => writer.vec16(key),
        }
    }
}

/// The packed form in which caches keep it. Dates have 32 bits: a later end is one of 2106.
impl<'a> Parse<'a> for VerifiedPeer {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        let (public_key, is_raw) = packed_key::parse(reader)?;
        if is_raw {
            return Ok(Self::of_raw_public_key(public_key));
        }
        let (not_before, not_after, depths) = (reader.u32()?, reader.u32()?, reader.u8()?);
        let validity = Validity {
            not_before: not_before.into(),
            not_before_depth: depths >> 4,
            not_after: not_after.into(),
            not_after_depth: depths & 0xf,
        };
        let signatures = reader.u8()?;
        let [subject, subject_alt_name] = [reader.short_vec()?.into(), reader.short_vec()?.into()];
        let links = if signatures & HAS_LINKS == 0 { None } else { Some(Links::parse(reader)?) };
        let issued = links.map(|links| Issued { links, issuers: Vec::new() });
        let identity = CertificateIdentity { subject, subject_alt_name };
        Ok(Self::of_chain(public_key, validity, identity, signatures & !HAS_LINKS).issued(issued))
    }
}

/// A raw public key is all that there is to know of its peer.
impl Encode for VerifiedPeer {
    fn encode(&self, writer: &mut Writer<'_>) {
        match &self.identity {
            PeerIdentity::RawPublicKey(key) => packed_key::encode(key, true, writer),
            PeerIdentity::Certificate(CertificateIdentity { subject, subject_alt_name }) => {
                packed_key::encode(&self.public_key, false, writer);
                let Validity { not_before, not_before_depth, not_after, not_after_depth } = self.validity;
                writer.u32(u32::try_from(not_before).unwrap_or(u32::MAX));
                writer.u32(u32::try_from(not_after).unwrap_or(u32::MAX));
                writer.u8(not_before_depth.min(0xf) << 4 | not_after_depth.min(0xf)); // eight certificates at most
                let links = if self.issued.is_some() { HAS_LINKS } else { 0 };
                writer.u8(self.signatures & !HAS_LINKS | links);
                writer.short_vec(subject);
                writer.short_vec(subject_alt_name);
                if let Some(issued) = &self.issued {
                    issued.links.encode(writer);
                }
            }
        }
    }
}

/// Beside the number of signatures, which is eight at most: [`Links`] follow.
const HAS_LINKS: u8 = 0x80;
