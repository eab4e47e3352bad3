//! AWS-LC with one cipher suite, as in the paper, and with ECDSA signatures of one length, so that the same seed gives the
//! same times.
//!
//! What must always hold: all algorithms are AWS-LC's, and a signature is one that its key made.

use std::sync::Arc;

use terse_aws_lc::{PROVIDER as AWS_LC, group, hash, suites, verify};
use terse_net::pki_types::{PrivateKeyDer, SubjectPublicKeyInfoDer};
use terse_tls::SignatureScheme;
use terse_tls::crypto::{CryptoError, CryptoProvider, KeyError, Rng, Signing, SigningKey};

/// The provider.
pub(super) static PROVIDER: CryptoProvider = CryptoProvider::new("aws-lc", verify::ALL, hash::SHA256, load_key)
    .tls13_suites(&[&suites::TLS_AES_128_CCM_SHA256])
    .groups(group::ALL);

fn load_key(key: &PrivateKeyDer<'_>) -> Result<Arc<dyn SigningKey>, KeyError> {
    Ok(Arc::new(OneLength(AWS_LC.load_key(key)?)))
}

/// A key that signs again until an ECDSA signature has its most frequent length, as every second one has.
struct OneLength(Arc<dyn SigningKey>);

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
