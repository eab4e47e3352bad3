//! Signatures in certificates and in CertificateVerify are verified here: ECDSA on P-256 in assembly, the others by
//! `terse-rustcrypto`.

use core::fmt;

use pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm, alg_id};
use sha2::{Digest, Sha256, Sha384};
pub use terse_rustcrypto::verify::{
    ECDSA_P384_SHA256, ECDSA_P384_SHA384, ED25519, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512,
    RSA_PSS_SHA256, RSA_PSS_SHA384, RSA_PSS_SHA512,
};

use crate::number::{Number, Point};
use crate::signature;

/// ECDSA on P-256 with SHA-256.
pub static ECDSA_P256_SHA256: &dyn SignatureVerificationAlgorithm =
    &Ecdsa { signature: alg_id::ECDSA_SHA256, verify: verify::<Sha256> };

/// ECDSA on P-256 with SHA-384, seen in certificates.
pub static ECDSA_P256_SHA384: &dyn SignatureVerificationAlgorithm =
    &Ecdsa { signature: alg_id::ECDSA_SHA384, verify: verify::<Sha384> };

terse_tls::define_signature_algorithms!();

/// ECDSA verification (FIPS 186-5, 6.4.2). Signatures are DER (RFC 3279, 2.2.3), read strictly.
struct Ecdsa {
    signature: AlgorithmIdentifier,
    verify: fn(&Point, message: &[u8], signature: &[Number; 2]) -> bool,
}

/// Prints the name alone: to print more takes 2 kB of an image, since a trait asks for it.
impl fmt::Debug for Ecdsa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ecdsa")
    }
}

fn verify<D: Digest>(key: &Point, message: &[u8], signature: &[Number; 2]) -> bool {
    key.verifies(&D::digest(message), signature)
}

impl SignatureVerificationAlgorithm for Ecdsa {
    fn verify_signature(&self, public_key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
        let key = Point::from_bytes(public_key).ok_or(InvalidSignature)?;
        let numbers = signature::from_der(signature).ok_or(InvalidSignature)?;
        let numbers = numbers.map(|number| Number::from_be_bytes(&number));
        if (self.verify)(&key, message, &numbers) { Ok(()) } else { Err(InvalidSignature) }
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::ECDSA_P256
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.signature
    }
}
