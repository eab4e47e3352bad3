//! RSA signatures are blinded: RSASSA-PSS (RFC 8017, 8.1.1) with a salt as long as the hash, and for TLS 1.2
//! RSASSA-PKCS1-v1_5 (RFC 8017, 8.2.1).

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use pkcs8::der::Encode;
use pkcs8::der::asn1::{AnyRef, UintRef};
use pki_types::SubjectPublicKeyInfoDer;
use rsa::sha2::digest::{FixedOutputReset, const_oid::AssociatedOid};
use rsa::traits::SignatureScheme as Padding;
use rsa::{BoxedUint, Pkcs1v15Sign, Pss, RsaPrivateKey};
use sha2::{Digest, Sha256, Sha384, Sha512};
use terse_tls::SignatureScheme;
use terse_tls::crypto::{CryptoError, KeyError, Rng, Signing, SigningKey};

use super::subject_public_key_info;
use crate::private_key::{PrivateKey, RSA_ENCRYPTION, malformed};
use crate::rng::BoundedRng;

pub(super) fn load(key: &PrivateKey<'_>) -> Result<Arc<dyn SigningKey>, KeyError> {
    let key = key.rsa()?;
    if key.other_prime_infos.is_some() {
        return Err(KeyError::UnsupportedAlgorithm);
    }
    let public_key = key.public_key().to_der().map_err(malformed)?;
    let public_key = subject_public_key_info(RSA_ENCRYPTION, Some(AnyRef::NULL), &public_key)?;
    let signer = RsaPrivateKey::from_components(
        number(&key.modulus, &key.modulus)?,
        number(&key.public_exponent, &key.public_exponent)?,
        number(&key.private_exponent, &key.modulus)?,
        vec![number(&key.prime1, &key.modulus)?, number(&key.prime2, &key.modulus)?],
    )
    .map_err(malformed)?;
    Ok(Arc::new(Key { signer, public_key }))
}

/// Converts a number of a key, which gets the precision of `modulus`; no part of a genuine key is longer.
fn number(number: &UintRef<'_>, modulus: &UintRef<'_>) -> Result<BoxedUint, KeyError> {
    let bits = u32::try_from(8 * modulus.as_bytes().len()).map_err(malformed)?;
    BoxedUint::from_be_slice(number.as_bytes(), bits).map_err(malformed)
}

/// A private key, whose signer wipes itself.
struct Key {
    signer: RsaPrivateKey,
    public_key: Vec<u8>,
}

impl Key {
    fn pss<D: Digest + FixedOutputReset>(&self, message: &[u8], rng: &mut dyn Rng) -> Result<Signing, CryptoError> {
        self.pad_and_sign(Pss::<D>::new_blinded(), &D::digest(message), rng)
    }

    fn pkcs1<D: Digest + AssociatedOid>(&self, message: &[u8], rng: &mut dyn Rng) -> Result<Signing, CryptoError> {
        self.pad_and_sign(Pkcs1v15Sign::new::<D>(), &D::digest(message), rng)
    }

    /// Signs with blinding, which both paddings use because they are given a source of randomness.
    fn pad_and_sign(&self, padding: impl Padding, hash: &[u8], rng: &mut dyn Rng) -> Result<Signing, CryptoError> {
        let mut rng = BoundedRng::new(rng);
        padding.sign(Some(&mut rng), &self.signer, hash).map(Signing::Done).map_err(|error| match error {
            rsa::Error::Rng => CryptoError::RandomFailed,
            _ => CryptoError::SigningFailed,
        })
    }
}

impl SigningKey for Key {
    fn schemes(&self) -> &[SignatureScheme] {
        &[
            SignatureScheme::RSA_PSS_RSAE_SHA256,
            SignatureScheme::RSA_PSS_RSAE_SHA384,
            SignatureScheme::RSA_PSS_RSAE_SHA512,
            SignatureScheme::RSA_PKCS1_SHA256,
            SignatureScheme::RSA_PKCS1_SHA384,
            SignatureScheme::RSA_PKCS1_SHA512,
        ]
    }

    fn public_key(&self) -> SubjectPublicKeyInfoDer<'_> {
        self.public_key.as_slice().into()
    }

    fn sign(&self, scheme: SignatureScheme, message: &[u8], rng: &mut dyn Rng) -> Result<Signing, CryptoError> {
        match scheme {
            SignatureScheme::RSA_PSS_RSAE_SHA256 => self.pss::<Sha256>(message, rng),
            SignatureScheme::RSA_PSS_RSAE_SHA384 => self.pss::<Sha384>(message, rng),
            SignatureScheme::RSA_PSS_RSAE_SHA512 => self.pss::<Sha512>(message, rng),
            SignatureScheme::RSA_PKCS1_SHA256 => self.pkcs1::<Sha256>(message, rng),
            SignatureScheme::RSA_PKCS1_SHA384 => self.pkcs1::<Sha384>(message, rng),
            SignatureScheme::RSA_PKCS1_SHA512 => self.pkcs1::<Sha512>(message, rng),
            _ => Err(CryptoError::UnsupportedScheme),
        }
    }
}
