//! What is kept of a verified chain: the leaf's key, the narrowest validity, and the identity that the application
//! sees (`caching`: the chain itself is dropped).
//!
//! What must always hold: a [`VerifiedPeer`] comes from a chain that was verified, just now or before it entered the
//! cache. Nothing else makes one.

use alloc::boxed::Box;
use core::fmt;
use core::fmt::Write as _;

use pki_types::UnixTime;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::name::Name;

use crate::error::{CertificateError, InvalidMessage};
use crate::wire::{Encode, Parse, Reader, Writer};

/// What is kept of a verified chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedPeer {
    /// The leaf's SubjectPublicKeyInfo, DER.
    pub(crate) public_key: Box<[u8]>,
    pub(crate) validity: Validity,
    pub(crate) identity: PeerIdentity,
    /// How many signatures were verified on the way to the trust anchor.
    pub(crate) signatures: u8,
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

/// Who the peer is, as its certificate says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerIdentity {
    /// The subject, a DER `Name`.
    pub(crate) subject: Box<[u8]>,
    /// The value of the subjectAltName extension, DER; empty if there is none.
    pub(crate) subject_alt_name: Box<[u8]>,
}

impl PeerIdentity {
    /// The subject, a DER `Name` (RFC 5280, 4.1.2.6).
    pub fn subject_der(&self) -> &[u8] {
        &self.subject
    }

    /// The subject alternative names, DER `GeneralNames` (RFC 5280, 4.2.1.6); empty if there are none.
    pub fn subject_alt_name_der(&self) -> &[u8] {
        &self.subject_alt_name
    }
}

/// The first DNS name, else the common name, else the subject as RFC 4514 writes it.
impl fmt::Display for PeerIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = SubjectAltName::from_der(&self.subject_alt_name);
        let dns_name = names.iter().flat_map(|names| names.0.iter()).find_map(|name| match name {
            GeneralName::DnsName(name) => Some(name.as_str()),
            _ => None,
        });
        let mut f = Printable(f);
        if let Some(name) = dns_name {
            return f.write_str(name);
        }
        match Name::from_der(&self.subject) {
            Ok(subject) if !subject.is_empty() => match subject.common_name() {
                Ok(Some(name)) => f.write_str(&name.value()),
                _ => write!(f, "{subject}"),
            },
            _ => f.write_str("unnamed"),
        }
    }
}

/// Escapes what a terminal or a log would obey: a peer chose its names.
struct Printable<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl fmt::Write for Printable<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().try_for_each(|character| match character {
            '\'' | '"' | '\\' => self.0.write_char(character),
            _ => write!(self.0, "{}", character.escape_debug()),
        })
    }
}

impl<'a> Parse<'a> for VerifiedPeer {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self {
            public_key: reader.vec16()?.into(),
            validity: Validity {
                not_before: reader.u64()?,
                not_before_depth: reader.u8()?,
                not_after: reader.u64()?,
                not_after_depth: reader.u8()?,
            },
            identity: PeerIdentity { subject: reader.vec16()?.into(), subject_alt_name: reader.vec16()?.into() },
            signatures: reader.u8()?,
        })
    }
}

impl Encode for VerifiedPeer {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec16(&self.public_key);
        writer.u64(self.validity.not_before);
        writer.u8(self.validity.not_before_depth);
        writer.u64(self.validity.not_after);
        writer.u8(self.validity.not_after_depth);
        writer.vec16(&self.identity.subject);
        writer.vec16(&self.identity.subject_alt_name);
        writer.u8(self.signatures);
    }
}
