//! The key of a certification request and the signature by it (RFC 2986, 4.2; RFC 3279; RFC 5758; RFC 8410).
//!
//! What must always hold: the algorithm of the signature fits the key's, so that no key is taken for one of another kind.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA384_ASN1, ECDSA_P384_SHA256_ASN1, ECDSA_P384_SHA384_ASN1, ED25519,
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, UnparsedPublicKey,
    VerificationAlgorithm,
};
use pki_types::{AlgorithmIdentifier, alg_id};
use x509_cert::der::asn1::{AnyRef, BitStringRef, UintRef};
use x509_cert::der::{Decode, Tag, Tagged};

use super::{RequestError, elements};
use crate::KeyAlgorithm;

/// Returns the algorithm of a SubjectPublicKeyInfo, and how a signature with this algorithm identifier is verified by it.
pub(super) fn identify(
    key: &AnyRef<'_>,
    signature_algorithm: &AnyRef<'_>,
) -> Result<(KeyAlgorithm, &'static dyn VerificationAlgorithm), RequestError> {
    // RFC 5280, 4.1.2.7.
    let [algorithm, public_key] = elements(key, "its public key")?;
    let public_key = bits(&public_key).ok_or(RequestError::Malformed("its public key"))?;
    let is = |algorithm: &AnyRef<'_>, known: AlgorithmIdentifier| {
        algorithm.tag() == Tag::Sequence && algorithm.value() == known.as_ref()
    };
    let (key_algorithm, verifiers): (_, Verifiers) = if is(&algorithm, alg_id::ECDSA_P256) {
        (point(public_key, 32, KeyAlgorithm::P256)?, P256)
    } else if is(&algorithm, alg_id::ECDSA_P384) {
        (point(public_key, 48, KeyAlgorithm::P384)?, P384)
    } else if is(&algorithm, alg_id::ED25519) {
        (KeyAlgorithm::Ed25519, &[(alg_id::ED25519, &ED25519)])
    } else if is(&algorithm, alg_id::RSA_ENCRYPTION) {
        (rsa(public_key)?, RSA)
    } else {
        return Err(RequestError::UnsupportedKey);
    };
    let signs = |known: AlgorithmIdentifier| {
        // RFC 4055, 5: RSA's parameters are NULL, and absent ones mean the same.
        let is_without_null = known.strip_suffix(NULL) == Some(signature_algorithm.value());
        is(signature_algorithm, known) || is_without_null && signature_algorithm.tag() == Tag::Sequence
    };
    let verifier = verifiers.iter().find(|(identifier, _)| signs(*identifier));
    let (_, verification) = verifier.ok_or(RequestError::UnsupportedSignature(key_algorithm))?;
    Ok((key_algorithm, *verification))
}

/// Checks the signature of `signed`.
pub(super) fn verify(
    verification: &'static dyn VerificationAlgorithm,
    public_key: &[u8],
    signed: &[u8],
    signature: &AnyRef<'_>,
) -> Result<(), RequestError> {
    let signature = bits(signature).ok_or(RequestError::Malformed("its signature"))?;
    UnparsedPublicKey::new(verification, public_key)
        .verify(signed, signature)
        .map_err(|_| RequestError::InvalidSignature)
}

/// Returns the bytes of a BIT STRING that has whole bytes.
fn bits<'a>(element: &AnyRef<'a>) -> Option<&'a [u8]> {
    element.decode_as::<BitStringRef<'a>>().ok()?.as_bytes()
}

/// Checks that this is an uncompressed point (RFC 5480, 2.2); whether it is on the curve, the verification finds out.
fn point(public_key: &[u8], coordinate: usize, algorithm: KeyAlgorithm) -> Result<KeyAlgorithm, RequestError> {
    match public_key {
        [0x04, coordinates @ ..] if coordinates.len() == 2 * coordinate => Ok(algorithm),
        _ => Err(RequestError::Malformed("its public key, which must be an uncompressed point")),
    }
}

/// Returns the algorithm of an RSAPublicKey (RFC 8017, A.1.1) by the length of its modulus.
fn rsa(public_key: &[u8]) -> Result<KeyAlgorithm, RequestError> {
    let numbers = Vec::<UintRef<'_>>::from_der(public_key).unwrap_or_default();
    let [modulus, exponent] = numbers[..] else { return Err(RequestError::Malformed("its public key")) };
    let bit_length =
        |number: &[u8]| number.first().map_or(0, |first| 8 * number.len() - first.leading_zeros() as usize);
    let bits = bit_length(modulus.as_bytes());
    // FIPS 186-5, A.1.1: the exponent is odd and at least 65,537.
    let is_odd = exponent.as_bytes().last().is_some_and(|last| last % 2 == 1);
    if !is_odd || bit_length(exponent.as_bytes()) < 17 {
        return Err(RequestError::WeakExponent);
    }
    match bits {
        2048 => Ok(KeyAlgorithm::Rsa2048),
        3072 => Ok(KeyAlgorithm::Rsa3072),
        4096 => Ok(KeyAlgorithm::Rsa4096),
        _ => Err(RequestError::RsaLength(bits)),
    }
}

/// Identifiers of signature algorithms, and how such a signature is verified.
type Verifiers = &'static [(AlgorithmIdentifier, &'static dyn VerificationAlgorithm)];

/// NULL in DER.
const NULL: &[u8] = &[5, 0];

const P256: Verifiers =
    &[(alg_id::ECDSA_SHA256, &ECDSA_P256_SHA256_ASN1), (alg_id::ECDSA_SHA384, &ECDSA_P256_SHA384_ASN1)];
const P384: Verifiers =
    &[(alg_id::ECDSA_SHA256, &ECDSA_P384_SHA256_ASN1), (alg_id::ECDSA_SHA384, &ECDSA_P384_SHA384_ASN1)];
const RSA: Verifiers = &[
    (alg_id::RSA_PKCS1_SHA256, &RSA_PKCS1_2048_8192_SHA256),
    (alg_id::RSA_PKCS1_SHA384, &RSA_PKCS1_2048_8192_SHA384),
    (alg_id::RSA_PKCS1_SHA512, &RSA_PKCS1_2048_8192_SHA512),
];
