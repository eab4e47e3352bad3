//! Certification requests (PKCS #10, RFC 2986), as a device makes them for its LDevID (RFC 7030, 4.2.1).
//!
//! ```text
//! CertificationRequest ::= SEQUENCE { certificationRequestInfo, signatureAlgorithm, signature BIT STRING }
//! CertificationRequestInfo ::= SEQUENCE { version 0, subject Name, subjectPKInfo, attributes [0] IMPLICIT SET }
//! ```
//!
//! What must always hold: what is signed is what is sent; the algorithm that is named is that of the signature.

use alloc::vec::Vec;

use pki_types::{AlgorithmIdentifier, alg_id};
use terse_tls::SignatureScheme;
use terse_tls::crypto::{CryptoError, Rng, SigningKey};

use super::attribute::{Extension, extension_request};
use super::{MAX_BODY_LEN, MAX_EXTENSIONS, name};
use crate::asn1::{BIT_STRING, SEQUENCE, encode};
use crate::{Malformed, SignatureRefused};

/// A certification request (RFC 2986) before its signature is there.
pub struct UnsignedRequest {
    info: Vec<u8>,
    scheme: SignatureScheme,
    algorithm: AlgorithmIdentifier,
}

impl UnsignedRequest {
    /// Prepares a request for `key`'s certificate with this subject, a DER Name, and these extensions, each a DER Extension.
    ///
    /// The scheme is one of the key's: ECDSA, Ed25519, or RSASSA-PKCS1-v1_5.
    pub fn new(
        subject: &[u8],
        key: &dyn SigningKey,
        scheme: SignatureScheme,
        extensions: &[Vec<u8>],
    ) -> Result<Self, SignatureRefused> {
        let algorithm = algorithm(scheme).filter(|_| key.schemes().contains(&scheme));
        let algorithm = algorithm.ok_or(SignatureRefused::Algorithm)?;
        name::read(subject)?;
        check(extensions)?;
        let public_key = key.public_key();
        let attributes = encode(ATTRIBUTES, &[&extension_request(extensions)]);
        let info = encode(SEQUENCE, &[&VERSION, subject, public_key.as_ref(), &attributes]);
        if info.len() > MAX_BODY_LEN {
            return Err(Malformed::TooLong(MAX_BODY_LEN).into());
        }
        Ok(Self { info, scheme, algorithm })
    }

    /// Returns the bytes that the key must sign, not their hash.
    pub fn message(&self) -> &[u8] {
        &self.info
    }

    /// Returns the DER of the CertificationRequest with this signature.
    pub fn signed(self, signature: &[u8]) -> Vec<u8> {
        let algorithm = encode(SEQUENCE, &[self.algorithm.as_ref()]);
        encode(SEQUENCE, &[&self.info, &algorithm, &encode(BIT_STRING, &[&[0], signature])])
    }

    /// Signs with a key that answers at once, and returns the DER of the CertificationRequest. A key that answers later signs
    /// [`Self::message`], and [`Self::signed`] takes its signature.
    pub fn sign(self, key: &dyn SigningKey, rng: &mut dyn Rng) -> Result<Vec<u8>, SignatureRefused> {
        let signing = key.sign(self.scheme, &self.info, rng).map_err(SignatureRefused::Crypto)?;
        let signature = signing.done().ok_or(SignatureRefused::Crypto(CryptoError::SigningFailed))?;
        Ok(self.signed(&signature))
    }
}

/// Checks that these are extensions, each of another kind.
fn check(extensions: &[Vec<u8>]) -> Result<(), Malformed> {
    if extensions.len() > MAX_EXTENSIONS {
        return Err(Malformed::TooMany("extensions"));
    }
    let mut earlier: Vec<Extension<'_>> = Vec::with_capacity(extensions.len());
    for extension in extensions {
        let extension = Extension::from_der(extension)?;
        if earlier.iter().any(|earlier| earlier.id.contents == extension.id.contents) {
            return Err(Malformed::Duplicate("extension"));
        }
        earlier.push(extension);
    }
    Ok(())
}

/// Returns the identifier of an algorithm (RFC 5758, RFC 8410, RFC 4055), without the header of its SEQUENCE.
const fn algorithm(scheme: SignatureScheme) -> Option<AlgorithmIdentifier> {
    Some(match scheme {
        SignatureScheme::ECDSA_SECP256R1_SHA256 => alg_id::ECDSA_SHA256,
        SignatureScheme::ECDSA_SECP384R1_SHA384 => alg_id::ECDSA_SHA384,
        SignatureScheme::ED25519 => alg_id::ED25519,
        SignatureScheme::RSA_PKCS1_SHA256 => alg_id::RSA_PKCS1_SHA256,
        SignatureScheme::RSA_PKCS1_SHA384 => alg_id::RSA_PKCS1_SHA384,
        SignatureScheme::RSA_PKCS1_SHA512 => alg_id::RSA_PKCS1_SHA512,
        _ => return None,
    })
}

/// The DER of the version of a CertificationRequestInfo: v1.
const VERSION: [u8; 3] = [2, 1, 0];

/// The tag of the attributes: `[0] IMPLICIT SET OF Attribute`.
const ATTRIBUTES: u8 = 0xa0;

#[cfg(test)]
pub(crate) mod tests;
