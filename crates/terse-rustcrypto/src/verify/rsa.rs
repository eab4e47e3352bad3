//! RSA verification: RSASSA-PKCS1-v1_5 and RSASSA-PSS with a salt as long as the hash (RFC 8017, 8.1.2 and 8.2.2).
//!
//! A modulus has 2,048 to 4,096 bits, and an exponent at most 33: beyond that a verification costs a device too much.

use pkcs1::RsaPublicKeyRef;
use pkcs8::der::Decode;
use pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm, alg_id};
use rsa::sha2::digest::{FixedOutputReset, const_oid::AssociatedOid};
use rsa::{BoxedUint, Pkcs1v15Sign, Pss, RsaPublicKey};
use sha2::{Digest, Sha256, Sha384, Sha512};

use crate::private_key::{MAX_RSA_BITS, MIN_RSA_BITS};

/// RSASSA-PKCS1-v1_5 with SHA-256.
pub static RSA_PKCS1_SHA256: &dyn SignatureVerificationAlgorithm =
    &Rsa { signature: alg_id::RSA_PKCS1_SHA256, verify: pkcs1::<Sha256> };

/// RSASSA-PKCS1-v1_5 with SHA-384.
pub static RSA_PKCS1_SHA384: &dyn SignatureVerificationAlgorithm =
    &Rsa { signature: alg_id::RSA_PKCS1_SHA384, verify: pkcs1::<Sha384> };

/// RSASSA-PKCS1-v1_5 with SHA-512.
pub static RSA_PKCS1_SHA512: &dyn SignatureVerificationAlgorithm =
    &Rsa { signature: alg_id::RSA_PKCS1_SHA512, verify: pkcs1::<Sha512> };

/// RSASSA-PSS with SHA-256.
pub static RSA_PSS_SHA256: &dyn SignatureVerificationAlgorithm =
    &Rsa { signature: alg_id::RSA_PSS_SHA256, verify: pss::<Sha256> };

/// RSASSA-PSS with SHA-384.
pub static RSA_PSS_SHA384: &dyn SignatureVerificationAlgorithm =
    &Rsa { signature: alg_id::RSA_PSS_SHA384, verify: pss::<Sha384> };

/// RSASSA-PSS with SHA-512.
pub static RSA_PSS_SHA512: &dyn SignatureVerificationAlgorithm =
    &Rsa { signature: alg_id::RSA_PSS_SHA512, verify: pss::<Sha512> };

#[derive(Debug)]
struct Rsa {
    signature: AlgorithmIdentifier,
    verify: fn(&RsaPublicKey, message: &[u8], signature: &[u8]) -> rsa::Result<()>,
}

impl SignatureVerificationAlgorithm for Rsa {
    fn verify_signature(&self, public_key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
        let key = RsaPublicKeyRef::from_der(public_key).map_err(|_| InvalidSignature)?;
        let modulus = number(key.modulus.as_bytes())?;
        let exponent = number(key.public_exponent.as_bytes())?;
        let key = RsaPublicKey::new_with_size_limits(modulus, exponent, MIN_RSA_BITS..=MAX_RSA_BITS)
            .map_err(|_| InvalidSignature)?;
        (self.verify)(&key, message, signature).map_err(|_| InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::RSA_ENCRYPTION
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.signature
    }
}

fn number(bytes: &[u8]) -> Result<BoxedUint, InvalidSignature> {
    let bits = u32::try_from(8 * bytes.len()).map_err(|_| InvalidSignature)?;
    BoxedUint::from_be_slice(bytes, bits).map_err(|_| InvalidSignature)
}

fn pkcs1<D: Digest + AssociatedOid>(key: &RsaPublicKey, message: &[u8], signature: &[u8]) -> rsa::Result<()> {
    key.verify(Pkcs1v15Sign::new::<D>(), &D::digest(message), signature)
}

fn pss<D: Digest + FixedOutputReset>(key: &RsaPublicKey, message: &[u8], signature: &[u8]) -> rsa::Result<()> {
    key.verify(Pss::<D>::new(), &D::digest(message), signature)
}
