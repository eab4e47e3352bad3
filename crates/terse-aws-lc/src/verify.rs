//! Signatures in certificates and in CertificateVerify are verified by the algorithms that `rustls-webpki` builds on
//! `aws-lc-rs`.
//!
//! Caches keep points in compressed form. To decompress one, AWS-LC allocates 2 kB and takes longer than RustCrypto's
//! curves, which need no heap: so those do it here. Public keys are no secret, and AWS-LC checks that the point is on
//! the curve.

use core::marker::PhantomData;

use p256::NistP256;
use p256::elliptic_curve::sec1::{FromSec1Point, ModulusSize, Sec1Point, ToSec1Point};
use p256::elliptic_curve::{AffinePoint, CurveArithmetic, FieldBytesSize};
use p384::NistP384;
use pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm};
use webpki::aws_lc_rs;
pub use webpki::aws_lc_rs::{
    ED25519, RSA_PKCS1_2048_8192_SHA256 as RSA_PKCS1_SHA256, RSA_PKCS1_2048_8192_SHA384 as RSA_PKCS1_SHA384,
    RSA_PKCS1_2048_8192_SHA512 as RSA_PKCS1_SHA512, RSA_PSS_2048_8192_SHA256_LEGACY_KEY as RSA_PSS_SHA256,
    RSA_PSS_2048_8192_SHA384_LEGACY_KEY as RSA_PSS_SHA384, RSA_PSS_2048_8192_SHA512_LEGACY_KEY as RSA_PSS_SHA512,
};

/// ECDSA on P-256 with SHA-256.
pub static ECDSA_P256_SHA256: &dyn SignatureVerificationAlgorithm =
    &Ecdsa::<NistP256>::new(aws_lc_rs::ECDSA_P256_SHA256);
/// ECDSA on P-256 with SHA-384.
pub static ECDSA_P256_SHA384: &dyn SignatureVerificationAlgorithm =
    &Ecdsa::<NistP256>::new(aws_lc_rs::ECDSA_P256_SHA384);
/// ECDSA on P-384 with SHA-256.
pub static ECDSA_P384_SHA256: &dyn SignatureVerificationAlgorithm =
    &Ecdsa::<NistP384>::new(aws_lc_rs::ECDSA_P384_SHA256);
/// ECDSA on P-384 with SHA-384.
pub static ECDSA_P384_SHA384: &dyn SignatureVerificationAlgorithm =
    &Ecdsa::<NistP384>::new(aws_lc_rs::ECDSA_P384_SHA384);

terse_tls::define_signature_algorithms!();

/// An ECDSA algorithm that accepts compressed and uncompressed points.
#[derive(Debug)]
struct Ecdsa<C> {
    algorithm: &'static dyn SignatureVerificationAlgorithm,
    curve: PhantomData<C>,
}

impl<C> Ecdsa<C> {
    const fn new(algorithm: &'static dyn SignatureVerificationAlgorithm) -> Self {
        Self { algorithm, curve: PhantomData }
    }
}

impl<C> SignatureVerificationAlgorithm for Ecdsa<C>
where
    C: CurveArithmetic,
    FieldBytesSize<C>: ModulusSize,
    AffinePoint<C>: FromSec1Point<C> + ToSec1Point<C>,
{
    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.algorithm.public_key_alg_id()
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.algorithm.signature_alg_id()
    }

    fn verify_signature(&self, public_key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
        if !matches!(public_key, [0x02 | 0x03, ..]) {
            return self.algorithm.verify_signature(public_key, message, signature);
        }
        let compressed = Sec1Point::<C>::from_bytes(public_key).map_err(|_| InvalidSignature)?;
        let point = Option::<AffinePoint<C>>::from(AffinePoint::<C>::from_sec1_point(&compressed));
        let whole = point.ok_or(InvalidSignature)?.to_sec1_point(false);
        self.algorithm.verify_signature(whole.as_bytes(), message, signature)
    }
}
