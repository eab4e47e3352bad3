//! The certificate chain or raw public key of a peer that is taken unverified (RFC 8995, 5.1: a provisional connection).
//!
//! What must always hold: no [`VerifiedPeer`](super::VerifiedPeer) comes of one, so that nothing of such a peer can be
//! cached or resumed; as much memory is kept as the peer has sent.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use pki_types::{CertificateDer, SubjectPublicKeyInfoDer};

use super::fields::Fields;
use super::name::sha256_of;
use super::split_public_key;
use super::verify::check_key_size;
use crate::error::CertificateError;
use crate::peer_name::PeerName;
use crate::wire::CertificateType;

/// What a peer has presented and nobody has verified: its certificate chain, or its raw public key. The peer has signed
/// the handshake with this key, so it has the private half. Nothing else is known of it: anybody can present any names.
///
/// [`Trust::check`](super::Trust::check) verifies the chain later.
#[derive(Clone, PartialEq, Eq)]
pub struct PresentedPeer {
    certificate_type: CertificateType,
    /// The certificates, leaf first, each after its length in three bytes, as in a Certificate message; or the raw public
    /// key in the same form.
    certificates: Box<[u8]>,
    /// The part of `certificates` that is the SubjectPublicKeyInfo of the leaf, or the raw public key.
    public_key: Range<usize>,
}

impl PresentedPeer {
    /// Takes a chain, leaf first, whose leaf is one that can sign a handshake: it parses, its key has no length that is
    /// refused, and its key usage, if it has one, allows digital signatures (RFC 9846, 4.5.1.1). The other certificates
    /// are taken as they are.
    pub(crate) fn of_chain(chain: &[CertificateDer<'_>]) -> Result<Self, CertificateError> {
        let leaf = chain.first().ok_or(CertificateError::Malformed)?;
        let fields = Fields::read(leaf)?;
        if fields.key_usage.is_some_and(|usage| !usage.digital_signature()) {
            return Err(CertificateError::WrongUsage);
        }
        let public_key = range_in(leaf, fields.public_key).ok_or(CertificateError::Malformed)?;
        Self::new(CertificateType::X509, chain, public_key)
    }

    /// Takes a raw public key, a DER SubjectPublicKeyInfo.
    pub(crate) fn of_raw_public_key(key: &[u8]) -> Result<Self, CertificateError> {
        Self::new(CertificateType::RAW_PUBLIC_KEY, &[key], 0..key.len())
    }

    /// Keeps `certificates`, in the first of which the key is at `public_key`.
    fn new(
        certificate_type: CertificateType,
        certificates: &[impl AsRef<[u8]>],
        public_key: Range<usize>,
    ) -> Result<Self, CertificateError> {
        let len = certificates.iter().map(|certificate| PREFIX + certificate.as_ref().len()).sum();
        let mut all = Vec::with_capacity(len);
        for certificate in certificates {
            let len = u32::try_from(certificate.as_ref().len()).map_err(|_| CertificateError::Malformed)?;
            let [0, prefix @ ..] = len.to_be_bytes() else { return Err(CertificateError::Malformed) };
            all.extend(prefix);
            all.extend(certificate.as_ref());
        }
        let public_key = PREFIX + public_key.start..PREFIX + public_key.end;
        let peer = Self { certificate_type, certificates: all.into(), public_key };
        split_public_key(peer.public_key_der())?;
        check_key_size(peer.public_key_der(), 0)?;
        Ok(peer)
    }

    /// Returns whether the peer has presented a certificate chain or a raw public key.
    pub const fn certificate_type(&self) -> CertificateType {
        self.certificate_type
    }

    /// Returns the certificates, leaf first, as they were sent; none if the peer has presented a raw public key. Only the
    /// leaf is known to parse.
    pub fn chain(&self) -> impl Iterator<Item = CertificateDer<'_>> {
        let mut rest = match self.certificate_type {
            CertificateType::X509 => &*self.certificates,
            _ => &[],
        };
        core::iter::from_fn(move || {
            let ([a, b, c], after) = rest.split_first_chunk::<PREFIX>()?;
            let (certificate, after) = after.split_at_checked(u32::from_be_bytes([0, *a, *b, *c]) as usize)?;
            rest = after;
            Some(CertificateDer::from(certificate))
        })
    }

    /// Returns the public key that the peer has signed with: a DER SubjectPublicKeyInfo.
    pub fn public_key(&self) -> SubjectPublicKeyInfoDer<'_> {
        self.public_key_der().into()
    }

    pub(crate) fn public_key_der(&self) -> &[u8] {
        self.certificates.get(self.public_key.clone()).unwrap_or_default() // it is there, as `new` has checked
    }
}

/// Prints the SHA-256 of the public key, which identifies it, and no name, since the peer can have presented any name.
impl fmt::Debug for PresentedPeer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PresentedPeer")
            .field("certificate_type", &self.certificate_type)
            .field("certificates", &self.chain().count())
            .field("public_key", &format_args!("{}", PeerName::RawPublicKey(sha256_of(self.public_key_der()))))
            .finish_non_exhaustive()
    }
}

/// The length of the length before each certificate (RFC 9846, 4.5.1).
const PREFIX: usize = 3;

/// Returns where `part`, which is a slice of `whole`, is in it.
fn range_in(whole: &[u8], part: &[u8]) -> Option<Range<usize>> {
    let start = (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
    let end = start.checked_add(part.len()).filter(|end| *end <= whole.len())?;
    Some(start..end)
}

#[cfg(test)]
mod tests;
