//! Private keys sign with ECDSA on P-256 in assembly, and with the other algorithms of `terse-rustcrypto`.
//!
//! [`load_key`] takes any key. A firmware with one kind of key names that kind's loader instead, and its linker drops the
//! others.

use alloc::sync::Arc;

use p256::NistP256;
use p256::elliptic_curve::Curve;
use pki_types::{PrivateKeyDer, SubjectPublicKeyInfoDer};
use rfc6979::KGenerator;
use sha2::{Digest, Sha256};
use terse_rustcrypto::private_key::{Kind, PrivateKey};
use terse_rustcrypto::sign;
pub use terse_rustcrypto::sign::{load_ed25519_key, load_p384_key};
use terse_tls::SignatureScheme;
use terse_tls::crypto::{CryptoError, KeyError, Rng, Signing, SigningKey};
use zeroize::Zeroizing;

use crate::ffi::Scalar;
use crate::number::{Point, UNCOMPRESSED_LEN};
use crate::signature;
use crate::stack::wiped;

/// Loads a key of any supported kind.
pub fn load_key(key: &PrivateKeyDer<'_>) -> Result<Arc<dyn SigningKey>, KeyError> {
    let parsed = PrivateKey::parse(key)?;
    if parsed.kind == Kind::P256 { wiped(|| load_p256(&parsed)) } else { sign::load_key(key) }
}

/// Loads an ECDSA key on P-256, and no other.
pub fn load_p256_key(key: &PrivateKeyDer<'_>) -> Result<Arc<dyn SigningKey>, KeyError> {
    let key = PrivateKey::parse(key)?;
    if key.kind == Kind::P256 { wiped(|| load_p256(&key)) } else { Err(KeyError::UnsupportedAlgorithm) }
}

/// Returns the ECDSA key on P-256 whose secret is this scalar, big-endian. A firmware that keeps it as it is needs no code that
/// reads the files of keys. Fails if the scalar is zero, or not below the order of the curve.
pub fn p256_key(secret: &[u8; 32]) -> Result<Arc<dyn SigningKey>, KeyError> {
    wiped(|| load_p256(&PrivateKey { kind: Kind::P256, secret, public: None }))
}

fn load_p256(key: &PrivateKey<'_>) -> Result<Arc<dyn SigningKey>, KeyError> {
    let secret = Zeroizing::new(key.secret.try_into().map_err(|_| KeyError::Malformed)?);
    let scalar = Scalar::from_be_bytes(&secret).ok_or(KeyError::Malformed)?;
    let point = scalar.public_key().ok_or(KeyError::Malformed)?.to_uncompressed();
    if let Some(stated) = key.public {
        let stated = Point::from_bytes(stated).ok_or(KeyError::Malformed)?;
        if stated.to_uncompressed() != point {
            return Err(KeyError::Malformed);
        }
    }
    let mut public_key = [0; SPKI_HEADER.len() + UNCOMPRESSED_LEN];
    let (header, rest) = public_key.split_at_mut(SPKI_HEADER.len());
    header.copy_from_slice(&SPKI_HEADER);
    rest.copy_from_slice(&point);
    Ok(Arc::new(Key { secret, scalar, public_key }))
}

/// What stands before the point in a SubjectPublicKeyInfo of a key on P-256 (RFC 5480, 2): id-ecPublicKey and secp256r1.
const SPKI_HEADER: [u8; 26] =
    *b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00";

/// A private key, which wipes itself.
struct Key {
    /// The scalar as bytes, from which nonces are derived.
    secret: Zeroizing<[u8; 32]>,
    scalar: Scalar,
    public_key: [u8; SPKI_HEADER.len() + UNCOMPRESSED_LEN],
}

impl Key {
    /// Signs deterministically (RFC 6979, 3.2), so that a bad source of randomness cannot reveal the key.
    fn sign_hash(&self, hash: &[u8; 32]) -> Option<[[u8; 32]; 2]> {
        let order = NistP256::ORDER;
        let mut nonces = KGenerator::<Sha256, _>::new(&*self.secret, hash, &[], &*order);
        let mut nonce = Zeroizing::new([0; 32]);
        for _ in 0..MAX_NONCES {
            nonces.fill_next_k(&mut *nonce);
            let Some(k) = Scalar::from_be_bytes(&nonce) else { continue };
            let Some(numbers) = self.scalar.sign(hash, &k) else { continue };
            let [mut r, mut s] = [[0; 32]; 2];
            numbers[0].write_be_bytes(&mut r);
            numbers[1].write_be_bytes(&mut s);
            return Some([r, s]);
        }
        None
    }
}

/// How many nonces are tried. The generator gives scalars alone, and about one in 2^255 would make r or s zero.
const MAX_NONCES: u32 = 8;

impl SigningKey for Key {
    fn schemes(&self) -> &[SignatureScheme] {
        &[SignatureScheme::ECDSA_SECP256R1_SHA256]
    }

    fn public_key(&self) -> SubjectPublicKeyInfoDer<'_> {
        self.public_key.as_slice().into()
    }

    fn sign(&self, scheme: SignatureScheme, message: &[u8], _rng: &mut dyn Rng) -> Result<Signing, CryptoError> {
        if scheme != SignatureScheme::ECDSA_SECP256R1_SHA256 {
            return Err(CryptoError::UnsupportedScheme);
        }
        let hash = Sha256::digest(message).into();
        let signature = wiped(|| self.sign_hash(&hash)).ok_or(CryptoError::SigningFailed)?;
        Ok(Signing::Done(signature::to_der(&signature)))
    }
}
