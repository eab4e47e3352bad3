//! Who can have issued a certificate: by its signature (RFC 5280, 4.1.1), and by its issuer's name (4.1.2.4).

use alloc::vec::Vec;

use der::Tag;
use pki_types::CertificateDer;
use terse_tls::crypto::CryptoProvider;

use super::fields::algorithm_and_key_of;
use super::{issuer, subject};
use crate::asn1::Element;
use crate::{Malformed, SignatureRefused};

/// Verifies that this key, a SubjectPublicKeyInfo, has signed a certificate. That is one verification at most, and says nothing
/// else about either.
pub(crate) fn verify_issued(
    provider: &CryptoProvider,
    certificate: &[u8],
    public_key: &[u8],
) -> Result<(), SignatureRefused> {
    const WHAT: &str = "certificate";
    let mut fields = Element::from_der(certificate, WHAT)?.sequence(WHAT)?;
    let signed = fields.expect(Tag::Sequence)?;
    let algorithm = fields.expect(Tag::Sequence)?;
    let signature = fields.expect(Tag::BitString)?;
    // The first octet counts the unused bits.
    let Some((0, signature)) = signature.contents.split_first() else { return Err(Malformed::Der(WHAT).into()) };
    let (key_algorithm, key) = algorithm_and_key_of(public_key)?;
    let mut algorithms = provider.signatures.all.iter();
    let algorithm = algorithms
        .find(|known| *known.signature_alg_id() == *algorithm.contents && *known.public_key_alg_id() == *key_algorithm)
        .ok_or(SignatureRefused::Algorithm)?;
    algorithm.verify_signature(key, signed.encoded, signature).map_err(|_| SignatureRefused::Signature)
}

/// Appends to a certificate those of `others` that can be above it by their names, at any height. No signature is verified.
pub(crate) fn with_issuers(
    mut path: Vec<CertificateDer<'static>>,
    others: &[CertificateDer<'static>],
) -> Vec<CertificateDer<'static>> {
    let mut height = 0;
    while let Some(name) = path.get(height).map(|certificate| issuer(certificate).map(<[u8]>::to_vec)) {
        let is_issuer = |other: &CertificateDer<'_>| match (&name, subject(other)) {
            (Ok(name), Ok(subject)) => name == subject,
            _ => false,
        };
        for other in others.iter().filter(|other| is_issuer(other)) {
            if !path.contains(other) {
                path.push(other.clone());
            }
        }
        height += 1;
    }
    path
}
