//! AEAD algorithms (RFC 5116): AES-GCM, ChaCha20-Poly1305 (RFC 8439), AES-CCM with 16- and 8-byte tags (RFC 6655).
//!
//! A record that fails authentication leaves no plaintext in its buffer.

use alloc::boxed::Box;
use core::marker::PhantomData;

use aes::{Aes128Enc, Aes256Enc};
use aes_gcm::aead::array::Array;
use aes_gcm::aead::consts::{U8, U12, U16};
use aes_gcm::aead::{AeadCore, AeadInOut, KeyInit, KeySizeUser, Tag, common::typenum::Unsigned};
use ccm::Ccm;
use terse_tls::crypto::{Aead, AeadKey, CryptoError, NONCE_LEN};

/// AEAD_AES_128_GCM (RFC 5116, 5.1).
pub static AES_128_GCM: &dyn Aead = &Algorithm::<Gcm<Aes128Enc>>(PhantomData);

/// AEAD_AES_256_GCM (RFC 5116, 5.2).
pub static AES_256_GCM: &dyn Aead = &Algorithm::<Gcm<Aes256Enc>>(PhantomData);

/// AEAD_CHACHA20_POLY1305 (RFC 8439, 2.8).
pub static CHACHA20_POLY1305: &dyn Aead = &Algorithm::<chacha20poly1305::ChaCha20Poly1305>(PhantomData);

/// AEAD_AES_128_CCM (RFC 5116, 5.3).
pub static AES_128_CCM: &dyn Aead = &Algorithm::<Ccm<Aes128Enc, U16, U12>>(PhantomData);

/// AEAD_AES_128_CCM_8 (RFC 6655, 6.1).
pub static AES_128_CCM_8: &dyn Aead = &Algorithm::<Ccm<Aes128Enc, U8, U12>>(PhantomData);

/// AES-GCM, whose decryption, like CCM's, uses the cipher's forward function: the key schedule of the inverse would
/// take as much memory again.
type Gcm<C> = aes_gcm::AesGcm<C, U12>;

struct Algorithm<A>(PhantomData<fn() -> A>);

impl<A> Aead for Algorithm<A>
where
    A: AeadInOut + AeadCore<NonceSize = U12> + KeyInit + Send + Sync + 'static,
{
    fn key_len(&self) -> usize {
        <A as KeySizeUser>::KeySize::USIZE
    }

    fn tag_len(&self) -> usize {
        A::TagSize::USIZE
    }

    fn key(&self, key: &[u8]) -> Result<Box<dyn AeadKey>, CryptoError> {
        let key = A::new_from_slice(key).map_err(|_| CryptoError::InvalidLength)?;
        Ok(Box::new(Key(key)))
    }
}

/// An AEAD key. Every `A` used here wipes its key schedule on drop: the crates' `zeroize` features are on.
struct Key<A>(A);

impl<A> AeadKey for Key<A>
where
    A: AeadInOut + AeadCore<NonceSize = U12> + Send + Sync,
{
    fn seal(&self, nonce: &[u8; NONCE_LEN], aad: &[u8], data: &mut [u8], tag: &mut [u8]) -> Result<(), CryptoError> {
        if tag.len() != A::TagSize::USIZE {
            return Err(CryptoError::InvalidLength);
        }
        let computed =
            self.0.encrypt_inout_detached(&Array(*nonce), aad, data.into()).map_err(|_| CryptoError::InvalidLength)?;
        tag.copy_from_slice(&computed);
        Ok(())
    }

    fn open(&self, nonce: &[u8; NONCE_LEN], aad: &[u8], data: &mut [u8]) -> Result<usize, CryptoError> {
        let len = data.len().checked_sub(A::TagSize::USIZE).ok_or(CryptoError::DecryptFailed)?;
        let (ciphertext, tag) = data.split_at_mut(len);
        let tag = Tag::<A>::try_from(&*tag).map_err(|_| CryptoError::DecryptFailed)?;
        self.0
            .decrypt_inout_detached(&Array(*nonce), aad, ciphertext.into(), &tag)
            .map_err(|_| CryptoError::DecryptFailed)?;
        Ok(len)
    }
}
