//! What path validation expects of the holder of a certificate: a server with a name, a client, or an extended key usage
//! (RFC 5280, 4.2.1.12).

use core::fmt;

use pki_types::ServerName;
use x509_cert::der::asn1::ObjectIdentifier;

use super::fields::{Fields, for_each_key_purpose};
use crate::error::CertificateError;

/// What a chain must show about the holder of its leaf, besides a path to a trust anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expect<'a> {
    /// A server with this name or address. If the leaf has an extended key usage, serverAuth is among them.
    Server(&'a ServerName<'a>),
    /// A client, whose name the application must check. If the leaf has an extended key usage, clientAuth is among them.
    Client,
    /// A holder with this extended key usage, which the leaf must name, and with any name. A CA of the path names it as
    /// well, or has no extended key usage.
    Usage(KeyPurposeId),
    /// A holder with any name and any extended key usage, such as a device of a manufacturer.
    AnyUsage,
    /// A holder with any name, whose key is not restricted to purposes of others, such as the signer of a document for whose
    /// purpose there is no identifier. No certificate of the path has an extended key usage, except one with only anyExtendedKeyUsage: the
    /// certificate of a TLS server with that of such a server is refused.
    Unrestricted,
}

/// An extended key usage: the object identifier of a purpose of a key (RFC 5280, 4.2.1.12).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyPurposeId(&'static [u8]);

impl KeyPurposeId {
    /// id-kp-serverAuth (RFC 5280, 4.2.1.12).
    pub const SERVER_AUTH: Self = Self(&[0x2b, 6, 1, 5, 5, 7, 3, 1]);

    /// id-kp-clientAuth (RFC 5280, 4.2.1.12).
    pub const CLIENT_AUTH: Self = Self(&[0x2b, 6, 1, 5, 5, 7, 3, 2]);

    /// id-kp-cmcRA (RFC 6402, 2.10): a registration authority, such as an EST server (RFC 7030, 3.6.1) or a registrar
    /// (RFC 8995, 5.5.4).
    pub const CMC_RA: Self = Self(&[0x2b, 6, 1, 5, 5, 7, 3, 28]);

    /// anyExtendedKeyUsage (RFC 5280, 4.2.1.12): no purpose is excluded.
    pub(super) const ANY: Self = Self(&[0x55, 0x1d, 37, 0]);

    /// Creates the purpose with this object identifier, which is given as the contents of its DER, without tag and
    /// length.
    pub const fn from_der_contents(contents: &'static [u8]) -> Self {
        Self(contents)
    }

    /// Returns the contents of the DER of the object identifier.
    pub const fn der_contents(&self) -> &'static [u8] {
        self.0
    }
}

/// Prints the object identifier: `1.3.6.1.5.5.7.3.28`.
impl fmt::Display for KeyPurposeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match ObjectIdentifier::from_bytes(self.0) {
            Ok(id) => id.fmt(f),
            Err(_) => f.write_str("no object identifier"),
        }
    }
}

impl fmt::Debug for KeyPurposeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyPurposeId({self})")
    }
}

impl Expect<'_> {
    /// Returns the condition that each certificate of the path must meet.
    pub(super) fn purpose(self) -> Purpose {
        match self {
            Self::Server(_) => Purpose::Of(KeyPurposeId::SERVER_AUTH),
            Self::Client => Purpose::Of(KeyPurposeId::CLIENT_AUTH),
            Self::Usage(id) => Purpose::Of(id),
            Self::AnyUsage => Purpose::Any,
            Self::Unrestricted => Purpose::Unrestricted,
        }
    }

    /// Checks that the leaf names the extended key usage, where that is required.
    pub(super) fn check_leaf(self, leaf: &Fields<'_>) -> Result<(), CertificateError> {
        let Self::Usage(id) = self else { return Ok(()) };
        match has_purpose(leaf.extended_key_usage, id) {
            Ok(true) => Ok(()),
            _ => Err(CertificateError::WrongUsage),
        }
    }

    /// Returns the contribution to a [`TrustId`](super::TrustId): two expectations that can have different results have
    /// different ones. The name of a server is checked apart from the identifier, by the scope of what is cached.
    pub(super) const fn id(&self) -> (&'static [u8], &'static [u8]) {
        match self {
            Self::Server(_) => (b"server, id-kp-serverAuth", &[]),
            Self::Client => (b"client, id-kp-clientAuth", &[]),
            Self::Usage(id) => (b"any name, and the extended key usage ", id.0),
            Self::AnyUsage => (b"any name, any extended key usage", &[]),
            Self::Unrestricted => (b"any name, no restriction by an extended key usage", &[]),
        }
    }
}

/// The extended key usages that the certificates of a path may have.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    /// This one among them, or none at all.
    Of(KeyPurposeId),
    Any,
    /// Those that restrict a key to nothing: none at all, or only anyExtendedKeyUsage.
    Unrestricted,
}

impl Purpose {
    /// Checks the extended key usage of a certificate: the value of the extension, DER, or nothing if there is none.
    pub(super) fn check(self, extended_key_usage: &[u8]) -> Result<(), CertificateError> {
        if extended_key_usage.is_empty() {
            return Ok(());
        }
        let is_allowed = match self {
            Self::Of(id) => has_purpose(extended_key_usage, id)?,
            Self::Any => has_purpose(extended_key_usage, KeyPurposeId(&[])).map(|_| true)?,
            Self::Unrestricted => has_no_other_purpose(extended_key_usage, KeyPurposeId::ANY)?,
        };
        if is_allowed { Ok(()) } else { Err(CertificateError::WrongUsage) }
    }
}

/// Whether an extended key usage, DER, names this purpose.
fn has_purpose(extended_key_usage: &[u8], purpose: KeyPurposeId) -> Result<bool, CertificateError> {
    let mut has = false;
    for_each_key_purpose(extended_key_usage, |id| has |= id == purpose.0)?;
    Ok(has)
}

/// Whether an extended key usage, DER, names no other purpose than this.
fn has_no_other_purpose(extended_key_usage: &[u8], purpose: KeyPurposeId) -> Result<bool, CertificateError> {
    let mut has_none = true;
    for_each_key_purpose(extended_key_usage, |id| has_none &= id == purpose.0)?;
    Ok(has_none)
}

#[cfg(test)]
mod tests;
