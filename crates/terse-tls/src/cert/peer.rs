//! What is kept of a verified chain: the leaf's key, the narrowest validity, the identity that the application sees,
//! and where revocation is checked what finds its certificates in a CRL (docs/caching.md, 3.1: the chain itself is dropped). Of a
//! raw public key that is the key.
//!
//! What must always hold: a [`VerifiedPeer`] is only made of a chain or key that was verified, in this handshake or
//! before it entered the cache.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use pki_types::UnixTime;

use super::issuers::{Issued, Issuer, Link, Links};
use super::packed_key;
use crate::error::{CertificateError, Date, InvalidMessage};
use crate::wire::{CertificateType, Encode, Parse, Reader, Writer};

/// The part of a verified chain or raw public key that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedPeer {
    /// The leaf's SubjectPublicKeyInfo, DER; empty for a raw public key, which is only kept as the identity.
    public_key: Box<[u8]>,
    pub(crate) validity: Validity,
    pub(crate) identity: PeerIdentity,
    /// How many signatures were verified on the way to the trust anchor.
    pub(crate) signatures: u8,
    /// The issuers of the chain, if revocation is checked. It is boxed, since most entries have none.
    pub(super) issued: Option<Box<Issued>>,
    /// When the OCSP response of this handshake becomes invalid, in seconds since 1970. It is not kept.
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

    /// Adds the issuers of a chain whose revocation is checked at every use.
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

    /// Returns the peer's SubjectPublicKeyInfo, DER. If it comes from a cache, the point of an elliptic curve is
    /// compressed.
    pub fn public_key(&self) -> &[u8] {
        self.identity.raw_public_key_der().unwrap_or(&self.public_key)
    }

    /// Returns the type of the peer's certificate.
    pub const fn certificate_type(&self) -> CertificateType {
        self.identity.certificate_type()
    }

    /// Returns when the chain is valid.
    pub const fn validity(&self) -> &Validity {
        &self.validity
    }

    /// Returns how many signatures were verified on the way to the trust anchor.
    pub const fn signatures(&self) -> u8 {
        self.signatures
    }

    /// Returns the identity of the peer.
    pub const fn identity(&self) -> &PeerIdentity {
        &self.identity
    }

    /// Whether the dates of the peer's chain cannot be checked, for lack of a clock. A raw public key has no dates.
    pub(crate) fn is_unchecked_at(&self, time: Option<UnixTime>) -> bool {
        time.is_none() && !self.validity.is_unbounded()
    }

    /// Returns how many bytes the key and the names take.
    pub(crate) fn len(&self) -> usize {
        self.public_key.len() + self.identity.len()
    }

    /// Returns the certificates of the chain, leaf first, if revocation is checked.
    pub(crate) fn links(&self) -> &[Link] {
        self.issued.as_ref().map_or(&[], |issued| issued.links.as_slice())
    }

    /// Returns the CAs that are to be learned, if the chain was just verified.
    pub(super) fn issuers(&self) -> &[Issuer] {
        self.issued.as_ref().map_or(&[], |issued| &issued.issuers)
    }

    /// Sets when the stapled OCSP response becomes invalid.
    pub(crate) const fn stapled_until(&mut self, end: u64) {
        self.staple_end = end;
    }

    /// Returns the validity for sessions of this handshake: a session that resumes has no other OCSP response.
    pub(crate) fn validity_with_staple(&self) -> Validity {
        Validity { not_after: self.validity.not_after.min(self.staple_end), ..self.validity }
    }

    /// Returns the part that is kept: without the CAs, which are learned separately, and without the end of the stapled
    /// OCSP response.
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

/// The narrowest validity of a chain: the greatest notBefore and the smallest notAfter (BiTHaC, IV-C), with the
/// depth of the certificate that each comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    pub(crate) not_before: u64,
    pub(crate) not_before_depth: u8,
    pub(crate) not_after: u64,
    pub(crate) not_after_depth: u8,
}

