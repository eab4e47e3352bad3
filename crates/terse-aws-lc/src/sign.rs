//! Private keys sign with ECDSA on P-256 and P-384, Ed25519, and RSA (RSASSA-PSS, and for TLS 1.2 RSASSA-PKCS1-v1_5).
//!
//! AWS-LC draws the randomness of ECDSA and of RSA-PSS itself; the `rng` arguments are not used.

use alloc::sync::Arc;

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm,
    Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384,
    RSA_PSS_SHA512, RsaEncoding, RsaKeyPair,
};
use aws_lc_rs::{agreement, rsa};
use pki_types::{PrivateKeyDer, SubjectPublicKeyInfoDer};
use terse_rustcrypto::private_key::{Kind, PrivateKey};
use terse_tls::SignatureScheme;
use terse_tls::crypto::{CryptoError, KeyError, Rng, Signing, SigningKey};

/// Loads a key of any supported kind.
pub fn load_key(key: &PrivateKeyDer<'_>) -> Result<Arc<dyn SigningKey>, KeyError> {
    let key = PrivateKey::parse(key)?;
    match key.kind {
        Kind::P256 => {
            let pair = ecdsa(&key, &agreement::ECDH_P256, &ECDSA_P256_SHA256_ASN1_SIGNING)?;
            finish(pair.public_key().as_der(), &[SignatureScheme::ECDSA_SECP256R1_SHA256], Signer::Ecdsa(pair))
        }
        Kind::P384 => {
            let pair = ecdsa(&key, &agreement::ECDH_P384, &ECDSA_P384_SHA384_ASN1_SIGNING)?;
            finish(pair.public_key().as_der(), &[SignatureScheme::ECDSA_SECP384R1_SHA384], Signer::Ecdsa(pair))
        }
        Kind::Ed25519 => {
            let pair = match key.public {
                Some(public) => Ed25519KeyPair::from_seed_and_public_key(key.secret, public),
                None => Ed25519KeyPair::from_seed_unchecked(key.secret),
            }
            .map_err(malformed)?;
            finish(pair.public_key().as_der(), &[SignatureScheme::ED25519], Signer::Ed25519(pair))
        }
        Kind::Rsa => {
            key.check_rsa()?;
            let pair = rsa::KeyPair::from_der(key.secret).map_err(malformed)?;
            finish(pair.public_key().as_der(), RSA_SCHEMES, Signer::Rsa(pair))
        }
    }
}

static RSA_SCHEMES: &[SignatureScheme] = &[
    SignatureScheme::RSA_PSS_RSAE_SHA256,
    SignatureScheme::RSA_PSS_RSAE_SHA384,
    SignatureScheme::RSA_PSS_RSAE_SHA512,
    SignatureScheme::RSA_PKCS1_SHA256,
    SignatureScheme::RSA_PKCS1_SHA384,
    SignatureScheme::RSA_PKCS1_SHA512,
];

/// Loads a key from its bare scalar, whatever its encoding was. A public key in the file must belong to the scalar.
fn ecdsa(
    key: &PrivateKey<'_>,
    curve: &'static agreement::Algorithm,
    algorithm: &'static EcdsaSigningAlgorithm,
) -> Result<EcdsaKeyPair, KeyError> {
    let computed = agreement::PrivateKey::from_private_key(curve, key.secret)
        .map_err(malformed)?
        .compute_public_key()
        .map_err(malformed)?;
    let public = key.public.unwrap_or(computed.as_ref());
    EcdsaKeyPair::from_private_key_and_public_key(algorithm, key.secret, public).map_err(malformed)
}

fn finish(
    public_key: Result<PublicKeyX509Der<'_>, Unspecified>,
    schemes: &'static [SignatureScheme],
    signer: Signer,
) -> Result<Arc<dyn SigningKey>, KeyError> {
    let public_key = public_key.map_err(malformed)?.as_ref().to_vec();
    Ok(Arc::new(Key { signer, schemes, public_key }))
}

fn malformed<E>(_: E) -> KeyError {
    KeyError::Malformed
}

/// A private key, which AWS-LC wipes.
struct Key {
    signer: Signer,
    schemes: &'static [SignatureScheme],
    public_key: Vec<u8>,
}

enum Signer {
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Rsa(RsaKeyPair),
}

impl SigningKey for Key {
    fn schemes(&self) -> &[SignatureScheme] {
        self.schemes
    }

    fn public_key(&self) -> SubjectPublicKeyInfoDer<'_> {
        self.public_key.as_slice().into()
    }

    fn sign(&self, scheme: SignatureScheme, message: &[u8], _rng: &mut dyn Rng) -> Result<Signing, CryptoError> {
        if !self.schemes.contains(&scheme) {
            return Err(CryptoError::UnsupportedScheme);
        }
        let signature = match &self.signer {
            Signer::Ecdsa(pair) => {
                pair.sign(&SystemRandom::new(), message).map(|signature| signature.as_ref().to_vec())
            }
            Signer::Ed25519(pair) => pair.try_sign(message).map(|signature| signature.as_ref().to_vec()),
            Signer::Rsa(pair) => {
                let encoding: &dyn RsaEncoding = match scheme {
                    SignatureScheme::RSA_PSS_RSAE_SHA256 => &RSA_PSS_SHA256,
                    SignatureScheme::RSA_PSS_RSAE_SHA384 => &RSA_PSS_SHA384,
                    SignatureScheme::RSA_PSS_RSAE_SHA512 => &RSA_PSS_SHA512,
                    SignatureScheme::RSA_PKCS1_SHA256 => &RSA_PKCS1_SHA256,
                    SignatureScheme::RSA_PKCS1_SHA384 => &RSA_PKCS1_SHA384,
                    SignatureScheme::RSA_PKCS1_SHA512 => &RSA_PKCS1_SHA512,
                    _ => return Err(CryptoError::UnsupportedScheme),
                };
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(encoding, &SystemRandom::new(), message, &mut signature).map(|()| signature)
            }
        };
        signature.map(Signing::Done).map_err(|_| CryptoError::SigningFailed)
    }
}
