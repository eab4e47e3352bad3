//! Ed25519 signatures (RFC 8032, 5.1.6).

use alloc::sync::Arc;
use alloc::vec::Vec;

use ed25519_dalek::{Signer, SigningKey as Ed25519Key};
use pki_types::SubjectPublicKeyInfoDer;
use terse_tls::SignatureScheme;
use terse_tls::crypto::{CryptoError, KeyError, Rng, Signing, SigningKey};
use zeroize::Zeroizing;

use super::subject_public_key_info;
use crate::private_key::{self, PrivateKey, malformed};

pub(super) fn load(key: &PrivateKey<'_>) -> Result<Arc<dyn SigningKey>, KeyError> {
    let seed = Zeroizing::new(key.secret.try_into().map_err(malformed)?);
    let signer = Ed25519Key::from_bytes(&seed);
    let public = signer.verifying_key().to_bytes();
    if key.public.is_some_and(|stated| stated != public) {
        return Err(KeyError::Malformed);
    }
    let public_key = subject_public_key_info(private_key::ED25519, None, &public)?;
    Ok(Arc::new(Key { signer, public_key }))
}

/// A private key, whose signer wipes itself.
struct Key {
    signer: Ed25519Key,
    public_key: Vec<u8>,
}

impl SigningKey for Key {
    fn schemes(&self) -> &[SignatureScheme] {
        &[SignatureScheme::ED25519]
    }

    fn public_key(&self) -> SubjectPublicKeyInfoDer<'_> {
        self.public_key.as_slice().into()
    }

    fn sign(&self, scheme: SignatureScheme, message: &[u8], _rng: &mut dyn Rng) -> Result<Signing, CryptoError> {
        if scheme != SignatureScheme::ED25519 {
            return Err(CryptoError::UnsupportedScheme);
        }
        let signature = self.signer.try_sign(message).map_err(|_| CryptoError::SigningFailed)?;
        Ok(Signing::Done(signature.to_bytes().to_vec()))
    }
}