impl Validity {
    /// The validity of a raw public key, which has no dates.
    pub(crate) const UNBOUNDED: Self =
        Self { not_before: 0, not_before_depth: 0, not_after: u64::MAX, not_after_depth: 0 };

    /// Returns the greatest notBefore of the chain, in seconds since 1970.
    pub const fn not_before(&self) -> u64 {
        self.not_before
    }

    /// Returns the smallest notAfter of the chain, in seconds since 1970.
    pub const fn not_after(&self) -> u64 {
        self.not_after
    }

    /// Whether the validity has no bounds, so that no clock is needed.
    pub fn is_unbounded(&self) -> bool {
        *self == Self::UNBOUNDED
    }

    /// Checks that `time` is within the validity.
    pub fn check(&self, time: UnixTime) -> Result<(), CertificateError> {
        if time.as_secs() > self.not_after {
            return Err(CertificateError::Expired {
                depth: self.not_after_depth,
                not_after: Date::of_seconds(self.not_after),
            });
        }
        if time.as_secs() < self.not_before {
            return Err(CertificateError::NotYetValid {
                depth: self.not_before_depth,
                not_before: Date::of_seconds(self.not_before),
            });
        }
        Ok(())
    }
}

/// The identity of a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeerIdentity {
    /// The identity in the peer's certificate.
    Certificate(CertificateIdentity),
    /// The peer's raw public key, a DER SubjectPublicKeyInfo (RFC 7250, 3). Only the application knows its owner.
    RawPublicKey(Box<[u8]>),
}

/// The identity in a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateIdentity {
    /// The subject, a DER `Name`.
    pub(crate) subject: Box<[u8]>,
    /// The value of the subjectAltName extension, DER; empty if there is none.
    pub(crate) subject_alt_name: Box<[u8]>,
}

impl PeerIdentity {
    /// Returns the subject, a DER `Name` (RFC 5280, 4.1.2.6); empty for a raw public key.
    pub fn subject_der(&self) -> &[u8] {
        match self {
            Self::Certificate(identity) => &identity.subject,
            Self::RawPublicKey(_) => &[],
        }
    }

    /// Returns the subject alternative names, DER `GeneralNames` (RFC 5280, 4.2.1.6); empty if there are none.
    pub fn subject_alt_name_der(&self) -> &[u8] {
        match self {
            Self::Certificate(identity) => &identity.subject_alt_name,
            Self::RawPublicKey(_) => &[],
        }
    }

    /// Returns the raw public key, a DER SubjectPublicKeyInfo (RFC 5280, 4.1.2.7), of a peer that has no certificate.
    pub fn raw_public_key_der(&self) -> Option<&[u8]> {
        match self {
            Self::Certificate(_) => None,
            Self::RawPublicKey(key) => Some(key),
        }
    }

    /// Returns the type of the peer's certificate.
    pub const fn certificate_type(&self) -> CertificateType {
        match self {
            Self::Certificate(_) => CertificateType::X509,
            Self::RawPublicKey(_) => CertificateType::RAW_PUBLIC_KEY,
        }
    }

    /// Returns how many bytes the identity has.
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

/// Parses the packed form of caches. Dates have 32 bits, so a later end is stored as 2106.
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

/// Encodes the packed form of caches. For a raw public key it has only the key.
impl Encode for VerifiedPeer {
    fn encode(&self, writer: &mut Writer<'_>) {
        match &self.identity {
            PeerIdentity::RawPublicKey(key) => packed_key::encode(key, true, writer),
            PeerIdentity::Certificate(CertificateIdentity { subject, subject_alt_name }) => {
                packed_key::encode(&self.public_key, false, writer);
                let Validity { not_before, not_before_depth, not_after, not_after_depth } = self.validity;
                writer.u32(u32::try_from(not_before).unwrap_or(u32::MAX));
                writer.u32(u32::try_from(not_after).unwrap_or(u32::MAX));
                writer.u8(not_before_depth.min(0xf) << 4 | not_after_depth.min(0xf)); // at most eight certificates
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

/// The bit beside the number of signatures, at most eight, which says that [`Links`] follow.
const HAS_LINKS: u8 = 0x80;
