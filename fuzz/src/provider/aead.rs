//! This AEAD does not encrypt. The tag is constant; if it is `BINDING`, it depends on key, nonce, additional data and
//! content.

use terse_tls::crypto::{Aead, AeadKey, CryptoError, NONCE_LEN};

use super::hash::mix;

/// Each byte of a tag that is not binding.
pub const TAG: u8 = 0xa5;

/// An AEAD with a tag of `TAG_LEN` bytes.
pub(super) struct Plain<const BINDING: bool, const TAG_LEN: usize>;

impl<const BINDING: bool, const TAG_LEN: usize> Aead for Plain<BINDING, TAG_LEN> {
    fn key_len(&self) -> usize {
        16
    }

    fn tag_len(&self) -> usize {
        TAG_LEN
    }

    fn key(&self, key: &[u8]) -> Result<Box<dyn AeadKey>, CryptoError> {
        if key.len() != self.key_len() {
            return Err(CryptoError::InvalidLength);
        }
        Ok(Box::new(PlainKey::<BINDING, TAG_LEN>(mix(0, &[key]))))
    }
}

struct PlainKey<const BINDING: bool, const TAG_LEN: usize>(u64);

impl<const BINDING: bool, const TAG_LEN: usize> PlainKey<BINDING, TAG_LEN> {
    fn tag(&self, nonce: &[u8], aad: &[u8], data: &[u8]) -> [u8; TAG_LEN] {
        let mut tag = [TAG; TAG_LEN];
        if BINDING {
            let mixed = mix(self.0, &[nonce, aad, data]).to_be_bytes();
            tag.iter_mut().zip(mixed).for_each(|(byte, mixed)| *byte = mixed);
        }
        tag
    }
}

impl<const BINDING: bool, const TAG_LEN: usize> AeadKey for PlainKey<BINDING, TAG_LEN> {
    fn seal(&self, nonce: &[u8; NONCE_LEN], aad: &[u8], data: &mut [u8], tag: &mut [u8]) -> Result<(), CryptoError> {
        tag.copy_from_slice(&self.tag(nonce, aad, data));
        Ok(())
    }

    fn open(&self, nonce: &[u8; NONCE_LEN], aad: &[u8], data: &mut [u8]) -> Result<usize, CryptoError> {
        let len = data.len().checked_sub(TAG_LEN).ok_or(CryptoError::DecryptFailed)?;
        let (content, tag) = data.split_at(len);
        if self.tag(nonce, aad, content) == tag { Ok(len) } else { Err(CryptoError::DecryptFailed) }
    }
}
