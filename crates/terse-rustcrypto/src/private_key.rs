//! Files of private keys are PKCS#8 (RFC 5958), SEC1 (RFC 5915) or PKCS#1 (RFC 8017, A.1.2).
//!
//! Only the encoding is parsed here. The loader finds out whether the numbers make a key, and compares a public key in
//! the file with the computed one.

use core::fmt;

use pkcs1::RsaPrivateKeyRef;
use pkcs8::PrivateKeyInfoRef;
use pkcs8::der::asn1::OctetStringRef;
use pkcs8::der::oid::ObjectIdentifier;
use pkcs8::der::{Decode, asn1::UintRef};
use pki_types::PrivateKeyDer;
use sec1::EcPrivateKey;
use terse_tls::crypto::KeyError;

/// A private key without its encoding. It never prints the secret.
#[derive(Clone, Copy)]
pub struct PrivateKey<'a> {
    /// The kind of key.
    pub kind: Kind,
    /// The secret: a scalar of 32 or 48 bytes, big-endian (P-256, P-384); a seed of 32 bytes (Ed25519); or an
    /// `RSAPrivateKey` in DER.
    pub secret: &'a [u8],
    /// The public key, if the file has it: a SEC1 point, or 32 bytes of Ed25519.
    pub public: Option<&'a [u8]>,
}

/// A kind of key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// ECDSA on P-256.
    P256,
    /// ECDSA on P-384.
    P384,
    /// Ed25519.
    Ed25519,
    /// RSA, for PKCS#1 v1.5 and PSS alike (`rsaEncryption`).
    Rsa,
}

impl<'a> PrivateKey<'a> {
    /// Parses the encoding of `key`.
    pub fn parse(key: &'a PrivateKeyDer<'_>) -> Result<Self, KeyError> {
        match key {
            PrivateKeyDer::Pkcs8(der) => Self::pkcs8(der.secret_pkcs8_der()),
            PrivateKeyDer::Sec1(der) => Self::sec1(der.secret_sec1_der(), None),
            PrivateKeyDer::Pkcs1(der) => Ok(Self { kind: Kind::Rsa, secret: der.secret_pkcs1_der(), public: None }),
            _ => Err(KeyError::UnsupportedAlgorithm),
        }
    }

    fn pkcs8(der: &'a [u8]) -> Result<Self, KeyError> {
        let info = PrivateKeyInfoRef::from_der(der).map_err(malformed)?;
        let secret = info.private_key.as_bytes();
        let public = info.public_key.as_ref().and_then(|bits| bits.as_bytes());
        let key = match info.algorithm.oid {
            EC_PUBLIC_KEY => {
                let curve = info.algorithm.parameters_oid().map_err(|_| KeyError::UnsupportedAlgorithm)?;
                Self::sec1(secret, Some(curve))?
            }
            ED25519 => {
                // CurvePrivateKey ::= OCTET STRING (RFC 8410, 7)
                let seed = <&OctetStringRef>::from_der(secret).map_err(malformed)?.as_bytes();
                Self { kind: Kind::Ed25519, secret: seed, public: None }.with_secret_len(32)?
            }
            RSA_ENCRYPTION => Self { kind: Kind::Rsa, secret, public: None },
            _ => return Err(KeyError::UnsupportedAlgorithm),
        };
        Ok(Self { public: key.public.or(public), ..key })
    }

    /// Parses an `ECPrivateKey`. `outer_curve` is the curve in PKCS#8; the inner structure may repeat but not
    /// contradict it.
    fn sec1(der: &'a [u8], outer_curve: Option<ObjectIdentifier>) -> Result<Self, KeyError> {
        let key = EcPrivateKey::from_der(der).map_err(malformed)?;
        let inner_curve = key.parameters.and_then(|parameters| parameters.named_curve());
        let curve = match (outer_curve, inner_curve) {
            (Some(outer), Some(inner)) if outer != inner => return Err(KeyError::Malformed),
            (outer, inner) => outer.or(inner),
        };
        let (kind, len) = match curve {
            Some(SECP256R1) => (Kind::P256, 32),
            Some(SECP384R1) => (Kind::P384, 48),
            // The curve is optional in RFC 5915, 3; the length tells the known curves apart.
            None if key.private_key.len() == 32 => (Kind::P256, 32),
            None if key.private_key.len() == 48 => (Kind::P384, 48),
            _ => return Err(KeyError::UnsupportedAlgorithm),
        };
        Self { kind, secret: key.private_key, public: key.public_key }.with_secret_len(len)
    }

    fn with_secret_len(self, len: usize) -> Result<Self, KeyError> {
        if self.secret.len() == len { Ok(self) } else { Err(KeyError::Malformed) }
    }

    /// Returns the numbers of an RSA key whose modulus has [`MIN_RSA_BITS`] to [`MAX_RSA_BITS`].
    pub(crate) fn rsa(&self) -> Result<RsaPrivateKeyRef<'a>, KeyError> {
        let key = RsaPrivateKeyRef::from_der(self.secret).map_err(malformed)?;
        match bits(&key.modulus) {
            MIN_RSA_BITS..=MAX_RSA_BITS => Ok(key),
            _ => Err(KeyError::UnsupportedRsaSize),
        }
    }

    /// Refuses an RSA key that is no `RSAPrivateKey`, or whose modulus is shorter than [`MIN_RSA_BITS`] or longer than
    /// [`MAX_RSA_BITS`].
    pub fn check_rsa(&self) -> Result<(), KeyError> {
        self.rsa().map(|_| ())
    }
}

impl fmt::Debug for PrivateKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey({:?})", self.kind)
    }
}

/// The length in bits of the shortest RSA modulus.
pub const MIN_RSA_BITS: usize = 2_048;

/// The length in bits of the longest RSA modulus.
pub const MAX_RSA_BITS: usize = 4_096;

fn bits(number: &UintRef<'_>) -> usize {
    let bytes = number.as_bytes();
    let unused = bytes.first().map_or(0, |first| first.leading_zeros() as usize);
    8 * bytes.len() - unused
}

pub(crate) fn malformed<E>(_: E) -> KeyError {
    KeyError::Malformed
}

/// The OID id-ecPublicKey (RFC 5480, 2.1.1).
pub(crate) const EC_PUBLIC_KEY: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
/// The OID secp256r1 (RFC 5480, 2.1.1.1).
pub(crate) const SECP256R1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
/// The OID secp384r1 (RFC 5480, 2.1.1.1).
pub(crate) const SECP384R1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");
/// The OID id-Ed25519 (RFC 8410, 3).
pub(crate) const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");
/// The OID rsaEncryption (RFC 8017, A.1).
pub(crate) const RSA_ENCRYPTION: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
