//! The DER (X.690) that the libraries do not write: OCSP responses, extensions, and names that they would not keep.
//!
//! What must always hold: a length has its shortest encoding; what is signed again is the old contents but for the one
//! element that was replaced.

use pki_types::alg_id;
use rcgen::SigningKey;
use x509_cert::der::asn1::AnyRef;
use x509_cert::der::{Decode, Encode};

use crate::{Error, KeyAlgorithm};

/// Returns a DER element of `parts`, with the shortest encoding of its length.
pub(crate) fn tlv(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let contents = parts.concat();
    let length = contents.len().to_be_bytes();
    let length: &[u8] = &length[length.iter().take_while(|byte| **byte == 0).count()..];
    let mut element = vec![tag];
    match contents.len() {
        0..0x80 => element.push(contents.len() as u8),
        _ => {
            element.push(0x80 | length.len() as u8); // at most 8
            element.extend_from_slice(length);
        }
    }
    element.extend_from_slice(&contents);
    element
}

/// Returns `signatureAlgorithm` and `signature` in DER.
pub(crate) fn sign(key: &impl SigningKey, signed: &[u8]) -> Result<Vec<u8>, Error> {
    let algorithm = match KeyAlgorithm::of(key) {
        Some(KeyAlgorithm::P256) => alg_id::ECDSA_SHA256,
        Some(KeyAlgorithm::P384) => alg_id::ECDSA_SHA384,
        Some(KeyAlgorithm::Ed25519) => alg_id::ED25519,
        Some(KeyAlgorithm::Rsa2048 | KeyAlgorithm::Rsa3072 | KeyAlgorithm::Rsa4096) => alg_id::RSA_PKCS1_SHA256,
        None => return Err(Error::Crypto("the CA's key is of a kind that signs nothing here".into())),
    };
    let signature = key.sign(signed)?;
    Ok([tlv(SEQUENCE, &[algorithm.as_ref()]), tlv(BIT_STRING, &[&[0], &signature])].concat())
}

/// Returns what `signed` is with another element at `index` of its contents, signed again.
///
/// Certificates (RFC 5280, 4.1) and certification requests (RFC 2986, 4.2) are contents, algorithm and signature alike.
/// rcgen keeps one value for each type of attribute in a name, and so would lose the second domainComponent of a name.
pub(crate) fn with_element(
    signed: &[u8],
    index: usize,
    element: &[u8],
    key: &impl SigningKey,
) -> Result<Vec<u8>, Error> {
    let malformed = |_| Error::Malformed("what was signed");
    let parts = Vec::<AnyRef<'_>>::from_der(signed).map_err(malformed)?;
    let contents = parts.first().ok_or(Error::Malformed("what was signed"))?;
    let mut elements = contents.decode_as::<Vec<AnyRef<'_>>>().map_err(malformed)?;
    *elements.get_mut(index).ok_or(Error::Malformed("what was signed"))? =
        AnyRef::from_der(element).map_err(malformed)?;
    let contents = elements.to_der().map_err(malformed)?;
    Ok(tlv(SEQUENCE, &[&contents, &sign(key, &contents)?]))
}

pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const BIT_STRING: u8 = 0x03;
pub(crate) const OCTET_STRING: u8 = 0x04;
pub(crate) const ENUMERATED: u8 = 0x0a;
pub(crate) const IA5_STRING: u8 = 0x16;
pub(crate) const GENERALIZED_TIME: u8 = 0x18;
pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const NULL: &[u8] = &[5, 0];

#[cfg(test)]
mod tests;
