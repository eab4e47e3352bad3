//! AEAD algorithms (RFC 5116): AES-GCM and ChaCha20-Poly1305 (RFC 8439).
//!
//! A record that fails authentication leaves no plaintext in its buffer.

use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use terse_tls::crypto::{Aead, AeadKey, CryptoError, NONCE_LEN};

/// AEAD_AES_128_GCM (RFC 5116, 5.1).
pub static AES_128_GCM: &dyn Aead = &Algorithm(&aead::AES_128_GCM);

/// AEAD_AES_256_GCM (RFC 5116, 5.2).
pub static AES_256_GCM: &dyn Aead = &Algorithm(&aead::AES_256_GCM);

/// AEAD_CHACHA20_POLY1305 (RFC 8439, 2.8).
pub static CHACHA20_POLY1305: &dyn Aead = &Algorithm(&aead::CHACHA20_POLY1305);

struct Algorithm(&'static aead::Algorithm);

impl Aead for Algorithm {
    fn key_len(&self) -> usize {
        self.0.key_len()
    }

    fn tag_len(&self) -> usize {
        self.0.tag_len()
    }

    fn key(&self, key: &[u8]) -> Result<Box<dyn AeadKey>, CryptoError> {
        let key = UnboundKey::new(self.0, key).map_err(|_| CryptoError::InvalidLength)?;
        Ok(Box::new(Key(LessSafeKey::new(key))))
    }
}

/// An AEAD key. The engine ensures that a nonce is used once.
struct Key(LessSafeKey);

impl AeadKey for Key {
    fn seal(&self, nonce: &[u8; NONCE_LEN], aad: &[u8], data: &mut [u8], tag: &mut [u8]) -> Result<(), CryptoError> {
        // This refuses a tag of another length.
        self.0
            .seal_in_place_scatter(Nonce::assume_unique_for_key(*nonce), Aad::from(aad), data, &[], tag)
            .map_err(|_| CryptoError::InvalidLength)
    }

    fn open(&self, nonce: &[u8; NONCE_LEN], aad: &[u8], data: &mut [u8]) -> Result<usize, CryptoError> {
        let len = data.len().checked_sub(self.0.algorithm().tag_len()).ok_or(CryptoError::DecryptFailed)?;
        let (content, tag) = data.split_at_mut(len);
        // `open_in_place` would move the content to where it already is.
        self.0
            .open_in_place_separate_tag(Nonce::assume_unique_for_key(*nonce), Aad::from(aad), tag, content)
            .map(|plaintext| plaintext.len())
            .map_err(|_| CryptoError::DecryptFailed)
    }
}
