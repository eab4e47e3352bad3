//! ECDSA verification (FIPS 186-5, 6.4.2) on P-256 and P-384. Signatures are DER (RFC 3279, 2.2.3), read strictly.

use core::fmt;
use core::marker::PhantomData;
use core::ops::Add;

use ecdsa::der::{MaxOverhead, MaxSize};
use ecdsa::elliptic_curve::array::ArraySize;
use ecdsa::elliptic_curve::sec1::{FromSec1Point, ModulusSize, ToSec1Point};
use ecdsa::elliptic_curve::{AffinePoint, CurveArithmetic, FieldBytesSize};
use ecdsa::signature::hazmat::PrehashVerifier;
use ecdsa::{EcdsaCurve, Signature, VerifyingKey};
use pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm, alg_id};
use sha2::{Digest, Sha256, Sha384};

/// ECDSA on P-256 with SHA-256.
pub static ECDSA_P256_SHA256: &dyn SignatureVerificationAlgorithm =
    &Ecdsa::<p256::NistP256, Sha256>::new(alg_id::ECDSA_P256, alg_id::ECDSA_SHA256);

/// ECDSA on P-256 with SHA-384, seen in certificates.
pub static ECDSA_P256_SHA384: &dyn SignatureVerificationAlgorithm =
    &Ecdsa::<p256::NistP256, Sha384>::new(alg_id::ECDSA_P256, alg_id::ECDSA_SHA384);

/// ECDSA on P-384 with SHA-256, seen in certificates.
pub static ECDSA_P384_SHA256: &dyn SignatureVerificationAlgorithm =
    &Ecdsa::<p384::NistP384, Sha256>::new(alg_id::ECDSA_P384, alg_id::ECDSA_SHA256);

/// ECDSA on P-384 with SHA-384.
pub static ECDSA_P384_SHA384: &dyn SignatureVerificationAlgorithm =
    &Ecdsa::<p384::NistP384, Sha384>::new(alg_id::ECDSA_P384, alg_id::ECDSA_SHA384);

struct Ecdsa<C, D> {
    public_key: AlgorithmIdentifier,
    signature: AlgorithmIdentifier,
    types: PhantomData<fn() -> (C, D)>,
}

impl<C, D> Ecdsa<C, D> {
    const fn new(public_key: AlgorithmIdentifier, signature: AlgorithmIdentifier) -> Self {
        Self { public_key, signature, types: PhantomData }
    }
}

impl<C, D> SignatureVerificationAlgorithm for Ecdsa<C, D>
where
    C: EcdsaCurve + CurveArithmetic,
    D: Digest,
    AffinePoint<C>: FromSec1Point<C> + ToSec1Point<C>,
    FieldBytesSize<C>: ModulusSize,
    MaxSize<C>: ArraySize,
    <FieldBytesSize<C> as Add>::Output: Add<MaxOverhead> + ArraySize,
{
    fn verify_signature(&self, public_key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
        // RFC 5480, 2.2: points are uncompressed or compressed.
        if !matches!(public_key.first(), Some(0x02..=0x04)) {
            return Err(InvalidSignature);
        }
        let key = VerifyingKey::<C>::from_sec1_bytes(public_key).map_err(|_| InvalidSignature)?;
        let signature = Signature::from_der(signature).map_err(|_| InvalidSignature)?;
        key.verify_prehash(&D::digest(message), &signature).map_err(|_| InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.public_key
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.signature
    }
}

/// Prints the name alone: to print more takes 2 kB of an image, since a trait asks for it.
impl<C, D> fmt::Debug for Ecdsa<C, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ecdsa")
    }
}
