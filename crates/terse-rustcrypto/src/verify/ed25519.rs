//! Ed25519 verification (RFC 8032, 5.1.7), strict: keys and commitments of small order are refused.

use ed25519_dalek::{Signature, VerifyingKey};
use pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm, alg_id};

/// Ed25519 (RFC 8410).
pub static ED25519: &dyn SignatureVerificationAlgorithm = &Ed25519;

#[derive(Debug)]
struct Ed25519;

impl SignatureVerificationAlgorithm for Ed25519 {
    fn verify_signature(&self, public_key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
        let key = public_key.try_into().map_err(|_| InvalidSignature)?;
        let key = VerifyingKey::from_bytes(key).map_err(|_| InvalidSignature)?;
        let signature = Signature::from_slice(signature).map_err(|_| InvalidSignature)?;
        key.verify_strict(message, &signature).map_err(|_| InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::ED25519
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::ED25519
    }
}
