//! The signature is made (RFC 9052, 4.4).
//!
//! What is signed, a Sig_structure, and the COSE_Sign1 have the payload in common, which comes last in the one and before the
//! signature in the other. What must always hold: all of it is written into one buffer, which has exactly the room that the
//! result needs.

use alloc::vec::Vec;

use pki_types::CertificateDer;
use terse_tls::SignatureScheme;
use terse_tls::crypto::{CryptoError, Rng, Signing, SigningKey};

use super::algorithm::Algorithm;
use super::{CONTEXT, COSE_SIGN1, MAX_CERTIFICATES, Unsigned};
use crate::cbor::{Writer, encoded_len, head_len};
use crate::certificate::{Fields, algorithm_and_key_of};
use crate::{Malformed, SignatureRefused};

impl Unsigned {
    /// Prepares the signature of `content` by the key of `signer`, under `scheme`: ECDSA on P-256 or P-384, or Ed25519.
    ///
    /// The certificates of `x5bag` go into the unprotected header, at most 16. Pledges send none; registrars send their own
    /// chain and the pledge's, and MASAs their own chain.
    pub fn new(
        content: &[u8],
        signer: &CertificateDer<'_>,
        x5bag: &[CertificateDer<'_>],
        scheme: SignatureScheme,
    ) -> Result<Self, SignatureRefused> {
        let algorithm = Algorithm::of_scheme(scheme)?;
        let (key_algorithm, _) = algorithm_and_key_of(Fields::read(signer)?.public_key)?;
        if *key_algorithm != *algorithm.public_key() {
            return Err(SignatureRefused::Algorithm);
        }
        if x5bag.len() > MAX_CERTIFICATES {
            return Err(Malformed::TooMany("certificates").into());
        }
        Ok(Self::write(content, x5bag, algorithm))
    }

    fn write(content: &[u8], x5bag: &[CertificateDer<'_>], algorithm: Algorithm) -> Self {
        let protected = algorithm.protected();
        let signature_len = encoded_len(algorithm.signature_len());
        let headers_len = 2 + encoded_len(protected.len()) + unprotected_len(x5bag);
        // The signature is longer than the beginning of the Sig_structure, whose place it takes.
        let mut writer = Writer::with_capacity(headers_len + encoded_len(content.len()) + signature_len);
        writer.tag(COSE_SIGN1);
        writer.array(4);
        writer.bytes(protected);
        write_unprotected(x5bag, &mut writer);
        let message = writer.len();
        writer.array(4);
        writer.text(CONTEXT);
        writer.bytes(protected);
        writer.bytes(&[]); // external_aad
        let payload = writer.len();
        writer.bytes(content);
        Self { encoded: writer.into_vec(), message, payload, algorithm }
    }

    /// Returns the bytes that the key must sign, not their hash.
    pub fn message(&self) -> &[u8] {
        self.encoded.get(self.message..).unwrap_or_default() // `new` has written it there
    }

    /// Returns the scheme that the key must sign with.
    pub const fn scheme(&self) -> SignatureScheme {
        self.algorithm.scheme()
    }

    /// Returns the COSE_Sign1 with this signature, in the form that [`SigningKey`] returns: ECDSA in DER.
    pub fn signed(self, signature: &[u8]) -> Result<Vec<u8>, SignatureRefused> {
        let Self { mut encoded, message, payload, algorithm } = self;
        encoded.drain(message..payload);
        let mut writer = Writer::new(encoded);
        writer.bytes_head(algorithm.signature_len());
        let mut encoded = writer.into_vec();
        algorithm.push_signature(signature, &mut encoded)?;
        Ok(encoded)
    }

    /// Signs with a key that answers at once, and returns the COSE_Sign1. A key that answers later has failed
    /// ([`CryptoError::SigningFailed`]): it signs [`Self::message`], and [`Self::signed`] takes its signature.
    pub fn sign(self, key: &dyn SigningKey, rng: &mut dyn Rng) -> Result<Vec<u8>, SignatureRefused> {
        match key.sign(self.scheme(), self.message(), rng).map_err(SignatureRefused::Crypto)? {
            Signing::Done(signature) => self.signed(&signature),
            Signing::Pending => Err(SignatureRefused::Crypto(CryptoError::SigningFailed)),
        }
    }
}

impl Algorithm {
    /// Returns the protected header with this algorithm alone.
    const fn protected(self) -> &'static [u8] {
        match self {
            Self::Es256 => &[0xa1, 0x01, 0x26],
            Self::EdDsa => &[0xa1, 0x01, 0x27],
            Self::Es384 => &[0xa1, 0x01, 0x38, 0x22],
        }
    }
}

/// Writes the unprotected header: one certificate alone, and several in an array (RFC 9360, 2).
fn write_unprotected(x5bag: &[CertificateDer<'_>], writer: &mut Writer) {
    writer.map(usize::from(!x5bag.is_empty()));
    if !x5bag.is_empty() {
        writer.integer(X5BAG);
    }
    if x5bag.len() > 1 {
        writer.array(x5bag.len());
    }
    x5bag.iter().for_each(|certificate| writer.bytes(certificate));
}

/// Returns how long the unprotected header is.
fn unprotected_len(x5bag: &[CertificateDer<'_>]) -> usize {
    let certificates: usize = x5bag.iter().map(|certificate| encoded_len(certificate.len())).sum();
    let label = if x5bag.is_empty() { 0 } else { head_len(X5BAG.into()) };
    let array = usize::from(x5bag.len() > 1); // at most 16
    1 + label + array + certificates
}

/// The label of x5bag.
const X5BAG: u8 = 32;
