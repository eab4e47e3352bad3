//! ECDSA signatures of one length, so that runs have the same sizes.
//!
//! What must always hold: a signature is one that the key made.

use std::sync::Arc;

use terse_net::pki_types::SubjectPublicKeyInfoDer;
use terse_tls::SignatureScheme;
use terse_tls::crypto::{CryptoError, Rng, Signing, SigningKey};

/// A key that signs again until an ECDSA signature has its most frequent length, as every second one has.
pub(crate) struct OneLength(pub(crate) Arc<dyn SigningKey>);

impl SigningKey for OneLength {
    fn schemes(&self) -> &[SignatureScheme] {
        self.0.schemes()
    }

    fn public_key(&self) -> SubjectPublicKeyInfoDer<'_> {
        self.0.public_key()
    }

    fn sign(&self, scheme: SignatureScheme, message: &[u8], rng: &mut dyn Rng) -> Result<Signing, CryptoError> {
        loop {
            let signing = self.0.sign(scheme, message, rng)?;
            match &signing {
                Signing::Done(signature)
                    if scheme == SignatureScheme::ECDSA_SECP256R1_SHA256 && signature.len() != TYPICAL => {}
                _ => return Ok(signing),
            }
        }
    }
}

/// The most frequent length of the DER of an ECDSA signature over P-256, in bytes (RFC 3279, 2.2.3).
const TYPICAL: usize = 71;
